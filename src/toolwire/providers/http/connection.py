"""One connection that speaks HTTP/1.1: one request at a time.

A server is believed nothing: what waits to be read is bounded, an answer that is cut is an error,
and no byte of an answer reaches the request after it. Parsing is httptools'. Knows neither where a
connection goes nor who keeps it.
"""

from __future__ import annotations

import asyncio
import select
import ssl
from typing import Protocol

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from toolwire.providers.http.response import (
    ROOM,
    ProtocolError,
    Response,
    ResponseHead,
    StaleConnection,
)

HEAD = 1024 * 1024
"""Bytes of the head of an answer, and of all else that is no body. Some providers send long ones.
"""
AT_ONCE = 0.2
"""Seconds in which a server's word that a connection is closed is on its way while it is asked
again: the request was then most likely never read. What it says later, it most likely says of a
request that it had."""
_SMALL = 64 * 1024
_NOTHING = memoryview(b"")
_POLLS = hasattr(select, "poll")
"""Windows has none: there, only what the loop has seen is known of a connection that rested."""


class ConnectionOwner(Protocol):
    """Whoever has connections."""

    loop: asyncio.AbstractEventLoop

    def made(self, line: Connection) -> None:
        """A connection is there."""

    def keep(self, line: Connection) -> None:
        """A connection rests."""

    def forget(self, line: Connection) -> None:
        """A connection is gone."""


class Connection(asyncio.Protocol):
    """One connection: one request at a time."""

    def __init__(self, keeper: ConnectionOwner, door: tuple[str, int, bool]) -> None:
        self.loop = keeper.loop
        self.door = door
        self.since = 0.0
        """When it was last used."""
        self._keeper = keeper
        self._fields = ResponseHead()
        self.on_header = self._fields.put
        self._parser = HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._ears = select.poll() if _POLLS else None
        self._reply: Response | None = None
        self._heard = 0.0
        self._silence = 0.0
        self._size = 0
        """Bytes since the request, or since the last of the body."""
        self._unsent = 0
        """Bytes of the request that waited when somebody last looked."""
        self._rest = _NOTHING
        """What of the request is still to be given to the transport."""
        self._full = False
        """Whether the transport wants no more for now."""
        self._used = False
        self._alive = True
        """Whether another request may follow."""
        self._open_end = False
        """Whether an answer ends with its connection."""
        self._paused = False
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._leaving: asyncio.TimerHandle | None = None
        """Of an answer that nobody reads any more, and that may still come to its end."""

    def ask(self, data: bytes, body: bytes, silence: float) -> Response:
        """Send a request; its answer is still to come."""
        transport = self._transport
        assert transport is not None
        reply = self._reply = Response(self)
        self._size = self._unsent = 0
        self._silence = silence
        self._heard = now = self.loop.time()
        if self._timer is None or self._due > now + silence:
            self._watch(silence, now)
        if len(body) < _SMALL:
            transport.write(data + body)
        else:
            transport.write(data)
            self._rest = memoryview(body)
            self._send()
            self._unsent = self._waiting
        return reply

    def _send(self) -> None:
        """As much as there is room for: of what is given to TLS at once nobody can tell how much
        was sent."""
        transport = self._transport
        while (
            self._rest and not self._full and transport is not None and not transport.is_closing()
        ):
            piece, self._rest = self._rest[:_SMALL], self._rest[_SMALL:]
            transport.write(piece)
        if not self._rest:
            self._rest = (
                _NOTHING  # the end of a request would hold all of it while the connection rests
            )

    @property
    def _waiting(self) -> int:
        """Bytes of the request that are still to be sent."""
        return len(self._rest) + (
            0 if self._transport is None else self._transport.get_write_buffer_size()
        )

    def over(self, reply: Response, linger: float = 0.0) -> None:
        """An answer is wanted no more; its end may still come for so long."""
        transport = self._transport
        if self._reply is not reply or transport is None:
            return
        if linger and self._alive and not reply.ended:
            self._leaving = self.loop.call_later(linger, self.over, reply)
            return
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None
        self._reply = None
        self._used = True
        # a server that answers before it has the whole request may read the rest of it as the next
        # one
        if reply.ended and self._alive and not transport.is_closing() and not self._waiting:
            self._keeper.keep(self)
        else:
            transport.abort()

    def close(self) -> None:
        """Give it up, and whatever is under way on it."""
        self._broke(ProtocolError("it was closed"))

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._alive and self._transport is not None and not self._transport.is_closing()

    @property
    def quiet(self) -> bool:
        """Whether nothing has come that is still to be read: an end, or an answer that nobody asked
        for."""
        return self._ears is None or not self._ears.poll(0)

    # --- time ---

    def _watch(self, seconds: float, now: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._due = now + seconds
        self._timer = self.loop.call_later(seconds, self._look)

    def _look(self) -> None:
        """One timer for all requests of a connection: it looks at the clock when it fires."""
        self._timer = None
        transport = self._transport
        if self._reply is None or transport is None or transport.is_closing():
            return
        now = self.loop.time()
        before, self._unsent = self._unsent, self._waiting
        waits = self._paused or self._unsent < before  # for us, or it is still being told
        left = self._silence if waits else self._heard + self._silence - now
        if left <= 0:
            self._broke(TimeoutError("nothing came in time"))
        else:
            self._watch(left, now)

    def go_on(self) -> None:
        """There is room again."""
        if self._paused and self._transport is not None:
            self._paused = False
            self._heard = self.loop.time()
            self._transport.resume_reading()

    # --- what the transport says ---

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        if not self._alive:  # given up before it was there
            transport.abort()
            return
        if self._ears is not None:
            self._ears.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
        self._keeper.made(self)

    def data_received(self, data: bytes) -> None:
        reply = self._reply
        if reply is None or reply.ended:  # nobody asked
            self.close()
            return
        self._heard = self.loop.time()
        self._size += len(data)
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            self._broke(ProtocolError("the answer is no HTTP"))
            return
        if self._size > HEAD:
            self._broke(ProtocolError("the head of the answer has no end"))
            return
        if self._leaving is None:
            reply.wake()
        elif reply.ended:
            self.over(reply)

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        self._send()

    def eof_received(self) -> bool:
        self._gone(None)
        if self._transport is not None:
            self._transport.abort()  # nobody waits for it to read the rest of a request
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._timer, self._leaving):
            if timer is not None:
                timer.cancel()
        self._keeper.forget(self)
        self._gone(exc)

    def _gone(self, exc: Exception | None) -> None:
        self._alive = False
        reply = self._reply
        if reply is None:
            return
        if self._open_end and exc is None and reply.begun and (reply.ended or not self._torn):
            reply.end()
            return
        stale = (
            self._used
            and not self._size
            and not reply.begun
            and self.loop.time() - self._heard < AT_ONCE
        )
        reply.fail(
            StaleConnection("closed while it was asked")
            if stale
            else ProtocolError("the connection is gone")
        )

    @property
    def _torn(self) -> bool:
        """Whether a connection with TLS ended without saying so: anybody on the way can cut it."""
        told = None if self._transport is None else self._transport.get_extra_info("ssl_object")
        if told is None:
            return False
        try:
            return bool(told.read(1))  # nothing: its end was said
        except ssl.SSLError:
            return True

    def _broke(self, error: OSError) -> None:
        self._alive = False
        self._rest = _NOTHING
        if self._reply is not None:
            self._reply.fail(error)
        if self._transport is not None:
            self._transport.abort()

    # --- what the parser says: what is raised here ends the connection, and the answer if it has no

    def on_message_begin(self) -> None:
        if self._reply is None or self._reply.ended:
            raise ProtocolError("a second answer to one question")

    def on_headers_complete(self) -> None:
        status, reply = self._parser.get_status_code(), self._reply
        fields = self._fields.taken()  # what is behind the body is no part of the head
        if status < 100:
            raise ProtocolError("no status")
        if status < 200 or reply is None:  # what it says before it answers
            return
        coding = fields.get("transfer-encoding")
        if coding is None:
            self._open_end = "content-length" not in fields
        elif coding.lower() != "chunked":
            raise ProtocolError("a coding that was not asked for")
        else:
            self._open_end = False
        self._alive = self._parser.should_keep_alive()
        reply.status, reply.headers, reply.begun = status, fields, True

    def on_body(self, data: bytes) -> None:
        self._size = 0
        reply = self._reply
        if reply is None:
            return
        if not reply.begun:
            raise ProtocolError("a body before the answer")
        if reply.add(data) > ROOM and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        self._fields.taken()
        reply = self._reply
        if reply is not None and reply.begun:
            reply.ended = True
            # whatever comes now should not have come, and is to be seen before the next request
            self.go_on()
