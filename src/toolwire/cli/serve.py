"""`toolwire serve`: tools for agents, over OXP and MCP."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, NamedTuple

import click

from toolwire.cli._misuse import Misuse, printable
from toolwire.cli._toolbox import load_tools, open_ledger, part

if TYPE_CHECKING:
    from toolwire.server.auth import Auth
    from toolwire.tools.registry import Tools

METHODS = ("none", "key", "jwt")


@click.command("serve")
@click.argument("tools", nargs=-1, required=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen. Beyond loopback, --auth is needed.")
@click.option("--port", default=8765, show_default=True, help="0 is any free one.")
@click.option("--ledger", metavar="URL", default="sqlite:///toolwire.db", show_default=True,
              help="Where calls are recorded: sqlite:///FILE, postgresql://…, or memory:.")  # fmt: skip
@click.option("--oxp", is_flag=True, help="Speak OXP. Without --oxp and --mcp, both are spoken.")
@click.option("--mcp", is_flag=True, help="Speak MCP, under /mcp.")
@click.option("--stdio", is_flag=True, help="Speak MCP over stdin and stdout and listen nowhere.")
@click.option("--auth", type=click.Choice(METHODS), multiple=True,
              help="What callers must show: a key of TOOLWIRE_API_KEYS, a token signed with TOOLWIRE_JWT_SECRET; several may be "
                   "taken.")  # fmt: skip
@click.option("--audience", multiple=True, metavar="NAME", help="An audience that tokens may name.")
@click.option("--allow-anyone", is_flag=True, help="Listen beyond loopback without --auth all the same.")
@click.option("--name", "hosts", multiple=True, metavar="HOST", help="A name that the server answers to; * is any.")
def verb(
    tools: tuple[str, ...],
    host: str,
    port: int,
    ledger: str,
    oxp: bool,
    mcp: bool,
    stdio: bool,
    auth: tuple[str, ...],
    audience: tuple[str, ...],
    allow_anyone: bool,
    hosts: tuple[str, ...],
) -> None:
    """Serve the tools of Python files or packages to agents.

    TOOLS are files or importable packages with functions under @tool. A call that comes twice under one call id runs once, also
    over restarts: the ledger remembers.

    Keys come from the environment: TOOLWIRE_API_KEYS is `name=key`, several separated by commas; TOOLWIRE_JWT_SECRET is the
    shared secret of HS256 tokens. Both need at least 32 characters. Ctrl-C finishes what is under way.
    """
    found = load_tools(tools)
    calls = part("toolwire.io.calls").Calls(open_ledger(ledger))
    mistake = part("toolwire.tools.errors").ToolMistake
    gone = part("toolwire.tools.ledger").LedgerUnavailable
    try:
        if stdio:
            asyncio.run(part("toolwire.server.mcp").stdio(found, calls))
            return
        both = oxp == mcp
        spoken = _Spoken(oxp or both, mcp or both)
        server = part("toolwire.server.tools").ToolServer(found, calls, auth=_auth(auth, audience), hosts=hosts, oxp=spoken.oxp)
        if spoken.mcp:
            part("toolwire.server.mcp").McpApp(found, calls).mount(server)
        run = part("toolwire.server.run")
        run.serve(server, host, port, allow_anyone=allow_anyone, ready=lambda url: _ready(url, found, ledger, spoken))
    except (mistake, gone) as error:
        raise Misuse(str(error)) from None
    except part("toolwire.server.run").BindMistake as error:
        raise Misuse(f"{error} (--auth key, --auth jwt, --allow-anyone)") from None
    except OSError as error:
        raise Misuse(f"{host}:{port}: {(error.strerror or str(error)).lower()}") from None


def _auth(methods: tuple[str, ...], audience: tuple[str, ...]) -> Auth:
    module = part("toolwire.server.auth")
    keys: dict[str, str] = {}
    secret: str | None = None
    if "key" in methods:
        for one in filter(None, os.environ.get("TOOLWIRE_API_KEYS", "").split(",")):
            name, has, key = one.strip().partition("=")
            keys[name if has else f"key{len(keys) + 1}"] = key if has else name
        if not keys:
            raise Misuse("--auth key: set TOOLWIRE_API_KEYS to name=key")
    if "jwt" in methods:
        secret = os.environ.get("TOOLWIRE_JWT_SECRET")
        if not secret:
            raise Misuse("--auth jwt: set TOOLWIRE_JWT_SECRET")
    try:
        made: Auth = module.Auth(keys, secrets=[secret] if secret else [], audiences=audience)
    except module.AuthMistake as error:
        raise Misuse(str(error)) from None
    return made


class _Spoken(NamedTuple):
    oxp: bool
    mcp: bool


def _ready(url: str, tools: Tools, ledger: str, spoken: _Spoken) -> None:
    kept = ledger if "@" not in ledger else f"{ledger.split('://')[0]}://…@{ledger.rsplit('@', 1)[1]}"
    click.echo(f"{len(tools)} tools at {printable(url)}; calls are recorded in {printable(kept)}")
    if spoken.oxp:
        click.echo(f"  OXP  {url}/tools and {url}/tools/call")
    if spoken.mcp:
        click.echo(f"  MCP  {url}/mcp")
    click.echo(f"  also {url}/health and {url}/metrics; Ctrl-C stops it")
