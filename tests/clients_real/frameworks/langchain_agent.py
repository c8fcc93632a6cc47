"""LangChain: an agent of LangGraph with the chat models of three providers."""

import asyncio

from common import API, IMAGE, KEY, MODEL, PROMPTS, STREAM, URL, fail, measure
from langchain.agents import create_agent
from langchain_core.tools import ToolException, tool


def openai_model(**options: bool) -> object:
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model=MODEL, base_url=f"{URL}/v1", api_key=KEY, **options)


def anthropic_model() -> object:
    from langchain_anthropic import ChatAnthropic

    return ChatAnthropic(model=MODEL, base_url=URL, api_key=KEY)


def google_model() -> object:
    from langchain_google_genai import ChatGoogleGenerativeAI

    return ChatGoogleGenerativeAI(model=MODEL, base_url=URL, api_key=KEY)


MODELS = {
    "openai-chat": openai_model,
    "openai-responses": lambda: openai_model(use_responses_api=True),
    "anthropic": anthropic_model,
    "gemini": google_model,
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


async def main() -> None:
    messages = []
    for prompt in PROMPTS:
        state = {"messages": [*messages, {"role": "user", "content": prompt}]}
        if not STREAM:
            messages = (await agent.ainvoke(state))["messages"]
            print(messages[-1].text)
            continue
        async for mode, item in agent.astream(state, stream_mode=["messages", "values"]):
            if mode == "values":
                messages = item["messages"]
            elif item[0].type == "AIMessageChunk":
                print(item[0].text, end="")


asyncio.run(main())
