"""An agent in fifteen lines: two providers, one tool server. The second model continues where
the first one stopped.

Keys and addresses come from the environment: ANTHROPIC_API_KEY, OPENAI_API_KEY, and TOOLS_URL for
the server.
"""

import asyncio
import os

from toolwire import Agent, HttpModel, OxpClient


async def main() -> None:
    claude, gpt = HttpModel("anthropic:claude-opus-5"), HttpModel("openai:gpt-5")
    async with claude, gpt, OxpClient(os.environ["TOOLS_URL"]) as server:
        agent = Agent(claude, await server.tools(), system="You are brief.")
        print((await agent.run("add 1 and 2, and add 3 and 4")).text)
        agent.model = gpt
        print((await agent.run("add 10 and 20")).text)


asyncio.run(main())
