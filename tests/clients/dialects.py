"""Servers with scripted responses, for tests of clients."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from msgspec import Struct
from oxp_server.serving import running

from toolwire.conversation.json import JSON, Object
from toolwire.server.asgi import Receive, Scope, Send, lifespan


class RecordedRequest(Struct, frozen=True):
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: JSON

    @property
    def request(self) -> Object:
        """The call in the body, with or without an envelope."""
        assert isinstance(self.body, dict)
        inner = self.body.get("request", self.body)
        assert isinstance(inner, dict)
        return inner

    @property
    def call_id(self) -> JSON:
        """The id of the call."""
        return self.request.get("call_id")


class ScriptedResponse(Struct, frozen=True):
    """A response; with `cut`, the connection closes before the body."""

    status: int = 200
    body: JSON | bytes = None
    headers: dict[str, str] = {}
    cut: bool = False


Answers = Callable[[RecordedRequest], ScriptedResponse]


class Dialect:
    """An app that gets its responses from a function, and records requests."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self.asked: list[RecordedRequest] = []
        self.url = ""

    @property
    def calls(self) -> list[RecordedRequest]:
        """The POST requests."""
        return [one for one in self.asked if one.method == "POST"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await lifespan(receive, send, _nothing, _nothing)
            return
        body = b""
        while True:
            message = await receive()
            piece = message.get("body", b"")
            assert isinstance(piece, bytes)
            body += piece
            if not message.get("more_body"):
                break
        method, path, headers = scope["method"], scope["path"], scope["headers"]
        assert isinstance(method, str) and isinstance(path, str) and isinstance(headers, list)
        held = {name.decode(): value.decode() for name, value in headers}
        asked = RecordedRequest(method, path, held, json.loads(body) if body else None)
        self.asked.append(asked)
        says = self._answers(asked)
        content = says.body if isinstance(says.body, bytes) else json.dumps(says.body).encode()
        told = {
            "content-type": "application/json",
            "content-length": str(len(content)),
            **says.headers,
        }
        pairs = [(name.encode(), value.encode()) for name, value in told.items()]
        await send({"type": "http.response.start", "status": says.status, "headers": pairs})
        if says.cut:
            raise ConnectionAbortedError("as it was told to")
        await send({"type": "http.response.body", "body": content})


async def _nothing() -> None:
    pass


@contextmanager
def speaking(answers: Answers) -> Iterator[Dialect]:
    """Run a server until the end of the block."""
    app = Dialect(answers)
    with running(app) as where:
        app.url = where.url
        yield app


def in_turn(*says: ScriptedResponse) -> Answers:
    """One response after the other; the last one is repeated."""
    left = list(says)
    return lambda asked: left.pop(0) if len(left) > 1 else left[0]


def success_response(asked: RecordedRequest, value: JSON = None) -> ScriptedResponse:
    """The response to a call that succeeded, in the envelope of the request."""
    result: Object = {"call_id": asked.call_id, "success": True, "value": value}
    assert isinstance(asked.body, dict)
    return ScriptedResponse(200, {"result": result} if "request" in asked.body else result)


def failure_response(asked: RecordedRequest, error: Object) -> ScriptedResponse:
    """The response to a call that failed."""
    return ScriptedResponse(
        200, {"result": {"call_id": asked.call_id, "success": False, "error": error}}
    )


def run(act: Awaitable[None]) -> None:
    """Run a test that must end."""

    async def run_with_timeout() -> None:
        async with asyncio.timeout(600):
            await act

    asyncio.run(run_with_timeout())
