"""Generate call ids for calls that have none."""

from __future__ import annotations

import os
import time
from uuid import UUID

_RANDOM_BITS = (1 << 80) - 1
_VERSION_AND_VARIANT = 0x7 << 76 | 0b10 << 62
_RANDOM_MASK = _RANDOM_BITS ^ (0xF << 76 | 0b11 << 62)


def uuid7() -> str:
    """A new UUIDv7 (RFC 9562): the time in milliseconds, then 74 random bits."""
    milliseconds = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10)) & _RANDOM_MASK
    return str(UUID(int=milliseconds << 80 | _VERSION_AND_VARIANT | random))
