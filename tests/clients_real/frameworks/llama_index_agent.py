"""LlamaIndex: a function agent with the models of two providers."""

import asyncio

from common import API, KEY, MODEL, PROMPT, STREAM, URL, fail, measure
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.google_genai import GoogleGenAI
from llama_index.llms.openai_like import OpenAILike

MODELS = {
    "openai-chat": lambda: OpenAILike(
        model=MODEL,
        api_base=f"{URL}/v1",
        api_key=KEY,
        is_chat_model=True,
        is_function_calling_model=True,
    ),
    "gemini": lambda: GoogleGenAI(
        model=MODEL, api_key=KEY, http_options={"base_url": URL}, context_window=100_000
    ),
}


async def weather(city: str) -> str:
    """Current weather of a city."""
    return await measure(city)


def station_status(station: str) -> str:
    """Status of a weather station."""
    return fail(station)


async def main() -> None:
    tools = [weather, station_status]
    agent = FunctionAgent(tools=tools, llm=MODELS[API](), streaming=STREAM)
    print(await agent.run(PROMPT))


asyncio.run(main())
