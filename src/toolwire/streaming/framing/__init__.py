"""Bytes to payloads and back: SSE, NDJSON, JSON arrays, AWS event streams.

Each framing is a decoder that is fed bytes as they come, cut anywhere, and gives whole frames; and
a function that writes one. Knows no wire: a frame is an event name, bytes, and nothing else.
"""

from __future__ import annotations

from typing import NamedTuple

from toolwire.errors import RemoteError

LARGEST = 64 * 1024 * 1024
"""A single frame beyond this is refused: memory stays bounded whatever a peer sends."""


class Frame(NamedTuple):
    """One payload and the event name it came under, empty if it had none."""

    event: str
    data: bytes


class Decoder:
    """Fed bytes, gives frames; `end` gives what an unfinished stream leaves.

    Its two halves, `cut` and `frame`, can be used apart: who has seen a piece before need not look
    into it again.
    """

    __slots__ = ()

    @property
    def idle(self) -> bool:
        """Whether it surely holds nothing back: the next bytes begin a frame."""
        return False

    def cut(self, chunk: bytes) -> list[bytes]:
        """The pieces that these bytes complete, one for each frame."""
        raise NotImplementedError

    def frame(self, piece: bytes) -> Frame | None:
        """The frame of a piece; None if it holds nothing."""
        raise NotImplementedError

    def feed(self, chunk: bytes) -> list[Frame]:
        """The frames that these bytes complete."""
        return [frame for piece in self.cut(chunk) if (frame := self.frame(piece)) is not None]

    def end(self) -> list[Frame]:
        """What an unfinished stream leaves."""
        raise NotImplementedError


class Held:
    """Bytes that wait for a mark. They are put together once, when it comes, however small the
    pieces are."""

    __slots__ = ("_edge", "_mark", "_parts", "_size")

    def __init__(self, mark: bytes) -> None:
        self._mark = mark
        self._parts: list[bytes] = []
        self._size = 0
        self._edge = b""

    def __bool__(self) -> bool:
        return bool(self._parts)

    def cut(self, chunk: bytes) -> list[bytes]:
        """What the mark ends; the rest is held."""
        mark = self._mark
        if mark not in chunk and not (len(mark) > 1 and self._edge + chunk[:1] == mark):
            if chunk:
                self._parts.append(chunk)
                self._size += len(chunk)
                self._edge = chunk[-1:]
                if self._size > LARGEST:
                    self.take()
                    raise RemoteError("", (), f"an event of more than {LARGEST} bytes")
            return []
        *whole, rest = (b"".join((*self._parts, chunk)) if self._parts else chunk).split(mark)
        self._parts = [rest] if rest else []
        self._size, self._edge = len(rest), rest[-1:]
        return whole

    def take(self) -> bytes:
        """All that is held; nothing is, after that."""
        held = b"".join(self._parts)
        self._parts, self._size, self._edge = [], 0, b""
        return held
