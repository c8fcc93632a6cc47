"""A ledger in memory, for one process.

It is bounded by time, count and bytes. The oldest results are deleted first, then the oldest ids; a
call in progress is never deleted. No method waits, so none can be interleaved with another.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from hmac import compare_digest
from typing import Literal

from toolwire.execution.ledger.base import (
    CallKey,
    Claim,
    LedgerUnavailable,
    Outcome,
    Record,
    State,
    Sweep,
)
from toolwire.execution.ledger.outcome_codec import pack, unpack
from toolwire.tools.runnable import OnCrash

_START = time.time_ns() - time.monotonic_ns()


def _now() -> int:
    """The time by a clock that never jumps: an id that is forgotten early may run again."""
    return (_START + time.monotonic_ns()) // 1_000_000


class _MemoryRow:
    """A call. A state of None means that it was released: only its attempt number remains."""

    __slots__ = ("attempt", "ended", "fp", "packed", "started", "state", "token", "tool", "waiters")

    def __init__(self, fp: bytes, tool: str, token: bytes, attempt: int, started: int) -> None:
        self.fp = fp
        self.tool = tool
        self.token = token
        self.attempt = attempt
        self.started = started
        self.ended: int | None = None
        self.state: State | None = "running"
        self.packed = b""
        self.waiters: list[asyncio.Future[None]] = []


class MemoryLedger:
    """A ledger for one process and one event loop.

    Args:
        result_ttl: seconds that a result is kept.
        tombstone_ttl: seconds that the id of a call is kept.
        max_calls: beyond this number, the oldest ids are deleted, and such a call may run again.
            A claim fails if all calls are in progress.
        max_bytes: beyond this size, the oldest results are deleted: their calls are `gone`.
        clock: milliseconds since 1970, by a clock that never jumps.
    """

    def __init__(
        self,
        *,
        result_ttl: float = 900.0,
        tombstone_ttl: float = 86_400.0,
        max_calls: int = 100_000,
        max_bytes: int = 64 << 20,
        clock: Callable[[], int] = _now,
    ) -> None:
        self._result_ms = int(result_ttl * 1000)
        self._tombstone_ms = max(int(tombstone_ttl * 1000), self._result_ms)
        self._max_calls = max_calls
        self._max_bytes = max_bytes
        self._clock = clock
        self._key = os.urandom(32)
        self._running: dict[CallKey, _MemoryRow] = {}
        self._finished: dict[CallKey, _MemoryRow] = {}
        """Calls with a result, the oldest first."""
        self._tombstones: dict[CallKey, _MemoryRow] = {}
        """Calls without one (gone or released), the oldest first."""
        self._bytes = 0

    @property
    def key(self) -> bytes:
        """The key of the fingerprints, available while the ledger is open."""
        return self._key

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    def __len__(self) -> int:
        return len(self._running) + len(self._finished) + len(self._tombstones)

    def _find(self, key: CallKey) -> _MemoryRow | None:
        return self._running.get(key) or self._finished.get(key) or self._tombstones.get(key)

    async def claim(
        self, key: CallKey, fp: bytes, *, tool: str, on_crash: OnCrash, token: bytes
    ) -> Claim:
        """Claim a call; see `Ledger.claim`. A crash loses the whole ledger, so `on_crash` is
        unused."""
        now = self._clock()
        self._expire(now)
        row = self._find(key)
        if row is None or row.state is None:
            attempt = 1 if row is None else row.attempt + 1
            self._tombstones.pop(key, None)
            self._make_room()
            self._running[key] = _MemoryRow(fp, tool, token, attempt, now)
            return Claim("new", key, token, attempt)
        if not compare_digest(row.fp, fp):
            return Claim("mismatch", key, token)
        if row.state == "running" and row.token == token:
            return Claim("new", key, token, row.attempt)
        return Claim(row.state, key, row.token, row.attempt, _record(key, row))

    async def finish(self, claim: Claim, outcome: Outcome) -> Literal["recorded", "fenced"]:
        """Record the outcome of a call; see `Ledger.finish`."""
        row = self._running.get(claim.key)
        if row is None or row.token != claim.token:
            earlier = self._finished.get(claim.key)
            same = earlier is not None and earlier.token == claim.token
            return "recorded" if same else "fenced"
        row.packed = pack(outcome)
        self._bytes += len(row.packed)
        row.state = "done" if outcome.failure is None else "failed"
        del self._running[claim.key]
        self._finished[claim.key] = row
        self._end(row)
        return "recorded"

    async def release(self, claim: Claim) -> None:
        """End a claim without effect: the same id may run again."""
        row = self._running.get(claim.key)
        if row is None or row.token != claim.token:
            return
        row.state = None
        del self._running[claim.key]
        self._tombstones[claim.key] = row
        self._end(row)

    async def lose(self, claim: Claim) -> None:
        """Mark a call whose outcome will never be known as `lost`."""
        row = self._running.get(claim.key)
        if row is None or row.token != claim.token:
            return
        row.state = "lost"
        del self._running[claim.key]
        self._finished[claim.key] = row
        self._end(row)

    def _end(self, row: _MemoryRow) -> None:
        row.ended = self._clock()
        for waiter in row.waiters:
            if not waiter.done():
                waiter.set_result(None)
        row.waiters.clear()
        while self._bytes > self._max_bytes and self._finished:
            self._drop_oldest()

    async def wait(self, key: CallKey, timeout: float) -> Record | None:
        """Wait until a call has ended; None after `timeout` seconds."""
        row = self._find(key)
        if row is not None and row.state == "running":
            waiter = asyncio.get_running_loop().create_future()
            row.waiters.append(waiter)
            await asyncio.wait((waiter,), timeout=timeout)
            if not waiter.done():
                row.waiters.remove(waiter)
        return None if row is None or row.state in (None, "running") else _record(key, row)

    async def get(self, key: CallKey) -> Record | None:
        """Return the record of a call; None if there is none."""
        self._expire(self._clock())
        row = self._find(key)
        return None if row is None else _record(key, row)

    async def sweep(self) -> Sweep:
        """Mark calls of dead owners, and delete old results and ids."""
        return self._expire(self._clock())

    def _expire(self, now: int) -> Sweep:
        expired = forgotten = 0
        while (
            self._finished
            and _end_time(next(iter(self._finished.values()))) <= now - self._result_ms
        ):
            self._drop_oldest()
            expired += 1
        while (
            self._tombstones
            and _end_time(self._tombstones[key := next(iter(self._tombstones))])
            <= now - self._tombstone_ms
        ):
            del self._tombstones[key]
            forgotten += 1
        return Sweep(0, expired, forgotten)

    def _drop_oldest(self) -> None:
        """Delete the oldest result and keep its id."""
        key = next(iter(self._finished))
        row = self._finished.pop(key)
        self._bytes -= len(row.packed)
        row.packed = b""
        row.state = "gone"
        self._tombstones[key] = row

    def _make_room(self) -> None:
        if len(self) < self._max_calls:
            return
        if not self._tombstones:
            if not self._finished:
                raise LedgerUnavailable(f"{self._max_calls} calls are in progress")
            self._drop_oldest()
        del self._tombstones[next(iter(self._tombstones))]


def _end_time(row: _MemoryRow) -> int:
    return row.ended or row.started


def _record(key: CallKey, row: _MemoryRow) -> Record | None:
    if row.state is None:
        return None
    return Record(
        key,
        row.tool,
        row.state,
        row.attempt,
        row.started,
        row.ended,
        unpack(row.packed) if row.packed else None,
    )
