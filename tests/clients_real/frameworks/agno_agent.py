"""Agno: an agent with the models of three providers."""

import asyncio

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.media import Image
from agno.tools.function import ToolResult
from common import API, IMAGE_BYTES, KEY, MODEL, PROMPTS, STREAM, URL, fail, measure


def openai_model(kind: str) -> object:
    from agno.models import openai

    return getattr(openai, kind)(id=MODEL, base_url=f"{URL}/v1", api_key=KEY)


def anthropic_model() -> object:
    from agno.models.anthropic import Claude

    return Claude(id=MODEL, api_key=KEY, client_params={"base_url": URL})


def google_model() -> object:
    from agno.models.google import Gemini

    return Gemini(id=MODEL, api_key=KEY, client_params={"http_options": {"base_url": URL}})


MODELS = {
    "openai-chat": lambda: openai_model("OpenAIChat"),
    "openai-responses": lambda: openai_model("OpenAIResponses"),
    "anthropic": anthropic_model,
    "gemini": google_model,
}


async def weather(city: str) -> str:
    """Current weather of a city."""
    return await measure(city)


def station_status(station: str) -> str:
    """Status of a weather station."""
    return fail(station)


def picture(place: str) -> ToolResult:
    """A picture of a place."""
    image = Image(content=IMAGE_BYTES, mime_type="image/png", format="png")
    return ToolResult(content=f"a picture of {place}", images=[image])


async def main() -> None:
    agent = Agent(
        model=MODELS[API](),
        tools=[weather, station_status, picture],
        db=InMemoryDb(),
        session_id="weather",
        add_history_to_context=True,
        telemetry=False,
    )
    for prompt in PROMPTS:
        if not STREAM:
            print((await agent.arun(prompt)).content)
            continue
        async for event in agent.arun(prompt, stream=True):
            print(getattr(event, "content", None) or "", end="")


asyncio.run(main())
