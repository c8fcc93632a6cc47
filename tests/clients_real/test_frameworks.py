"""Frameworks through the gateway: parallel calls of one tool, a tool that fails, and an image; then a
second question in the same conversation, with parallel calls of that tool.

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
    Turn,
    cells,
    check,
    check_texts,
    install,
    record_cell,
    run,
    scripts,
)
from gateway.serving import Gateways
from msgspec import Struct

PROGRAMS = Path(__file__).parent / "frameworks"
CHAT = ("openai-chat",)
OPENAI = ("openai-chat", "openai-responses")
THREE = ("openai-chat", "anthropic", "gemini")
FOUR = (*OPENAI, "anthropic", "gemini")
COMPATIBLE = "openai-compatible"
"""The chat API, with a package for servers that are compatible with it."""


class Framework(Struct, frozen=True):
    """A framework, and the names of its tools."""

    client: Client
    prefix: str = ""
    images: tuple[str, ...] = ()
    """The client APIs on which it puts the image of a tool into the result."""
    failure: str = "station 7 is closed"
    """The text of the error that the model gets."""

    results_as_text: bool = False
    """True if it sends calls and results as text, without ids."""

    def turns(self, api: str) -> list[Turn]:
        """Two calls of one tool, a call that fails, and an image; then two other calls."""
        first = [
            self._weather("Oslo", "4 degrees", "Rome", "21 degrees"),
            [self._call("station_status", "station", "7", self.failure)],
        ]
        if api in self.images:
            first.append([self._call("picture", "place", "Oslo", "", image=True)])
        return [first, [self._weather("Bern", "11 degrees", "Kyiv", "17 degrees")]]

    def _weather(self, city: str, holds: str, other: str, other_holds: str) -> list[ExpectedCall]:
        return [
            self._call("weather", "city", city, holds),
            self._call("weather", "city", other, other_holds),
        ]

    def _call(
        self, tool: str, field: str, value: str, holds: str, *, image: bool = False
    ) -> ExpectedCall:
        return ExpectedCall(self.prefix + tool, {field: value}, holds, image=image)


FRAMEWORKS = (
    Framework(
        Client("pydantic-ai", "pypi", ("pydantic-ai-slim[openai,anthropic,google]",), FOUR),
        images=("openai-responses", "anthropic", "gemini"),
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
        ),
        images=("gemini",),
    ),
    Framework(Client("smolagents", "pypi", ("smolagents[openai]",), CHAT), results_as_text=True),
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
    Framework(
        Client("agno", "pypi", ("agno", "openai", "anthropic", "google-genai"), FOUR), images=FOUR
    ),
    Framework(Client("haystack", "pypi", ("haystack-ai",), CHAT)),
    Framework(Client("semantic-kernel", "pypi", ("semantic-kernel",), CHAT), prefix="Station-"),
    Framework(
        Client(
            name="ai-sdk",
            registry="npm",
            packages=(
                "ai",
                "@ai-sdk/openai",
                "@ai-sdk/anthropic",
                "@ai-sdk/google",
                "@ai-sdk/openai-compatible",
                "zod",
            ),
            apis=(*FOUR, COMPATIBLE),
        ),
        images=("openai-responses", "anthropic", "gemini"),
    ),
    Framework(
        Client(
            name="genkit",
            registry="npm",
            packages=(
                "genkit",
                "@genkit-ai/compat-oai",
                "@genkit-ai/anthropic",
                "@genkit-ai/google-genai",
            ),
            apis=THREE,
        ),
        images=("gemini",),
    ),
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
def test_a_framework_gets_every_result_to_its_call(
    cell: Cell, gateways: Gateways, tmp_path: Path
) -> None:
    install(cell.client)
    framework = BY_NAME[cell.client.name]
    turns = framework.turns(cell.api)
    request = {
        "api": cell.api,
        "url": gateways.url(cell.upstream),
        "model": cell.model,
        "scripts": scripts(turns),
        "stream": cell.stream,
    }
    command = [*_program(cell.client), json.dumps(request)]
    with record_cell(cell):
        finished = run(gateways, cell, command, folder=tmp_path, env={})
        (check_texts if framework.results_as_text else check)(cell, finished, turns)
