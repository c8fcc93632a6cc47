"""LangChain: an agent of LangGraph with the chat models of three providers."""

import asyncio

from common import API, IMAGE, KEY, MODEL, PROMPT, STREAM, URL, fail, measure
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.tools import ToolException, tool
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_openai import ChatOpenAI

MODELS = {
    "openai-chat": lambda: ChatOpenAI(model=MODEL, base_url=f"{URL}/v1", api_key=KEY),
    "openai-responses": lambda: ChatOpenAI(
        model=MODEL, base_url=f"{URL}/v1", api_key=KEY, use_responses_api=True
    ),
    "anthropic": lambda: ChatAnthropic(model=MODEL, base_url=URL, api_key=KEY),
    "gemini": lambda: ChatGoogleGenerativeAI(model=MODEL, base_url=URL, api_key=KEY),
}


@tool
async def weather(city: str) -> str:
    """Current weather of a city."""
    return await measure(city)


@tool
def station_status(station: str) -> str:
    """Status of a weather station."""
    try:
        return fail(station)
    except ValueError as error:
        raise ToolException(str(error)) from error


@tool
def picture(place: str) -> list[dict]:
    """A picture of a place."""
    return [{"type": "image", "base64": IMAGE, "mime_type": "image/png"}]


station_status.handle_tool_error = True
agent = create_agent(MODELS[API](), [weather, station_status, picture])
INPUT = {"messages": [{"role": "user", "content": PROMPT}]}


async def main() -> None:
    if not STREAM:
        print((await agent.ainvoke(INPUT))["messages"][-1].text)
        return
    async for message, _ in agent.astream(INPUT, stream_mode="messages"):
        if message.type == "AIMessageChunk":
            print(message.text, end="")


asyncio.run(main())
