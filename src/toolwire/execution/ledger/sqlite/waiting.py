"""Wait for calls that other processes run.

SQLite notifies no other process of a change, so the ledger polls while it waits. A check costs one
system call if no process has written. A process that dies writes nothing, so the ledger also checks
the owners, but less often.
"""

from __future__ import annotations

from collections.abc import Callable

from toolwire.execution.ledger.base import CallKey, Record
from toolwire.execution.ledger.store_thread import Waiter

INTERVAL = 0.02
"""Seconds between two checks of the file."""
OWNER_INTERVAL = 0.5
"""Seconds between two checks of the owners."""


class CallsElsewhere:
    """The calls of other processes for which callers of this process wait."""

    def __init__(self) -> None:
        self._waiters: dict[CallKey, list[Waiter]] = {}
        self._ended: list[Waiter] = []
        self._look_at = 0.0
        self._owners_at = 0.0
        self._version: int | None = None

    def add(self, key: CallKey, waiter: Waiter) -> None:
        """Wait for the end of a call."""
        self._waiters.setdefault(key, []).append(waiter)
        self._version = None  # the call may have ended since it was read

    def due_at(self) -> float | None:
        """When to check again; None if no caller waits."""
        return self._look_at if self._waiters else None

    def is_due(self, now: float) -> bool:
        """True if it is time to check."""
        return bool(self._waiters) and now >= self._look_at

    def look(self, now: float, version: int, find: Callable[[CallKey], Record | None]) -> None:
        """Find the calls that have ended.

        Args:
            now: the time by a timer.
            version: a number that changes when another process writes.
            find: returns the record of a call.
        """
        self._look_at = now + INTERVAL
        if version == self._version and now < self._owners_at:
            return
        self._version, self._owners_at = version, now + OWNER_INTERVAL
        for key, waiters in list(self._waiters.items()):
            waiting = [waiter for waiter in waiters if waiter.future and not waiter.future.done()]
            record = find(key) if waiting else None
            if record is not None and record.state == "running":
                self._waiters[key] = waiting
            else:
                self._end(key, record)

    def end_all(self) -> None:
        """End all waits without a record."""
        for key in list(self._waiters):
            self._end(key, None)

    def take_ended(self) -> list[Waiter]:
        """Remove and return the waiters that have a result."""
        ended, self._ended = self._ended, []
        return ended

    def _end(self, key: CallKey, record: Record | None) -> None:
        for waiter in self._waiters.pop(key):
            waiter.result = record
            self._ended.append(waiter)
