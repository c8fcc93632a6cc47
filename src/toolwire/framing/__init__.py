"""Bytes to payloads and back: SSE, NDJSON, JSON arrays, AWS event streams.

Each framing is a decoder that is fed bytes as they come, cut anywhere, and gives whole frames; and a function that writes one.
Knows no wire: a frame is an event name, bytes, and nothing else.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

LARGEST = 64 * 1024 * 1024
"""A single frame beyond this is refused: memory stays bounded whatever a peer sends."""


class Frame(NamedTuple):
    """One payload and the event name it came under, empty if it had none."""

    event: str
    data: bytes


class Decoder(Protocol):
    """Fed bytes, gives frames; `end` gives what an unfinished stream leaves."""

    def feed(self, chunk: bytes) -> list[Frame]: ...
    def end(self) -> list[Frame]: ...
