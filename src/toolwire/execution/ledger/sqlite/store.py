"""The operations of a SQLite ledger: claim, finish, release, read, sweep. Runs in its thread.

`claimed` has the calls in progress in this process. A row that is `running` and not in `claimed`
belongs to another process, or has a dead owner. Ends of calls that could not be written are in
`unwritten` and are retried; until then, reads are answered from memory and new claims are rejected.
Changes in memory during a batch are undone if the batch is rolled back.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
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
from toolwire.execution.ledger.sqlite.owners import OwnerFiles
from toolwire.execution.ledger.sqlite.rows import (
    FINAL,
    INSERT,
    LOSE,
    TAKE_OVER,
    CallRow,
    CallTable,
    SweepStep,
    is_free,
    owns,
)
from toolwire.execution.ledger.sqlite.waiting import CallsElsewhere
from toolwire.execution.ledger.sqlite.write_lock import WriteLock
from toolwire.execution.ledger.store_thread import Waiter
from toolwire.execution.ledger.uuid7_expiry import is_too_old
from toolwire.tools.runnable import OnCrash

FIRST_RETRY, MAX_RETRY = 0.05, 2.0
"""Seconds until a failed write is retried: at first, and at most."""


class ClaimedCall:
    """A call in progress in this process."""

    __slots__ = ("fp", "holders", "id", "record", "token", "waiters")

    def __init__(self, id: int, fp: bytes, token: bytes, record: Record) -> None:
        self.id = id
        self.fp = fp
        self.token = token
        self.record = record
        self.holders = 1
        """How often the claim was returned as `new`: a repeated claim has the same token."""
        self.waiters: list[Waiter] = []

    def add_waiter(self, waiter: Waiter) -> None:
        if len(self.waiters) % 64 == 63:  # remove cancelled waiters
            self.waiters = [
                waiter for waiter in self.waiters if waiter.future and not waiter.future.done()
            ]
        self.waiters.append(waiter)


class UnwrittenEnd(NamedTuple):
    """The end of a call that could not be written. Without an outcome, the call is released."""

    claim: Claim
    packed: bytes | None
    record: Record | None


class SqliteStore(CallTable):
    """The rows, and the state in memory."""

    def __init__(
        self,
        db: sqlite3.Connection,
        *,
        owners: OwnerFiles,
        write_lock: WriteLock,
        key: bytes,
        clock: Callable[[], int],
        timer: Callable[[], float],
        result_ms: int,
        tombstone_ms: int,
        sweep_interval: float,
    ) -> None:
        super().__init__(
            db,
            owners=owners,
            write_lock=write_lock,
            clock=clock,
            timer=timer,
            result_ms=result_ms,
            tombstone_ms=tombstone_ms,
        )
        self.key = key
        self.claimed: dict[CallKey, ClaimedCall] = {}
        self.unwritten: dict[CallKey, UnwrittenEnd] = {}
        self._elsewhere = CallsElsewhere()
        self._batch_writes = BatchWrites()
        self._changes: list[tuple[CallKey, ClaimedCall | None]] = []
        self._notified: list[Waiter] = []
        self._retry_delay = FIRST_RETRY
        self._retry_at = 0.0
        self._sweep_interval = sweep_interval
        self._sweep_at = monotonic()

    # --- the protocol of the thread ---------------------------------------------------------------

    def begin(self) -> None:
        now = monotonic()
        if self.unwritten and now >= self._retry_at:
            self.retry_writes()
        if self._elsewhere.is_due(now):
            with suppress(sqlite3.Error):  # the next check may succeed
                self._elsewhere.look(now, self._version(), self.get)
        if now >= self._sweep_at and not self.broken and not self.unwritten:
            try:
                more = self.sweep().more
                self.commit()
            except Exception as error:
                self.rollback(error)
                more = False
            self._sweep_at = now if more else now + self._sweep_interval

    def idle_timeout(self) -> float | None:
        times = [] if self.broken else [self._retry_at if self.unwritten else self._sweep_at]
        if (look_at := self._elsewhere.due_at()) is not None:
            times.append(look_at)
        return min(max(0.0, min(times) - monotonic()), 3600.0) if times else None

    def write_prepared(self) -> None:
        self._batch_writes.write(None if self.broken or self.unwritten else self._write)

    def commit(self) -> None:
        self._commit()
        self._changes.clear()

    def rollback(self, error: BaseException) -> None:
        self._roll_back(error)
        self._notified.clear()
        self._batch_writes.clear()
        for key, before in reversed(self._changes):
            if before is None:
                del self.claimed[key]
            else:
                self.claimed[key] = before
        self._changes.clear()

    def take_waiters(self) -> Sequence[Waiter]:
        notified, self._notified = self._notified, []
        return [*notified, *self._elsewhere.take_ended()]

    def close(self) -> Exception | None:
        if self.unwritten:
            self.retry_writes()
        for call in self.claimed.values():
            self._wake(call, None)
        self._elsewhere.end_all()
        lost = len(self.unwritten)
        try:
            self.db.close()
        except sqlite3.Error as error:
            return LedgerUnavailable(f"the ledger could not be closed: {error}")
        finally:
            self._owners.leave()
            self._write_lock.close()
        return (
            LedgerUnavailable(f"{lost} results could not be written and are lost") if lost else None
        )

    # --- jobs -------------------------------------------------------------------------------------

    def prepare_claim(
        self, key: CallKey, fp: bytes, tool: str, on_crash: OnCrash, token: bytes
    ) -> None:
        now = self._clock()
        is_new = key not in self.claimed and not is_too_old(key.call_id, now, self._tombstone_ms)
        self._batch_writes.claim(
            key,
            (key.tenant, key.call_id, tool, fp, self._owners.id, token, on_crash, now)
            if is_new
            else None,
        )

    def claim(self, key: CallKey, fp: bytes, tool: str, on_crash: OnCrash, token: bytes) -> Claim:
        call = self.claimed.get(key)
        if call is not None:
            return self._join(call, key, fp, token)
        if (inserted := self._batch_writes.inserted.pop(key, None)) is not None:
            number, since = inserted
            return self._start_call(
                key, ClaimedCall(number, fp, token, Record(key, tool, "running", 1, since))
            )
        if self.broken or self.unwritten:
            return self.claim_without_writing(
                key, fp, token, self.broken or "earlier results are not written yet"
            )
        now = self._clock()
        if is_too_old(key.call_id, now, self._tombstone_ms) and self._row(key) is None:
            raise CallIdTooOld(f"{key.call_id} is older than the retention of this ledger")
        written = self._write(
            INSERT, (key.tenant, key.call_id, tool, fp, self._owners.id, token, on_crash, now)
        )
        if written.rowcount == 1 and (id := written.lastrowid) is not None:
            return self._start_call(
                key, ClaimedCall(id, fp, token, Record(key, tool, "running", 1, now))
            )
        row = self._row(key)
        assert row is not None, "a conflicting row exists"
        if row.fp and row.fp != fp:
            return Claim("mismatch", key, token)
        if is_free(row):
            self._write(TAKE_OVER, (tool, fp, self._owners.id, token, on_crash, now, row.id))
            return self._start_call(
                key,
                ClaimedCall(row.id, fp, token, Record(key, tool, "running", row.attempt + 1, now)),
            )
        if row.state == "running" and not row.runs_elsewhere:
            self._write(LOSE, (now, now + self._result_ms, row.id))
        return self._claim_of_row(key, row, token)

    def claim_without_writing(self, key: CallKey, fp: bytes, token: bytes, why: str) -> Claim:
        """The result of a claim if nothing can be written; LedgerUnavailable for a new call."""
        call = self.claimed.get(key)
        if call is not None:
            return self._join(call, key, fp, token)
        row = self._row(key)
        if row is not None and row.fp and row.fp != fp:
            return Claim("mismatch", key, token)
        if row is None or is_free(row):
            raise LedgerUnavailable(f"the ledger accepts no new calls: {why}")
        return self._claim_of_row(key, row, token)

    def prepare_finish(self, claim: Claim, packed: bytes, outcome: Outcome) -> None:
        call = self._find_own(claim)
        now = self._clock()
        values = None
        if call is not None and len(packed) <= LARGE:
            values = (
                call.id,
                claim.attempt,
                claim.token,
                _final_state(outcome),
                now,
                now + self._result_ms,
                packed,
            )
        self._batch_writes.finish(claim.key, values)

    def finish(
        self, claim: Claim, packed: bytes, outcome: Outcome
    ) -> Literal["recorded", "fenced"]:
        state = _final_state(outcome)
        call = self._find_own(claim)
        if (
            call is not None
            and (end_time := self._batch_writes.finished.pop(claim.key, None)) is not None
        ):
            self._end_call(claim.key, call, _end_record(call.record, state, end_time, outcome))
            return "recorded"
        now = self._clock()
        if call is None:
            self._begin()
            row = self._row(claim.key)
            if row is None or not owns(claim, row):
                return "fenced"
            if row.state in FINAL:
                return "recorded"  # a repetition
            return self._record(row.id, row.attempt, row.token, state, packed, now)
        if claim.key in self.unwritten:
            raise LedgerUnavailable("this result is not written yet")
        done = self._record(call.id, claim.attempt, claim.token, state, packed, now)
        self._end_call(
            claim.key,
            call,
            _end_record(call.record, state, now, outcome) if done == "recorded" else None,
        )
        return done

    def release(self, claim: Claim) -> None:
        call = self._find_own(claim)
        if call is None:
            self._begin()
            row = self._row(claim.key)
            if row is not None and owns(claim, row) and row.state in ("running", "lost"):
                self._free(row.id, b"")
        elif claim.key not in self.unwritten:
            self._free(call.id, b"")
            self._end_call(claim.key, call, None)

    def lose(self, claim: Claim) -> None:
        call = self._find_own(claim)
        if call is None:
            return
        if claim.key in self.unwritten:
            raise LedgerUnavailable("the end of this call is not written yet")
        now = self._clock()
        self._write(LOSE, (now, now + self._result_ms, call.id))
        self._end_call(claim.key, call, replace(call.record, state="lost", ended_at=now))

    def abandon(self, claim: Claim) -> None:
        """Release a claim whose caller was cancelled, unless another caller has the same token."""
        call = self._find_own(claim)
        if call is not None:
            call.holders -= 1
            if call.holders == 0:
                self.release(claim)

    def keep_unwritten(self, claim: Claim, packed: bytes | None, outcome: Outcome | None) -> None:
        """Remember the end of a call that could not be written, and notify its waiters."""
        call = self._find_own(claim)
        if call is None or claim.key in self.unwritten:
            return
        record = (
            None
            if outcome is None
            else _end_record(
                call.record, _final_state(outcome), self._clock(), outcome, recorded=False
            )
        )
        self.unwritten[claim.key] = UnwrittenEnd(claim, packed, record)
        self._retry_at = monotonic() + self._retry_delay
        self._wake(call, record)
        call.waiters = []

    def retry_writes(self) -> None:
        """Try again to write the ends of calls that could not be written."""
        if self.broken:
            return
        waiting, self.unwritten = self.unwritten, {}
        try:
            for entry in waiting.values():
                if entry.record is None or entry.packed is None or entry.record.outcome is None:
                    self.release(entry.claim)
                else:
                    self.finish(entry.claim, entry.packed, entry.record.outcome)
            self.commit()
            self._retry_delay = FIRST_RETRY
        except Exception as error:
            self.rollback(error)
            self.unwritten = waiting
            self._retry_delay = min(MAX_RETRY, self._retry_delay * 2)
            self._retry_at = monotonic() + self._retry_delay

    def get(self, key: CallKey) -> Record | None:
        call = self.claimed.get(key)
        if call is None:
            row = self._row(key)
            return None if row is None else self._record_of(key, row)
        unwritten_end = self.unwritten.get(key)
        return call.record if unwritten_end is None else unwritten_end.record

    def wait(self, key: CallKey, waiter: Waiter) -> Record | None:
        """The record of a call; if it is in progress, `waiter` gets its end."""
        call, record = self.claimed.get(key), self.get(key)
        if call is not None and key not in self.unwritten:
            call.add_waiter(waiter)
        elif call is None and record is not None and record.state == "running":
            self._elsewhere.add(key, waiter)
        return record

    def sweep(self) -> SweepStep:
        """Do one step of a sweep."""
        return self._sweep(self.claimed)

    # --- inside -----------------------------------------------------------------------------------

    def _version(self) -> int:
        """A number that changes when another process writes."""
        version: int = self._execute("PRAGMA data_version").fetchone()[0]
        return version

    def _find_own(self, claim: Claim) -> ClaimedCall | None:
        call = self.claimed.get(claim.key)
        if call is None or call.token != claim.token or call.record.attempt != claim.attempt:
            return None
        return call

    def _start_call(self, key: CallKey, call: ClaimedCall) -> Claim:
        self.claimed[key] = call
        self._changes.append((key, None))
        return Claim("new", key, call.token, call.record.attempt)

    def _end_call(self, key: CallKey, call: ClaimedCall, record: Record | None) -> None:
        del self.claimed[key]
        self._changes.append((key, call))
        self._wake(call, record)

    def _wake(self, call: ClaimedCall, record: Record | None) -> None:
        for waiter in call.waiters:
            waiter.result = record
        self._notified += call.waiters

    def _join(self, call: ClaimedCall, key: CallKey, fp: bytes, token: bytes) -> Claim:
        """The result of a claim of a call in progress."""
        if call.fp != fp:
            return Claim("mismatch", key, token)
        unwritten_end = self.unwritten.get(key)
        if unwritten_end is not None:
            if unwritten_end.record is None:
                raise LedgerUnavailable("this call is about to be released")
            return Claim(
                _final_state(unwritten_end.record.outcome),
                key,
                token,
                call.record.attempt,
                unwritten_end.record,
            )
        if call.token == token:
            call.holders += 1
            return Claim("new", key, token, call.record.attempt)
        return Claim("running", key, token, call.record.attempt, call.record)

    def _claim_of_row(self, key: CallKey, row: CallRow, token: bytes) -> Claim:
        """The result of a claim of a call that has ended, runs elsewhere, or has a dead owner."""
        record = self._record_of(key, row)
        assert record is not None, "a rerunnable call was taken over"
        return Claim(record.state, key, token, row.attempt, record)


def _final_state(outcome: Outcome | None) -> Literal["done", "failed"]:
    return "failed" if outcome is not None and outcome.failure is not None else "done"


def _end_record(
    record: Record, state: State, now: int, outcome: Outcome, *, recorded: bool = True
) -> Record:
    return Record(
        record.key, record.tool, state, record.attempt, record.started_at, now, outcome, recorded
    )
