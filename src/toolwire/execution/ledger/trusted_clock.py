"""The time by which a ledger forgets ids: a wall clock that is not believed when it jumps.

A forgotten id may run again, so a machine that starts with a clock 31 days ahead must not delete
every id. The trusted time follows the wall clock while that agrees with a timer. When the wall
clock is ahead (it jumped, or the ledger was closed for a while), the trusted time advances with the
timer alone. After a week of running in which the wall clock stayed ahead, it is believed.

Only the deletion of ids depends on it: results expire by the wall clock, which does no harm.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.json import decode, encode

from toolwire.execution.ledger.uuid7_expiry import TOLERANCE

BELIEF = 7 * 24 * 3_600_000
"""Milliseconds of running after which a clock that stayed ahead is believed."""


class TrustedTime(Struct, frozen=True, array_like=True):
    """The trusted time of a ledger, as it is stored. All times are milliseconds."""

    time: int
    """Since 1970."""
    doubted: int = 0
    """How long the wall clock has been ahead while the ledger ran."""

    def advance(self, wall: int, elapsed: int) -> TrustedTime:
        """The trusted time after `elapsed` milliseconds by a timer, when the wall clock shows
        `wall`."""
        expected = self.time + max(elapsed, 0)
        if wall <= expected + TOLERANCE:
            return TrustedTime(wall)
        doubted = self.doubted + max(elapsed, 0)
        return TrustedTime(wall) if doubted >= BELIEF else TrustedTime(expected, doubted)


def write_time(time: TrustedTime) -> bytes:
    """A trusted time as bytes."""
    return encode(time)


def read_time(data: bytes) -> TrustedTime:
    """A trusted time from bytes."""
    return decode(data, type=TrustedTime)
