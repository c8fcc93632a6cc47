"""uvicorn's connections, with limits on time, size and number.

Slow requests, endless headers, clients that do not read and too many connections end here, before
any application sees them.
"""

from __future__ import annotations

import asyncio
from urllib.parse import unquote

from httptools import parse_url
from msgspec import Struct
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from toolwire.errors import require_count, require_seconds
from toolwire.server.response_cycle import ResponseCycle


class ConnectionLimits(Struct, frozen=True, kw_only=True):
    """How much the connections of one process may use."""

    connections: int = 8192
    head: int = 64 * 1024
    """Bytes of the request line and all headers."""
    seconds: float = 60.0
    """Seconds from the first byte of a request (or the start of the connection) to the last, and
    seconds in which a client must read part of the response. Slower connections are closed."""
    keep_alive: float = 65.0
    """Seconds that a connection may be idle between requests: a little longer than in most
    proxies."""
    backlog: int = 2048
    grace: int = 60
    """Seconds that running requests have to finish when the server stops."""
    notice: float = 0.0
    """Seconds between a failing `/health` and the end of listening, for load balancers that
    poll."""

    def __post_init__(self) -> None:
        require_count(self.connections, "connections=", least=1)
        require_count(self.head, "head=", least=1)
        require_seconds(self.seconds, "seconds=")
        require_seconds(self.keep_alive, "keep_alive=", positive=False)
        require_count(self.backlog, "backlog=", least=1)
        require_count(self.grace, "grace=", least=0)
        require_seconds(self.notice, "notice=", positive=False)


def protocol(limits: ConnectionLimits) -> type[asyncio.Protocol]:
    """Return a protocol class for uvicorn with these limits."""
    return type("LimitedProtocol", (LimitedProtocol,), {"limits": limits})


class LimitedProtocol(HttpToolsProtocol):
    """A connection with limits.

    uvicorn waits forever for the rest of a request, and its parser accepts headers of any length.
    One timer per connection, which reads the clock only when it fires, costs nothing per request.
    What runs for every request calls uvicorn's methods by name: `super()` would cost more than they
    do.
    """

    limits = ConnectionLimits()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._request_started: float | None = self.loop.time()
        self._unparsed = 0
        self._in_headers = True
        self._timer: asyncio.TimerHandle | None = None
        self._idle_since = self._request_started
        """When the last response ended."""
        self._unsent = 0
        """Bytes that the client had not read at the last check."""
        self._last_read = self._request_started
        """When the client last read something."""
        if len(self.connections) > self.limits.connections:
            self._refuse(b"503 Service Unavailable", b"The server has too many connections.")
            return
        self._timer = self.loop.call_later(self._check_interval, self._check)

    @property
    def _check_interval(self) -> float:
        """Seconds until a limit can be reached that starts now."""
        return min(self.limits.seconds, self.limits.keep_alive)

    @property
    def _responding(self) -> bool:
        """True if a response is being sent or is due. Nothing else may be written meanwhile, and
        the client need not send anything."""
        cycle = self.cycle
        if self.pipeline:
            return True
        return (
            cycle is not None
            and not cycle.response_complete
            and (cycle.response_started or not cycle.more_body)
        )

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection over; its limits are those of the application from now on."""
        if self._timer is not None:
            self._timer.cancel()
        self.transport = QuietTransport(self.transport)
        super().handle_websocket_upgrade()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._request_started is None:
            self._request_started = self.loop.time()
            self._in_headers = True
            self._unparsed = 0
        self._unparsed += len(data)
        HttpToolsProtocol.data_received(self, data)
        if self._unparsed > self.limits.head and not self.transport.is_closing():
            if self._in_headers and not self._responding:
                self._refuse(
                    b"431 Request Header Fields Too Large",
                    b"The headers of the request are too large.",
                )
            else:  # endless trailers, or a response is being sent
                self.transport.abort()

    def on_headers_complete(self) -> None:
        """Do what uvicorn does, without the options that `run.py` does not set."""
        self._in_headers = False
        self._unparsed = 0
        parser, version = self.parser, self.parser.get_http_version()
        raw_path, query = _split_url(self.url)
        path = raw_path.decode("ascii")
        self.scope = {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "http_version": version,
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme or "http",
            "method": parser.get_method().decode("ascii"),
            "root_path": self.root_path,
            "path": unquote(path) if "%" in path else path,
            "raw_path": raw_path,
            "query_string": query,
            "headers": self.headers,
            "state": self.app_state.copy(),
        }
        if parser.should_upgrade() and self._should_upgrade():
            return
        self.headers = []  # Trailers are not headers.
        previous = self.cycle
        keep_alive = version != "1.0" and parser.should_keep_alive()
        self.cycle = ResponseCycle(self, keep_alive=keep_alive)
        if previous is None or previous.response_complete:
            self._start_asgi_task(self.cycle, self.app)
        else:  # the client did not wait for the response
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self.app))

    def on_body(self, body: bytes) -> None:
        self._unparsed = 0
        HttpToolsProtocol.on_body(self, body)

    def resume_writing(self) -> None:
        self._unsent = 0
        super().resume_writing()

    def on_message_complete(self) -> None:
        HttpToolsProtocol.on_message_complete(self)
        self._request_started = None
        self._unparsed = 0

    def on_message_begin(self) -> None:
        self.url = b""
        self.headers = []
        self.expect_100_continue = False
        self._request_started = self.loop.time()  # Empty lines before it do not count.
        self._in_headers = True
        self._unparsed = 0

    def on_response_complete(self) -> None:
        """End a response as uvicorn does, but without a keep-alive timer per request."""
        self._idle_since = self.loop.time()
        if self._request_started is not None:  # The next request waited for this response.
            self._request_started = self._idle_since
        if self.pipeline or self.transport.is_closing():
            super().on_response_complete()
            if self.pipeline:  # uvicorn reads on after each response, so the queue only grows
                self.flow.pause_reading()
            return
        self.server_state.total_requests += 1
        self.flow.resume_reading()

    def _check(self) -> None:
        self._timer = None
        now, closing = self.loop.time(), self.transport.is_closing()
        before, self._unsent = (
            self._unsent,
            self.transport.get_write_buffer_size() if closing or self.flow.write_paused else 0,
        )
        if not before or self._unsent < before:
            self._last_read = now
        if self._unsent:
            left = self._last_read + self.limits.seconds - now
            if left <= 0:
                self.transport.abort()
                return
        elif closing or self._responding:
            left = self._check_interval
        elif self._request_started is not None:
            left = self._request_started + self.limits.seconds - now
        else:
            left = self._idle_since + self.limits.keep_alive - now
        if left <= 0:
            self.transport.close()
            left = self._check_interval
        self._timer = self.loop.call_later(left, self._check)

    def _refuse(self, status: bytes, message: bytes) -> None:
        body = b'{"message":"%b"}' % message
        head = (
            b"HTTP/1.1 %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection:"
            b" close\r\n\r\n"
        )
        if not self._responding:  # Otherwise it would be read as part of another response.
            self.transport.write(head % (status, len(body)) + body)
        self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Refuse a message that is not HTTP, in the format of all other errors."""
        self._refuse(b"400 Bad Request", msg.encode("ascii", "replace").replace(b'"', b"'"))


def _split_url(url: bytes) -> tuple[bytes, bytes]:
    """Return the path and the query of the URL in a request line, which the parser has checked."""
    # As all clients but those of a proxy send it. `in` is slower than `find` for bytes: it first
    # tries to read its operand as a number.
    if url.startswith(b"/") and url.find(b"#") < 0:
        path, _, query = url.partition(b"?")
        return path, query
    parsed = parse_url(url)
    return parsed.path, parsed.query or b""


class QuietTransport(asyncio.Transport):
    """The transport of a WebSocket: writing to a closed connection does nothing.

    uvloop raises an error then, which uvicorn does not expect.
    """

    def __init__(self, inner: asyncio.Transport) -> None:
        self._inner = inner

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send data, unless the connection is closed."""
        try:
            self._inner.write(data)
        except RuntimeError:
            if not self._inner.is_closing():
                raise

    # Everything else is delegated.

    def close(self) -> None:
        self._inner.close()

    def is_closing(self) -> bool:
        return self._inner.is_closing()

    def abort(self) -> None:
        self._inner.abort()

    def get_extra_info(self, name: str, default: object = None) -> object:
        return self._inner.get_extra_info(name, default)

    def get_write_buffer_size(self) -> int:
        return self._inner.get_write_buffer_size()

    def pause_reading(self) -> None:
        self._inner.pause_reading()

    def resume_reading(self) -> None:
        self._inner.resume_reading()

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._inner.get_protocol()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._inner.set_protocol(protocol)
