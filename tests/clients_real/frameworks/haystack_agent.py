"""Haystack: an agent with the chat generator of OpenAI."""

import asyncio
from typing import Annotated

from common import KEY, MODEL, PROMPTS, STREAM, URL, fail, measure
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import tool
from haystack.utils import Secret


@tool
def weather(city: Annotated[str, "the city"]) -> str:
    """Current weather of a city."""
    return asyncio.run(measure(city))


@tool
def station_status(station: Annotated[str, "the station"]) -> str:
    """Status of a weather station."""
    return fail(station)


agent = Agent(
    chat_generator=OpenAIChatGenerator(
        api_key=Secret.from_token(KEY), model=MODEL, api_base_url=f"{URL}/v1"
    ),
    tools=[weather, station_status],
    streaming_callback=(lambda chunk: None) if STREAM else None,
    raise_on_tool_invocation_failure=False,
)
messages = []
for prompt in PROMPTS:
    messages = agent.run(messages=[*messages, ChatMessage.from_user(prompt)])["messages"]
    print(messages[-1].text)
