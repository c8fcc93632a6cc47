"""Tools of every kind of source: files, packages, OXP servers, MCP servers.

`http://…` is an OXP server, `mcp+http://…` an MCP server over HTTP, `mcp:COMMAND` an MCP server
that is started here and speaks over stdio.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from toolwire.cli.framework.errors import CommandError
from toolwire.cli.output.redact_url import redact_url
from toolwire.cli.services.tool_loading import load_tools
from toolwire.errors import InputError, describe_os_error

if TYPE_CHECKING:
    from toolwire.oxp.transport import ApiKey, Bearer
    from toolwire.tools.registry import Tools

KEYS = ("TOOLWIRE_API_KEY", "OXP_API_KEY")
TOKEN = "TOOLWIRE_TOKEN"
SERVER_SCHEMES = ("http://", "https://", "mcp:", "mcp+http://", "mcp+https://")


class ServerCredentials(Struct, frozen=True, kw_only=True):
    """The credentials and secrets for one tool server."""

    key: str = ""
    token: str = ""
    """A signed token, which takes precedence over a key."""
    secrets: Mapping[str, str] = {}
    """Values of the secrets that its tools declare."""

    def auth(self) -> ApiKey | Bearer | None:
        """The credentials of an OXP server."""
        from toolwire.oxp.transport import ApiKey, Bearer

        if self.token:
            return Bearer(self.token)
        return ApiKey(self.key) if self.key else None

    def bearer(self) -> Bearer | None:
        """The credentials of an MCP server, which takes a key as a token."""
        from toolwire.oxp.transport import Bearer

        value = self.token or self.key
        return Bearer(value) if value else None


def load_local_tools(sources: tuple[str, ...]) -> Tools:
    """Return the tools of those sources that are files and packages.

    Call this before an event loop runs: imports of user code would delay Ctrl-C there.
    """
    return load_tools(tuple(source for source in sources if not _is_server(source)))


async def add_server_tools(
    tools: Tools,
    sources: tuple[str, ...],
    stack: AsyncExitStack,
    credentials: Mapping[str, ServerCredentials] | None = None,
) -> None:
    """Add the tools of those sources that are servers. The stack closes the connections.

    Args:
        credentials: the credentials of each server, by its source; other servers get those in
            environment variables.
    """
    servers = [source for source in sources if _is_server(source)]
    for source in servers:
        given = (credentials or {}).get(source)
        found = given or _credentials_in_environment(source, alone=len(servers) == 1)
        await _add_tools_of_server(tools, source, stack, found)


async def load_all_tools(
    sources: tuple[str, ...],
    stack: AsyncExitStack,
    credentials: Mapping[str, ServerCredentials] | None = None,
) -> Tools:
    """Return the tools of all sources; `credentials` are those of servers, by source."""
    tools = load_local_tools(sources)
    await add_server_tools(tools, sources, stack, credentials)
    return tools


def _is_server(source: str) -> bool:
    return source.startswith(SERVER_SCHEMES)


async def _add_tools_of_server(
    tools: Tools, source: str, stack: AsyncExitStack, credentials: ServerCredentials
) -> None:
    try:
        if source.startswith("mcp"):
            from toolwire.mcp.client import McpClient

            if source.startswith("mcp:"):
                mcp = McpClient(_parse_command(source))
            else:
                auth = credentials.bearer()
                mcp = McpClient(source.removeprefix("mcp+"), auth=auth)
            await stack.enter_async_context(mcp)
            tools.add(*await mcp.tools())
        else:
            from toolwire.oxp.client import OxpClient

            oxp = OxpClient(source, auth=credentials.auth(), secrets=credentials.secrets)
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


def _credentials_in_environment(source: str, *, alone: bool) -> ServerCredentials:
    """Return the credentials for a server in environment variables.

    A server gets `TOOLWIRE_API_KEY` or `TOOLWIRE_TOKEN` only if no other server is named: a key
    must not reach servers that it is not meant for. `TOOLWIRE_API_KEY_HOST` is for the server HOST.
    """
    suffix = _variable_suffix(source)
    if not suffix:  # a program that is started here
        return ServerCredentials()
    names = [f"{name}{suffix}" for name in (*KEYS, TOKEN)]
    if alone:
        names += [*KEYS, TOKEN]
    key = next(
        (os.environ[name] for name in names if TOKEN not in name and os.environ.get(name)), ""
    )
    token = next((os.environ[name] for name in names if TOKEN in name and os.environ.get(name)), "")
    if not (key or token or alone) and any(map(os.environ.get, (*KEYS, TOKEN))):
        click.echo(
            f"{redact_url(source)} gets no key: several servers are named; set {KEYS[0]}{suffix}",
            err=True,
        )
    return ServerCredentials(key=key, token=token)


def _variable_suffix(source: str) -> str:
    """The suffix of the variables for a server: `_TOOLS_EXAMPLE_8765` for tools.example:8765."""
    host = source.partition("://")[2].partition("/")[0].rpartition("@")[2]
    return "_" + re.sub(r"[^A-Z0-9]+", "_", host.upper()).strip("_") if host else ""


def _reason(error: Exception) -> str:
    """Return why a connection failed."""
    if isinstance(error, InputError):
        return error.why
    if isinstance(error, OSError) and error.strerror:
        return describe_os_error(error) + (f": {error.filename}" if error.filename else "")
    return str(error) or type(error).__name__
