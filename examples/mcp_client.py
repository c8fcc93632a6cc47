"""Use the tools of an MCP server. Here it is a program; an `http://…/mcp` address works too.

Prints:
    Calculator_Add, Doorbell_Ring, Gmail_GetEmails, SMS_Send, System_GetTimestamp
    Calculator_Add(a=10, b=5) gave: 15
"""

import asyncio
import sys
from pathlib import Path

from toolwire import Agent, McpClient

TOOLS = Path(__file__).with_name("tools.py")
COMMAND = [sys.executable, "-m", "toolwire", "serve", str(TOOLS), "--stdio"]


async def main() -> None:
    async with McpClient([*COMMAND, "--ledger", "memory:"]) as client:
        tools = await client.tools()
        print(", ".join(sorted(tool.name for tool in tools)))
        agent = Agent("demo:", tools)
        print((await agent.run("Calculator_Add 10 and 5")).text)
        await agent.model.close()


asyncio.run(main())
