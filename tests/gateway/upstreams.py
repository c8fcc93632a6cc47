"""Scripted upstreams: their requests, their responses, and the callers that disconnected. They know
no wire."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager

from gateway.serving import gateway, row, serving
from msgspec import Struct, field

from toolwire.conversation.json import JSON, Object
from toolwire.gateway.app import Gateway
from toolwire.server.asgi import Receive, Scope, Send


class Got(Struct):
    """A received request."""

    path: str
    headers: dict[str, str]
    body: bytes
    peer: object = None
    """The connection of the request."""

    @property
    def json(self) -> Object:
        """The body, parsed."""
        value: Object = json.loads(self.body)
        return value


class Answer(Struct, frozen=True):
    """A response; `pieces` may be slow, and may raise Cut to close the connection."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    body: bytes = b"{}"
    pieces: Callable[[], AsyncIterator[bytes]] | None = None


class Cut(Exception):
    """Closes the connection in the middle of a response."""


class ScriptedUpstream:
    """An upstream that sends one response after the other, and repeats the last one."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.got: list[Got] = []
        self.left = 0
        """The number of callers that disconnected before the end."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        body = b""
        while True:
            message = await receive()
            piece = message.get("body", b"")
            assert isinstance(piece, bytes)
            body += piece
            if not message.get("more_body"):
                break
        path, headers, query = scope["path"], scope["headers"], scope["query_string"]
        assert isinstance(path, str) and isinstance(headers, list) and isinstance(query, bytes)
        given = {name.decode(): value.decode("latin-1") for name, value in headers}
        self.got.append(
            Got(path + ("?" + query.decode() if query else ""), given, body, scope["client"])
        )
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        pairs = [(name.encode(), value.encode()) for name, value in answer.headers.items()]
        await send({"type": "http.response.start", "status": answer.status, "headers": pairs})
        if answer.pieces is None:
            await send({"type": "http.response.body", "body": answer.body})
            return
        await self._send_pieces(answer.pieces, receive, send)

    async def _send_pieces(
        self, pieces: Callable[[], AsyncIterator[bytes]], receive: Receive, send: Send
    ) -> None:
        async def wait_for_disconnect() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass

        async def tell() -> None:
            async for piece in pieces():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})

        observer, work = asyncio.create_task(wait_for_disconnect()), asyncio.create_task(tell())
        await asyncio.wait((observer, work), return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            observer.cancel()
            work.result()
            return
        self.left += 1
        work.cancel()


def answers(body: object, status: int = 200, **headers: str) -> Answer:
    """A response in JSON."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, {"content-type": "application/json", **named}, json.dumps(body).encode())


def streams(
    *pieces: bytes, pause: float = 0.0, cut: bool = False, media: str = "text/event-stream"
) -> Answer:
    """A stream in pieces."""

    async def pace_pieces() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece
            if pause:
                await asyncio.sleep(pause)
        if cut:
            raise Cut

    return Answer(headers={"content-type": media}, pieces=pace_pieces)


class ScriptedGateway(Struct, frozen=True):
    """A gateway with scripted upstreams behind it."""

    url: str
    app: Gateway
    ups: tuple[ScriptedUpstream, ...]

    @property
    def up(self) -> ScriptedUpstream:
        """The first upstream."""
        return self.ups[0]


@contextmanager
def scripted_gateway(
    wire: str,
    *answers: Answer,
    strict: bool | None = None,
    model: str = "",
    more: Mapping[str, JSON] | None = None,
) -> Iterator[ScriptedGateway]:
    """A gateway to one scripted upstream of a wire, under any name."""
    up = ScriptedUpstream(*answers)
    with serving(up) as url:
        app = gateway(row(wire, url, model=model, more=more), strict=strict)
        with serving(app) as gateway_url:
            yield ScriptedGateway(gateway_url, app, (up,))
