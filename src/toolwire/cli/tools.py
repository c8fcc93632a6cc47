"""`toolwire tools`: what tools there are in a file, a package or on a server."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import click

from toolwire.cli.output.output_mode import view
from toolwire.cli.services.tool_sources import gather, loaded
from toolwire.conversation.json import JSON

if TYPE_CHECKING:
    from toolwire.tools.registry import Tools
    from toolwire.tools.runnable import Runnable


@click.command("tools")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON on a terminal, too.")
def command(sources: tuple[str, ...], as_json: bool) -> None:
    """List tools with their parameters and what they need.

    SOURCE is a Python file or package, an OXP server (http://…), an MCP server (mcp+http://…, or
    mcp:COMMAND to start one). A table on a terminal, JSON when piped.
    """
    found = asyncio.run(_found(loaded(sources), sources))
    rows: list[JSON] = [_row(one) for one in found]
    view(piped=as_json).table(
        ("id", "parameters", "needs", "description"), [_cells(one) for one in found], rows
    )


async def _found(tools: Tools, sources: tuple[str, ...]) -> list[Runnable]:
    async with AsyncExitStack() as stack:
        await gather(tools, sources, stack)
        return tools.all()


def _row(tool: Runnable) -> dict[str, JSON]:
    needs = tool.needs
    return {
        "id": str(tool.id),
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "authorization": [one.id for one in needs.authorization],
        "secrets": list(needs.secrets),
        "user_id": needs.user_id,
        "on_crash": tool.on_crash,
        "read_only": tool.read_only,
        "timeout": tool.timeout,
    }


def _cells(tool: Runnable) -> list[str]:
    schema = tool.input_schema
    wanted = schema.get("required")
    required = wanted if isinstance(wanted, list) else []
    properties = schema.get("properties")
    names = list(properties) if isinstance(properties, dict) else []
    needs = [
        *(one.id for one in tool.needs.authorization),
        *tool.needs.secrets,
        *(["user id"] if tool.needs.user_id else []),
    ]
    described = tool.description.partition("\n")[0]
    return [
        str(tool.id),
        " ".join(one if one in required else f"[{one}]" for one in names),
        ", ".join(needs),
        described,
    ]
