"""LlamaIndex: a function agent with the models of two providers."""

import asyncio

from common import API, IMAGE_BYTES, KEY, MODEL, PROMPTS, STREAM, URL, fail, measure
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ImageBlock, TextBlock
from llama_index.core.memory import ChatMemoryBuffer


def openai_model() -> object:
    from llama_index.llms.openai_like import OpenAILike

    return OpenAILike(
        model=MODEL,
        api_base=f"{URL}/v1",
        api_key=KEY,
        is_chat_model=True,
        is_function_calling_model=True,
    )


def google_model() -> object:
    from llama_index.llms.google_genai import GoogleGenAI

    options = {"base_url": URL}
    return GoogleGenAI(model=MODEL, api_key=KEY, http_options=options, context_window=100_000)


MODELS = {"openai-chat": openai_model, "gemini": google_model}


async def weather(city: str) -> str:
    """Current weather of a city."""
    return await measure(city)


def station_status(station: str) -> str:
    """Status of a weather station."""
    return fail(station)


def picture(place: str) -> list[TextBlock | ImageBlock]:
    """A picture of a place."""
    image = ImageBlock(image=IMAGE_BYTES, image_mimetype="image/png")
    return [TextBlock(text=f"a picture of {place}"), image]


async def main() -> None:
    tools = [weather, station_status, picture]
    agent = FunctionAgent(tools=tools, llm=MODELS[API](), streaming=STREAM)
    memory = ChatMemoryBuffer.from_defaults(token_limit=100_000)
    for prompt in PROMPTS:
        print(await agent.run(prompt, memory=memory))


asyncio.run(main())
