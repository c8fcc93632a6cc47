"""Very many concurrent streams that are open and send nothing, through one process of the gateway.

The model sends the first event of each stream and then nothing until it is released. Meanwhile,
another client requests whole responses, as it did before the streams were opened.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import ExitStack
from time import perf_counter

import uvloop
from gateway_traffic import body
from load import HELD, Order, Rate, Shot, post_request, send_requests
from msgspec import Struct
from processes import Client, Server, client, server

from toolwire.server.process import raise_file_limit

STREAMS = 2000
SECONDS = 20
PACE = 100.0
"""Whole responses per second that another client requests meanwhile."""
CONNECTIONS = 4
WAIT = 60.0
"""Seconds in which all streams must begin, and in which all must end."""
_LAST = b"data: [DONE]"


class IdleStreams(Struct, frozen=True):
    """The outcome: how many streams began and ended, and their cost."""

    streams: int
    seconds: int
    opened: int
    """Streams that got their first event."""
    ended: int
    """Streams that completed: every event arrived, and the response ended."""
    opening: float
    """Seconds until all streams had begun."""
    ending: float
    before: Rate
    during: Rate
    megabytes: tuple[float, float]
    """The memory of the gateway before the streams were opened, and while they were held."""

    @property
    def kilobytes(self) -> float:
        """The memory of one held stream."""
        return (self.megabytes[1] - self.megabytes[0]) / self.streams * 1000


class Listener(asyncio.Protocol):
    """A client that waits for its stream."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.held = bytearray()
        self.begun: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.held += data
        if not self.held.startswith(b"HTTP/1.1 200"[: len(self.held)]):
            self.transport.abort()
        if not self.begun.done() and b"data: {" in self.held:
            self.begun.set_result(None)
        if not self.ended.done() and self.held.endswith(b"0\r\n\r\n"):
            self.ended.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        for future in (self.begun, self.ended):
            future.cancel()

    @property
    def whole(self) -> bool:
        """True if every event arrived."""
        return (
            self.ended.done()
            and not self.ended.cancelled()
            and HELD in self.held
            and _LAST in self.held
        )


def hold_streams(streams: int = STREAMS, seconds: int = SECONDS) -> IdleStreams:
    """Open streams, hold them for some seconds, and let them end."""
    raise_file_limit()
    with ExitStack() as stack:
        model = stack.enter_context(server("model_server.py"))
        gateway = stack.enter_context(server("gateway_servers.py", "gateway", model.url))
        load = stack.enter_context(client())
        load.measure(Order("whole", gateway.port, CONNECTIONS, 1000))
        before = load.measure(
            Order("whole", gateway.port, CONNECTIONS, int(PACE * seconds / 2), PACE)
        )
        return uvloop.run(_hold_streams(model, gateway, load, before, streams, seconds))


async def _hold_streams(
    model: Server, gateway: Server, load: Client, before: Rate, streams: int, seconds: int
) -> IdleStreams:
    loop = asyncio.get_running_loop()
    asks = post_request(
        gateway.port,
        "/v1/chat/completions",
        body("openai-chat", rounds=1, label="0", question="0", model="idle", stream=True),
        {},
    )
    empty = gateway.megabytes()
    start = perf_counter()
    listeners = []
    for _ in range(streams):  # one after the other: open streams are measured, not a burst
        transport, listener = await loop.create_connection(Listener, "127.0.0.1", gateway.port)
        transport.write(asks)
        listeners.append(listener)
    await asyncio.wait([listener.begun for listener in listeners], timeout=WAIT)
    opening = perf_counter() - start
    opened = sum(listener.begun.done() and not listener.begun.cancelled() for listener in listeners)
    order = Order("whole", gateway.port, CONNECTIONS, int(PACE * seconds), PACE)
    during = await loop.run_in_executor(None, load.measure, order)
    full = gateway.megabytes()
    start = perf_counter()
    waiting = [listener for listener in listeners if not listener.ended.done()]
    await send_requests(
        model.port, [Shot(post_request(model.port, "/release", b"", {}))], connections=1
    )
    if waiting:
        await asyncio.wait([listener.ended for listener in waiting], timeout=WAIT)
    ending = perf_counter() - start
    ended = sum(listener.whole for listener in waiting)
    for listener in listeners:
        listener.transport.close()
    return IdleStreams(
        streams, seconds, opened, ended, opening, ending, before, during, (empty, full)
    )


if __name__ == "__main__":
    print(hold_streams(*map(int, sys.argv[1:])))
