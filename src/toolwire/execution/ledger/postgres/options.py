"""The options of a PostgreSQL ledger, as parameters of its statements."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from toolwire.execution.ledger.uuid7_expiry import TOLERANCE


class LedgerOptions:
    """The parameters of every statement: the replica, and the retention."""

    def __init__(self, me: UUID, *, lease: float, result_ttl: float, tombstone_ttl: float) -> None:
        self.me = me
        self.lease = lease
        self.horizon = round(tombstone_ttl * 1000) + TOLERANCE
        self.params: dict[str, object] = {
            "me": me,
            "lease": timedelta(seconds=lease),
            "kept": timedelta(seconds=result_ttl),
            "tombstone": timedelta(seconds=tombstone_ttl),
            "horizon": self.horizon,
            "tolerance": TOLERANCE,
        }
