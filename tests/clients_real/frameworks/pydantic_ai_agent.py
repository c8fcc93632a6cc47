"""Pydantic AI: an agent with the models of three providers."""

import asyncio

from common import API, IMAGE_BYTES, KEY, MODEL, PROMPT, STREAM, URL, fail, measure
from pydantic_ai import Agent, BinaryContent, ModelRetry
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider

MODELS = {
    "openai-chat": lambda: OpenAIChatModel(
        MODEL, provider=OpenAIProvider(base_url=f"{URL}/v1", api_key=KEY)
    ),
    "openai-responses": lambda: OpenAIResponsesModel(
        MODEL, provider=OpenAIProvider(base_url=f"{URL}/v1", api_key=KEY)
    ),
    "anthropic": lambda: AnthropicModel(
        MODEL, provider=AnthropicProvider(base_url=URL, api_key=KEY)
    ),
    "gemini": lambda: GoogleModel(MODEL, provider=GoogleProvider(base_url=URL, api_key=KEY)),
}
agent = Agent(MODELS[API]())


@agent.tool_plain
async def weather(city: str) -> str:
    """Current weather of a city."""
    return await measure(city)


@agent.tool_plain(retries=3)
def station_status(station: str) -> str:
    """Status of a weather station."""
    try:
        return fail(station)
    except ValueError as error:
        raise ModelRetry(str(error)) from error


@agent.tool_plain
def picture(place: str) -> BinaryContent:
    """A picture of a place."""
    return BinaryContent(IMAGE_BYTES, media_type="image/png")


async def main() -> None:
    if STREAM:
        async with agent.run_stream(PROMPT) as run:
            print(await run.get_output())
    else:
        print((await agent.run(PROMPT)).output)


asyncio.run(main())
