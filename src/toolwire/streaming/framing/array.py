"""One JSON array, sent piece by piece: its elements are the elements, wherever the network cuts.
Knows no wire."""

from __future__ import annotations

import re

from toolwire.errors import RemoteError
from toolwire.streaming.framing import LARGEST, Decoder, Frame

_MARK = re.compile(rb'["\[\]{}\\,]')


class JsonArray(Decoder):
    """Cuts the elements out of an array; a scanner that only knows strings and brackets."""

    __slots__ = ("_depth", "_escaped", "_held", "_quoted", "_seen")

    def __init__(self) -> None:
        self._held = b""
        self._seen = 0
        self._depth = 0
        self._quoted = False
        self._escaped = False

    def cut(self, chunk: bytes) -> list[bytes]:
        """The elements that these bytes complete."""
        held = self._held + chunk
        elements: list[bytes] = []
        start = 0
        skip = -1
        if self._escaped and len(held) > self._seen:
            skip, self._escaped = self._seen, False
        for mark in _MARK.finditer(held, self._seen):
            path, sign = mark.start(), mark.group()
            if path == skip:
                continue
            if self._quoted:
                if sign == b"\\":
                    skip = path + 1
                    self._escaped = skip >= len(held)
                elif sign == b'"':
                    self._quoted = False
            elif sign == b'"':
                self._quoted = True
            elif sign in b"[{":
                self._depth += 1
                if self._depth == 1:
                    start = path + 1
            elif sign in b"]}":
                self._depth -= 1
                if self._depth == 0:
                    elements.append(held[start:path])
                    start = path + 1
            elif sign == b"," and self._depth == 1:
                elements.append(held[start:path])
                start = path + 1
        self._held = held[start:]
        self._seen = len(self._held)
        if self._seen > LARGEST:
            raise RemoteError("", (), f"an element of more than {LARGEST} bytes")
        return elements

    def end(self) -> list[Frame]:
        """An element that was never closed, as far as it came."""
        held, self._held = self._held, b""
        frame = self.frame(held)
        return [] if frame is None else [frame]

    def frame(self, piece: bytes) -> Frame | None:
        """An element without the blanks around it."""
        data = piece.strip()
        return Frame("", data) if data else None
