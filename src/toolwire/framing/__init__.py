"""Bytes to payloads and back: SSE, NDJSON, JSON arrays, AWS event streams.

Each framing is a decoder that is fed bytes as they come, cut anywhere, and gives whole frames; and a function that writes one.
Knows no wire: a frame is an event name, bytes, and nothing else.
"""

from __future__ import annotations

from typing import NamedTuple

LARGEST = 64 * 1024 * 1024
"""A single frame beyond this is refused: memory stays bounded whatever a peer sends."""


class Frame(NamedTuple):
    """One payload and the event name it came under, empty if it had none."""

    event: str
    data: bytes


class Decoder:
    """Fed bytes, gives frames; `end` gives what an unfinished stream leaves.

    Its two halves, `cut` and `frame`, can be used apart: who has seen a piece before need not look into it again.
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
