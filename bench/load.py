"""A client that costs little: requests on so many connections, one at a time on each, on bare
sockets, in a process of its own.

Reads orders as lines of JSON and prints what came of each: requests in a second, and the median and
the 99th percentile of milliseconds. An answer of another status, or without the words it must hold,
ends it all. A connection asks again at once, or, if the order has a pace, when it is its turn: a
turn that comes while the answer before is still out waits, and its wait counts.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import deque
from collections.abc import Callable
from time import perf_counter, sleep

import uvloop
from msgspec import Struct
from msgspec.json import decode, encode

from toolwire.execution.call_ids import uuid7

CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city":"Rome"}'},
}
CHAT: dict[str, object] = {
    "messages": [
        {
            "role": "system",
            "content": "You are a helpful assistant that answers questions about the weather.",
        },
        {"role": "user", "content": "What is the weather in Rome?"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": '{"degrees": 24, "sky": "clear"}'},
        {"role": "assistant", "content": "It is 24 degrees in Rome, under a clear sky."},
        {"role": "user", "content": "And in Oslo?"},
    ],
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "get_weather",
                "description": "The weather in a city.",
                "parameters": {
                    "type": "object",
                    "properties": {"city": {"type": "string", "description": "The city."}},
                    "required": ["city"],
                },
            },
        }
    ],
}
HELD = b"toolu_01A"
"""The id of the call that every answer of the model asks for."""


class Order(Struct):
    """What to ask for, where, and how often."""

    what: str
    """A row of `KINDS`."""
    port: int
    connections: int
    requests: int
    pace: float = 0.0
    """Requests in a second on all connections together; without it each asks again at once."""
    model: str = "m"
    headers: dict[str, str] = {}


class Rate(Struct):
    """What came of it."""

    rate: float
    median_ms: float
    p99_ms: float


class Shot(Struct):
    """A request, and what has to come of it."""

    data: bytes
    status: int = 200
    holds: bytes = b""
    leaves: bool = False
    """Closes the connection as soon as the answer has begun, and goes on with a new one."""


def posted(port: int, path: str, body: bytes, headers: dict[str, str]) -> bytes:
    """A request as it travels."""
    lines = {
        "host": f"127.0.0.1:{port}",
        "content-type": "application/json",
        "content-length": str(len(body)),
        **headers,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + body


def chat(order: Order, *, stream: bool) -> list[Shot]:
    """The same request again and again."""
    more: dict[str, object] = {"stream": True} if stream else {}
    body = json.dumps({"model": order.model, **CHAT, **more}).encode()
    return [
        Shot(posted(order.port, "/v1/chat/completions", body, order.headers), holds=HELD)
    ] * order.requests


def tool(order: Order, path: str, body: str) -> list[Shot]:
    """Calls of the same tool, each with an id of its own: a UUIDv7, as our client makes them."""
    made = (
        posted(order.port, path, (body % uuid7()).encode(), order.headers)
        for _ in range(order.requests)
    )
    return [Shot(data, holds=b"15") for data in made]


_OXP = '{"tool_id":"Calculator.Add","call_id":"%s","input":{"a":10,"b":5}}'
_ROUTE = '{"call_id":"%s","a":10,"b":5}'
_MCP = '{"jsonrpc":"2.0","id":"%s","method":"tools/call","params":{"name":"add","arguments":{"a":10,"b":5}}}'
KINDS: dict[str, Callable[[Order], list[Shot]]] = {
    "whole": lambda order: chat(order, stream=False),
    "stream": lambda order: chat(order, stream=True),
    "toolwire": lambda order: tool(order, "/tools/call", _OXP),
    "fastapi": lambda order: tool(order, "/tools/call", _ROUTE),
    "mcp": lambda order: tool(order, "/mcp", _MCP),
}


class Caller(asyncio.Protocol):
    """A connection with its requests, the next one last."""

    def __init__(self, shots: list[Shot], took: list[float], *, at_once: bool) -> None:
        self.shots = shots
        self.took = took
        self.at_once = at_once
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.turns: deque[float] = deque()
        """Since when requests wait for the one before."""
        self.busy: Shot | None = None
        self.since = 0.0
        self.leaving = False

    async def connect(self, port: int) -> None:
        """Open the connection."""
        self.port = port
        await asyncio.get_running_loop().create_connection(lambda: self, "127.0.0.1", port)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport
        self._fresh()

    def turn(self) -> None:
        """It is time for the next request."""
        if self.busy is None:
            self._ask(perf_counter())
        else:
            self.turns.append(perf_counter())

    def _ask(self, since: float) -> None:
        self.since = since
        self.busy = self.shots.pop()
        self.transport.write(self.busy.data)

    def _fresh(self) -> None:
        self.held = bytearray()
        self.body = -1
        """Where the body begins, once that is known, and how long it is, if that is told."""
        self.length: int | None = None

    def data_received(self, data: bytes) -> None:
        self.held += data
        if self.body < 0 and not self._begun():
            return
        shot = self.busy
        if shot is None:
            self._fail(AssertionError("an answer to nothing"))
        elif shot.leaves and len(self.held) > self.body:
            self.leaving = True
            self.transport.abort()
        elif (
            len(self.held) >= self.body + self.length
            if self.length is not None
            else self.held.endswith(b"\r\n0\r\n\r\n")
        ):
            if shot.holds in self.held:
                self._answered()
            else:
                self._fail(AssertionError(self.held.decode()))

    def _begun(self) -> bool:
        end = self.held.find(b"\r\n\r\n")
        if end < 0:
            return False
        head = self.held[:end].lower()
        if self.busy is not None and not head.startswith(b"http/1.1 %d" % self.busy.status):
            self._fail(AssertionError(f"not {self.busy.status}: {self.held.decode()}"))
            return False
        self.body = end + 4
        at = head.find(b"content-length: ")
        self.length = int(head[at + 16 :].partition(b"\r\n")[0]) if at >= 0 else None
        return True

    def _answered(self) -> None:
        self.took.append(perf_counter() - self.since)
        self.busy = None
        self._fresh()
        if not self.shots:
            self.done.set_result(None)
            self.transport.close()
        elif self.at_once:
            self._ask(perf_counter())
        elif self.turns:
            self._ask(self.turns.popleft())

    def connection_lost(self, exc: Exception | None) -> None:
        if self.leaving:
            self.leaving = False
            self.again = asyncio.ensure_future(self.connect(self.port))
            self.again.add_done_callback(lambda _: self._answered())
        elif not self.done.done():
            self._fail(exc or ConnectionError("the server has closed the connection"))

    def _fail(self, why: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(why)


async def sent(
    port: int, shots: list[Shot], *, connections: int, pace: float = 0.0
) -> tuple[list[float], float]:
    """Seconds that each of these requests took, and that all of them took together."""
    took: list[float] = []
    callers = [Caller(shots[n::connections], took, at_once=not pace) for n in range(connections)]
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
            caller.turn()
        await done
    return took, perf_counter() - start


def _beat(
    loop: asyncio.AbstractEventLoop, callers: list[Caller], requests: int, pace: float
) -> None:
    """Tell the connections in turn that it is time. In a thread, because timers of a loop count in
    whole milliseconds."""
    start = perf_counter()
    for n in range(requests):
        wait = start + n / pace - perf_counter()
        if wait > 0:
            sleep(wait)
        loop.call_soon_threadsafe(callers[n % len(callers)].turn)


async def measured(order: Order) -> Rate:
    """What comes of an order."""
    took, seconds = await sent(
        order.port, KINDS[order.what](order), connections=order.connections, pace=order.pace
    )
    took.sort()
    return Rate(len(took) / seconds, took[len(took) // 2] * 1e3, took[len(took) * 99 // 100] * 1e3)


if __name__ == "__main__":
    for line in sys.stdin:
        print(encode(uvloop.run(measured(decode(line, type=Order)))).decode(), flush=True)
