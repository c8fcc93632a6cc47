"""Newline-delimited JSON: one value a line, empty lines are nothing. Knows no wire."""

from __future__ import annotations

from toolwire.errors import RemoteError
from toolwire.framing import LARGEST, Frame


class NDJSON:
    """Cuts bytes into lines."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = b""

    def feed(self, chunk: bytes) -> list[Frame]:
        """The lines that these bytes complete."""
        *whole, self._held = (self._held + chunk).split(b"\n")
        if len(self._held) > LARGEST:
            raise RemoteError("", (), f"a line of more than {LARGEST} bytes")
        return [Frame("", line) for line in whole if line.strip()]

    def end(self) -> list[Frame]:
        """A last line without its line break."""
        held, self._held = self._held, b""
        return [Frame("", held)] if held.strip() else []


def write(data: bytes) -> bytes:
    """One line."""
    return data + b"\n"
