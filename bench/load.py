"""A fast HTTP client for benchmarks: a process that sends requests over a number of connections.

It reads orders as lines of JSON and prints the outcome of each: requests per second, the median and
99th percentile of milliseconds, and the pieces of a response. A response with another status, or
without the expected bytes, ends the process. Each connection has one request at a time. It sends the
next one at once or, if the order has a pace, when it is due; time that a due request waits for its
connection counts.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections import deque
from collections.abc import Callable
from itertools import islice
from time import perf_counter, sleep, time_ns

import uvloop
from gateway_traffic import PATHS, Traffic, bodies
from msgspec import Struct
from msgspec.json import decode, encode

from toolwire.execution.call_ids import uuid7

HELD = b"toolu_01A"
"""The id of the call in every response of the model server."""
_CHUNK_HEAD = re.compile(rb"\r\n[0-9a-f]+\r\n")


class Order(Struct):
    """What to send, where, and how often."""

    what: str
    """A key of `KINDS`."""
    port: int
    connections: int
    requests: int
    pace: float = 0.0
    """Requests per second on all connections together; 0 sends each as soon as possible."""
    model: str = "m"
    headers: dict[str, str] = {}
    wire: str = "openai-chat"
    """The wire of the client, for requests to a gateway."""
    traffic: Traffic = "new conversation"
    rounds: int = 1
    """Rounds of four messages before the last question."""
    prefix: str = ""
    """The start of the path, for a gateway that has its API below one."""


class Rate(Struct):
    """The outcome of an order."""

    rate: float
    median_ms: float
    p99_ms: float
    pieces: float = 1.0
    """HTTP chunks per response, on average: a server sends at once what it read at once."""


class Shot(Struct):
    """A request, and the response that it must get."""

    data: bytes
    status: int = 200
    holds: bytes = b""
    disconnects: bool = False
    """Close the connection as soon as the response starts, and continue with a new one."""


def post_request(port: int, path: str, body: bytes, headers: dict[str, str]) -> bytes:
    """A POST request as bytes."""
    lines = {
        "host": f"127.0.0.1:{port}",
        "content-type": "application/json",
        "content-length": str(len(body)),
        **headers,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + body


def conversations(order: Order, *, stream: bool) -> list[Shot]:
    """Requests to a gateway, with the traffic of the order."""
    endless = bodies(
        order.wire,
        order.traffic,
        rounds=order.rounds,
        first=time_ns(),
        model=order.model,
        stream=stream,
    )
    path = order.prefix + PATHS[order.wire]
    return [
        Shot(post_request(order.port, path, raw, order.headers), holds=HELD)
        for raw in islice(endless, order.requests)
    ]


def tool(order: Order, path: str, body: str) -> list[Shot]:
    """Calls of one tool, each with a UUIDv7 as its id, as `OxpClient` sends them."""
    made = (
        post_request(order.port, path, (body % uuid7()).encode(), order.headers)
        for _ in range(order.requests)
    )
    return [Shot(data, holds=b"15") for data in made]


_OXP = '{"tool_id":"Calculator.Add","call_id":"%s","input":{"a":10,"b":5}}'
_ROUTE = '{"call_id":"%s","a":10,"b":5}'
_MCP = '{"jsonrpc":"2.0","id":"%s","method":"tools/call","params":{"name":"add","arguments":{"a":10,"b":5}}}'
KINDS: dict[str, Callable[[Order], list[Shot]]] = {
    "whole": lambda order: conversations(order, stream=False),
    "stream": lambda order: conversations(order, stream=True),
    "toolwire": lambda order: tool(order, "/tools/call", _OXP),
    "fastapi": lambda order: tool(order, "/tools/call", _ROUTE),
    "mcp": lambda order: tool(order, "/mcp", _MCP),
}


class Caller(asyncio.Protocol):
    """A connection and its remaining requests; the last of the list is sent next."""

    def __init__(self, shots: list[Shot], durations: list[float], *, at_once: bool) -> None:
        self.shots = shots
        self.durations = durations
        self.at_once = at_once
        self.pieces = 0
        """HTTP chunks of all responses."""
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.due_times: deque[float] = deque()
        """When the waiting requests were due."""
        self.current: Shot | None = None
        self.since = 0.0
        self.leaving = False

    async def connect(self, port: int) -> None:
        """Open the connection."""
        self.port = port
        await asyncio.get_running_loop().create_connection(lambda: self, "127.0.0.1", port)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport
        self._reset()

    def send_next(self) -> None:
        """Send the next request, or note that it is due."""
        if self.current is None:
            self._send(perf_counter())
        else:
            self.due_times.append(perf_counter())

    def _send(self, since: float) -> None:
        self.since = since
        self.current = self.shots.pop()
        self.transport.write(self.current.data)

    def _reset(self) -> None:
        self.received = bytearray()
        self.body = -1
        """The start of the body, once it is known, and its length, if the head has it."""
        self.length: int | None = None

    def data_received(self, data: bytes) -> None:
        self.received += data
        if self.body < 0 and not self._read_head():
            return
        shot = self.current
        if shot is None:
            self._fail(AssertionError("a response without a request"))
        elif shot.disconnects and len(self.received) > self.body:
            self.leaving = True
            self.transport.abort()
        elif (
            len(self.received) >= self.body + self.length
            if self.length is not None
            else self.received.endswith(b"\r\n0\r\n\r\n")
        ):
            if shot.holds in self.received:
                self._finish_request()
            else:
                self._fail(AssertionError(self.received.decode()))

    def _read_head(self) -> bool:
        end = self.received.find(b"\r\n\r\n")
        if end < 0:
            return False
        head = self.received[:end].lower()
        if self.current is not None and not head.startswith(b"http/1.1 %d" % self.current.status):
            self._fail(AssertionError(f"not {self.current.status}: {self.received.decode()}"))
            return False
        self.body = end + 4
        at = head.find(b"content-length: ")
        self.length = int(head[at + 16 :].partition(b"\r\n")[0]) if at >= 0 else None
        return True

    def _finish_request(self) -> None:
        self.durations.append(perf_counter() - self.since)
        self.pieces += self._count_pieces()
        self.current = None
        self._reset()
        if not self.shots:
            self.done.set_result(None)
            self.transport.close()
        elif self.at_once:
            self._send(perf_counter())
        elif self.due_times:
            self._send(self.due_times.popleft())

    def _count_pieces(self) -> int:
        if self.length is not None:
            return 1
        return len(_CHUNK_HEAD.findall(self.received, self.body - 2)) - 1  # the last one is empty

    def connection_lost(self, exc: Exception | None) -> None:
        if self.leaving:
            self.leaving = False
            self.again = asyncio.ensure_future(self.connect(self.port))
            self.again.add_done_callback(lambda _: self._finish_request())
        elif not self.done.done():
            self._fail(exc or ConnectionError("the server closed the connection"))

    def _fail(self, why: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(why)


async def send_requests(
    port: int, shots: list[Shot], *, connections: int, pace: float = 0.0
) -> tuple[list[float], float, int]:
    """Send requests; return the seconds of each and of all together, and the pieces of all
    responses."""
    durations: list[float] = []
    callers = [
        Caller(shots[n::connections], durations, at_once=not pace) for n in range(connections)
    ]
    for caller in callers:
        await caller.connect(port)
    done = asyncio.gather(*(caller.done for caller in callers))
    start = perf_counter()
    if pace:
        loop = asyncio.get_running_loop()
        await asyncio.gather(
            done, loop.run_in_executor(None, _beat, loop, callers, len(shots), pace)
        )
    else:
        for caller in callers:
            caller.send_next()
        await done
    return durations, perf_counter() - start, sum(caller.pieces for caller in callers)


def _beat(
    loop: asyncio.AbstractEventLoop, callers: list[Caller], requests: int, pace: float
) -> None:
    """Make the connections send in turn. Runs in a thread, because timers of an event loop count in
    whole milliseconds."""
    start = perf_counter()
    for n in range(requests):
        wait = start + n / pace - perf_counter()
        if wait > 0:
            sleep(wait)
        loop.call_soon_threadsafe(callers[n % len(callers)].send_next)


async def measure(order: Order) -> Rate:
    """Run an order."""
    durations, seconds, pieces = await send_requests(
        order.port, KINDS[order.what](order), connections=order.connections, pace=order.pace
    )
    durations.sort()
    return Rate(
        len(durations) / seconds,
        durations[len(durations) // 2] * 1e3,
        durations[len(durations) * 99 // 100] * 1e3,
        pieces / len(durations),
    )


if __name__ == "__main__":
    for line in sys.stdin:
        print(encode(uvloop.run(measure(decode(line, type=Order)))).decode(), flush=True)
