"""Newline-delimited JSON: one value a line, empty lines are nothing. Knows no wire."""

from __future__ import annotations

from toolwire.errors import RemoteError
from toolwire.framing import LARGEST, Decoder, Frame


class NDJSON(Decoder):
    """Cuts bytes into lines."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = b""

    def cut(self, chunk: bytes) -> list[bytes]:
        """The lines that these bytes complete."""
        *whole, self._held = (self._held + chunk).split(b"\n")
        if len(self._held) > LARGEST:
            raise RemoteError("", (), f"a line of more than {LARGEST} bytes")
        return whole

    def frame(self, piece: bytes) -> Frame | None:
        """A line, unless it is empty."""
        return Frame("", piece) if piece.strip() else None

    def end(self) -> list[Frame]:
        """A last line without its line break."""
        held, self._held = self._held, b""
        frame = self.frame(held)
        return [] if frame is None else [frame]


def write(data: bytes) -> bytes:
    """One line."""
    return data + b"\n"
