"""One connection that speaks HTTP/1.1, and one answer on it: its head, then its body in pieces as they come.

A server is believed nothing: what waits to be read is bounded, an answer that is cut is an error, and no byte of an answer
reaches the request after it. Parsing is httptools'. Knows neither where a connection goes nor who keeps it.
"""

from __future__ import annotations

import asyncio
import select
import zlib
from collections.abc import Callable
from typing import Protocol

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

HEAD = 1024 * 1024
"""Bytes of the head of an answer, and of all else that is no body. Some providers send long ones."""
ROOM = 256 * 1024
"""Bytes that wait to be read before the server is told to wait."""
AT_ONCE = 2.0
"""Seconds in which a server says that a connection had been closed. What it says later, it says of a request that it had."""
_SMALL = 64 * 1024
_TWICE = 100
"""Fields of a head that may be there already: each is put behind the others."""
_POLLS = hasattr(select, "poll")
"""Windows has none: there, only what the loop has seen is known of a connection that rested."""
_PACKED = {"gzip": 31, "x-gzip": 31, "deflate": 47}
"""What some servers do to an answer though nobody asked for it, and how zlib is told to undo it."""


class Broken(ConnectionError):
    """A server that went away, or that does not speak HTTP."""


class Stale(Broken):
    """A connection that had been closed before it was used again."""


class Keeper(Protocol):
    """Whoever has connections."""

    loop: asyncio.AbstractEventLoop

    def made(self, line: Line) -> None:
        """A connection is there."""

    def keep(self, line: Line) -> None:
        """A connection rests."""

    def forget(self, line: Line) -> None:
        """A connection is gone."""


class Unpacking:
    """Undoes the coding of an answer, no more at a time than there is room for."""

    __slots__ = ("_begun", "_zlib", "full")

    def __init__(self, bits: int) -> None:
        self._zlib = zlib.decompressobj(bits)
        self._begun = False
        self.full = False
        """Whether there is more in what was added."""

    def add(self, data: bytes) -> bytes:
        self._begun = True
        try:
            out = self._zlib.decompress(data, ROOM)
        except zlib.error:
            raise Broken("an answer that cannot be unpacked") from None
        if self._zlib.unused_data:
            raise Broken("an answer with more behind its end")
        self.full = len(out) == ROOM and not self._zlib.eof
        return out

    def more(self) -> bytes:
        return self.add(self._zlib.unconsumed_tail)

    def end(self) -> None:
        if self._begun and not self._zlib.eof:  # nothing at all is what comes with a status that has no body
            raise Broken("an answer that was cut before it was packed")


def unpacking(coding: str) -> Unpacking | None:
    """What undoes a coding, if there is anything to undo. Raises Broken if it is unknown."""
    low = coding.lower()
    if low in _PACKED:
        return Unpacking(_PACKED[low])
    if low not in ("", "identity"):
        raise Broken("an answer in a coding that was not asked for")
    return None


class Reply:
    """One answer: its head when it is given, its body as it comes. Whoever has it closes it."""

    __slots__ = (
        "_error", "_held", "_line", "_pieces", "_refused", "_stopped", "_take", "_unpacking", "_waiter", "begun", "ended",
        "headers", "status",
    )  # fmt: skip

    def __init__(self, line: Line) -> None:
        self._line: Line | None = line
        self._pieces: list[bytes] = []
        self._held = 0
        self._waiter: asyncio.Future[None] | None = None
        self._error: OSError | None = None
        self._unpacking: Unpacking | None = None
        self._take: Callable[[bytes], bool] | None = None
        """Who is given what comes, without being woken."""
        self._refused: Exception | None = None
        self._stopped = False
        self.status = 0
        self.headers: dict[str, str] = {}
        """By name in lower case."""
        self.begun = False
        self.ended = False

    async def head(self) -> None:
        """Wait until status and headers are there. Raises OSError."""
        while not self.begun:
            if self._error is not None:
                raise self._error
            await self._wait()
        if "content-encoding" in self.headers:
            self._unpacking = unpacking(self.headers["content-encoding"])

    async def piece(self) -> bytes:
        """What has come since the last piece; nothing if all of it was read. Raises OSError."""
        packed = self._unpacking
        while True:
            if packed is not None and packed.full:
                if data := packed.more():
                    return data
            elif self._pieces:
                data = self._taken()
                if packed is None or (data := packed.add(data)):
                    return data
            elif self._error is not None:
                raise self._error
            elif self.ended:
                if packed is not None:
                    packed.end()
                return b""
            else:
                await self._wait()

    async def flow(self, take: Callable[[bytes], bool]) -> None:
        """Give each piece to `take` as soon as it comes, until the end or until `take` wants to wait.

        Nobody is woken for a piece: in a stream of many small ones that is most of the work. Raises what `piece` and `take` do.
        """
        while data := await self.piece():
            if not take(data):
                return
            if self._pieces or self.ended or self._error is not None or self._unpacking is not None:
                continue
            self._take, self._stopped = take, False
            try:
                await self._wait()
            finally:
                self._take = None
            if self._refused is not None:
                refused, self._refused = self._refused, None
                raise refused
            if self._stopped:
                return

    def _given(self, take: Callable[[bytes], bool]) -> bool:
        """Whether a piece was taken, and the next one may come; if not, whoever waits goes on."""
        try:
            self._stopped = not take(self._taken())
        except Exception as error:
            self._refused = error
            return False
        return not self._stopped

    def _taken(self) -> bytes:
        pieces, self._pieces = self._pieces, []
        if self._held > ROOM and self._line is not None:
            self._line.go_on()
        self._held = 0
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def _wait(self) -> None:
        line = self._line
        if line is None:
            raise Broken("it was closed")
        self._waiter = line.loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def close(self) -> None:
        """Let go of it: its connection is used again if the answer had come to its end."""
        line, self._line = self._line, None
        if line is not None:
            line.over(self)
            self.wake()

    def leave(self, seconds: float) -> bool:
        """Let go of it as `close` does, but let it come to its end for so long. Whether that is seen to."""
        line, self._line = self._line, None
        if line is not None:
            line.over(self, seconds)
        return True

    # --- what its connection says ---

    def add(self, data: bytes) -> int:
        self._pieces.append(data)
        self._held += len(data)
        return self._held

    def end(self) -> None:
        if self._error is None:
            self.ended = True
            self.wake()

    def fail(self, error: OSError) -> None:
        if not self.ended and self._error is None:
            self._error = error
        self.wake()  # also if it had ended: whoever waits may not know yet

    def wake(self) -> None:
        waiter, take = self._waiter, self._take
        if waiter is None or waiter.done():  # also if whoever waited was cancelled: nothing is given to it any more
            return
        if take is not None:
            if not self._pieces and not self.ended and self._error is None and self._line is not None:
                return
            if self._pieces and self._given(take) and not self.ended and self._error is None:
                return
        waiter.set_result(None)


class Line(asyncio.Protocol):
    """One connection: one request at a time."""

    def __init__(self, keeper: Keeper, door: tuple[str, int, bool]) -> None:
        self.loop = keeper.loop
        self.door = door
        self.since = 0.0
        """When it was last used."""
        self._keeper = keeper
        self._parser = HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._ears = select.poll() if _POLLS else None
        self._reply: Reply | None = None
        self._fields: dict[str, str] = {}
        self._twice = 0
        self._heard = 0.0
        self._silence = 0.0
        self._size = 0
        """Bytes since the request, or since the last of the body."""
        self._unsent = 0
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

    def ask(self, data: bytes, body: bytes, silence: float) -> Reply:
        """Send a request; its answer is still to come."""
        transport = self._transport
        assert transport is not None
        reply = self._reply = Reply(self)
        self._size = self._twice = self._unsent = 0
        self._silence = silence
        self._heard = now = self.loop.time()
        if self._timer is None or self._due > now + silence:
            self._watch(silence, now)
        if len(body) < _SMALL:
            transport.write(data + body)
        else:
            transport.writelines((data, body))
            self._unsent = transport.get_write_buffer_size()
        return reply

    def over(self, reply: Reply, linger: float = 0.0) -> None:
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
        # a server that answers before it has the whole request may read the rest of it as the next one
        if reply.ended and self._alive and not transport.is_closing() and not transport.get_write_buffer_size():
            self._keeper.keep(self)
        else:
            transport.abort()

    def close(self) -> None:
        """Give it up, and whatever is under way on it."""
        self._broke(Broken("it was closed"))

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._alive and self._transport is not None and not self._transport.is_closing()

    @property
    def quiet(self) -> bool:
        """Whether nothing has come that is still to be read: an end, or an answer that nobody asked for."""
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
        before, self._unsent = self._unsent, transport.get_write_buffer_size()
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
            self._broke(Broken("the answer is no HTTP"))
            return
        if self._size > HEAD:
            self._broke(Broken("the head of the answer has no end"))
            return
        if self._leaving is None:
            reply.wake()
        elif reply.ended:
            self.over(reply)

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
        if self._open_end and exc is None and reply.begun:
            reply.end()
            return
        stale = self._used and not self._size and not reply.begun and self.loop.time() - self._heard < AT_ONCE
        reply.fail(Stale("closed before it was asked") if stale else Broken("the connection is gone"))

    def _broke(self, error: OSError) -> None:
        self._alive = False
        if self._reply is not None:
            self._reply.fail(error)
        if self._transport is not None:
            self._transport.abort()

    # --- what the parser says: what is raised here ends the connection, and the answer if it has not ended ---

    def on_message_begin(self) -> None:
        if self._reply is None or self._reply.ended:
            raise Broken("a second answer to one question")

    def on_header(self, name: bytes, value: bytes) -> None:
        key, text = name.decode("latin-1").lower(), value.rstrip(b" \t").decode("latin-1")
        before = self._fields.get(key)
        if before is not None:
            self._twice += 1
            if self._twice > _TWICE:
                raise Broken("a head that repeats itself")
            text = f"{before}, {text}"
        self._fields[key] = text

    def on_headers_complete(self) -> None:
        status, reply = self._parser.get_status_code(), self._reply
        fields, self._fields = self._fields, {}  # what is behind the body is no part of the head
        if status < 100:
            raise Broken("no status")
        if status < 200 or reply is None:  # what it says before it answers
            return
        coding = fields.get("transfer-encoding")
        if coding is None:
            self._open_end = "content-length" not in fields
        elif coding.lower() != "chunked":
            raise Broken("a coding that was not asked for")
        else:
            self._open_end = False
        self._alive = self._parser.should_keep_alive()
        reply.status, reply.headers, reply.begun = status, fields, True

    def on_body(self, data: bytes) -> None:
        self._size = 0
        if self._reply is not None and self._reply.add(data) > ROOM and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        if self._fields:
            self._fields = {}
        reply = self._reply
        if reply is not None and reply.begun:
            reply.ended = True
            self.go_on()  # whatever comes now should not have come, and is to be seen before the next request
