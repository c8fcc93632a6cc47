"""Serve an ASGI application with uvicorn, with limits on connections and a graceful stop.

The server listens beyond loopback only if it authenticates its clients, or if the caller allows
anyone. `serve` handles SIGINT and SIGTERM while it runs and changes nothing else in the process;
`toolwire.server.process` has the settings that a program may want.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Literal, Protocol, runtime_checkable

import uvicorn

from toolwire.errors import ConfigError
from toolwire.providers.http.url import is_loopback
from toolwire.server.asgi import App
from toolwire.server.auth import Auth
from toolwire.server.limited_protocol import ConnectionLimits, protocol

__all__ = [
    "PORT",
    "ConnectionLimits",
    "DrainsConnections",
    "GuardedServer",
    "Server",
    "StartupFailure",
    "check_bind",
    "config",
    "serve",
    "url_of",
]

PORT = 8765
_LOOP: Literal["asyncio", "uvloop"] = "asyncio" if sys.platform == "win32" else "uvloop"
POLL = 0.1
"""Seconds between two checks for a second signal."""
WEBSOCKETS = "toolwire.server.websocket_protocol:WebSocketProtocol"
"""uvicorn imports it if the application accepts WebSockets."""


@runtime_checkable
class DrainsConnections(Protocol):
    """An application that prepares for a stop."""

    def drain(self) -> None: ...


@runtime_checkable
class StartupFailure(Protocol):
    """An application that keeps the exception that prevented its start."""

    failure: Exception | None


@runtime_checkable
class GuardedServer(Protocol):
    """An application that authenticates its clients."""

    @property
    def auth(self) -> Auth: ...


@runtime_checkable
class SocketApp(Protocol):
    """An application that also accepts WebSockets."""

    @property
    def max_message_bytes(self) -> int: ...


def check_bind(app: App, host: str, *, allow_anyone: bool) -> None:
    """Raise ConfigError if other machines could use an application without authentication."""
    if is_loopback(host) or allow_anyone:
        return
    if isinstance(app, GuardedServer) and app.auth.on:
        return
    raise ConfigError(
        f"other machines can reach {host}, and this server does not authenticate its clients: set"
        " keys or secrets, listen on 127.0.0.1, or allow anyone"
    )


def serve(
    app: App,
    host: str = "127.0.0.1",
    port: int = PORT,
    *,
    uds: Path | None = None,
    allow_anyone: bool = False,
    limits: ConnectionLimits | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, then finish the requests in progress.

    A second SIGINT does not wait for them.

    Args:
        port: 0 is any free port.
        uds: The path of a Unix domain socket, instead of host and port.
        allow_anyone: Listen beyond loopback without authentication.
        ready: Called with the URL once the server listens. Default: print it.

    Raises:
        ConfigError: The server would listen beyond loopback without authentication.
        ModuleNotFoundError: The event loop is not installed.
        OSError: The address is in use, or cannot be used.
        Exception: What the application raised while it started.
    """
    if uds is None:
        check_bind(app, host, allow_anyone=allow_anyone)
    limits = limits or ConnectionLimits()
    with _listen(host, port, uds, backlog=limits.backlog) as listener:
        identity = _file_identity(uds)
        server = Server(
            config(app, limits),
            app,
            limits=limits,
            url=url_of(listener),
            ready=ready or _print_listening,
        )
        try:
            server.run(sockets=[listener])
        except SystemExit:  # uvicorn exits if the application could not start.
            if isinstance(app, StartupFailure) and app.failure is not None:
                raise app.failure from None
            raise
        finally:
            # The next server may have replaced the file already.
            if uds is not None and identity == _file_identity(uds):
                uds.unlink()


def config(app: App, limits: ConnectionLimits) -> uvicorn.Config:
    """Return the settings of uvicorn for these limits.

    Raises:
        ModuleNotFoundError: The event loop is not installed. uvicorn would only notice it later.
    """
    import_module(_LOOP)
    message_bytes = app.max_message_bytes if isinstance(app, SocketApp) else 0
    return uvicorn.Config(
        app,
        http=protocol(limits),
        loop=_LOOP,
        ws=WEBSOCKETS if message_bytes else "none",
        ws_max_size=message_bytes,
        ws_per_message_deflate=False,
        lifespan="on",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=limits.backlog,
        timeout_graceful_shutdown=limits.grace,
    )


class Server(uvicorn.Server):
    """uvicorn that reports its address, notifies its app before it stops, and exits with 0."""

    def __init__(
        self,
        config: uvicorn.Config,
        app: App,
        *,
        limits: ConnectionLimits,
        url: str,
        ready: Callable[[str], None],
    ) -> None:
        super().__init__(config)
        self._app = app
        self._limits = limits
        self._url = url
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready(self._url)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if isinstance(self._app, DrainsConnections):
            self._app.drain()
        # Clients must not reuse a connection that is about to end.
        self.server_state.default_headers.append((b"connection", b"close"))
        deadline = monotonic() + self._limits.notice
        while not self.force_exit and (remaining := deadline - monotonic()) > 0:
            await asyncio.sleep(min(remaining, POLL))
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals as uvicorn does, but do not raise them again at the end.

        A server that stops on request has succeeded, so its exit code is 0.
        """
        try:
            previous = {
                number: signal.signal(number, self.handle_exit)
                for number in (signal.SIGINT, signal.SIGTERM)
            }
        except ValueError:  # not in the main thread: the caller stops it with `should_exit`
            yield
            return
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True


# --- sockets --------------------------------------------------------------------------------------


def _listen(host: str, port: int, uds: Path | None, *, backlog: int) -> socket.socket:
    if uds is not None:
        return _listen_on_file(uds, backlog)
    family, _, _, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(backlog)
    except OSError:
        listener.close()
        raise
    return listener


def _listen_on_file(uds: Path, backlog: int) -> socket.socket:
    """Listen on a Unix domain socket that only its owner may use."""
    _remove_stale_socket(uds)
    listener = socket.socket(socket.AF_UNIX)
    umask = os.umask(0o177)
    try:
        listener.bind(str(uds))
        listener.listen(backlog)
    except OSError:
        listener.close()
        raise
    finally:
        os.umask(umask)
    return listener


def _remove_stale_socket(uds: Path) -> None:
    """Remove a socket on which no server listens."""
    if not uds.is_socket():
        return
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(uds))
        except ConnectionRefusedError:
            uds.unlink()


def _file_identity(uds: Path | None) -> tuple[int, int] | None:
    """Return values that distinguish a socket file from a later one of the same name.

    An inode number alone may be reused.
    """
    try:
        status = None if uds is None else uds.stat()
    except FileNotFoundError:
        return None
    return None if status is None else (status.st_ino, status.st_mtime_ns)


def url_of(listener: socket.socket) -> str:
    """Return the URL of a listening socket."""
    name = listener.getsockname()
    if isinstance(name, str):
        return f"unix:{name}"
    host, port = name[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _print_listening(url: str) -> None:
    print(f"listening on {url}", flush=True)
