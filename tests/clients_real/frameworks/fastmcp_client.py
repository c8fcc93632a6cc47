"""fastmcp: its client calls the tools of a server. Argument: the server, as an address or a command."""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError


async def call(client: Client, tool: str, arguments: dict[str, str]) -> list[str]:
    try:
        result = await client.call_tool(tool, arguments)
    except ToolError as error:
        return ["error", str(error)]
    return [getattr(block, "text", block.type) for block in result.content]


async def main() -> None:
    server = json.loads(sys.argv[1])
    transport = server if isinstance(server, str) else StdioTransport(server[0], server[1:])
    async with Client(transport) as client:
        tools = sorted(tool.name for tool in await client.list_tools())
        weather = await asyncio.gather(
            *(call(client, "Station_Weather", {"city": city}) for city in ("Oslo", "Rome"))
        )
        others = [
            await call(client, "Station_StationStatus", {"station": "7"}),
            await call(client, "Station_Picture", {"place": "Oslo"}),
        ]
        try:
            unknown = await call(client, "no_such_tool", {})
        except Exception as error:
            unknown = ["error", str(error)]
        print(json.dumps([tools, *weather, *others, unknown]))


asyncio.run(main())
