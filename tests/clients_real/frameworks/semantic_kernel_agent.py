"""Semantic Kernel: a chat completion agent on chat completions."""

import asyncio

from common import KEY, MODEL, PROMPTS, STREAM, URL, fail, measure
from openai import AsyncOpenAI
from semantic_kernel.agents import ChatCompletionAgent, ChatHistoryAgentThread
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.functions import kernel_function


class Station:
    """The tools."""

    @kernel_function(name="weather")
    async def weather(self, city: str) -> str:
        """Current weather of a city."""
        return await measure(city)

    @kernel_function(name="station_status")
    def station_status(self, station: str) -> str:
        """Status of a weather station."""
        return fail(station)


async def main() -> None:
    client = AsyncOpenAI(base_url=f"{URL}/v1", api_key=KEY)
    service = OpenAIChatCompletion(ai_model_id=MODEL, async_client=client)
    agent = ChatCompletionAgent(service=service, name="Weather", plugins=[Station()])
    thread = ChatHistoryAgentThread()
    for prompt in PROMPTS:
        if not STREAM:
            print((await agent.get_response(messages=prompt, thread=thread)).content)
            continue
        async for response in agent.invoke_stream(messages=prompt, thread=thread):
            print(response.content, end="")


asyncio.run(main())
