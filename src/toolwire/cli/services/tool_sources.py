"""Tools of every kind of source: files, packages, OXP servers, MCP servers.

`http://…` is an OXP server, `mcp+http://…` an MCP server over HTTP, `mcp:COMMAND` an MCP server
that is started here and speaks over stdio.
"""

from __future__ import annotations

import os
import shlex
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from toolwire.cli.framework.errors import CommandError, describe_os_error
from toolwire.cli.output.redact_url import redact_url
from toolwire.cli.services.tool_loading import load_tools
from toolwire.errors import InputError

if TYPE_CHECKING:
    from toolwire.oxp.client import ApiKey, Bearer
    from toolwire.tools.registry import Tools

KEYS = ("TOOLWIRE_API_KEY", "OXP_API_KEY")
TOKEN = "TOOLWIRE_TOKEN"
SERVER_SCHEMES = ("http://", "https://", "mcp:", "mcp+http://", "mcp+https://")


def load_local_tools(sources: tuple[str, ...]) -> Tools:
    """Return the tools of those sources that are files and packages.

    Call this before an event loop runs: imports of user code would delay Ctrl-C there.
    """
    return load_tools(tuple(source for source in sources if not _is_server(source)))


async def add_server_tools(tools: Tools, sources: tuple[str, ...], stack: AsyncExitStack) -> None:
    """Add the tools of those sources that are servers. The stack closes the connections."""
    for source in sources:
        if _is_server(source):
            await _add_tools_of_server(tools, source, stack)


async def load_all_tools(sources: tuple[str, ...], stack: AsyncExitStack) -> Tools:
    """Return the tools of all sources."""
    tools = load_local_tools(sources)
    await add_server_tools(tools, sources, stack)
    return tools


def _is_server(source: str) -> bool:
    return source.startswith(SERVER_SCHEMES)


async def _add_tools_of_server(tools: Tools, source: str, stack: AsyncExitStack) -> None:
    try:
        if source.startswith("mcp"):
            from toolwire.mcp.client import McpClient

            if source.startswith("mcp:"):
                mcp = McpClient(_parse_command(source))
            else:
                mcp = McpClient(source.removeprefix("mcp+"), auth=_credentials(bearer=True))
            await stack.enter_async_context(mcp)
            tools.add(*await mcp.tools())
        else:
            from toolwire.oxp.client import OxpClient

            oxp = OxpClient(source, auth=_credentials())
            await stack.enter_async_context(oxp)
            tools.add(*await oxp.tools())
    except (CommandError, KeyboardInterrupt, ModuleNotFoundError):
        raise
    except Exception as error:
        name, reason = redact_url(source), redact_url(_reason(error))
        raise CommandError(reason if name in reason else f"{name}: {reason}") from None


def _parse_command(source: str) -> list[str]:
    try:
        words = shlex.split(source.removeprefix("mcp:"))
    except ValueError as error:
        raise CommandError(f"{source}: {str(error).lower()}") from None
    if not words:
        raise CommandError(f"{source}: name a command, as in mcp:'uvx some-server'")
    return words


def _credentials(*, bearer: bool = False) -> ApiKey | Bearer | None:
    """Return the credentials that environment variables hold: a signed token, or a key."""
    from toolwire.oxp.client import ApiKey, Bearer

    key = next((os.environ[name] for name in KEYS if os.environ.get(name)), None)
    token = os.environ.get(TOKEN) or (key if bearer else None)
    if token:
        return Bearer(token)
    return ApiKey(key) if key else None


def _reason(error: BaseException) -> str:
    """Return why a connection failed; task groups wrap the error that says so."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, InputError):
        return error.why
    if isinstance(error, OSError) and error.strerror:
        return describe_os_error(error) + (f": {error.filename}" if error.filename else "")
    return str(error) or type(error).__name__
