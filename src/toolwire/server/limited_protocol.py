"""The connections of a server: uvicorn's, with bounds of time and size.

Requests that dribble in, heads without end, clients that take nothing and connections beyond a
number are cut off here, before any app sees them. Knows no protocol above HTTP.
"""

from __future__ import annotations

import asyncio

from msgspec import Struct
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_SMALL = 64 * 1024


class ConnectionLimits(Struct, frozen=True, kw_only=True):
    """What one process lets its connections use."""

    connections: int = 8192
    head: int = 64 * 1024
    """Bytes of a request line with all headers."""
    seconds: float = 60.0
    """From the first byte of a request (or from the connection) to its last, and without taking a
    byte of an answer: whoever is slower is cut off."""
    keep_alive: float = 65.0
    """Seconds a connection may rest between requests: a little longer than most proxies keep
    theirs."""
    backlog: int = 2048
    grace: int = 60
    """Seconds that requests under way have to finish when the server stops."""
    notice: float = 0.0
    """Seconds between saying on `/health` that it is over and closing the door, for balancers that
    poll."""


def protocol(bounds: ConnectionLimits) -> type[asyncio.Protocol]:
    """uvicorn's protocol for these bounds."""
    return type("BoundedProtocol", (LimitedProtocol,), {"bounds": bounds})


class LimitedProtocol(HttpToolsProtocol):
    """A connection that must get on with it.

    uvicorn waits for ever for the rest of a request, and its parser takes a head of any length. One
    timer per connection, which only looks at a clock when it fires, costs nothing per request.
    """

    bounds = ConnectionLimits()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(CoalescingTransport(transport, self.loop))
        self._since: float | None = self.loop.time()
        self._head = 0
        self._in_head = True
        self._timer: asyncio.TimerHandle | None = None
        self._rested = self._since
        """When the last answer was over."""
        self._unsent = 0
        """Bytes that waited for the client when somebody last looked."""
        self._took = self._since
        """When it was last known to take some."""
        if len(self.connections) > self.bounds.connections:
            self._refuse(
                b"503 Service Unavailable", b"The server holds as many connections as it can."
            )
            return
        self._timer = self.loop.call_later(self._pause, self._look)

    @property
    def _pause(self) -> float:
        """How long nobody need look: time may begin to count any moment."""
        return min(self.bounds.seconds, self.bounds.keep_alive)

    @property
    def _answering(self) -> bool:
        """Whether an answer is under way or owed: nothing may be written into it, and the client
        need say nothing meanwhile."""
        cycle = self.cycle
        if self.pipeline:
            return True
        return (
            cycle is not None
            and not cycle.response_complete
            and (cycle.response_started or not cycle.more_body)
        )

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
        self._head += len(data)
        super().data_received(data)
        if self._head > self.bounds.head and not self.transport.is_closing():
            if self._in_head and not self._answering:
                self._refuse(
                    b"431 Request Header Fields Too Large", b"The head of the request is too large."
                )
            else:  # what is behind a body has no end, or an answer is under way
                self.transport.abort()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._head = 0
        super().on_headers_complete()
        self.headers = []  # what is behind the body is no part of the head

    def on_body(self, body: bytes) -> None:
        self._head = 0
        super().on_body(body)

    def resume_writing(self) -> None:
        self._unsent = 0
        super().resume_writing()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._since = None
        self._head = 0

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._since = self.loop.time()  # also if something came before: an empty line is no request
        self._in_head = True
        self._head = 0

    def on_response_complete(self) -> None:
        """As uvicorn does it, but without a timer that is set and cancelled for every request: the
        one there is sees to it."""
        self._rested = self.loop.time()
        if self._since is not None:  # something more came, and had to wait for this answer
            self._since = self._rested
        if self.pipeline or self.transport.is_closing():
            super().on_response_complete()
            return
        self.server_state.total_requests += 1
        self.flow.resume_reading()

    def _look(self) -> None:
        self._timer = None
        now, closing = self.loop.time(), self.transport.is_closing()
        before, self._unsent = (
            self._unsent,
            self.transport.get_write_buffer_size() if closing or self.flow.write_paused else 0,
        )
        if not before or self._unsent < before:
            self._took = now
        if self._unsent:
            left = self._took + self.bounds.seconds - now
            if left <= 0:
                self.transport.abort()
                return
        elif closing or self._answering:
            left = self._pause
        elif self._since is not None:
            left = self._since + self.bounds.seconds - now
        else:
            left = self._rested + self.bounds.keep_alive - now
        if left <= 0:
            self.transport.close()
            left = self._pause
        self._timer = self.loop.call_later(left, self._look)

    def _refuse(self, status: bytes, message: bytes) -> None:
        body = b'{"message":"%b"}' % message
        head = (
            b"HTTP/1.1 %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection:"
            b" close\r\n\r\n"
        )
        if not self._answering:  # in the middle of another answer it would be read as a part of it
            self.transport.write(head % (status, len(body)) + body)
        self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """uvicorn's own words for what is not HTTP, in the format of everything else."""
        self._refuse(b"400 Bad Request", msg.encode("ascii", "replace").replace(b'"', b"'"))


class CoalescingTransport(asyncio.Transport):
    """A transport that sends the head of an answer together with what follows it at once.

    uvicorn writes them one after the other, and each would be a system call and a packet of its
    own.
    """

    def __init__(self, inner: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._inner = inner
        self._loop = loop
        self._head = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._head:
            head, self._head = self._head, b""
            if (
                len(data) < _SMALL
            ):  # one buffer is sent at once; several take a longer way through the event loop
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

    # The rest is that of the transport.

    def is_closing(self) -> bool:
        return self._inner.is_closing()

    def abort(self) -> None:
        self._inner.abort()

    def get_extra_info(self, name: str, default: object = None) -> object:
        return self._inner.get_extra_info(name, default)

    def get_write_buffer_size(self) -> int:
        return len(self._head) + self._inner.get_write_buffer_size()

    def pause_reading(self) -> None:
        self._inner.pause_reading()

    def resume_reading(self) -> None:
        self._inner.resume_reading()

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._inner.get_protocol()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._inner.set_protocol(protocol)
