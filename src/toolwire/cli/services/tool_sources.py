"""Where tools come from: files, packages, OXP servers, MCP servers.

`http://…` is an OXP server, `mcp+http://…` an MCP server over HTTP, `mcp:COMMAND` one that is
started. Knows no verb.
"""

from __future__ import annotations

import os
import shlex
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from toolwire.cli.framework.usage_error import CommandError
from toolwire.cli.services.lazy_import import load_tools, part, shown
from toolwire.errors import InputError

if TYPE_CHECKING:
    from toolwire.oxp.client import ApiKey, Bearer
    from toolwire.tools.registry import Tools

KEYS = ("TOOLWIRE_API_KEY", "OXP_API_KEY")
TOKEN = "TOOLWIRE_TOKEN"


def loaded(sources: tuple[str, ...]) -> Tools:
    """The tools of those places that are files and packages: to be loaded before a loop runs, which
    would hold back Ctrl-C."""
    return load_tools(tuple(one for one in sources if not _elsewhere(one)))


async def gather(tools: Tools, sources: tuple[str, ...], stack: AsyncExitStack) -> None:
    """Add the tools of those places that are servers; what had to be opened for them is closed with
    the stack."""
    for one in sources:
        if _elsewhere(one):
            await _add(tools, one, stack)


async def gathered(sources: tuple[str, ...], stack: AsyncExitStack) -> Tools:
    """All tools of some places, for whoever has a loop already."""
    tools = loaded(sources)
    await gather(tools, sources, stack)
    return tools


def _elsewhere(source: str) -> bool:
    return source.startswith(("http://", "https://", "mcp:", "mcp+http://", "mcp+https://"))


async def _add(tools: Tools, source: str, stack: AsyncExitStack) -> None:
    named = shown(source)
    try:
        if source.startswith("mcp:"):
            client = part("toolwire.mcp.client").McpClient(_command(source))
        elif source.startswith("mcp+"):
            client = part("toolwire.mcp.client").McpClient(
                source.removeprefix("mcp+"), auth=_auth(bearer=True)
            )
        else:
            client = part("toolwire.oxp.client").OxpClient(source, auth=_auth())
        await stack.enter_async_context(client)
        tools.add(*await client.tools())
    except (CommandError, KeyboardInterrupt):
        raise
    except Exception as error:
        raise CommandError(f"{named}: {shown(_why(error))}") from None


def _command(source: str) -> list[str]:
    try:
        words = shlex.split(source.removeprefix("mcp:"))
    except ValueError as error:
        raise CommandError(f"{source}: {str(error).lower()}") from None
    if not words:
        raise CommandError(f"{source}: say which command, as in mcp:'uvx some-server'")
    return words


def _auth(*, bearer: bool = False) -> ApiKey | Bearer | None:
    """Who is asking, as the environment says: a key, or a token that somebody has signed."""
    module = part("toolwire.oxp.client")
    key = next((os.environ[one] for one in KEYS if os.environ.get(one)), None)
    token = os.environ.get(TOKEN) or (key if bearer else None)
    made: ApiKey | Bearer | None = (
        module.Bearer(token) if token else module.ApiKey(key) if key else None
    )
    return made


def _why(error: BaseException) -> str:
    """What went wrong, out of the groups that task groups wrap it in."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, InputError):
        return error.why
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror.lower()}{f': {error.filename}' if error.filename else ''}"
    return str(error) or type(error).__name__
