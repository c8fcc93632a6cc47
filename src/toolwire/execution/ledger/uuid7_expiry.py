"""The retention of call ids that contain their creation time (UUIDv7).

A ledger rejects such an id if it is older than its retention, even after the row was deleted. The
guarantee for it therefore never expires. Other ids do not contain their age.
"""

from __future__ import annotations

import re

TOLERANCE = 5 * 60_000
"""Milliseconds by which the clock of the client may be wrong."""
_UUID7 = re.compile(
    r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.IGNORECASE
)
"""Dashes are required: one in 64 random strings of hexadecimal digits would look like an old
UUIDv7."""


def creation_time(call_id: str) -> int | None:
    """The creation time in an id, in milliseconds since 1970; None if the id is not a UUIDv7."""
    if len(call_id) != 36:
        return None
    match = _UUID7.fullmatch(call_id)
    return None if match is None else int(match[1] + match[2], 16)


def is_too_old(call_id: str, now: int, retention: int) -> bool:
    """True if an id is older than the retention, in milliseconds."""
    created = creation_time(call_id)
    return created is not None and created < now - retention - TOLERANCE


def forget_time(call_id: str, ended: int, retention: int) -> int:
    """When the row of a call may be deleted: not before its id is rejected as too old, whatever the
    clock of the client says."""
    return max(ended + TOLERANCE, creation_time(call_id) or 0) + retention + TOLERANCE
