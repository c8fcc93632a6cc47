"""A client of the gateway's benchmark: one request at a time on each of so many connections, on bare sockets.

Reads lines of JSON (port, connections, requests, stream) and prints requests in a second, and the median and the 99th percentile
of milliseconds. An answer that is not 200 ends it all.
"""

from __future__ import annotations

import asyncio
import json
import sys
from time import perf_counter

import uvloop
from msgspec import Struct
from msgspec.json import decode, encode

CALL = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Rome"}'}}
BODY = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "You are a helpful assistant that answers questions about the weather."},
        {"role": "user", "content": "What is the weather in Rome?"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": '{"degrees": 24, "sky": "clear"}'},
        {"role": "assistant", "content": "It is 24 degrees in Rome, under a clear sky."},
        {"role": "user", "content": "And in Oslo?"},
    ],
    "tools": [{"type": "function", "function": {"name": "get_weather", "description": "The weather in a city.", "parameters": {
        "type": "object", "properties": {"city": {"type": "string", "description": "The city."}}, "required": ["city"]}}}],
}  # fmt: skip


class Order(Struct):
    """What to ask for, where, and how often."""

    port: int
    connections: int
    requests: int
    stream: bool = False


class Rate(Struct):
    """What came of it."""

    rate: float
    median_ms: float
    p99_ms: float


def request(order: Order) -> bytes:
    """The request that is sent again and again."""
    body = json.dumps({**BODY, "stream": True} if order.stream else BODY).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{order.port}\r\ncontent-type: application/json\r\n"
    return head.encode() + b"content-length: %d\r\n\r\n" % len(body) + body


class Caller(asyncio.Protocol):
    """A connection that asks again as soon as it is answered."""

    def __init__(self, data: bytes, many: int, took: list[float], done: asyncio.Future[None]) -> None:
        self.data = data
        self.left = many
        self.took = took
        self.done = done
        self.held = b""
        self.sent = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport

    def ask(self) -> None:
        """Send the next request, if there is one."""
        if not self.left:
            self.transport.close()
            if not self.done.done():
                self.done.set_result(None)
            return
        self.left -= 1
        self.sent = perf_counter()
        self.transport.write(self.data)

    def data_received(self, data: bytes) -> None:
        held = self.held = self.held + data if self.held else data
        end = held.find(b"\r\n\r\n")
        if end < 0:
            return
        head = held[:end].lower()
        if not head.startswith(b"http/1.1 200"):
            self.done.set_exception(AssertionError(held.decode()))
            return
        at = head.find(b"content-length: ")
        if at >= 0:
            stop = head.find(b"\r\n", at)
            if len(held) < end + 4 + int(head[at + 16 : stop if stop >= 0 else None]):
                return
        elif not held.endswith(b"0\r\n\r\n"):
            return
        self.took.append(perf_counter() - self.sent)
        self.held = b""
        self.ask()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(exc or ConnectionError("the server has closed the connection"))


async def measured(order: Order) -> Rate:
    """Send so many requests over so many connections."""
    loop = asyncio.get_running_loop()
    took: list[float] = []
    callers: list[Caller] = []
    for _ in range(order.connections):
        caller = Caller(request(order), order.requests // order.connections, took, loop.create_future())
        await loop.create_connection(lambda caller=caller: caller, "127.0.0.1", order.port)  # type: ignore[misc]
        callers.append(caller)
    start = perf_counter()
    for caller in callers:
        caller.ask()
    await asyncio.gather(*(caller.done for caller in callers))
    seconds = perf_counter() - start
    took.sort()
    return Rate(len(took) / seconds, took[len(took) // 2] * 1e3, took[len(took) * 99 // 100] * 1e3)


if __name__ == "__main__":
    for line in sys.stdin:
        print(encode(uvloop.run(measured(decode(line, type=Order)))).decode(), flush=True)
