"""An ASGI app on a socket: uvicorn, with bounded connections and stopped gently.

Beyond loopback it binds only if callers must say who they are, or if it is told in so many words
that they need not. Knows no protocol.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Protocol, runtime_checkable

import uvicorn

from toolwire.errors import ConfigError
from toolwire.server.asgi import App, is_loopback
from toolwire.server.auth import Auth
from toolwire.server.limited_protocol import ConnectionLimits, protocol

if sys.platform != "win32":  # it has no such limits
    import resource

__all__ = [
    "GARBAGE",
    "PORT",
    "ConnectionLimits",
    "DrainsConnections",
    "GuardedServer",
    "Server",
    "StartupFailure",
    "check_bind",
    "config",
    "raise_file_limit",
    "serve",
    "url_of",
]

PORT = 8765
GARBAGE = 10_000
"""Objects made and not gone after which cycles are looked for."""


@runtime_checkable
class DrainsConnections(Protocol):
    """An app that can be told that it will be stopped."""

    def drain(self) -> None: ...


@runtime_checkable
class StartupFailure(Protocol):
    """An app that remembers why it could not be opened."""

    failure: Exception | None


@runtime_checkable
class GuardedServer(Protocol):
    """An app that knows who may ask."""

    @property
    def auth(self) -> Auth: ...


def check_bind(app: App, host: str, *, allow_anyone: bool) -> None:
    """Raises ConfigError if strangers could reach an app that asks nobody who they are."""
    if is_loopback(host) or allow_anyone:
        return
    if isinstance(app, GuardedServer) and app.auth.on:
        return
    raise ConfigError(
        f"{host} can be reached from other machines, and this server does not ask who is calling:"
        " set keys or secrets, bind to 127.0.0.1, or say that anyone may call"
    )


def serve(
    app: App,
    host: str = "127.0.0.1",
    port: int = PORT,
    *,
    uds: Path | None = None,
    allow_anyone: bool = False,
    bounds: ConnectionLimits | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, then finish what is under way; a second SIGINT does not wait.

    `ready` is given the address once it listens (printed if there is none). Port 0 is any free one.
    Raises ConfigError, OSError if the address is taken, and whatever kept the app from opening.
    """
    if uds is None:
        check_bind(app, host, allow_anyone=allow_anyone)
    raise_file_limit()
    held = bounds or ConnectionLimits()

    def listening(url: str) -> None:
        # What is there now stays, and need not be looked at again and again. A request makes some
        # hundred objects that end with it: looking for cycles after every 700, as Python does by
        # itself, takes a tenth of the time of a call.
        gc.freeze()
        gc.set_threshold(GARBAGE, 10, 10)
        (ready or _print)(url)

    with _listen(host, port, uds, held.backlog) as listener:
        ours = _mark(uds)
        server = Server(config(app, held), app, held, url_of(listener), listening)
        try:
            server.run(sockets=[listener])
        except SystemExit:  # uvicorn's way to say that the app could not be opened
            if isinstance(app, StartupFailure) and app.failure is not None:
                raise app.failure from None
            raise
        finally:
            if uds is not None and ours == _mark(uds):  # the next server may be there already
                uds.unlink()


def config(app: App, bounds: ConnectionLimits) -> uvicorn.Config:
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
        timeout_graceful_shutdown=bounds.grace,
    )


class Server(uvicorn.Server):
    """uvicorn that tells its app before it stops, says where it listens, and leaves quietly."""

    def __init__(
        self,
        config: uvicorn.Config,
        app: App,
        bounds: ConnectionLimits,
        url: str,
        ready: Callable[[str], None],
    ) -> None:
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
        if isinstance(self._app, DrainsConnections):
            self._app.drain()
        self.server_state.default_headers.append(
            (b"connection", b"close")
        )  # nobody should come back on a connection that ends
        late = monotonic() + self._bounds.notice
        while not self.force_exit and (left := late - monotonic()) > 0:
            await asyncio.sleep(min(left, 0.1))
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn does it, but without raising the signal once more at the end: a server that
        was asked to stop did well."""
        try:
            before = {
                number: signal.signal(number, self.handle_exit)
                for number in (signal.SIGINT, signal.SIGTERM)
            }
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


# --- sockets --------------------------------------------------------------------------------------


def _listen(host: str, port: int, uds: Path | None, backlog: int) -> socket.socket:
    if uds is not None:
        _clear(uds)
        held = socket.socket(socket.AF_UNIX)
        address: str | tuple[str | int | bytes, ...] = str(uds)
    else:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
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


def _mark(uds: Path | None) -> tuple[int, int] | None:
    """What tells a socket that is a file from the next one of its name, if there is one. The number
    alone may be given again."""
    try:
        told = None if uds is None else uds.stat()
    except FileNotFoundError:
        return None
    return None if told is None else (told.st_ino, told.st_mtime_ns)


def url_of(listener: socket.socket) -> str:
    """Where a socket listens, as an address to type."""
    name = listener.getsockname()
    if isinstance(name, str):
        return f"unix:{name}"
    host, port = name[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def raise_file_limit(most: int = 65536) -> None:
    """Let this process hold as many connections as the system lets it."""
    if sys.platform == "win32":
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _print(url: str) -> None:
    print(f"listening on {url}", flush=True)
