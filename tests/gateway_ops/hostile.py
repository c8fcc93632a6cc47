"""A server on bare sockets that follows a script, and a connection pool that is checked when a test
ends."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import NamedTuple, TypeAlias

import uvloop
from cases import DEEP

from toolwire.providers.http.policy import Timeouts
from toolwire.providers.http.pool import ConnectionPool
from toolwire.providers.http.proxy import Route
from toolwire.providers.http.response import Response
from toolwire.providers.http.url import Url, parse_url, request_head

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "uvloop": uvloop.new_event_loop,
    **({"asyncio": asyncio.new_event_loop} if DEEP else {}),
}
"""The event loop that servers use; in a deep run, both loops."""
OK = b"HTTP/1.1 200 OK\r\n"
LONG = 60.0
"""A timeout in seconds that is never reached, however busy the machine is."""


class ReceivedRequest(NamedTuple):
    """One request as the server got it."""

    connection: int
    head: str
    body: bytes


class Talk:
    """One connection, as the server has it."""

    def __init__(
        self, server: HostileServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.reader, self.writer, self.server = reader, writer, server
        server.talks.append(self)
        self.number = len(server.talks)

    async def request(self) -> ReceivedRequest:
        """Read one request."""
        raw = await self.reader.readuntil(b"\r\n\r\n")
        text = raw.decode()
        length = next(
            (line for line in text.lower().split("\r\n") if line.startswith("content-length: ")),
            "x: 0",
        )
        asked = ReceivedRequest(
            self.number, text, await self.reader.readexactly(int(length.partition(": ")[2]))
        )
        self.server.asked.append(asked)
        return asked

    async def say(self, *pieces: bytes, pause: float = 0.0) -> None:
        """Send pieces, each as a separate packet."""
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()
            await asyncio.sleep(pause)

    async def stay(self) -> None:
        """Wait until the client disconnects."""
        while await self.reader.read(1 << 16):
            pass

    def at_once(self, data: bytes) -> None:
        """Send data before the event loop does anything else."""
        with socket.fromfd(
            self.writer.get_extra_info("socket").fileno(), socket.AF_INET, socket.SOCK_STREAM
        ) as line:
            line.send(data)

    def tear(self) -> None:
        """Close the socket without the closing message of TLS."""
        with socket.fromfd(
            self.writer.get_extra_info("socket").fileno(), socket.AF_INET, socket.SOCK_STREAM
        ) as line:
            line.shutdown(socket.SHUT_RDWR)

    def reset(self) -> None:
        """Reset the connection."""
        with socket.fromfd(
            self.writer.get_extra_info("socket").fileno(), socket.AF_INET, socket.SOCK_STREAM
        ) as line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Script: TypeAlias = "Callable[[Talk], Awaitable[None]]"


def gives(*answers: bytes, stay: bool = True) -> Script:
    """A script that sends these responses on each connection, one for each request, and then waits
    or closes."""

    async def script(talk: Talk) -> None:
        for answer in answers:
            await talk.request()
            await talk.say(answer)
        if stay:
            await talk.stay()

    return script


def each(*scripts: Script) -> Script:
    """One script for each connection; the last one serves all further connections."""

    async def script(talk: Talk) -> None:
        await scripts[min(talk.number, len(scripts)) - 1](talk)

    return script


def response_with_length(body: bytes, *fields: str, status: bytes = OK) -> bytes:
    """A response with a Content-Length field."""
    lines = "".join(f"{field}\r\n" for field in fields).encode()
    return status + lines + b"content-length: %d\r\n\r\n" % len(body) + body


class HostileServer:
    """A scripted server, its requests, and their connections."""

    def __init__(self) -> None:
        self.asked: list[ReceivedRequest] = []
        self.talks: list[Talk] = []
        self.tasks: set[asyncio.Task[None]] = set()
        self.port = 0
        self.scheme = "http"

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/v1/x"

    @property
    def place(self) -> Url:
        return parse_url(self.url)

    @property
    def used(self) -> list[int]:
        """The connection of each request."""
        return [one.connection for one in self.asked]


class Net:
    """A connection pool and its servers."""

    def __init__(self) -> None:
        self.pool = ConnectionPool()
        self._listening: list[asyncio.Server] = []
        self._servers: list[HostileServer] = []

    async def serve(self, script: Script, *, tls: ssl.SSLContext | None = None) -> HostileServer:
        server = HostileServer()

        async def serve_connection(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> None:
            task = asyncio.current_task()
            assert task is not None
            server.tasks.add(task)
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await script(Talk(server, reader, writer))
            writer.close()

        listening = await asyncio.start_server(serve_connection, "127.0.0.1", 0, ssl=tls)
        self._listening.append(listening)
        self._servers.append(server)
        server.port = listening.sockets[0].getsockname()[1]
        server.scheme = "https" if tls else "http"
        return server

    async def post(
        self,
        server: HostileServer,
        body: bytes = b"{}",
        *,
        connect: float = LONG,
        silence: float = LONG,
    ) -> Response:
        where = server.place
        head = request_head(where, {"a": "b"}, len(body))
        timeouts = Timeouts(connect, silence)
        return await self.pool.send(Route(where), head, body, timeouts=timeouts)

    async def get(
        self,
        server: HostileServer,
        body: bytes = b"{}",
        *,
        connect: float = LONG,
        silence: float = LONG,
    ) -> tuple[int, bytes]:
        """Send a request; return the status and the body of the response."""
        reply = await self.post(server, body, connect=connect, silence=silence)
        try:
            return reply.status, await read(reply)
        finally:
            reply.close()

    @property
    def resting(self) -> int:
        return sum(map(len, self.pool._idle.values()))

    async def settle(self) -> None:
        """Wait until abandoned connections are closed."""
        async with asyncio.timeout(LONG):  # else a connection is neither used nor resting
            while len(self.pool._all) != self.resting:
                await asyncio.sleep(0.005)

    async def close(self) -> None:
        self.pool.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(LONG / 4):
                while self.pool._all:
                    await asyncio.sleep(0.005)
        left = len(self.pool._all) + len(self.pool._opening)
        for listening in self._listening:
            listening.close()
        for server in self._servers:
            for talk in server.talks:
                talk.writer.transport.abort()
            for task in server.tasks:
                task.cancel()
            await asyncio.gather(*server.tasks, return_exceptions=True)
        await asyncio.sleep(0)
        assert not left, "a connection is left over"


async def read(reply: Response) -> bytes:
    """The whole body of a response."""
    pieces = []
    while data := await reply.read():
        pieces.append(data)
    return b"".join(pieces)


def into(got: list[bytes], *, more: bool = True) -> Callable[[bytes], bool]:
    """A consumer that collects pieces, and asks for more or stops."""

    def take(data: bytes) -> bool:
        got.append(data)
        return more

    return take


Main: TypeAlias = "Callable[[Net], Coroutine[None, None, None]]"
Run: TypeAlias = "Callable[[Main], None]"


def repeat_if_too_late(main: Main, times: int = 5) -> Main:
    """A test in which no timeout may expire: on a busy machine one may, because the test itself was
    paused for longer than that. A client that gives up too early does so each time."""

    async def repeat(net: Net) -> None:
        for left in reversed(range(times)):
            try:
                await main(net)
                break
            except TimeoutError:
                if not left:
                    raise

    return repeat


def runs(factory: Callable[[], asyncio.AbstractEventLoop]) -> Run:
    """Run a test on an event loop of this kind; no task may be left over and no error be hidden."""

    def run(main: Main) -> None:
        unseen: list[str] = []

        async def run_test() -> None:
            loop = asyncio.get_running_loop()
            loop.set_exception_handler(
                lambda _, context: unseen.append(
                    f"{context.get('message')}: {context.get('exception')!r}"
                )
            )
            net = Net()
            try:
                async with asyncio.timeout(4 * LONG):
                    await main(net)
            finally:
                await net.close()
            gc.collect()
            await asyncio.sleep(0)

        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(run_test())
        assert unseen == []

    return run
