"""Call ids for calls that came without one. Knows nothing of calls."""

from __future__ import annotations

import os
import time
from uuid import UUID

_LOW = (1 << 80) - 1
_FIXED = 0x7 << 76 | 0b10 << 62
_FREE = _LOW ^ (0xF << 76 | 0b11 << 62)


def uuid7() -> str:
    """A new UUIDv7 (RFC 9562): the time in milliseconds, then 74 random bits."""
    return str(
        UUID(
            int=time.time_ns() // 1_000_000 << 80 | _FIXED | int.from_bytes(os.urandom(10)) & _FREE
        )
    )
