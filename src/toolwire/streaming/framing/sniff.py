"""Detect the framing of a stream by its first byte. Knows no wire."""

from __future__ import annotations

from toolwire.streaming.framing import Decoder, Frame
from toolwire.streaming.framing.array import JsonArray
from toolwire.streaming.framing.aws import AwsEvents
from toolwire.streaming.framing.ndjson import NDJSON
from toolwire.streaming.framing.sse import SSE

_IGNORED = b" \t\r\n\xef\xbb\xbf"


class SniffingDecoder(Decoder):
    """Chooses a decoder by the first byte that is not whitespace or a byte order mark."""

    __slots__ = ("_ignored", "decoder")

    def __init__(self) -> None:
        self.decoder: Decoder | None = None
        """The decoder of the stream, once it is known."""
        self._ignored: list[bytes] = []

    def cut(self, chunk: bytes) -> list[bytes]:
        """The pieces that these bytes complete."""
        if self.decoder is not None:
            return self.decoder.cut(chunk)
        self._ignored.append(chunk)
        content = chunk.lstrip(_IGNORED)
        if not content:
            return []
        buffer = b"".join(self._ignored)
        self._ignored.clear()
        self.decoder = decoder_for(content[:1])
        return self.decoder.cut(buffer)

    def frame(self, piece: bytes) -> Frame | None:
        """The frame in a piece."""
        return None if self.decoder is None else self.decoder.frame(piece)

    def end(self) -> list[Frame]:
        """The frames in the buffered bytes when the stream ends."""
        return self.decoder.end() if self.decoder is not None else []


def decoder_for(first: bytes) -> Decoder:
    """The decoder for a stream that starts with this byte."""
    if first == b"[":
        return JsonArray()
    if first == b"{":
        return NDJSON()
    return AwsEvents() if first == b"\x00" else SSE()
