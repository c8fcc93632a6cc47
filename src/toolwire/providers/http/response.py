"""One HTTP/1.1 response: its head, then its body in pieces as they arrive.

A server is not trusted: the bytes that wait to be read are bounded, and a truncated response is an
error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Protocol

from msgspec import Struct

from toolwire.providers.http.compression import Decompressor, decompressor_for
from toolwire.providers.http.errors import ProtocolError

BUFFER_LIMIT = 256 * 1024
"""Bytes that wait to be read before the connection stops reading."""
_MAX_REPEATED_FIELDS = 100
"""Header fields whose name occurred before: each is appended to the others."""
_MAX_NAMES = 256
LARGEST_BODY = 64 * 1024 * 1024
"""Bytes of a response that is read as a whole."""


class ResponseOwner(Protocol):
    """The connection that a response arrives on."""

    loop: asyncio.AbstractEventLoop

    def resume_reading(self) -> None:
        """Read on: there is room again."""

    def release(self, response: Response, linger: float = 0.0) -> None:
        """Give up a response; its end may still arrive within `linger` seconds."""


class HeaderCollector:
    """Collects header fields: names in lower case, values of one name joined."""

    __slots__ = ("_fields", "_repeated")

    def __init__(self) -> None:
        self._fields: dict[str, str] = {}
        self._repeated = 0

    def put(self, name: bytes, value: bytes) -> None:
        """Add a field. Raises ProtocolError if one name is repeated without end."""
        key = _NAMES.get(name) or _read_name(name)
        text = value.rstrip(b" \t").decode("latin-1")
        fields = self._fields
        if key in fields:
            self._repeated += 1
            if self._repeated > _MAX_REPEATED_FIELDS:
                raise ProtocolError("too many header fields of one name")
            text = f"{fields[key]}, {text}"
        fields[key] = text

    def take(self) -> dict[str, str]:
        """Return the collected fields and start again."""
        fields, self._fields, self._repeated = self._fields, {}, 0
        return fields


_NAMES: dict[bytes, str] = {}
"""Names of header fields that were read before: a server sends the same ones in every response."""


def _read_name(name: bytes) -> str:
    if len(_NAMES) >= _MAX_NAMES:
        _NAMES.clear()
    key = _NAMES[name] = name.decode("latin-1").lower()
    return key


class Response(Struct, eq=False):
    """A response whose body is read piece by piece. The caller closes it."""

    _owner: ResponseOwner | None
    """The connection, until the response is closed."""
    status: int = 0
    headers: dict[str, str] = {}
    """By name in lower case."""
    started: bool = False
    """True if status and headers are there."""
    ended: bool = False
    """True if the last byte has arrived."""
    _pieces: list[bytes] = []
    _buffered: int = 0
    _waiter: asyncio.Future[None] | None = None
    _error: OSError | None = None
    _decompressor: Decompressor | None = None
    _consumer: Callable[[bytes], bool] | None = None
    """Gets each piece directly, without a task switch."""
    _consumer_error: Exception | None = None
    _consumer_paused: bool = False

    async def wait_for_head(self) -> None:
        """Wait until status and headers are there; close the response if they do not arrive.

        Raises OSError.
        """
        try:
            while not self.started:
                if self._error is not None:
                    raise self._error
                await self._next_arrival()
            if "content-encoding" in self.headers:
                self._decompressor = decompressor_for(self.headers["content-encoding"])
        except BaseException:
            self.close()
            raise

    def read(self) -> Coroutine[None, None, bytes]:
        """Return the bytes that arrived since the last read; empty at the end. Raises OSError."""
        if self._decompressor is None:
            return self._read()
        return self._decompressor.read(self._read)

    async def read_all(self, *, largest: int = LARGEST_BODY) -> bytes:
        """Return the whole body.

        Raises:
            ValueError: The body is larger than `largest` bytes.
            OSError: The connection broke.
        """
        if self.ended and self._buffered <= largest and self._decompressor is None:
            return self._take_pieces()  # it arrived together with its head, as most do
        pieces: list[bytes] = []
        size = 0
        while data := await self.read():
            pieces.append(data)
            size += len(data)
            if size > largest:
                raise ValueError(f"the response has more than {largest} bytes")
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def _read(self) -> bytes:
        while not self._pieces:
            if self._error is not None:
                raise self._error
            if self.ended:
                return b""
            await self._next_arrival()
        return self._take_pieces()

    async def pump(self, consumer: Callable[[bytes], bool]) -> None:
        """Give each piece to `consumer` when it arrives, until the end or until it returns False.

        No task is woken for a piece: in a stream of many small ones, that would be most of the
        work. Raises what `read` and `consumer` raise.
        """
        while data := await self.read():
            if not consumer(data):
                return
            if (
                self._pieces
                or self.ended
                or self._error is not None
                or self._decompressor is not None
            ):
                continue
            self._consumer, self._consumer_paused = consumer, False
            try:
                await self._next_arrival()
            finally:
                self._consumer = None
            if self._consumer_error is not None:
                error, self._consumer_error = self._consumer_error, None
                raise error
            if self._consumer_paused:
                return

    def _feed_consumer(self, consumer: Callable[[bytes], bool]) -> bool:
        """Return whether the consumer took the pieces and wants more."""
        pieces = self._pieces
        if len(pieces) == 1 and self._buffered <= BUFFER_LIMIT:  # nearly always
            data, self._buffered = pieces.pop(), 0
        else:
            data = self._take_pieces()
        try:
            self._consumer_paused = not consumer(data)
        except Exception as error:
            self._consumer_error = error
            return False
        return not self._consumer_paused

    def _take_pieces(self) -> bytes:
        pieces, self._pieces = self._pieces, []
        if self._buffered > BUFFER_LIMIT and self._owner is not None:
            self._owner.resume_reading()
        self._buffered = 0
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _next_arrival(self) -> asyncio.Future[None]:
        """Return a future that is done when bytes arrive, or the response ends or fails."""
        if self._owner is None:
            raise ProtocolError("the response is closed")
        self._waiter = self._owner.loop.create_future()
        return self._waiter

    def close(self) -> None:
        """Release the connection. It is used again if the response had ended."""
        owner, self._owner = self._owner, None
        if owner is not None:
            owner.release(self)
            self.wake()

    def drain(self, seconds: float) -> None:
        """Release the connection as `close` does, but let the response end within `seconds`."""
        owner, self._owner = self._owner, None
        if owner is not None:
            owner.release(self, seconds)

    # --- called by its connection ---

    def add(self, data: bytes) -> int:
        """Append a piece of the body; return the bytes that wait."""
        self._pieces.append(data)
        self._buffered += len(data)
        return self._buffered

    def end(self) -> None:
        if self._error is None:
            self.ended = True
            self.wake()

    def fail(self, error: OSError) -> None:
        if not self.ended and self._error is None:
            self._error = error
        self.wake()  # even after the end: the reader may not have noticed it yet

    def wake(self) -> None:
        waiter, consumer = self._waiter, self._consumer
        if waiter is None or waiter.done():  # a cancelled reader gets nothing more
            return
        if consumer is not None:
            open_ = not self.ended and self._error is None
            if not self._pieces and open_ and self._owner is not None:
                return
            wants_more = bool(self._pieces) and self._feed_consumer(consumer)
            if wants_more and not self.ended and self._error is None:
                return
        self._waiter = None
        waiter.set_result(None)
