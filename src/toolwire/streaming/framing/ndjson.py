"""Newline-delimited JSON: one value a line, empty lines are nothing. Knows no wire."""

from __future__ import annotations

from toolwire.streaming.framing import Decoder, Frame, Held


class NDJSON(Decoder):
    """Cuts bytes into lines."""

    __slots__ = ("_lines",)

    def __init__(self) -> None:
        self._lines = Held(b"\n")

    def cut(self, chunk: bytes) -> list[bytes]:
        """The lines that these bytes complete."""
        return self._lines.cut(chunk)

    def frame(self, piece: bytes) -> Frame | None:
        """A line, unless it is empty."""
        return Frame("", piece) if piece.strip() else None

    def end(self) -> list[Frame]:
        """A last line without its line break."""
        frame = self.frame(self._lines.take())
        return [] if frame is None else [frame]


def write(data: bytes) -> bytes:
    """One line."""
    return data + b"\n"
