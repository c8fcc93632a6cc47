"""docs/reference/gateway.md shows how a request is followed; real requests are traced and compared with it."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from types import FrameType

import httpx
import pytest
from gateway.bodies import ANTHROPIC_STREAM, ASKED, MESSAGE
from gateway.serving import gateway, row, serving
from gateway.upstreams import Answer, ScriptedUpstream, answers

import toolwire.gateway

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "gateway.md"
FOLDER = Path(toolwire.gateway.__file__).parent


def steps_on_page(name: str) -> list[tuple[str, str]]:
    """The functions of a list on the page, each with its file."""
    block = re.search(rf"<!-- trace: {name} -->\n(.*?)<!-- end", PAGE.read_text(), re.DOTALL)
    assert block is not None
    steps = re.findall(r"^\d+\. `([\w.]+)` in `([\w/.]+)` ", block[1], re.MULTILINE)
    assert len(steps) == len(block[1].strip().splitlines())
    return steps


async def event_by_event() -> AsyncIterator[bytes]:
    """A stream whose events arrive one after the other."""
    for event in ANTHROPIC_STREAM:
        yield event
        await asyncio.sleep(0.01)


def trace(*, stream: bool) -> list[tuple[str, str]]:
    """The functions of the gateway that one request calls, each with its file."""
    called: list[tuple[str, str]] = []

    def profile(frame: FrameType, event: str, arg: object) -> None:
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(FOLDER):
            called.append((frame.f_code.co_qualname, str(file.relative_to(FOLDER))))

    path, body = ASKED["openai-chat"]
    events = Answer(headers={"content-type": "text/event-stream"}, pieces=event_by_event)
    upstream = ScriptedUpstream(events if stream else answers(MESSAGE))
    with serving(upstream) as upstream_url:
        threading.setprofile(profile)
        try:
            with serving(gateway(row("anthropic", upstream_url))) as url:
                called.clear()
                assert httpx.post(url + path, json={**body, "stream": stream}).status_code == 200
        finally:
            threading.setprofile(None)
    return called


@pytest.mark.skipif(sys.gettrace() is not None, reason="a debugger or coverage is running")
@pytest.mark.parametrize("name", ["whole", "stream"])
def test_a_request_calls_the_functions_of_the_page_in_their_order(name: str) -> None:
    called = trace(stream=name == "stream")
    position = 0
    for step in steps_on_page(name):
        assert step in called[position:], f"{step} is not called after the step before it"
        position = called.index(step, position) + 1


def test_the_application_shows_the_stages_of_the_page() -> None:
    table = re.findall(r"^\| `(\w+)` \| .* \| `([\w/.]+)` \|$", PAGE.read_text(), re.MULTILINE)
    assert [name for name, _ in table] == [
        "authenticate",
        "route",
        "translate",
        "forward",
        "respond",
    ]
    application = (FOLDER / "app.py").read_text()
    calls = [application.index(f" {name}(request)") for name, _ in table]
    assert all(calls)
    for name, file in table:
        assert re.search(
            rf"^(?:async )?def {name}\(request: GatewayRequest\)",
            (FOLDER / file).read_text(),
            re.MULTILINE,
        )
