"""One answer of HTTP/1.1: its head, then its body in pieces as they come; and what undoes the
coding of a body.

A server is believed nothing: what waits to be read is bounded, and an answer that is cut is an
error. Knows its connection only as whatever lets it go on.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Protocol

from toolwire.errors import ToolwireError

ROOM = 256 * 1024
"""Bytes that wait to be read before the server is told to wait."""
_TWICE = 100
"""Fields of a head that may be there already: each is put behind the others."""
_PACKED = {"gzip": 31, "x-gzip": 31, "deflate": 47}
"""What some servers do to an answer though nobody asked for it, and how zlib is told to undo it."""


class ProtocolError(ToolwireError, ConnectionError):
    """A server that went away, or that does not speak HTTP."""


class StaleConnection(ProtocolError):
    """A connection that had most likely been closed before it was used again."""


class BodySource(Protocol):
    """Where an answer comes from."""

    loop: asyncio.AbstractEventLoop

    def go_on(self) -> None:
        """There is room again."""

    def over(self, reply: Response, linger: float = 0.0) -> None:
        """An answer is wanted no more; its end may still come for so long."""


class ResponseHead:
    """Header fields as they come: by name in lower case, all that have one name together."""

    __slots__ = ("_known", "_twice")

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._twice = 0

    def put(self, name: bytes, value: bytes) -> None:
        """One more. Raises Broken if there is no end of one name."""
        key, text = name.decode("latin-1").lower(), value.rstrip(b" \t").decode("latin-1")
        before = self._known.get(key)
        if before is not None:
            self._twice += 1
            if self._twice > _TWICE:
                raise ProtocolError("a head that repeats itself")
            text = f"{before}, {text}"
        self._known[key] = text

    def taken(self) -> dict[str, str]:
        """Those that came; what comes now belongs to something else."""
        known, self._known, self._twice = self._known, {}, 0
        return known


class Decompressor:
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
            raise ProtocolError("an answer that cannot be unpacked") from None
        if self._zlib.unused_data:
            raise ProtocolError("an answer with more behind its end")
        self.full = len(out) == ROOM and not self._zlib.eof
        return out

    def more(self) -> bytes:
        return self.add(self._zlib.unconsumed_tail)

    async def piece(self, read: Callable[[], Awaitable[bytes]]) -> bytes:
        """What comes of all that can be read, piece by piece; nothing at the end. Raises
        OSError.
        """
        while True:
            if self.full:
                data = self.more()
            elif data := await read():
                data = self.add(data)
            else:
                self.end()
                return b""
            if data:
                return data

    def end(self) -> None:
        if (
            self._begun and not self._zlib.eof
        ):  # nothing at all is what comes with a status that has no body
            raise ProtocolError("an answer that was cut before it was packed")


def unpacking(coding: str) -> Decompressor | None:
    """What undoes a coding, if there is anything to undo. Raises Broken if it is unknown."""
    low = coding.lower()
    if low in _PACKED:
        return Decompressor(_PACKED[low])
    if low not in ("", "identity"):
        raise ProtocolError("an answer in a coding that was not asked for")
    return None


class Response:
    """One answer: its head when it is given, its body as it comes. Whoever has it closes it."""

    __slots__ = (
        "_error",
        "_held",
        "_line",
        "_pieces",
        "_refused",
        "_stopped",
        "_take",
        "_unpacking",
        "_waiter",
        "begun",
        "ended",
        "headers",
        "status",
    )

    def __init__(self, line: BodySource) -> None:
        self._line: BodySource | None = line
        self._pieces: list[bytes] = []
        self._held = 0
        self._waiter: asyncio.Future[None] | None = None
        self._error: OSError | None = None
        self._unpacking: Decompressor | None = None
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

    def piece(self) -> Coroutine[None, None, bytes]:
        """What has come since the last piece; nothing if all of it was read. Raises OSError."""
        return self._read() if self._unpacking is None else self._unpacking.piece(self._read)

    async def _read(self) -> bytes:
        while not self._pieces:
            if self._error is not None:
                raise self._error
            if self.ended:
                return b""
            await self._wait()
        return self._taken()

    async def flow(self, take: Callable[[bytes], bool]) -> None:
        """Give each piece to `take` as soon as it comes, until the end or until `take` wants to
        wait.

        Nobody is woken for a piece: in a stream of many small ones that is most of the work. Raises
        what `piece` and `take` do.
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
            raise ProtocolError("it was closed")
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

    def leave(self, seconds: float) -> None:
        """Let go of it as `close` does, but let it come to its end for so long."""
        line, self._line = self._line, None
        if line is not None:
            line.over(self, seconds)

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
        if (
            waiter is None or waiter.done()
        ):  # also if whoever waited was cancelled: nothing is given to it any more
            return
        if take is not None:
            if (
                not self._pieces
                and not self.ended
                and self._error is None
                and self._line is not None
            ):
                return
            if self._pieces and self._given(take) and not self.ended and self._error is None:
                return
        waiter.set_result(None)
