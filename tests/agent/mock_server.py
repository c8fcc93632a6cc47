"""Mocks of every provider behind one real socket, agents that use them, and their events.

    events = talk(Agent(mock_server.model("anthropic"), [add]), "add 1 and 2")
    assert over(events).text

Each mock has its own path, so that tests can count requests. This module knows only the provider
names of wires.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from threading import Thread
from time import monotonic, sleep
from typing import Self, TypeVar

import uvicorn
from msgspec import Struct

from toolwire.agent.agent import Agent
from toolwire.agent.events import AgentEvent, ModelRequest, RunResult, ToolFinished
from toolwire.agent.http_model import HttpModel
from toolwire.conversation.json import JSON, Object
from toolwire.conversation.parts import Message
from toolwire.lint import check
from toolwire.mock.server import MockProvider
from toolwire.providers.http.policy import RetryPolicy, Timeouts
from toolwire.server.asgi import App, Receive, Scope, Send
from toolwire.tools import tool

T = TypeVar("T")
NAMES = {
    "openai-chat": ("openai", "/v1"),
    "openai-responses": ("openai-responses", "/v1"),
    "azure-openai": ("azure-openai", ""),
    "azure-foundry": ("azure-foundry", ""),
    "anthropic": ("anthropic", ""),
    "gemini": ("gemini", ""),
    "bedrock": ("bedrock", ""),
    "mistral": ("mistral", "/v1"),
    "cohere": ("cohere", ""),
    "ollama": ("ollama", ""),
    "kimi": ("kimi", "/v1"),
}
"""Every wire of a model, and one profile: the name of the provider, and the path of its server."""
WIRES = list(NAMES)
KEY = "sk-secret-0123456789abcdef"
QUICK = RetryPolicy(attempts=3, backoff=0.01, max_backoff=0.02)
QUICK_TIMEOUTS = Timeouts(5.0, 5.0)
TEXT = "text"


@tool(id="Calculator.Add@1.0.0")
def add(a: float, b: float) -> float:
    """Add two numbers.

    Args:
        a: the first
        b: the second
    """
    return a + b


class PlacedMock(Struct, frozen=True):
    """A mock and its address."""

    url: str
    mock: MockProvider

    def bodies(self) -> list[Object]:
        """The bodies of the requests, in order."""
        return [seen.body for seen in self.mock.requests if isinstance(seen.body, dict)]

    def statuses(self) -> list[int]:
        """The statuses of the responses, in order."""
        return [seen.status for seen in self.mock.requests]


class MockServer:
    """A server with many apps, each below its own path."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._apps: dict[str, App] = {}

    @classmethod
    @contextmanager
    def serve(cls) -> Iterator[Self]:
        """Serve for as long as the block runs."""
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen(128)
            mock_server = cls(f"http://127.0.0.1:{listener.getsockname()[1]}")
            server = uvicorn.Server(
                uvicorn.Config(
                    mock_server,
                    log_config=None,
                    lifespan="off",
                    timeout_graceful_shutdown=1,
                    ws="none",
                )
            )
            thread = Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
            thread.start()
            late = monotonic() + 60
            while not server.started:
                assert thread.is_alive() and monotonic() < late, "the server did not start"
                sleep(0.005)
            try:
                yield mock_server
            finally:
                server.should_exit = True
                thread.join(10)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = str(scope["path"])
        name, _, rest = path[1:].partition("/")
        raw = scope.get("raw_path")
        inner: MutableMapping[str, object] = {**scope, "path": f"/{rest}"}
        if isinstance(raw, bytes):
            inner["raw_path"] = b"/" + raw[1:].partition(b"/")[2]
        await self._apps[name](inner, receive, send)

    def place(self, app: App) -> str:
        """Serve an app, and return its address."""
        name = f"{len(self._apps)}"
        self._apps[name] = app
        return f"{self.url}/{name}"

    def mock(self, wire: str, *, strict: bool = True) -> PlacedMock:
        """A new mock."""
        mock = MockProvider("openai-chat" if wire == TEXT else wire, strict=strict)
        return PlacedMock(self.place(mock), mock)


def model_at(
    wire: str,
    url: str,
    *,
    stream: bool = True,
    native_tools: bool | None = None,
    retry: RetryPolicy = QUICK,
    timeouts: Timeouts = QUICK_TIMEOUTS,
    name: str = "demo",
) -> HttpModel:
    """A model of a wire at an address."""
    named, below = ("text", "/v1") if wire == TEXT else NAMES.get(wire, (wire, "/v1"))
    return HttpModel(
        f"{named}:{name}",
        base_url=url + below,
        api_key=KEY,
        stream=stream,
        native_tools=native_tools,
        timeouts=timeouts,
        retry=retry,
    )


def talk(agent: Agent, question: str | Message | None = None) -> list[AgentEvent]:
    """Run an agent and return all events."""

    async def go() -> list[AgentEvent]:
        try:
            return [seen async for seen in agent.watch(question)]
        finally:
            await agent.model.close()

    return asyncio.run(go())


def only(seen: list[AgentEvent], kind: type[T]) -> list[T]:
    """The events of one class."""
    return [one for one in seen if isinstance(one, kind)]


def over(seen: list[AgentEvent]) -> RunResult:
    """The result of the run, which is the last event."""
    assert isinstance(seen[-1], RunResult)
    return seen[-1]


def outputs(seen: list[AgentEvent]) -> dict[int, JSON]:
    """The outputs of all results, by the number of their calls."""
    return {done.number: done.result.output for done in only(seen, ToolFinished)}  # type: ignore[misc]


def sound(agent: Agent) -> None:
    """Assert that the model accepts the history of an agent with another question at its end."""
    body = agent.request(agent.thread.add_user("and now?")).body
    assert [str(one) for one in check(body, agent.model.target) if one.severity == "error"] == []


def turns(seen: list[AgentEvent]) -> int:
    """The number of requests to the model."""
    return len(only(seen, ModelRequest))
