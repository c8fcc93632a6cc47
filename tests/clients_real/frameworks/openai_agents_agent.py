"""OpenAI Agents SDK: an agent on chat completions and on responses."""

import asyncio

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    ToolOutputImage,
    function_tool,
    set_tracing_disabled,
)
from common import API, IMAGE, KEY, MODEL, PROMPTS, STREAM, URL, fail, measure
from openai import AsyncOpenAI

MODELS = {"openai-chat": OpenAIChatCompletionsModel, "openai-responses": OpenAIResponsesModel}


@function_tool
async def weather(city: str) -> str:
    """Current weather of a city."""
    return await measure(city)


@function_tool
def station_status(station: str) -> str:
    """Status of a weather station."""
    return fail(station)


@function_tool
def picture(place: str) -> ToolOutputImage:
    """A picture of a place."""
    return ToolOutputImage(image_url=f"data:image/png;base64,{IMAGE}")


async def main() -> None:
    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=f"{URL}/v1", api_key=KEY)
    model = MODELS[API](model=MODEL, openai_client=client)
    agent = Agent(name="Weather", model=model, tools=[weather, station_status, picture])
    items = []
    for prompt in PROMPTS:
        question = [*items, {"role": "user", "content": prompt}]
        if STREAM:
            run = Runner.run_streamed(agent, question)
            async for _ in run.stream_events():
                pass
        else:
            run = await Runner.run(agent, question)
        items = run.to_input_list()
        print(run.final_output)


asyncio.run(main())
