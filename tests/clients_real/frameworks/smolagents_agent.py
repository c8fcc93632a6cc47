"""smolagents: a tool calling agent on chat completions.

It sends calls and results as text, so that the model has to find its directives there: each result
holds those of the next step. It ends a turn with a call of `final_answer`. The tool that fails returns
its error: smolagents drops a call that raised one, and joins the error with the text before it, where the
directives of that call still are.
"""

import asyncio
import json

from common import KEY, MODEL, SCRIPTS, STREAM, URL, fail, measure
from smolagents import LogLevel, OpenAIModel, ToolCallingAgent, tool

NEXT = iter([step for script in SCRIPTS for step in script])


def next_step() -> str:
    """The directives of the next step; the answer is a call too."""
    step = next(NEXT)
    if not step.startswith("[[text "):
        return step
    answer = {"answer": step.removeprefix("[[text ").removesuffix("]]")}
    return f"[[call final_answer {json.dumps(answer)}]]"


@tool
def weather(city: str) -> str:
    """Current weather of a city.

    Args:
        city: the city
    """
    measured = asyncio.run(measure(city))
    return f"{measured} {next_step()}" if city in ("Oslo", "Bern") else measured


@tool
def station_status(station: str) -> str:
    """Status of a weather station.

    Args:
        station: the station
    """
    try:
        return fail(station)
    except ValueError as error:
        return f"Error: {error} {next_step()}"


agent = ToolCallingAgent(
    tools=[weather, station_status],
    model=OpenAIModel(MODEL, api_base=f"{URL}/v1", api_key=KEY),
    stream_outputs=STREAM,
    verbosity_level=LogLevel.OFF,
)
for _ in SCRIPTS:
    print(agent.run(next_step(), reset=False))
