"""How far back a ledger remembers, for ids that carry their own time of birth (UUIDv7).

Such an id from before that time is refused although no row of it is left, so its promise holds for
ever. Any other id tells nothing about its age. Knows no database and no clock.
"""

from __future__ import annotations

import re

TOLERANCE = 5 * 60_000
"""Milliseconds that the clock of whoever made an id may be off."""
_UUID7 = re.compile(
    r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.IGNORECASE
)
"""With its dashes: of random hexadecimal digits alone, one in sixty-four looks like one, and old.
"""


def born(call_id: str) -> int | None:
    """When an id was made, in milliseconds since 1970; None if it does not say."""
    if len(call_id) != 36:
        return None
    found = _UUID7.fullmatch(call_id)
    return None if found is None else int(found[1] + found[2], 16)


def too_old(call_id: str, now: int, kept: int) -> bool:
    """Whether an id is from before what is kept for so many milliseconds."""
    at = born(call_id)
    return at is not None and at < now - kept - TOLERANCE


def forgettable(call_id: str, ended: int, kept: int) -> int:
    """When the last trace of a call may go: not before its id is refused for its age, wherever its
    maker's clock stood."""
    return max(ended + TOLERANCE, born(call_id) or 0) + kept + TOLERANCE
