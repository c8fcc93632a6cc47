"""Streams that are one JSON array: each element is a frame, however the bytes are cut. Knows no
wire."""

from __future__ import annotations

import re

from toolwire.errors import DecodeError
from toolwire.streaming.framing import MAX_FRAME_SIZE, Decoder, Frame

_TOKEN = re.compile(rb'["\[\]{}\\,]')


class JsonArray(Decoder):
    """Cuts an array into its elements with a scanner that knows only strings and brackets."""

    __slots__ = ("_buffer", "_depth", "_escaped", "_in_string", "_scanned")

    def __init__(self) -> None:
        self._buffer = b""
        """The start of an element."""
        self._scanned = 0
        """The number of buffered bytes that are already scanned."""
        self._depth = 0
        """The number of open brackets and braces."""
        self._in_string = False
        self._escaped = False
        """True if the buffer ends with a backslash that escapes the next byte."""

    def cut(self, chunk: bytes) -> list[bytes]:
        """The elements that these bytes complete."""
        buffer = self._buffer + chunk
        elements: list[bytes] = []
        start = 0
        escaped_index = -1
        if self._escaped and len(buffer) > self._scanned:
            escaped_index, self._escaped = self._scanned, False
        for match in _TOKEN.finditer(buffer, self._scanned):
            index, token = match.start(), match.group()
            if index == escaped_index:
                continue
            if self._in_string:
                if token == b"\\":
                    escaped_index = index + 1
                    self._escaped = escaped_index >= len(buffer)
                elif token == b'"':
                    self._in_string = False
            elif token == b'"':
                self._in_string = True
            elif token in b"[{":
                self._depth += 1
                if self._depth == 1:
                    start = index + 1
            elif token in b"]}":
                self._depth -= 1
                if self._depth == 0:
                    elements.append(buffer[start:index])
                    start = index + 1
            elif token == b"," and self._depth == 1:
                elements.append(buffer[start:index])
                start = index + 1
        self._buffer = buffer[start:]
        self._scanned = len(self._buffer)
        if self._scanned > MAX_FRAME_SIZE:
            raise DecodeError(f"an element of more than {MAX_FRAME_SIZE} bytes")
        return elements

    def end(self) -> list[Frame]:
        """The rest of the buffer: an element that the end of the stream cut off."""
        buffer, self._buffer = self._buffer, b""
        frame = self.frame(buffer)
        return [] if frame is None else [frame]

    def frame(self, piece: bytes) -> Frame | None:
        """The element without surrounding whitespace; None if it is empty."""
        data = piece.strip()
        return Frame("", data) if data else None
