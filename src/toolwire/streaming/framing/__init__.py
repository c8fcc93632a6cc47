"""Bytes to payloads and back: SSE, NDJSON, JSON arrays, AWS event streams.

Each framing has a decoder, which accepts bytes that are cut anywhere and returns complete frames.
Framings that wires write also have a function that writes one frame. Knows no wire: a frame is an
event name and bytes.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from toolwire.errors import DecodeError

MAX_FRAME_SIZE = 64 * 1024 * 1024
"""The maximum size of a frame, so that a peer cannot make the buffer grow without limit."""


class Frame(NamedTuple):
    """One payload and its event name, which is empty if the framing has none."""

    event: str
    data: bytes


class Decoder:
    """Takes bytes and returns frames.

    `feed` does both steps at once. A caller that may recognize a piece calls `cut`, and `frame`
    only for pieces that it does not recognize.
    """

    __slots__ = ()

    has_checksums: ClassVar[bool] = False
    """True if a different content changes other bytes of the frame, too."""

    @property
    def at_frame_start(self) -> bool:
        """True if it is certain that no bytes are buffered, so that the next bytes start a
        frame."""
        return False

    def cut(self, chunk: bytes) -> list[bytes]:
        """The pieces that these bytes complete, one for each frame."""
        raise NotImplementedError

    def frame(self, piece: bytes) -> Frame | None:
        """The frame in a piece; None if the piece has no data."""
        raise NotImplementedError

    def feed(self, chunk: bytes) -> list[Frame]:
        """The frames that these bytes complete."""
        return [frame for piece in self.cut(chunk) if (frame := self.frame(piece)) is not None]

    def end(self) -> list[Frame]:
        """The frames in the buffered bytes when the stream ends."""
        raise NotImplementedError


class DelimitedBuffer:
    """Buffers bytes until a delimiter arrives, and joins them only once."""

    __slots__ = ("_delimiter", "_last_byte", "_pieces", "_size")

    def __init__(self, delimiter: bytes) -> None:
        """Prepare an empty buffer. The delimiter has one or two bytes."""
        self._delimiter = delimiter
        self._pieces: list[bytes] = []
        self._size = 0
        self._last_byte = b""

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def cut(self, chunk: bytes) -> list[bytes]:
        """The pieces that these bytes complete, without their delimiters; the rest is buffered."""
        delimiter = self._delimiter
        if delimiter not in chunk and not (
            len(delimiter) > 1 and self._last_byte + chunk[:1] == delimiter
        ):
            if chunk:
                self._pieces.append(chunk)
                self._size += len(chunk)
                self._last_byte = chunk[-1:]
                if self._size > MAX_FRAME_SIZE:
                    self.take()
                    raise DecodeError(f"an event of more than {MAX_FRAME_SIZE} bytes")
            return []
        data = b"".join((*self._pieces, chunk)) if self._pieces else chunk
        *complete, rest = data.split(delimiter)
        self._pieces = [rest] if rest else []
        self._size, self._last_byte = len(rest), rest[-1:]
        return complete

    def take(self) -> bytes:
        """Return the buffered bytes and empty the buffer."""
        data = b"".join(self._pieces)
        self._pieces, self._size, self._last_byte = [], 0, b""
        return data
