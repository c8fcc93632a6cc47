"""The length and the checksum of a text, to compare it with a later one without keeping it."""

from __future__ import annotations

from zlib import crc32


class TextDigest:
    """The digest of a text that grows."""

    __slots__ = ("_checksum", "length")

    def __init__(self) -> None:
        self.length = 0
        self._checksum = 0

    def append(self, text: str) -> None:
        """Append a piece of the text."""
        self.length += len(text)
        self._checksum = _checksum(text, self._checksum)

    def is_start_of(self, text: str) -> bool:
        """True if a text starts with this one."""
        return len(text) >= self.length and _checksum(text[: self.length], 0) == self._checksum


def _checksum(text: str, start: int) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"), start)
