"""Frameworks through the gateway: parallel calls of one tool, a tool that fails, and an image.

Each has a program in `frameworks/`, written as its documentation shows it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from clients_real.harness import (
    Cell,
    Client,
    ExpectedCall,
    cells,
    check,
    directives,
    install,
    record_cell,
    run,
)
from gateway.serving import Doors
from msgspec import Struct

PROGRAMS = Path(__file__).parent / "frameworks"
CHAT = ("openai-chat",)
OPENAI = ("openai-chat", "openai-responses")
THREE = ("openai-chat", "anthropic", "gemini")
FOUR = (*OPENAI, "anthropic", "gemini")


class Framework(Struct, frozen=True):
    """A framework, and what its tools are called."""

    client: Client
    prefix: str = ""
    images: tuple[str, ...] = ()
    """The client APIs on which it puts the image of a tool into the result."""
    failure: str = "station 7 is closed"
    """What the model is told of the error."""

    def steps(self, api: str) -> list[list[ExpectedCall]]:
        """Two calls of one tool, a call that fails, and an image."""
        steps = [
            [
                self._call("weather", "city", "Oslo", "4 degrees"),
                self._call("weather", "city", "Rome", "21 degrees"),
            ],
            [self._call("station_status", "station", "7", self.failure)],
        ]
        if api in self.images:
            steps.append([self._call("picture", "place", "Oslo", "", image=True)])
        return steps

    def _call(
        self, tool: str, field: str, value: str, holds: str, *, image: bool = False
    ) -> ExpectedCall:
        return ExpectedCall(self.prefix + tool, {field: value}, holds, image=image)


FRAMEWORKS = (
    Framework(
        Client("pydantic-ai", "pypi", ("pydantic-ai-slim[openai,anthropic,google]",), FOUR),
        images=("anthropic",),
    ),
    Framework(
        Client(
            name="langchain",
            registry="pypi",
            packages=(
                "langchain",
                "langgraph",
                "langchain-openai",
                "langchain-anthropic",
                "langchain-google-genai",
            ),
            apis=FOUR,
        ),
        images=FOUR,
    ),
    Framework(
        Client("openai-agents", "pypi", ("openai-agents",), OPENAI),
        images=("openai-responses",),
        failure="An error occurred while running the tool",
    ),
    Framework(
        Client(
            name="llama-index",
            registry="pypi",
            packages=(
                "llama-index-core",
                "llama-index-llms-openai-like",
                "llama-index-llms-google-genai",
            ),
            apis=("openai-chat", "gemini"),
        )
    ),
    Framework(
        Client(
            name="strands",
            registry="pypi",
            packages=("strands-agents[openai,anthropic,gemini]",),
            apis=THREE,
            streams=(True,),
        ),
        images=("openai-chat", "anthropic"),
    ),
    Framework(Client("agno", "pypi", ("agno", "openai", "anthropic", "google-genai"), FOUR)),
    Framework(Client("haystack", "pypi", ("haystack-ai",), CHAT)),
    Framework(Client("semantic-kernel", "pypi", ("semantic-kernel",), CHAT), prefix="Station-"),
    Framework(Client("ai-sdk", "npm", ("ai", "@ai-sdk/openai-compatible", "zod"), CHAT)),
)
BY_NAME = {framework.client.name: framework for framework in FRAMEWORKS}
CELLS = cells([framework.client for framework in FRAMEWORKS])


def _program(client: Client) -> list[str]:
    """The command that runs the program of a framework."""
    program = str(PROGRAMS / f"{client.name.replace('-', '_')}_agent")
    if client.registry == "npm":
        return ["node", f"{program}.mjs", str(client.folder)]
    return [client.python, f"{program}.py"]


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_a_framework_gets_every_result_to_its_call(cell: Cell, door: Doors, tmp_path: Path) -> None:
    install(cell.client)
    framework = BY_NAME[cell.client.name]
    steps = framework.steps(cell.api)
    request = {
        "api": cell.api,
        "url": door.url(cell.upstream),
        "model": cell.model,
        "prompt": directives(*steps),
        "stream": cell.stream,
    }
    command = [*_program(cell.client), json.dumps(request)]
    with record_cell(cell):
        finished = run(door, cell, command, folder=tmp_path, env={})
        check(cell, finished, *steps)
