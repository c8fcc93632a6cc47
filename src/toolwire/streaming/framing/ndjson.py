"""Newline-delimited JSON: one value per line; empty lines are skipped. Knows no wire."""

from __future__ import annotations

from toolwire.streaming.framing import Decoder, DelimitedBuffer, Frame


class NDJSON(Decoder):
    """Cuts bytes into lines."""

    __slots__ = ("_buffer",)

    def __init__(self) -> None:
        self._buffer = DelimitedBuffer(b"\n")

    def cut(self, chunk: bytes) -> list[bytes]:
        """The lines that these bytes complete."""
        return self._buffer.cut(chunk)

    def frame(self, piece: bytes) -> Frame | None:
        """The line as a frame; None if it is empty."""
        return Frame("", piece) if piece.strip() else None

    def end(self) -> list[Frame]:
        """The last line, if it has no line break."""
        frame = self.frame(self._buffer.take())
        return [] if frame is None else [frame]


def write(data: bytes) -> bytes:
    """One value as a line."""
    return data + b"\n"
