"""What a SQLite ledger is asked for: claim, finish, release, look, sweep. Everything here runs in
the writer's thread.

Which calls are under way stands in memory (`flights`): this process holds the file alone, so a row
that is `running` and not in there belongs to somebody dead. What could not be written is kept
(`unwritten`) and tried again; until then whoever asks is told from memory, and nothing new is
claimed. Whatever changes in memory during a batch is undone with the batch. How a row is read and
written is `_sqlite_rows`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Literal, NamedTuple

from msgspec.structs import replace

from toolwire.execution.ledger.base import (
    CallIdTooOld,
    CallKey,
    Claim,
    LedgerUnavailable,
    Outcome,
    Record,
    State,
)
from toolwire.execution.ledger.sqlite.batch_writes import BatchWrites
from toolwire.execution.ledger.sqlite.file import LARGE
from toolwire.execution.ledger.sqlite.rows import (
    FINAL,
    INSERT,
    LOSE,
    RERUNNABLE,
    TAKE_OVER,
    CallRow,
    CallTable,
    SweepResult,
    holds,
)
from toolwire.execution.ledger.store_thread import PendingJobs
from toolwire.execution.ledger.uuid7_expiry import too_old
from toolwire.tools.runnable import OnCrash

AGAIN, AGAIN_MOST = 0.05, 2.0
"""Seconds until a failed write is tried again: at first, and at most."""


class ClaimedCall:
    """A call under way in this process."""

    __slots__ = ("fp", "holders", "id", "record", "token", "waiters")

    def __init__(self, id: int, fp: bytes, token: bytes, record: Record) -> None:
        self.id = id
        self.fp = fp
        self.token = token
        self.record = record
        self.holders = 1
        """How often it was handed out as `new`: a repeated claim has the same token."""
        self.waiters: list[PendingJobs] = []

    def await_with(self, waiter: PendingJobs) -> None:
        if len(self.waiters) % 64 == 63:  # those who gave up waiting
            self.waiters = [one for one in self.waiters if one.future and not one.future.done()]
        self.waiters.append(waiter)


class WriteFailed(NamedTuple):
    """The end of a call that could not be written: its outcome, or None if it is to be released."""

    claim: Claim
    packed: bytes | None
    record: Record | None


class SqliteStore(CallTable):
    """The rows, and what is known beside them."""

    def __init__(
        self,
        db: sqlite3.Connection,
        *,
        owner: bytes,
        key: bytes,
        clock: Callable[[], int],
        result_ms: int,
        tombstone_ms: int,
        sweep_every: float,
    ) -> None:
        super().__init__(
            db, owner=owner, clock=clock, result_ms=result_ms, tombstone_ms=tombstone_ms
        )
        self.key = key
        self.flights: dict[CallKey, ClaimedCall] = {}
        self.unwritten: dict[CallKey, WriteFailed] = {}
        self._ahead = BatchWrites()
        self._undo: list[tuple[CallKey, ClaimedCall | None]] = []
        self._woken: list[PendingJobs] = []
        self._again_after = AGAIN
        self._again_at = 0.0
        self._sweep_every = sweep_every
        self._sweep_at = monotonic()

    # --- as the writer sees it --------------------------------------------------------------------

    def begin(self) -> None:
        now = monotonic()
        if self.unwritten and now >= self._again_at:
            self.write_again()
        if now >= self._sweep_at and not self.broken and not self.unwritten:
            try:
                more = self.sweep().more
                self.commit()
            except Exception as error:
                self.undo(error)
                more = False
            self._sweep_at = now if more else now + self._sweep_every

    def patience(self) -> float | None:
        if self.broken:
            return None
        return min(
            max(0.0, (self._again_at if self.unwritten else self._sweep_at) - monotonic()), 3600.0
        )

    def ahead(self) -> None:
        self._ahead.write(None if self.broken or self.unwritten else self._write)

    def commit(self) -> None:
        self._commit()
        self._undo.clear()

    def undo(self, error: BaseException) -> None:
        self._roll_back(error)
        self._woken.clear()
        self._ahead.clear()
        for key, before in reversed(self._undo):
            if before is None:
                del self.flights[key]
            else:
                self.flights[key] = before
        self._undo.clear()

    def woken(self) -> Sequence[PendingJobs]:
        woken, self._woken = self._woken, []
        return woken

    def close(self) -> Exception | None:
        if self.unwritten:
            self.write_again()
        for flight in self.flights.values():
            self._wake(flight, None)
        left = len(self.unwritten)
        try:
            self.db.close()
        except sqlite3.Error as error:
            return LedgerUnavailable(f"the ledger could not be closed: {error}")
        return (
            LedgerUnavailable(f"{left} results could not be written and are lost") if left else None
        )

    # --- jobs -------------------------------------------------------------------------------------

    def will_claim(
        self, key: CallKey, fp: bytes, tool: str, on_crash: OnCrash, token: bytes
    ) -> None:
        now = self._clock()
        fits = key not in self.flights and not too_old(key.call_id, now, self._tombstone_ms)
        self._ahead.claim(
            key,
            (key.tenant, key.call_id, tool, fp, self._owner, token, on_crash, now)
            if fits
            else None,
        )

    def claim(self, key: CallKey, fp: bytes, tool: str, on_crash: OnCrash, token: bytes) -> Claim:
        flight = self.flights.get(key)
        if flight is not None:
            return self._joined(flight, key, fp, token)
        if (taken := self._ahead.taken.pop(key, None)) is not None:
            number, since = taken
            return self._takes_off(
                key, ClaimedCall(number, fp, token, Record(key, tool, "running", 1, since))
            )
        if self.broken or self.unwritten:
            return self.known(key, fp, token, self.broken or "earlier results are not written yet")
        now = self._clock()
        if too_old(key.call_id, now, self._tombstone_ms) and self._row(key) is None:
            raise CallIdTooOld(f"{key.call_id} is older than what this ledger remembers")
        written = self._write(
            INSERT, (key.tenant, key.call_id, tool, fp, self._owner, token, on_crash, now)
        )
        if written.rowcount == 1 and (id := written.lastrowid) is not None:
            return self._takes_off(
                key, ClaimedCall(id, fp, token, Record(key, tool, "running", 1, now))
            )
        row = self._row(key)
        assert row is not None, "what is in conflict is there"
        if row.fp and row.fp != fp:
            return Claim("mismatch", key, token)
        if row.state == "free" or (row.state == "running" and row.on_crash in RERUNNABLE):
            self._write(TAKE_OVER, (tool, fp, self._owner, token, on_crash, now, row.id))
            return self._takes_off(
                key,
                ClaimedCall(row.id, fp, token, Record(key, tool, "running", row.attempt + 1, now)),
            )
        if row.state == "running":
            self._write(LOSE, (now, now + self._result_ms, row.id))
        return self._told(key, row, token)

    def known(self, key: CallKey, fp: bytes, token: bytes, why: str) -> Claim:
        """The answer to a claim when nothing can be written: what is certain without it."""
        flight = self.flights.get(key)
        if flight is not None:
            return self._joined(flight, key, fp, token)
        row = self._row(key)
        if row is not None and row.fp and row.fp != fp:
            return Claim("mismatch", key, token)
        if (
            row is None
            or row.state == "free"
            or (row.state == "running" and row.on_crash in RERUNNABLE)
        ):
            raise LedgerUnavailable(f"the ledger takes no new calls: {why}")
        return self._told(key, row, token)

    def will_finish(self, claim: Claim, packed: bytes, outcome: Outcome) -> None:
        flight = self._own(claim)
        now = self._clock()
        values = None
        if flight is not None and len(packed) <= LARGE:
            values = (
                flight.id,
                claim.attempt,
                claim.token,
                _end(outcome),
                now,
                now + self._result_ms,
                packed,
            )
        self._ahead.finish(claim.key, values)

    def finish(
        self, claim: Claim, packed: bytes, outcome: Outcome
    ) -> Literal["recorded", "fenced"]:
        state = _end(outcome)
        flight = self._own(claim)
        if flight is not None and (ended := self._ahead.ended.pop(claim.key, None)) is not None:
            self._lands(claim.key, flight, _ended(flight.record, state, ended, outcome))
            return "recorded"
        now = self._clock()
        if flight is None:
            row = self._row(claim.key)
            if row is None or not holds(claim, row):
                return "fenced"
            if row.state in FINAL:
                return "recorded"  # for the second time
            return self._record(row.id, row.attempt, row.token, state, packed, now)
        if claim.key in self.unwritten:
            raise LedgerUnavailable("this result is still to be written")
        done = self._record(flight.id, claim.attempt, claim.token, state, packed, now)
        self._lands(
            claim.key,
            flight,
            _ended(flight.record, state, now, outcome) if done == "recorded" else None,
        )
        return done

    def release(self, claim: Claim) -> None:
        flight = self._own(claim)
        if flight is None:
            row = self._row(claim.key)
            if row is not None and holds(claim, row) and row.state in ("running", "lost"):
                self._free(row.id, b"")
        elif claim.key not in self.unwritten:
            self._free(flight.id, b"")
            self._lands(claim.key, flight, None)

    def lose(self, claim: Claim) -> None:
        flight = self._own(claim)
        if flight is None:
            return
        if claim.key in self.unwritten:
            raise LedgerUnavailable("this call is still to be written")
        now = self._clock()
        self._write(LOSE, (now, now + self._result_ms, flight.id))
        self._lands(claim.key, flight, replace(flight.record, state="lost", ended_at=now))

    def abandon(self, claim: Claim) -> None:
        """Whoever claimed it had gone before the answer came. If nobody else has the same token,
        nothing will happen."""
        flight = self._own(claim)
        if flight is not None:
            flight.holders -= 1
            if flight.holders == 0:
                self.release(claim)

    def keep(self, claim: Claim, packed: bytes | None, outcome: Outcome | None) -> None:
        """What could not be written is remembered and tried again; whoever waits is told now."""
        flight = self._own(claim)
        if flight is None or claim.key in self.unwritten:
            return
        record = (
            None
            if outcome is None
            else _ended(flight.record, _end(outcome), self._clock(), outcome, recorded=False)
        )
        self.unwritten[claim.key] = WriteFailed(claim, packed, record)
        self._again_at = monotonic() + self._again_after
        self._wake(flight, record)
        flight.waiters = []

    def write_again(self) -> None:
        """One more try for everything that could not be written."""
        if self.broken:
            return
        waiting, self.unwritten = self.unwritten, {}
        try:
            for one in waiting.values():
                if one.record is None or one.packed is None or one.record.outcome is None:
                    self.release(one.claim)
                else:
                    self.finish(one.claim, one.packed, one.record.outcome)
            self.commit()
            self._again_after = AGAIN
        except Exception as error:
            self.undo(error)
            self.unwritten = waiting
            self._again_after = min(AGAIN_MOST, self._again_after * 2)
            self._again_at = monotonic() + self._again_after

    def get(self, key: CallKey) -> Record | None:
        flight = self.flights.get(key)
        if flight is None:
            row = self._row(key)
            return None if row is None else self._seen(key, row)
        kept = self.unwritten.get(key)
        return flight.record if kept is None else kept.record

    def wait(self, key: CallKey, waiter: PendingJobs) -> Record | None:
        """What is known of a call; if it is under way, `waiter` is told how it ends."""
        flight = self.flights.get(key)
        if flight is not None and key not in self.unwritten:
            flight.await_with(waiter)
        return self.get(key)

    def sweep(self) -> SweepResult:
        """One step of a sweep."""
        return self._sweep(self.flights)

    # --- inside -----------------------------------------------------------------------------------

    def _own(self, claim: Claim) -> ClaimedCall | None:
        flight = self.flights.get(claim.key)
        if flight is None or flight.token != claim.token or flight.record.attempt != claim.attempt:
            return None
        return flight

    def _takes_off(self, key: CallKey, flight: ClaimedCall) -> Claim:
        self.flights[key] = flight
        self._undo.append((key, None))
        return Claim("new", key, flight.token, flight.record.attempt)

    def _lands(self, key: CallKey, flight: ClaimedCall, record: Record | None) -> None:
        del self.flights[key]
        self._undo.append((key, flight))
        self._wake(flight, record)

    def _wake(self, flight: ClaimedCall, record: Record | None) -> None:
        for waiter in flight.waiters:
            waiter.answer = record
        self._woken += flight.waiters

    def _joined(self, flight: ClaimedCall, key: CallKey, fp: bytes, token: bytes) -> Claim:
        """The answer to a claim of a call that is under way here."""
        if flight.fp != fp:
            return Claim("mismatch", key, token)
        kept = self.unwritten.get(key)
        if kept is not None:
            if kept.record is None:
                raise LedgerUnavailable("this call is about to be released")
            return Claim(_end(kept.record.outcome), key, token, flight.record.attempt, kept.record)
        if flight.token == token:
            flight.holders += 1
            return Claim("new", key, token, flight.record.attempt)
        return Claim("running", key, token, flight.record.attempt, flight.record)

    def _told(self, key: CallKey, row: CallRow, token: bytes) -> Claim:
        """The answer to a claim of a call that has ended, or whose owner has."""
        record = self._seen(key, row)
        assert record is not None and record.state != "running", "what may run again was taken over"
        return Claim(record.state, key, token, row.attempt, record)


def _end(outcome: Outcome | None) -> Literal["done", "failed"]:
    return "failed" if outcome is not None and outcome.failure is not None else "done"


def _ended(
    record: Record, state: State, now: int, outcome: Outcome, *, recorded: bool = True
) -> Record:
    return Record(
        record.key, record.tool, state, record.attempt, record.started_at, now, outcome, recorded
    )
