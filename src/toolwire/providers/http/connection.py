"""One HTTP/1.1 connection: one request at a time.

A server is not trusted: the bytes that wait to be read are bounded, a truncated response is an
error, and no byte of a response reaches the request after it. httptools parses.
"""

from __future__ import annotations

import asyncio
import select
import ssl
from typing import Protocol

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from toolwire.providers.http.errors import ProtocolError, StaleConnection
from toolwire.providers.http.response import BUFFER_LIMIT, HeaderCollector, Response

MAX_HEAD = 1024 * 1024
"""Bytes of the head of a response, and of everything else that is not body. Some providers send
long heads."""
STALE_WITHIN = 0.2
"""Seconds after a request in which the end of a reused connection means that the server closed it
before it read the request. A later end most likely concerns the request."""
_SMALL = 64 * 1024
_EMPTY = memoryview(b"")
_HAS_POLL = hasattr(select, "poll")
"""Windows has none: there, only the event loop notices what arrives on an idle connection."""


class ConnectionOwner(Protocol):
    """The pool of a connection."""

    loop: asyncio.AbstractEventLoop

    def add(self, connection: Connection) -> None:
        """Register a connection that has opened."""

    def keep(self, connection: Connection) -> None:
        """Keep a connection that has become idle."""

    def discard(self, connection: Connection) -> None:
        """Forget a connection that has closed."""


class Connection(asyncio.Protocol):
    """One connection: one request at a time."""

    def __init__(self, owner: ConnectionOwner, key: tuple[str, int, bool, str]) -> None:
        self.loop = owner.loop
        self.key = key
        self.idle_since = 0.0
        self._owner = owner
        self._headers = HeaderCollector()
        self.on_header = self._headers.put
        self._parser = HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._poll = select.poll() if _HAS_POLL else None
        self._response: Response | None = None
        self._last_byte = 0.0
        """When something last arrived, or a request was sent."""
        self._idle_timeout = 0.0
        self._overhead = 0
        """Bytes since the request, or since the last byte of body."""
        self._last_unsent = 0
        """Bytes of the request that were unsent at the last timer check."""
        self._rest = _EMPTY
        """The part of the request that is not written yet."""
        self._write_paused = False
        self._used = False
        self._alive = True
        """True if another request may follow."""
        self._ends_with_connection = False
        """True if the end of the connection is the end of the response."""
        self._read_paused = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._linger: asyncio.TimerHandle | None = None
        """Runs while a response that was given up may still end."""

    def send(self, head: bytes, body: bytes, idle_timeout: float) -> Response:
        """Send a request and return its response, which has not started yet."""
        transport = self._transport
        assert transport is not None
        response = self._response = Response(self)
        self._overhead = self._last_unsent = 0
        self._idle_timeout = idle_timeout
        self._last_byte = now = self.loop.time()
        if self._timer is None or self._timer_at > now + idle_timeout:
            self._start_timer(idle_timeout, now)
        if len(body) < _SMALL:
            transport.write(head + body)
        else:
            transport.write(head)
            self._rest = memoryview(body)
            self._write_rest()
            self._last_unsent = self._count_unsent()
        return response

    def _write_rest(self) -> None:
        """Write only what fits into the buffer: TLS does not report how much of a write was
        sent."""
        transport = self._transport
        while (
            self._rest
            and not self._write_paused
            and transport is not None
            and not transport.is_closing()
        ):
            piece, self._rest = self._rest[:_SMALL], self._rest[_SMALL:]
            transport.write(piece)
        if not self._rest:
            self._rest = _EMPTY  # an empty slice would keep the whole body in memory

    def _count_unsent(self) -> int:
        """Bytes of the request that are not sent yet."""
        buffered = 0 if self._transport is None else self._transport.get_write_buffer_size()
        return len(self._rest) + buffered

    def release(self, response: Response, linger: float = 0.0) -> None:
        """Give up a response; its end may still arrive within `linger` seconds."""
        transport = self._transport
        if self._response is not response or transport is None:
            return
        if linger and self._alive and not response.ended:
            self._linger = self.loop.call_later(linger, self.release, response)
            return
        if self._linger is not None:
            self._linger.cancel()
            self._linger = None
        self._response = None
        self._used = True
        # A server that responds before it has the whole request may read the rest of it as the
        # next request.
        if response.ended and self.is_usable() and not self._count_unsent():
            self._owner.keep(self)
        else:
            transport.abort()

    def close(self) -> None:
        """Close the connection. A request in progress fails."""
        self._fail(ProtocolError("the connection was closed here"))

    def is_usable(self) -> bool:
        """True if a request can be sent."""
        return self._alive and self._transport is not None and not self._transport.is_closing()

    def has_unread_data(self) -> bool:
        """True if unread bytes have arrived: the end of the connection, or unsolicited data."""
        return self._poll is not None and bool(self._poll.poll(0))

    # --- time ---

    def _start_timer(self, seconds: float, now: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = now + seconds
        self._timer = self.loop.call_later(seconds, self._check_time)

    def _check_time(self) -> None:
        """Check the idle timeout. One timer serves all requests of a connection."""
        self._timer = None
        transport = self._transport
        if self._response is None or transport is None or transport.is_closing():
            return
        now = self.loop.time()
        previous, self._last_unsent = self._last_unsent, self._count_unsent()
        progress = self._read_paused or self._last_unsent < previous
        left = self._idle_timeout if progress else self._last_byte + self._idle_timeout - now
        if left <= 0:
            self._fail(TimeoutError(f"the server sent nothing for {self._idle_timeout:g} s"))
        else:
            self._start_timer(left, now)

    def resume_reading(self) -> None:
        """Read on: there is room again."""
        if self._read_paused and self._transport is not None:
            self._read_paused = False
            self._last_byte = self.loop.time()
            self._transport.resume_reading()

    # --- called by the transport ---

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        if not self._alive:  # closed before it was open
            transport.abort()
            return
        if self._poll is not None:
            self._poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
        self._owner.add(self)

    def data_received(self, data: bytes) -> None:
        response = self._response
        if response is None or response.ended:
            self.close()  # no request is in progress
            return
        self._last_byte = self.loop.time()
        self._overhead += len(data)
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            self._fail(ProtocolError("the response is not HTTP"))
            return
        if self._overhead > MAX_HEAD:
            self._fail(ProtocolError("the response headers have no end"))
            return
        if self._linger is None:
            response.wake()
        elif response.ended:
            self.release(response)

    def pause_writing(self) -> None:
        self._write_paused = True

    def resume_writing(self) -> None:
        self._write_paused = False
        self._write_rest()

    def eof_received(self) -> bool:
        self._end(None)
        if self._transport is not None:
            self._transport.abort()  # do not wait until the server reads the rest of a request
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._timer, self._linger):
            if timer is not None:
                timer.cancel()
        self._owner.discard(self)
        self._end(exc)

    def _end(self, exc: Exception | None) -> None:
        self._alive = False
        response = self._response
        if response is None:
            return
        may_end = self._ends_with_connection and exc is None and response.started
        if may_end and (response.ended or not self._tls_truncated):
            response.end()
            return
        stale = (
            self._used
            and not self._overhead
            and not response.started
            and self.loop.time() - self._last_byte < STALE_WITHIN
        )
        if stale:
            response.fail(StaleConnection("the server closed the idle connection"))
        else:
            response.fail(ProtocolError("the server closed the connection"))

    @property
    def _tls_truncated(self) -> bool:
        """True if TLS ended without its closing message: anyone on the way can cut a
        connection."""
        tls = None if self._transport is None else self._transport.get_extra_info("ssl_object")
        if tls is None:
            return False
        try:
            return bool(tls.read(1))  # empty after the closing message
        except ssl.SSLError:
            return True

    def _fail(self, error: OSError) -> None:
        self._alive = False
        self._rest = _EMPTY
        if self._response is not None:
            self._response.fail(error)
        if self._transport is not None:
            self._transport.abort()

    # --- called by the parser; an exception here ends the connection ---

    def on_message_begin(self) -> None:
        if self._response is None or self._response.ended:
            raise ProtocolError("a second response to one request")

    def on_headers_complete(self) -> None:
        status, response = self._parser.get_status_code(), self._response
        headers = self._headers.take()  # trailers are no part of the head
        if status < 100:
            raise ProtocolError("the response has no status")
        if status < 200 or response is None:  # informational
            return
        encoding = headers.get("transfer-encoding")
        if encoding is None:
            self._ends_with_connection = "content-length" not in headers
        elif encoding.lower() != "chunked":
            raise ProtocolError("the response has a transfer encoding that was not asked for")
        else:
            self._ends_with_connection = False
        self._alive = self._parser.should_keep_alive()
        response.status, response.headers, response.started = status, headers, True

    def on_body(self, data: bytes) -> None:
        self._overhead = 0
        response = self._response
        if response is None:
            return
        if not response.started:
            raise ProtocolError("the response body arrived before its headers")
        waiting = response.add(data)
        if waiting > BUFFER_LIMIT and not self._read_paused and self._transport is not None:
            self._read_paused = True
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        self._headers.take()
        response = self._response
        if response is not None and response.started:
            response.ended = True
            self.resume_reading()  # to notice unsolicited data before the next request
