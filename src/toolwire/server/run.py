"""An ASGI app on a socket: uvicorn, hardened and stopped gently.

Beyond loopback it binds only if callers must say who they are, or if it is told in so many words that they need not. Requests
that dribble in, heads without end and connections beyond a number are cut off here, before any app sees them. Knows no protocol.
"""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Protocol, runtime_checkable

import uvicorn
from msgspec import Struct
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from toolwire.server.asgi import App, is_loopback
from toolwire.server.auth import Auth

PORT = 8765
GARBAGE = 10_000
"""Objects made and not gone after which cycles are looked for."""


class Bounds(Struct, frozen=True, kw_only=True):
    """What one process lets its connections use."""

    connections: int = 8192
    head: int = 64 * 1024
    """Bytes of a request line with all headers."""
    seconds: float = 60.0
    """From the first byte of a request (or from the connection) to its last: whoever is slower is cut off."""
    keep_alive: int = 65
    """Seconds a connection may rest between requests: a little longer than most proxies keep theirs."""
    backlog: int = 2048
    grace: int = 60
    """Seconds that requests under way have to finish when the server stops."""
    notice: float = 0.0
    """Seconds between saying on `/health` that it is over and closing the door, for balancers that poll."""


class BindMistake(Exception):
    """A place where this server must not listen as it is."""


@runtime_checkable
class Drains(Protocol):
    """An app that can be told that it will be stopped."""

    def drain(self) -> None: ...


@runtime_checkable
class Fails(Protocol):
    """An app that remembers why it could not be opened."""

    failure: Exception | None


@runtime_checkable
class Guarded(Protocol):
    """An app that knows who may ask."""

    @property
    def auth(self) -> Auth: ...


def check_bind(app: App, host: str, *, allow_anyone: bool) -> None:
    """Raises BindMistake if strangers could reach an app that asks nobody who they are."""
    if is_loopback(host) or allow_anyone:
        return
    if isinstance(app, Guarded) and app.auth.on:
        return
    raise BindMistake(
        f"{host} can be reached from other machines, and this server does not ask who is calling: set keys or secrets, bind to "
        "127.0.0.1, or say that anyone may call"
    )


def serve(
    app: App,
    host: str = "127.0.0.1",
    port: int = PORT,
    *,
    uds: Path | None = None,
    allow_anyone: bool = False,
    bounds: Bounds | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, then finish what is under way; a second SIGINT does not wait.

    `ready` is given the address once it listens (printed if there is none). Port 0 is any free one. Raises BindMistake, OSError
    if the address is taken, and whatever kept the app from opening.
    """
    if uds is None:
        check_bind(app, host, allow_anyone=allow_anyone)
    raise_file_limit()
    held = bounds or Bounds()

    def listening(url: str) -> None:
        # What is there now stays, and need not be looked at again and again. A request makes some hundred objects that end with
        # it: looking for cycles after every 700, as Python does by itself, takes a tenth of the time of a call.
        gc.freeze()
        gc.set_threshold(GARBAGE, 10, 10)
        (ready or _print)(url)

    with _listen(host, port, uds, held.backlog) as listener:
        server = Server(config(app, held), app, held, url_of(listener), listening)
        try:
            server.run(sockets=[listener])
        except SystemExit:  # uvicorn's way to say that the app could not be opened
            if isinstance(app, Fails) and app.failure is not None:
                raise app.failure from None
            raise
        finally:
            if uds is not None:
                uds.unlink(missing_ok=True)


def config(app: App, bounds: Bounds) -> uvicorn.Config:
    """The settings of uvicorn for these bounds."""
    loop = "asyncio" if sys.platform == "win32" else "uvloop"
    return uvicorn.Config(
        app,
        http=protocol(bounds),
        loop=loop,
        ws="none",
        lifespan="on",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=bounds.backlog,
        timeout_keep_alive=bounds.keep_alive,
        timeout_graceful_shutdown=bounds.grace,
    )


class Server(uvicorn.Server):
    """uvicorn that tells its app before it stops, says where it listens, and leaves quietly."""

    def __init__(self, config: uvicorn.Config, app: App, bounds: Bounds, url: str, ready: Callable[[str], None]) -> None:
        super().__init__(config)
        self._app = app
        self._bounds = bounds
        self._url = url
        self._listening = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._listening(self._url)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if isinstance(self._app, Drains):
            self._app.drain()
        if self._bounds.notice and not self.force_exit:
            await asyncio.sleep(self._bounds.notice)
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn does it, but without raising the signal once more at the end: a server that was asked to stop did well."""
        try:
            before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        except ValueError:  # not in the main thread: whoever started it stops it by `should_exit`
            yield
            return
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True


# --- connections -------------------------------------------------------------------------------------------------------------


def protocol(bounds: Bounds) -> type[asyncio.Protocol]:
    """uvicorn's protocol for these bounds."""
    return type("BoundedProtocol", (Bounded,), {"bounds": bounds})


class Bounded(HttpToolsProtocol):
    """A connection that must get on with it.

    uvicorn waits for ever for the rest of a request, and its parser takes a head of any length. One timer per connection, which
    only looks at a clock when it fires, costs nothing per request.
    """

    bounds = Bounds()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(Joined(transport, self.loop))
        self._since: float | None = self.loop.time()
        self._head = 0
        self._in_head = True
        self._timer: asyncio.TimerHandle | None = None
        self._rested = self._since
        """When the last answer was over."""
        if len(self.connections) > self.bounds.connections:
            self._refuse(b"503 Service Unavailable", b"The server holds as many connections as it can.")
            return
        self._timer = self.loop.call_later(self._pause, self._look)

    @property
    def _pause(self) -> float:
        return min(self.bounds.seconds, self.bounds.keep_alive)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._since is None:
            self._since = self.loop.time()
            self._in_head = True
            self._head = 0
        if self._in_head:
            self._head += len(data)
        super().data_received(data)
        if self._in_head and self._head > self.bounds.head and not self.transport.is_closing():
            self._refuse(b"431 Request Header Fields Too Large", b"The head of the request is too large.")

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._since = None

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._since is None:  # the next request of the same bytes
            self._since = self.loop.time()
        self._in_head = True
        self._head = 0

    def on_response_complete(self) -> None:
        """As uvicorn does it, but without a timer that is set and cancelled for every request: the one there is sees to it."""
        self._rested = self.loop.time()
        if self.pipeline or self.transport.is_closing():
            super().on_response_complete()
            return
        self.server_state.total_requests += 1
        self.flow.resume_reading()

    def _look(self) -> None:
        self._timer = None
        if self.transport.is_closing():
            return
        now = self.loop.time()
        if self._since is not None:
            left = self._since + self.bounds.seconds - now
        elif self.cycle is None or self.cycle.response_complete:
            left = self._rested + self.bounds.keep_alive - now
        else:  # it is being answered
            left = self._pause
        if left <= 0:
            self.transport.close()
        else:
            self._timer = self.loop.call_later(left, self._look)

    def _refuse(self, status: bytes, message: bytes) -> None:
        body = b'{"message":"%b"}' % message
        head = b"HTTP/1.1 %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
        self.transport.write(head % (status, len(body)) + body)
        self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """uvicorn's own words for what is not HTTP, in the format of everything else."""
        self._refuse(b"400 Bad Request", msg.encode("ascii", "replace").replace(b'"', b"'"))


SMALL = 64 * 1024


class Joined(asyncio.Transport):
    """A transport that sends the head of an answer together with what follows it at once.

    uvicorn writes them one after the other, and each would be a system call and a packet of its own.
    """

    def __init__(self, inner: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._inner = inner
        self._loop = loop
        self._head = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._head:
            head, self._head = self._head, b""
            if len(data) < SMALL:  # one buffer is sent at once; several take a longer way through the event loop
                self._inner.write(head + data)
            else:
                self._inner.writelines((head, data))
        elif isinstance(data, bytes) and data.startswith(b"HTTP/1.") and data.endswith(b"\r\n\r\n"):
            self._head = data
            self._loop.call_soon(self._flush)  # nothing may follow for a long time
        else:
            self._inner.write(data)

    def _flush(self) -> None:
        if self._head:
            head, self._head = self._head, b""
            if not self._inner.is_closing():
                self._inner.write(head)

    def close(self) -> None:
        self._flush()
        self._inner.close()

    # Everything else is only passed on.

    def is_closing(self) -> bool:
        return self._inner.is_closing()

    def abort(self) -> None:
        self._inner.abort()

    def get_extra_info(self, name: str, default: object = None) -> object:
        return self._inner.get_extra_info(name, default)

    def pause_reading(self) -> None:
        self._inner.pause_reading()

    def resume_reading(self) -> None:
        self._inner.resume_reading()

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._inner.get_protocol()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._inner.set_protocol(protocol)


# --- sockets -----------------------------------------------------------------------------------------------------------------


def _listen(host: str, port: int, uds: Path | None, backlog: int) -> socket.socket:
    if uds is not None:
        _clear(uds)
        held = socket.socket(socket.AF_UNIX)
        address: str | tuple[str | int | bytes, ...] = str(uds)
    else:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        held = socket.socket(family)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    old = os.umask(0o177)  # only its owner may connect to a socket that is a file
    try:
        held.bind(address)
        held.listen(backlog)
    except OSError:
        held.close()
        raise
    finally:
        os.umask(old)
    return held


def _clear(uds: Path) -> None:
    """Take away a socket that a dead server left behind."""
    if not uds.is_socket():
        return
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(uds))
        except ConnectionRefusedError:
            uds.unlink()


def url_of(listener: socket.socket) -> str:
    """Where a socket listens, as an address to type."""
    if listener.family == socket.AF_UNIX:
        return f"unix:{listener.getsockname()}"
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def raise_file_limit(most: int = 65536) -> None:
    """Let this process hold as many connections as the system lets it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _print(url: str) -> None:
    print(f"listening on {url}", flush=True)
