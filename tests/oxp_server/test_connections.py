"""Connections that are flooded, left unread, or get more bytes after a request, with any app."""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from toolwire.server import process, run
from toolwire.server.asgi import Receive, Scope, Send
from toolwire.server.run import ConnectionLimits, Server, config, serve, url_of

LATE = 60.0
LARGE = 24_000_000
"""More bytes than a socket buffers."""
GET = b"GET %b HTTP/1.1\r\nhost: localhost\r\n\r\n"


class Plain:
    """An app whose response depends on the path, and which records requests."""

    def __init__(self) -> None:
        self.headers: list[dict[bytes, bytes]] = []
        self.gone = 0
        """The number of clients that disconnected before the end."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        while (await receive()).get("more_body"):
            pass
        headers, path = scope["headers"], scope["path"]
        assert isinstance(headers, list)
        self.headers.append(dict(headers))
        if path == "/large":
            await self._whole(send, b"x" * LARGE)
        elif path == "/pieces":
            await self._pieces(send, 6)
        elif path == "/endless":
            await asyncio.wait(
                [
                    asyncio.ensure_future(self._pieces(send, 10**9)),
                    asyncio.ensure_future(self._count_disconnect(receive)),
                ],
                return_when=asyncio.FIRST_COMPLETED,
            )
        else:
            await self._whole(send, b"ok")

    async def _whole(self, send: Send, body: bytes) -> None:
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-length", b"%d" % len(body))],
            }
        )
        await send({"type": "http.response.body", "body": body})

    async def _pieces(self, send: Send, many: int) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(many):
            await send(
                {
                    "type": "http.response.body",
                    "body": b"piece" * (20_000 if many > 6 else 1),
                    "more_body": True,
                }
            )
            await asyncio.sleep(0 if many > 6 else 0.05)
        await send({"type": "http.response.body", "body": b""})

    async def _count_disconnect(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.gone += 1


class Running:
    """A server that runs in a thread."""

    def __init__(self, bounds: ConnectionLimits) -> None:
        self.app = Plain()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.server = Server(
            config(self.app, bounds),
            self.app,
            limits=bounds,
            url=url_of(self._listener),
            ready=lambda url: self._ready.set(),
        )
        self._ready = Event()
        self.thread = Thread(
            target=self.server.run, kwargs={"sockets": [self._listener]}, daemon=True
        )
        self._address = self._listener.getsockname()

    def connect(self, data: bytes = b"") -> socket.socket:
        connection = socket.create_connection(self._address, timeout=LATE)
        connection.sendall(data)
        return connection

    @property
    def held(self) -> int:
        return len(self.server.server_state.connections)

    @contextmanager
    def block(self) -> Iterator[Running]:
        self.thread.start()
        assert self._ready.wait(LATE)
        try:
            yield self
        finally:
            self.server.should_exit = self.server.force_exit = True
            self.thread.join(LATE)
            self._listener.close()


@contextmanager
def running(bounds: ConnectionLimits) -> Iterator[Running]:
    with Running(bounds).block() as one:
        yield one


def until(so: Callable[[], bool]) -> None:
    end = time.monotonic() + LATE
    while not so():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.01)


def read_first_piece(connection: socket.socket) -> bytes:
    """A response up to its first piece."""
    found = b""
    while b"piece" not in found:
        found += connection.recv(1000)
    return found


def rest(connection: socket.socket) -> bytes:
    """All bytes until the server closes the connection, or until its last chunk."""
    found = bytearray()
    try:
        while piece := connection.recv(1 << 20):
            found += piece
            if found.endswith(b"0\r\n\r\n"):
                break
    except ConnectionResetError:
        pass
    return bytes(found)


# --- after a body ---

CHUNKED = (
    b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
)


def test_trailers_are_not_part_of_the_head() -> None:
    with (
        running(ConnectionLimits()) as server,
        server.connect(CHUNKED + b"host: other\r\nx-late: yes\r\n\r\n") as connection,
    ):
        assert connection.recv(100).startswith(b"HTTP/1.1 200 ")
        assert server.app.headers == [{b"host": b"localhost", b"transfer-encoding": b"chunked"}]


@pytest.mark.parametrize("more", (b"x-%d: y\r\n", b"y" * 60), ids=("many", "one"))
def test_endless_trailers_are_rejected(more: bytes) -> None:
    some = b"".join(more % n if b"%" in more else more for n in range(2000))
    with (
        running(ConnectionLimits()) as server,
        server.connect(CHUNKED + b"x: ") as connection,
        pytest.raises(OSError),
    ):
        for _ in range(300):
            connection.sendall(some)


# --- after a request ---


HALF = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{"


@pytest.mark.parametrize("behind", (b"\r\n", HALF), ids=("a line", "half a request"))
def test_bytes_after_a_request_do_not_cut_its_response(behind: bytes) -> None:
    with (
        running(ConnectionLimits(seconds=0.15)) as server,
        server.connect(GET % b"/pieces") as connection,
    ):
        found = read_first_piece(connection)
        connection.sendall(behind)
        found += rest(connection)
        assert found.count(b"piece") == 6 and found.endswith(b"0\r\n\r\n")
        assert (
            rest(connection) == b""
        )  # and then it is waited for as long as for any other request, and no longer


@pytest.mark.parametrize(
    "behind", (b"\0\1 what is this\r\n\r\n", b"GET / HTTP/1.1\r\nx: " + b"y" * 200_000)
)
def test_an_error_is_not_written_into_a_started_response(behind: bytes) -> None:
    with running(ConnectionLimits()) as server, server.connect(GET % b"/pieces") as connection:
        found = read_first_piece(connection)
        connection.sendall(behind)
        found += rest(connection)
        assert (
            found.count(b"HTTP/1.1 ") == 1
            and b"connection: close" not in found
            and not found.endswith(b"0\r\n\r\n")
        )


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    (
        (b"\0\1 what is this\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nx: " + b"y" * 200_000, b"431"),
        (CHUNKED.removesuffix(b"0\r\n") + b"no chunk\r\n", b"400"),
    ),
)
def test_an_error_is_sent_if_no_response_has_started(request_bytes: bytes, status: bytes) -> None:
    with running(ConnectionLimits()) as server, server.connect(request_bytes) as connection:
        assert rest(connection).startswith(b"HTTP/1.1 " + status)


# --- clients that do not read ---


def test_a_client_that_does_not_read_a_stream_is_disconnected() -> None:
    with running(ConnectionLimits(seconds=0.2)) as server, server.connect(GET % b"/endless"):
        until(lambda: server.app.gone == 1 and server.held == 0)


def test_a_client_that_does_not_read_a_response_is_disconnected() -> None:
    with (
        running(ConnectionLimits(seconds=0.2, keep_alive=0.1)) as server,
        server.connect(GET % b"/large"),
    ):
        until(lambda: len(server.app.headers) == 1 and server.held == 0)


@pytest.mark.parametrize("path", (b"/large", b"/endless"))
def test_a_client_that_pauses_reading_is_not_disconnected(path: bytes) -> None:
    with (
        running(ConnectionLimits(seconds=LATE, keep_alive=0.02)) as server,
        server.connect(GET % path) as connection,
    ):
        time.sleep(0.3)
        got = 0
        while got < LARGE:
            piece = connection.recv(1 << 20)
            assert piece, "it was cut"
            got += len(piece)


# --- the end ---


def test_a_stopping_server_closes_connections_and_a_second_interrupt_does_not_wait() -> None:
    with running(ConnectionLimits(notice=30.0)) as server:
        with server.connect(GET % b"/") as connection:
            assert b"connection: close" not in connection.recv(1000)
            server.server.handle_exit(signal.SIGTERM, None)
            until(
                lambda: (
                    not server.server.should_exit
                    or b"connection" in dict(server.server.server_state.default_headers)
                )
            )
            connection.sendall(GET % b"/")
            assert b"connection: close" in connection.recv(1000)
        server.server.handle_exit(signal.SIGINT, None)
        server.thread.join(2.0)
        assert not server.thread.is_alive()


@pytest.mark.parametrize("followed", (False, True))
def test_a_server_removes_its_own_socket_file_only(
    followed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Server] = []
    ready = Event()
    path = tmp_path / "a.sock"

    class RecordingServer(Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            made.append(self)
            await super().startup(sockets)

    monkeypatch.setattr(run, "Server", RecordingServer)
    before = gc.get_threshold()
    thread = Thread(
        target=serve,
        args=(Plain(),),
        kwargs={"uds": path, "ready": lambda url: ready.set()},
        daemon=True,
    )
    thread.start()
    try:
        assert ready.wait(LATE)
        with socket.socket(socket.AF_UNIX) as following:
            if followed:
                path.unlink()
                following.bind(str(path))
            made[0].should_exit = True
            thread.join(LATE)
            assert not thread.is_alive() and path.exists() == followed
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)


def test_it_can_be_imported_where_there_are_no_limits_of_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "resource", None)
    spec = importlib.util.spec_from_file_location("elsewhere", process.__file__)
    assert spec is not None and spec.loader is not None
    elsewhere = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(elsewhere)
    elsewhere.raise_file_limit()
