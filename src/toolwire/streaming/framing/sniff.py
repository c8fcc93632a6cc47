"""Tell a framing by its first bytes, so that a recorded stream needs no label. Knows no wire."""

from __future__ import annotations

from toolwire.streaming.framing import Decoder, Frame
from toolwire.streaming.framing.array import JsonArray
from toolwire.streaming.framing.aws import AwsEvents
from toolwire.streaming.framing.ndjson import NDJSON
from toolwire.streaming.framing.sse import SSE

_BLANK = b" \t\r\n\xef\xbb\xbf"


class Sniffed(Decoder):
    """A decoder that becomes the right one at the first byte that tells."""

    __slots__ = ("_blanks", "decoder")

    def __init__(self) -> None:
        self.decoder: Decoder | None = None
        self._blanks: list[bytes] = []

    def cut(self, chunk: bytes) -> list[bytes]:
        """The pieces that these bytes complete."""
        if self.decoder is not None:
            return self.decoder.cut(chunk)
        self._blanks.append(chunk)
        told = chunk.lstrip(_BLANK)
        if not told:
            return []
        held = b"".join(self._blanks)
        self._blanks.clear()
        self.decoder = decoder_for(told[:1])
        return self.decoder.cut(held)

    def frame(self, piece: bytes) -> Frame | None:
        """The frame of a piece."""
        return None if self.decoder is None else self.decoder.frame(piece)

    def end(self) -> list[Frame]:
        """What an unfinished stream leaves."""
        return self.decoder.end() if self.decoder is not None else []


def decoder_for(first: bytes) -> Decoder:
    """The decoder for a stream that begins with this byte."""
    if first == b"[":
        return JsonArray()
    if first == b"{":
        return NDJSON()
    return AwsEvents() if first == b"\x00" else SSE()
