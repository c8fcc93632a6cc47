"""A client that costs little: one request at a time on each of so many connections, on bare sockets, in a process of its own.

Reads lines of JSON (a server, a port, connections, requests) and prints what came of each: requests in a second, and the median
and the 99th percentile of milliseconds. Every request has an id of its own, a UUIDv7 as our client makes them. An answer that
is not 200 ends it all.
"""

from __future__ import annotations

import asyncio
import sys
from time import perf_counter

import uvloop
from msgspec import Struct
from msgspec.json import decode, encode

from toolwire.io._ids import uuid7

_ACCEPT = "accept: application/json, text/event-stream\r\nmcp-protocol-version: 2025-06-18\r\n"
PATHS = {"toolwire": ("/tools/call", ""), "fastapi": ("/tools/call", ""), "mcp": ("/mcp", _ACCEPT)}
BODIES = {
    "toolwire": '{"tool_id":"Calculator.Add","call_id":"%s","input":{"a":10,"b":5}}',
    "fastapi": '{"call_id":"%s","a":10,"b":5}',
    "mcp": '{"jsonrpc":"2.0","id":"%s","method":"tools/call","params":{"name":"add","arguments":{"a":10,"b":5}}}',
}


class Order(Struct):
    """What to ask for, where, and how often."""

    server: str
    port: int
    connections: int
    requests: int


class Rate(Struct):
    """What came of it."""

    rate: float
    median_ms: float
    p99_ms: float


def request(server: str, port: int) -> bytes:
    """One request with a new id."""
    path, more = PATHS[server]
    body = BODIES[server] % uuid7()
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n{more}"
    return f"{head}content-length: {len(body)}\r\n\r\n{body}".encode()


class Caller(asyncio.Protocol):
    """A connection that asks again as soon as it is answered."""

    def __init__(self, requests: list[bytes], took: list[float], done: asyncio.Future[None]) -> None:
        self.requests = requests
        self.took = took
        self.done = done
        self.held = b""
        self.sent = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport

    def ask(self) -> None:
        """Send the next request, if there is one."""
        if not self.requests:
            self.transport.close()
            if not self.done.done():
                self.done.set_result(None)
            return
        self.sent = perf_counter()
        self.transport.write(self.requests.pop())

    def data_received(self, data: bytes) -> None:
        held = self.held = self.held + data if self.held else data
        end = held.find(b"\r\n\r\n")
        if end < 0:
            return
        at = held.find(b"content-length: ", 0, end)
        length = int(held[at + 16 : held.find(b"\r\n", at)])
        if len(held) < end + 4 + length:
            return
        if not held.startswith(b"HTTP/1.1 200") or b"15" not in held[end:]:
            self.done.set_exception(AssertionError(held.decode()))
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
    share = order.requests // order.connections
    callers: list[Caller] = []
    for _ in range(order.connections):
        requests = [request(order.server, order.port) for _ in range(share)]
        caller = Caller(requests, took, loop.create_future())
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
