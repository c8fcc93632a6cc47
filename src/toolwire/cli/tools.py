"""`toolwire tools`: the tools of a file, a package or a server."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import click

from toolwire.cli.framework.extras import require_extra
from toolwire.cli.output.view import choose_view
from toolwire.cli.services.tool_sources import add_server_tools, load_local_tools
from toolwire.conversation.json import JSON

if TYPE_CHECKING:
    from toolwire.tools.registry import Tools
    from toolwire.tools.runnable import Runnable

COLUMNS = ("id", "parameters", "needs", "description")


@click.command("tools")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON on a terminal as well.")
def command(sources: tuple[str, ...], as_json: bool) -> None:
    """List tools with their parameters and requirements.

    SOURCE is a Python file or package, an OXP server (http://…), or an MCP server (mcp+http://…, or
    mcp:COMMAND to start one). The output is a table on a terminal and JSON in a pipe.
    """
    require_extra("tools")
    tools = asyncio.run(_list_tools(load_local_tools(sources), sources))
    rows: list[JSON] = [_row(tool) for tool in tools]
    choose_view(as_json=as_json).table(COLUMNS, [_cells(tool) for tool in tools], rows)


async def _list_tools(tools: Tools, sources: tuple[str, ...]) -> list[Runnable]:
    async with AsyncExitStack() as stack:
        await add_server_tools(tools, sources, stack)
        return tools.all()


def _row(tool: Runnable) -> dict[str, JSON]:
    needs = tool.needs
    return {
        "id": str(tool.id),
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "authorization": [authorization.id for authorization in needs.authorization],
        "secrets": list(needs.secrets),
        "user_id": needs.user_id,
        "on_crash": tool.on_crash,
        "read_only": tool.read_only,
        "timeout": tool.timeout,
    }


def _cells(tool: Runnable) -> list[str]:
    schema = tool.input_schema
    required = schema.get("required")
    required_names = required if isinstance(required, list) else []
    properties = schema.get("properties")
    names = list(properties) if isinstance(properties, dict) else []
    needs = [
        *(authorization.id for authorization in tool.needs.authorization),
        *tool.needs.secrets,
        *(["user id"] if tool.needs.user_id else []),
    ]
    return [
        str(tool.id),
        " ".join(name if name in required_names else f"[{name}]" for name in names),
        ", ".join(needs),
        tool.description.partition("\n")[0],
    ]
