"""One JSON array, sent piece by piece: its elements are the frames, wherever the network cuts. Knows no wire."""

from __future__ import annotations

import re

from toolwire.errors import RemoteError
from toolwire.framing import LARGEST, Frame

_MARK = re.compile(rb'["\[\]{}\\,]')


class JsonArray:
    """Cuts the elements out of an array; a scanner that only knows strings and brackets."""

    __slots__ = ("_depth", "_escaped", "_held", "_quoted", "_seen")

    def __init__(self) -> None:
        self._held = b""
        self._seen = 0
        self._depth = 0
        self._quoted = False
        self._escaped = False

    def feed(self, chunk: bytes) -> list[Frame]:
        """The elements that these bytes complete."""
        held = self._held + chunk
        frames: list[Frame] = []
        start = 0
        skip = -1
        if self._escaped and len(held) > self._seen:
            skip, self._escaped = self._seen, False
        for mark in _MARK.finditer(held, self._seen):
            at, sign = mark.start(), mark.group()
            if at == skip:
                continue
            if self._quoted:
                if sign == b"\\":
                    skip = at + 1
                    self._escaped = skip >= len(held)
                elif sign == b'"':
                    self._quoted = False
            elif sign == b'"':
                self._quoted = True
            elif sign in b"[{":
                self._depth += 1
                if self._depth == 1:
                    start = at + 1
            elif sign in b"]}":
                self._depth -= 1
                if self._depth == 0:
                    frames += _element(held[start:at])
                    start = at + 1
            elif sign == b"," and self._depth == 1:
                frames += _element(held[start:at])
                start = at + 1
        self._held = held[start:]
        self._seen = len(self._held)
        if self._seen > LARGEST:
            raise RemoteError("", (), f"an element of more than {LARGEST} bytes")
        return frames

    def end(self) -> list[Frame]:
        """An element that was never closed, as far as it came."""
        held, self._held = self._held, b""
        return _element(held)


def _element(data: bytes) -> list[Frame]:
    data = data.strip()
    return [Frame("", data)] if data else []
