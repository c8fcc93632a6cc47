"""Pydantic AI: an agent with the models of three providers."""

import asyncio

from common import API, IMAGE_BYTES, KEY, MODEL, PROMPTS, STREAM, URL, fail, measure
from pydantic_ai import Agent, BinaryContent, ModelRetry


def openai_model(kind: str) -> object:
    from pydantic_ai.models import openai
    from pydantic_ai.providers.openai import OpenAIProvider

    return getattr(openai, kind)(MODEL, provider=OpenAIProvider(base_url=f"{URL}/v1", api_key=KEY))


def anthropic_model() -> object:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    return AnthropicModel(MODEL, provider=AnthropicProvider(base_url=URL, api_key=KEY))


def google_model() -> object:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    return GoogleModel(MODEL, provider=GoogleProvider(base_url=URL, api_key=KEY))


MODELS = {
    "openai-chat": lambda: openai_model("OpenAIChatModel"),
    "openai-responses": lambda: openai_model("OpenAIResponsesModel"),
    "anthropic": anthropic_model,
    "gemini": google_model,
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
    messages = []
    for prompt in PROMPTS:
        if STREAM:
            async with agent.run_stream(prompt, message_history=messages) as run:
                print(await run.get_output())
        else:
            run = await agent.run(prompt, message_history=messages)
            print(run.output)
        messages = run.all_messages()


asyncio.run(main())
