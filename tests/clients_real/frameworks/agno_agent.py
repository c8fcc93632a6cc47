"""Agno: an agent with the models of three providers."""

import asyncio

from agno.agent import Agent
from agno.models.anthropic import Claude
from agno.models.google import Gemini
from agno.models.openai import OpenAIChat, OpenAIResponses
from common import API, KEY, MODEL, PROMPT, STREAM, URL, fail, measure

MODELS = {
    "openai-chat": lambda: OpenAIChat(id=MODEL, base_url=f"{URL}/v1", api_key=KEY),
    "openai-responses": lambda: OpenAIResponses(id=MODEL, base_url=f"{URL}/v1", api_key=KEY),
    "anthropic": lambda: Claude(id=MODEL, api_key=KEY, client_params={"base_url": URL}),
    "gemini": lambda: Gemini(
        id=MODEL, api_key=KEY, client_params={"http_options": {"base_url": URL}}
    ),
}


async def weather(city: str) -> str:
    """Current weather of a city."""
    return await measure(city)


def station_status(station: str) -> str:
    """Status of a weather station."""
    return fail(station)


async def main() -> None:
    agent = Agent(model=MODELS[API](), tools=[weather, station_status], telemetry=False)
    if not STREAM:
        print((await agent.arun(PROMPT)).content)
        return
    async for event in agent.arun(PROMPT, stream=True):
        print(getattr(event, "content", None) or "", end="")


asyncio.run(main())
