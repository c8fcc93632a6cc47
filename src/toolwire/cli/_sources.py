"""Where tools come from: files, packages, OXP servers, MCP servers.

`http://…` is an OXP server, `mcp+http://…` an MCP server over HTTP, `mcp:COMMAND` one that is started. Knows no verb.
"""

from __future__ import annotations

import os
import shlex
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from toolwire.cli._misuse import Misuse
from toolwire.cli._toolbox import load_tools, part

if TYPE_CHECKING:
    from toolwire.tools.registry import Tools


async def gathered(sources: tuple[str, ...], stack: AsyncExitStack) -> Tools:
    """All tools of some places; what had to be opened for them is closed with the stack."""
    files = tuple(one for one in sources if not _elsewhere(one))
    tools: Tools = load_tools(files) if files else part("toolwire.tools").Tools()
    for one in sources:
        if _elsewhere(one):
            await _add(tools, one, stack)
    return tools


def _elsewhere(source: str) -> bool:
    return source.startswith(("http://", "https://", "mcp:", "mcp+http://", "mcp+https://"))


async def _add(tools: Tools, source: str, stack: AsyncExitStack) -> None:
    mistake = part("toolwire.tools.errors").ToolMistake
    try:
        if source.startswith("mcp"):
            where = source.removeprefix("mcp+") if source.startswith("mcp+") else shlex.split(source.removeprefix("mcp:"))
            client = await stack.enter_async_context(part("toolwire.io.mcp_client").McpClient(where))
        else:
            key = os.environ.get("TOOLWIRE_API_KEY") or os.environ.get("OXP_API_KEY")
            client = await stack.enter_async_context(part("toolwire.io.oxp_client").OxpClient(source, auth=key))
        tools.add(*await client.tools())
    except mistake as error:
        raise Misuse(f"{source}: {error}") from None
    except Exception as error:
        raise Misuse(f"{source}: {type(error).__name__}: {error}") from None
