"""The servers of the gateway's benchmark, one process each: the model's, a bare pass-through, and the gateway.

The model's server answers on bare sockets with bytes that were made once. The pass-through is what any gateway on this stack
pays: uvicorn in front, aiohttp behind, bytes in, bytes out.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, MutableMapping

import aiohttp
import uvloop

from toolwire.server.gateway.app import Gateway
from toolwire.server.gateway.config import Models, read
from toolwire.server.run import serve

EVENTS = 50
Scope = MutableMapping[str, object]
Receive = Callable[[], Awaitable[MutableMapping[str, object]]]
Send = Callable[[MutableMapping[str, object]], Awaitable[None]]


def message() -> bytes:
    """An answer with a text and a call."""
    body = {
        "id": "msg_01", "type": "message", "role": "assistant", "model": "claude", "stop_reason": "tool_use",
        "stop_sequence": None, "content": [{"type": "text", "text": "Let me look that up for you. " * 4},
                    {"type": "tool_use", "id": "toolu_01A", "name": "get_weather", "input": {"city": "Oslo"}}],
        "usage": {"input_tokens": 400, "output_tokens": 60},
    }  # fmt: skip
    raw = json.dumps(body).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(raw) + raw


def stream() -> bytes:
    """The same kind of answer in so many events."""
    begin: dict[str, object] = {
        "id": "msg_01", "type": "message", "role": "assistant", "model": "claude", "content": [], "stop_reason": None,
        "stop_sequence": None, "usage": {"input_tokens": 400, "output_tokens": 1},
    }  # fmt: skip
    events: list[dict[str, object]] = [
        {"type": "message_start", "message": begin},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    ]
    events += [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": f"word {n} "}}
        for n in range(EVENTS - 5)
    ]
    events += [
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 60}},
        {"type": "message_stop"},
    ]
    out = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    for event in events:
        data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
        out += b"%x\r\n%b\r\n" % (len(data), data)
    return out + b"0\r\n\r\n"


class Upstream(asyncio.Protocol):
    """The model's server: as little as can be."""

    whole = message()
    streamed = stream()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport
        self.held = b""

    def data_received(self, data: bytes) -> None:
        held = self.held = self.held + data if self.held else data
        end = held.find(b"\r\n\r\n")
        if end < 0:
            return
        head = held[:end].lower()
        at = head.find(b"content-length: ")
        length = int(head[at + 16 : head.find(b"\r\n", at) if b"\r\n" in head[at:] else None]) if at >= 0 else 0
        if len(held) < end + 4 + length:
            return
        self.held = b""
        asks = b'"stream":true' in held or b'"stream": true' in held
        self.transport.write(self.streamed if asks else self.whole)


async def upstream() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Upstream, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


class Bare:
    """Bytes in, bytes out."""

    def __init__(self, base: str) -> None:
        self._url = f"{base}/v1/messages"
        self._session: aiohttp.ClientSession | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            while True:
                asked = await receive()
                if asked["type"] == "lifespan.startup":
                    self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
                    await send({"type": "lifespan.startup.complete"})
                else:
                    assert self._session is not None
                    await self._session.close()
                    await send({"type": "lifespan.shutdown.complete"})
                    return
        body = b""
        while True:
            piece = await receive()
            more = piece.get("body", b"")
            assert isinstance(more, bytes)
            body += more
            if not piece.get("more_body"):
                break
        assert self._session is not None
        async with self._session.post(self._url, data=body, headers={"content-type": "application/json"}) as response:
            kind = response.headers["content-type"].encode()
            await send({"type": "http.response.start", "status": response.status, "headers": [(b"content-type", kind)]})
            if kind == b"application/json":
                await send({"type": "http.response.body", "body": await response.read()})
                return
            async for data in response.content.iter_any():
                await send({"type": "http.response.body", "body": data, "more_body": True})
            await send({"type": "http.response.body", "body": b""})


def gateway(base: str) -> Gateway:
    text = f'[models.m]\nupstream = "anthropic"\nbase_url = "{base}"\nkey_env = "KEY"\n'
    return Gateway(Models(read(text), {"KEY": "any"}))


if __name__ == "__main__":
    kind, *rest = sys.argv[1:]
    if kind == "upstream":
        uvloop.run(upstream())
    else:
        app = Bare(rest[0]) if kind == "bare" else gateway(rest[0])
        serve(app, port=0, ready=lambda url: print(url, flush=True))
