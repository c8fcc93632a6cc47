"""The model server of the gateway benchmarks: an Anthropic model on bare sockets, with prepared
bytes.

    python model_server.py [MILLISECONDS]

The name of the model selects the behaviour: `m` sends whole responses or streams like a real model,
each event in a separate write, some milliseconds after the last one, and all streams concurrently;
`once` sends a stream in one write; `idle` sends the first event, and the rest after a POST to
`/release`; `refused` responds with 400. It does as little as possible, so that the server in front
of it is measured.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from typing import ClassVar

import uvloop

from toolwire.server.process import raise_file_limit

EVENTS = 50
_CALL: dict[str, object] = {"type": "tool_use", "id": "toolu_01A", "name": "get_weather"}
_ARGUMENTS = ('{"ci', 'ty": ', '"Os', 'lo"}')
_AROUND = 8 + len(_ARGUMENTS)
"""The number of events that are not text."""


def _answer(status: str, body: object) -> bytes:
    raw = json.dumps(body).encode()
    return (
        f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(raw)}\r\n\r\n".encode()
        + raw
    )


def message() -> bytes:
    """A response with a text and a call."""
    return _answer(
        "200 OK",
        {
            "id": "msg_01",
            "type": "message",
            "role": "assistant",
            "model": "claude",
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 400, "output_tokens": 60},
            "content": [
                {"type": "text", "text": "Let me look that up for you. " * 4},
                {**_CALL, "input": {"city": "Oslo"}},
            ],
        },
    )


def refusal() -> bytes:
    """The body of a refused request."""
    error = {
        "type": "invalid_request_error",
        "message": "messages: at least one message is required",
    }
    return _answer("400 Bad Request", {"type": "error", "error": error})


def stream() -> list[bytes]:
    """The same kind of response as the HTTP chunks of a stream: the first with the head, the last
    with the end."""
    begin: dict[str, object] = {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 400, "output_tokens": 1},
    }
    texts = [{"type": "text_delta", "text": f"word {n} "} for n in range(EVENTS - _AROUND)]
    pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in _ARGUMENTS]
    events: list[dict[str, object]] = [
        {"type": "message_start", "message": begin},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in texts),
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {**_CALL, "input": {}}},
        *({"type": "content_block_delta", "index": 1, "delta": delta} for delta in pieces),
        {"type": "content_block_stop", "index": 1},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": {"output_tokens": 60},
        },
        {"type": "ping"},
        {"type": "message_stop"},
    ]
    assert len(events) == EVENTS
    data = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]
    chunks = [b"%x\r\n%b\r\n" % (len(event), event) for event in data]
    chunks[0] = (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        + chunks[0]
    )
    chunks[-1] += b"0\r\n\r\n"
    return chunks


class Model(asyncio.Protocol):
    """A connection."""

    whole = message()
    refused = refusal()
    events = stream()
    at_once = b"".join(events)
    rest = b"".join(events[1:])
    released = _answer("200 OK", {})
    idle: ClassVar[set[Model]] = set()
    event_seconds: ClassVar[float] = 0.0
    """The time between two events of a stream."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.held = b""
        self.next = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def connection_lost(self, exc: Exception | None) -> None:
        self.idle.discard(self)

    def data_received(self, data: bytes) -> None:
        held = self.held = self.held + data if self.held else data
        end = held.find(b"\r\n\r\n")
        if end < 0:
            return
        head = held[:end].lower()
        at = head.find(b"content-length: ")
        length = int(head[at + 16 :].partition(b"\r\n")[0]) if at >= 0 else 0
        if len(held) < end + 4 + length:
            return
        self.held = b""
        if b'"stream":true' in held or b'"stream": true' in held:
            self._stream(held)
        elif head.startswith(b"post /release"):
            for connection in self.idle:
                connection.transport.write(self.rest)
            self.idle.clear()
            self.transport.write(self.released)
        else:
            self.transport.write(self.refused if b'"refused"' in held else self.whole)

    def _stream(self, held: bytes) -> None:
        if b'"once"' in held:
            self.transport.write(self.at_once)
        elif b'"idle"' in held:
            self.idle.add(self)
            self.transport.write(self.events[0])
        else:
            self.next = 0
            self._event()

    def _event(self) -> None:
        if self.transport.is_closing():
            return
        self.transport.write(self.events[self.next])
        self.next += 1
        if self.next < EVENTS:
            self.loop.call_later(self.event_seconds, self._event)


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Model, "127.0.0.1", 0, backlog=2048)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    raise_file_limit()
    Model.event_seconds = float(sys.argv[1]) / 1000 if len(sys.argv) > 1 else 0.0
    uvloop.run(main())
