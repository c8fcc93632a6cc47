"""`toolwire serve`: a tool server for agents, over OXP and MCP."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import redirect_stdout
from hashlib import sha256
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from toolwire.cli.framework.errors import CommandError
from toolwire.cli.framework.extras import require_extra
from toolwire.cli.output.printable import to_printable
from toolwire.cli.output.redact_url import redact_url
from toolwire.cli.services.ledger_url import open_ledger, report_ledger_errors
from toolwire.cli.services.listen import PORTS, listen
from toolwire.cli.services.stdio import serve_stdio
from toolwire.cli.services.tool_loading import load_tools
from toolwire.errors import ConfigError

if TYPE_CHECKING:
    from toolwire.server.auth import Auth
    from toolwire.tools.registry import Tools

METHODS = ("key", "jwt")
KEYS, SECRET = "TOOLWIRE_API_KEYS", "TOOLWIRE_JWT_SECRET"
SOCKET_OPTIONS = {
    "host": "--host",
    "port": "--port",
    "oxp": "--oxp",
    "auth": "--auth",
    "audience": "--audience",
    "allow_anyone": "--allow-anyone",
    "allowed_hosts": "--allowed-host",
}
"""Options that contradict --stdio."""


@click.command("serve")
@click.argument("tools", nargs=-1, required=True)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen on. Addresses other than loopback require --auth.",
)
@click.option(
    "--port", type=PORTS, default=8765, show_default=True, help="The port; 0 chooses a free one."
)
@click.option(
    "--ledger",
    metavar="URL",
    default="sqlite:///toolwire.db",
    show_default=True,
    envvar="TOOLWIRE_LEDGER",
    help="Where to record calls: sqlite:///FILE, postgresql://…, or memory:.",
)
@click.option("--oxp", is_flag=True, help="Serve OXP. Default: both OXP and MCP.")
@click.option("--mcp", is_flag=True, help="Serve MCP, under /mcp.")
@click.option("--stdio", is_flag=True, help="Serve MCP over stdin and stdout instead of a socket.")
@click.option(
    "--auth",
    type=click.Choice(METHODS),
    multiple=True,
    help=(
        "What clients must send: a key of TOOLWIRE_API_KEYS, or a JWT signed with"
        " TOOLWIRE_JWT_SECRET. With both, either is enough."
    ),
)
@click.option("--audience", multiple=True, metavar="NAME", help="An audience that tokens may name.")
@click.option("--allow-anyone", is_flag=True, help="Accept clients without --auth on any address.")
@click.option(
    "--allowed-host",
    "allowed_hosts",
    multiple=True,
    metavar="HOST",
    help="A value of the Host header to accept, besides localhost; * accepts any.",
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
    allowed_hosts: tuple[str, ...],
) -> None:
    """Serve the tools of Python files or packages to agents.

    TOOLS are files or importable packages with functions decorated by @tool. The ledger records
    every call: a repeated call id does not run its tool again, not even after a restart.

    Secrets come from environment variables: TOOLWIRE_API_KEYS is a list of `name=key` pairs,
    separated by commas; TOOLWIRE_JWT_SECRET is the shared secret of HS256 tokens. A key or secret
    has at least 32 characters. Set TOOLWIRE_LEDGER instead of --ledger to keep a password off the
    command line.

    Ctrl-C waits for the calls in progress; a second Ctrl-C does not.
    """
    require_extra("server")
    from toolwire.cli.output.log_format import format_logs
    from toolwire.execution.executor import ToolExecutor
    from toolwire.execution.log_redaction import redact_all_logs
    from toolwire.tool_server import ToolServer
    from toolwire.tools.errors import ToolDefinitionError

    registry = _load_tools_for_stdio(ctx, tools) if stdio else load_tools(tools)
    redact_all_logs()
    format_logs()
    executor = ToolExecutor(open_ledger(ledger))
    try:
        with report_ledger_errors(ledger):
            if stdio:
                executor.check_tools(registry)
                asyncio.run(serve_stdio(registry, executor))
                return
            both = oxp == mcp
            server = ToolServer(
                registry,
                executor=executor,
                auth=_read_auth(auth, audience),
                allowed_hosts=allowed_hosts,
                oxp=oxp or both,
                mcp=mcp or both,
            )
            listen(
                server,
                host,
                port,
                announce=lambda url: _announcement(
                    url, registry, ledger=ledger, oxp=oxp or both, mcp=mcp or both
                ),
                allow_anyone=allow_anyone,
                hint="--auth key, --auth jwt, --allow-anyone",
            )
    except ToolDefinitionError as error:
        raise CommandError(f"{error} (--ledger {redact_url(ledger)})") from None


def _load_tools_for_stdio(ctx: click.Context, names: tuple[str, ...]) -> Tools:
    """Load tools while stdout is redirected: it carries the protocol."""
    given = [
        flag
        for name, flag in SOCKET_OPTIONS.items()
        if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT
    ]
    if given:
        raise CommandError(f"--stdio does not listen, so it takes no {', '.join(given)}")
    with redirect_stdout(sys.stderr):
        return load_tools(names)


def _read_auth(methods: tuple[str, ...], audiences: tuple[str, ...]) -> Auth:
    """Return the authentication that the options ask for, with keys of the environment."""
    from toolwire.server.auth import Auth

    keys = _read_keys() if "key" in methods else {}
    secret = os.environ.get(SECRET) if "jwt" in methods else None
    if "jwt" in methods and not secret:
        raise CommandError(f"--auth jwt: set the environment variable {SECRET}")
    try:
        return Auth(keys, secrets=[secret] if secret else [], audiences=audiences)
    except ConfigError as error:
        raise CommandError(f"--auth: {error}") from None


def _read_keys() -> dict[str, str]:
    keys: dict[str, str] = {}
    for entry in filter(None, (part.strip() for part in os.environ.get(KEYS, "").split(","))):
        # A key in base64 may end in =, and then there is no name. Records contain the name, so it
        # must not depend on the other entries.
        name, _, key = entry.partition("=") if "=" in entry.rstrip("=") else ("", "", entry)
        name = name or f"sha256-{sha256(sha256(key.encode()).digest()).hexdigest()[:16]}"
        if name in keys:
            raise CommandError(f"--auth key: {KEYS} has the name {name} twice")
        keys[name] = key
    if not keys:
        raise CommandError(f"--auth key: set the environment variable {KEYS} to name=key")
    return keys


def _announcement(url: str, tools: Tools, *, ledger: str, oxp: bool, mcp: bool) -> str:
    count = "1 tool" if len(tools) == 1 else f"{len(tools)} tools"
    place = "in memory only" if ledger == "memory:" else f"in {to_printable(redact_url(ledger))}"
    lines = [f"{count} at {url}; calls are recorded {place}"]
    if oxp:
        lines.append(f"  OXP  {url}/tools and {url}/tools/call")
    if mcp:
        lines.append(f"  MCP  {url}/mcp")
    return "\n".join((*lines, f"  also {url}/health and {url}/metrics; Ctrl-C stops it"))
