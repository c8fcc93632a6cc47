"""Decompression of response bodies. Some servers compress without being asked."""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable

from toolwire.providers.http.errors import ProtocolError

OUTPUT_LIMIT = 256 * 1024
"""Bytes that are decompressed at a time."""
_WINDOW_BITS = {"gzip": 31, "x-gzip": 31, "deflate": 47}
"""The window bits with which zlib accepts each format."""


class Decompressor:
    """Decompresses a body, a bounded piece at a time."""

    __slots__ = ("_started", "_zlib", "pending")

    def __init__(self, window_bits: int) -> None:
        self._zlib = zlib.decompressobj(window_bits)
        self._started = False
        self.pending = False
        """True if the input that was added has more output."""

    def add(self, data: bytes) -> bytes:
        self._started = True
        try:
            out = self._zlib.decompress(data, OUTPUT_LIMIT)
        except zlib.error:
            raise ProtocolError("the response cannot be decompressed") from None
        if self._zlib.unused_data:
            raise ProtocolError("data follows the end of the compressed response")
        self.pending = len(out) == OUTPUT_LIMIT and not self._zlib.eof
        return out

    async def read(self, read: Callable[[], Awaitable[bytes]]) -> bytes:
        """Return the next decompressed piece of what `read` returns; empty at the end."""
        while True:
            if self.pending:
                data = self.add(self._zlib.unconsumed_tail)
            elif data := await read():
                data = self.add(data)
            else:
                self.end()
                return b""
            if data:
                return data

    def end(self) -> None:
        """Raise ProtocolError if the compressed data is truncated."""
        if self._started and not self._zlib.eof:  # a status without body has no data at all
            raise ProtocolError("the compressed response is truncated")


def decompressor_for(encoding: str) -> Decompressor | None:
    """Return the decompressor of a content encoding; None for identity.

    Raises:
        ProtocolError: The encoding is unknown.
    """
    name = encoding.lower()
    if name in _WINDOW_BITS:
        return Decompressor(_WINDOW_BITS[name])
    if name not in ("", "identity"):
        raise ProtocolError("the response has a content encoding that was not asked for")
    return None
