"""`toolwire serve`: tools for agents, over OXP and MCP."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import redirect_stdout
from hashlib import sha256
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from toolwire.cli.framework.usage_error import CommandError, printable
from toolwire.cli.services.lazy_import import load_tools, open_ledger, part, recorded, shown
from toolwire.cli.services.listen import PORTS, listen
from toolwire.cli.services.stdio import serve as over_stdio

if TYPE_CHECKING:
    from toolwire.execution.executor import ToolExecutor
    from toolwire.server.auth import Auth
    from toolwire.tools.registry import Tools

METHODS = ("key", "jwt")
KEYS, SECRET = "TOOLWIRE_API_KEYS", "TOOLWIRE_JWT_SECRET"
_OF_SOCKETS = ("host", "port", "oxp", "auth", "audience", "allow_anyone", "hosts")


@click.command("serve")
@click.argument("tools", nargs=-1, required=True)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Where to listen. Beyond loopback, --auth is needed.",
)
@click.option("--port", type=PORTS, default=8765, show_default=True, help="0 is any free one.")
@click.option(
    "--ledger",
    metavar="URL",
    default="sqlite:///toolwire.db",
    show_default=True,
    envvar="TOOLWIRE_LEDGER",
    help="Where calls are recorded: sqlite:///FILE, postgresql://…, or memory:.",
)
@click.option("--oxp", is_flag=True, help="Speak OXP. Without --oxp and --mcp, both are spoken.")
@click.option("--mcp", is_flag=True, help="Speak MCP, under /mcp.")
@click.option("--stdio", is_flag=True, help="Speak MCP over stdin and stdout and listen nowhere.")
@click.option(
    "--auth",
    type=click.Choice(METHODS),
    multiple=True,
    help=(
        "What callers must show: a key of TOOLWIRE_API_KEYS, or a token signed with"
        " TOOLWIRE_JWT_SECRET; both may be taken."
    ),
)
@click.option("--audience", multiple=True, metavar="NAME", help="An audience that tokens may name.")
@click.option(
    "--allow-anyone", is_flag=True, help="Listen beyond loopback without --auth all the same."
)
@click.option(
    "--name",
    "hosts",
    multiple=True,
    metavar="HOST",
    help="A name that the server answers to; * is any.",
)
@click.pass_context
def command(
    ctx: click.Context,
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

    TOOLS are files or importable packages with functions under @tool. A call that comes twice under
    one call id runs once, also over restarts: the ledger remembers.

    Keys come from the environment: TOOLWIRE_API_KEYS is `name=key`, several separated by commas;
    TOOLWIRE_JWT_SECRET is the shared secret of HS256 tokens. Both need at least 32 characters.
    TOOLWIRE_LEDGER may hold the ledger's URL, so that no password stands on the command line.
    Ctrl-C finishes what is under way.
    """
    if stdio:
        given = [
            name
            for name in _OF_SOCKETS
            if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT
        ]
        if given:
            words = ", ".join(
                f"--{'name' if one == 'hosts' else one.replace('_', '-')}" for one in given
            )
            raise CommandError(f"--stdio listens nowhere, so it takes no {words}")
        with redirect_stdout(
            sys.stderr
        ):  # stdout is the wire: what a file prints while it is loaded goes elsewhere
            found = load_tools(tools)
    else:
        found = load_tools(tools)
    mistake = part("toolwire.tools.errors").ToolDefinitionError
    part("toolwire.execution.log_redaction").redact_all_logs()
    calls: ToolExecutor = part("toolwire.execution.executor").ToolExecutor(open_ledger(ledger))
    try:
        with recorded(ledger):
            if stdio:
                calls.check_tools(found)
                asyncio.run(over_stdio(found, calls))
                return
            both = oxp == mcp
            if mcp or both:
                part("toolwire.mcp.server")  # says now which extra is missing
            server = part("toolwire.tool_server").ToolServer(
                found,
                executor=calls,
                auth=_auth(auth, audience),
                allowed_hosts=hosts,
                oxp=oxp or both,
                mcp=mcp or both,
            )
            listen(
                server,
                host,
                port,
                lambda url: _told(url, found, ledger, oxp=oxp or both, mcp=mcp or both),
                allow_anyone=allow_anyone,
                hint="--auth key, --auth jwt, --allow-anyone",
            )
    except mistake as error:
        raise CommandError(f"{error} (--ledger {shown(ledger)})") from None


def _auth(methods: tuple[str, ...], audience: tuple[str, ...]) -> Auth:
    module = part("toolwire.server.auth")
    keys: dict[str, str] = {}
    secret: str | None = None
    if "key" in methods:
        for one in filter(None, (word.strip() for word in os.environ.get(KEYS, "").split(","))):
            # Base64 may end in =, and then there is no name. Records bear the name: it must not
            # depend on what stands beside
            name, _, key = one.partition("=") if "=" in one.rstrip("=") else ("", "", one)
            name = name or f"sha256-{sha256(sha256(key.encode()).digest()).hexdigest()[:16]}"
            if name in keys:
                raise CommandError(f"--auth key: {KEYS} names {name} twice")
            keys[name] = key
        if not keys:
            raise CommandError(f"--auth key: set {KEYS} to name=key")
    if "jwt" in methods:
        secret = os.environ.get(SECRET)
        if not secret:
            raise CommandError(f"--auth jwt: set {SECRET}")
    try:
        made: Auth = module.Auth(keys, secrets=[secret] if secret else [], audiences=audience)
    except module.ConfigError as error:
        raise CommandError(f"--auth: {error}") from None
    return made


def _told(url: str, tools: Tools, ledger: str, *, oxp: bool, mcp: bool) -> str:
    n = len(tools)
    kept = "in memory only" if ledger == "memory:" else f"in {printable(shown(ledger))}"
    lines = [f"{n} {'tool' if n == 1 else 'tools'} at {url}; calls are recorded {kept}"]
    if oxp:
        lines.append(f"  OXP  {url}/tools and {url}/tools/call")
    if mcp:
        lines.append(f"  MCP  {url}/mcp")
    return "\n".join((*lines, f"  also {url}/health and {url}/metrics; Ctrl-C stops it"))
