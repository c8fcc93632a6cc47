"""The rows of a SQLite ledger: read, write and sweep them, in one transaction per batch.

Runs in the thread of the ledger. A transaction starts with the first write of a batch. After an I/O
error that makes the file untrustworthy, nothing is written any more (`broken`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Container, Sequence
from typing import Final, Literal, NamedTuple

from toolwire.execution.ledger.base import CallKey, Claim, Record, State, Sweep
from toolwire.execution.ledger.outcome_codec import unpack
from toolwire.execution.ledger.sqlite.file import LARGE
from toolwire.execution.ledger.sqlite.owners import OwnerFiles
from toolwire.execution.ledger.sqlite.write_lock import WriteLock
from toolwire.execution.ledger.trusted_clock import TrustedTime, read_time, write_time
from toolwire.execution.ledger.uuid7_expiry import TOLERANCE, forget_time
from toolwire.tools.runnable import OnCrash

StoredState = Literal["running", "done", "failed", "lost", "gone", "free"]
FINAL: Final = ("done", "failed")
RERUNNABLE: Final = ("retry", "transactional")
STORE_EVERY = 60_000
"""Milliseconds between two writes of the trusted time."""
SWEEP_BATCH = 500
"""Rows that a sweep changes in one batch."""
FATAL = (
    sqlite3.SQLITE_IOERR_FSYNC,
    sqlite3.SQLITE_IOERR_DIR_FSYNC,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
)
"""After these errors the disk cannot be trusted: a second fsync may succeed although the data is
lost."""

INSERT = (
    "INSERT INTO call(tenant, call_id, tool, fp, state, attempt, owner, token, on_crash,"
    " created_at) VALUES(?, ?, ?, ?, 'running', 1, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)
SELECT = (
    "SELECT id, tool, fp, state, attempt, owner, token, on_crash, created_at, ended_at, expires_at,"
    " outcome FROM call WHERE tenant=? AND call_id=?"
)
TAKE_OVER = (
    "UPDATE call SET tool=?, fp=?, state='running', attempt=attempt+1, owner=?, token=?,"
    " on_crash=?, created_at=?, ended_at=NULL, expires_at=NULL, outcome=NULL WHERE id=?"
)
FINISH = (
    "UPDATE call SET state=?, ended_at=?, expires_at=?, outcome=? WHERE id=? AND attempt=? AND"
    " token=? AND state IN('running', 'lost')"
)
FREE = "UPDATE call SET state='free', fp=?, expires_at=?, outcome=NULL WHERE id=?"
LOSE = "UPDATE call SET state='lost', ended_at=?, expires_at=? WHERE id=?"


class CallRow(NamedTuple):
    """A call as it is stored."""

    id: int
    tool: str
    fp: bytes
    state: StoredState
    attempt: int
    owner: bytes
    token: bytes
    on_crash: OnCrash
    created_at: int
    ended_at: int | None
    expires_at: int | None
    outcome: bytes | None
    runs_elsewhere: bool = False
    """True if another living process runs the call."""


class SweepStep(NamedTuple):
    """The numbers of one step of a sweep, and whether there is more to do."""

    swept: Sweep
    more: bool


class CallTable:
    """The table of calls and its transaction."""

    def __init__(
        self,
        db: sqlite3.Connection,
        *,
        owners: OwnerFiles,
        write_lock: WriteLock,
        clock: Callable[[], int],
        timer: Callable[[], float],
        result_ms: int,
        tombstone_ms: int,
    ) -> None:
        self.db = db
        self.broken: str | None = None
        """Why nothing is written any more; None while the file is usable."""
        self.commits = 0
        self._execute = db.cursor().execute
        self._owners = owners
        self._write_lock = write_lock
        self._clock = clock
        self._result_ms = result_ms
        self._tombstone_ms = tombstone_ms
        self._writing = False
        self._timer = timer
        self._timed = timer()
        self._trusted = self._read_trusted()
        self._stored = self._trusted
        self._is_stored = False

    # --- the transaction --------------------------------------------------------------------------

    def _begin(self) -> None:
        """Begin to write: from here on, no other process changes the rows that are read."""
        if self.broken:
            raise sqlite3.OperationalError(self.broken)
        if not self._writing:
            self._write_lock.acquire()
            self._writing = True
            self._execute("BEGIN IMMEDIATE")

    def _write(self, sql: str, values: Sequence[object]) -> sqlite3.Cursor:
        self._begin()
        return self._execute(sql, values)

    def _commit(self) -> None:
        if self._writing:
            self._execute("COMMIT")
            self._end_writing()
            self.commits += 1

    def _roll_back(self, error: BaseException) -> None:
        """Roll back after an error, and decide whether the file is still usable. Raises
        nothing."""
        try:
            if self.db.in_transaction:
                self._execute("ROLLBACK")
        except sqlite3.Error as second:
            self.broken = str(second)
        self._end_writing()
        code = getattr(error, "sqlite_errorcode", 0)
        if code in FATAL or code & 0xFF in FATAL:
            self.broken = str(error)

    def _end_writing(self) -> None:
        if self._writing:
            self._writing = False
            self._write_lock.release()

    # --- rows -------------------------------------------------------------------------------------

    def _row(self, key: CallKey) -> CallRow | None:
        values = self._execute(SELECT, (key.tenant, key.call_id)).fetchone()
        if values is None:
            return None
        row = CallRow(*values)
        return row._replace(runs_elsewhere=self._runs_elsewhere(row.state, row.owner))

    def _runs_elsewhere(self, state: StoredState, owner: bytes) -> bool:
        return state == "running" and owner != self._owners.id and self._owners.is_alive(owner)

    def _record(
        self, id: int, attempt: int, token: bytes, state: State, packed: bytes, now: int
    ) -> Literal["recorded", "fenced"]:
        large = len(packed) > LARGE
        values = (state, now, now + self._result_ms, None if large else packed, id, attempt, token)
        if self._write(FINISH, values).rowcount != 1:
            return "fenced"
        if large:
            self._write("INSERT OR REPLACE INTO large VALUES(?, ?)", (id, packed))
        return "recorded"

    def _free(self, id: int, fp: bytes) -> None:
        self._write(FREE, (fp, self._clock() + self._tombstone_ms + 2 * TOLERANCE, id))

    def _record_of(self, key: CallKey, row: CallRow) -> Record | None:
        """The record of a row that is not in progress here, as after a sweep."""
        if row.state == "free" or is_free(row):
            return None
        state: State = row.state
        if state == "running" and not row.runs_elsewhere:
            state = "lost"
        if state != "gone" and row.expires_at is not None and row.expires_at <= self._clock():
            state = "gone"
        outcome = None
        if state in FINAL:
            packed = row.outcome
            if packed is None:
                (packed,) = self._execute(
                    "SELECT outcome FROM large WHERE call=?", (row.id,)
                ).fetchone()
            outcome = unpack(packed)
        resumable = row.on_crash == "resume"
        return Record(
            key,
            row.tool,
            state,
            row.attempt,
            row.created_at,
            row.ended_at,
            outcome,
            resumable=resumable,
        )

    def _sweep(self, in_progress: Container[CallKey]) -> SweepStep:
        """Do one step of a sweep. A running call that is in progress neither here nor elsewhere has
        a dead owner."""
        self._begin()
        now = self._clock()
        lost = 0
        running = "SELECT id, tenant, call_id, on_crash, fp, owner FROM call WHERE state='running'"
        elsewhere: dict[bytes, bool] = {}
        for id, tenant, call_id, on_crash, fp, owner in self._execute(running).fetchall():
            if owner not in elsewhere:
                elsewhere[owner] = self._runs_elsewhere("running", owner)
            if not elsewhere[owner] and CallKey(tenant, call_id) not in in_progress:
                lost += 1
                if on_crash in RERUNNABLE:
                    self._free(id, fp)
                else:
                    self._write(LOSE, (now, now + self._result_ms, id))
        trusted = self._advance_trusted(now)
        due = (
            "SELECT id, call_id, state, ended_at FROM call WHERE expires_at<=? AND (expires_at<=?"
            " OR state NOT IN ('gone', 'free')) ORDER BY expires_at LIMIT ?"
        )
        rows = self._execute(due, (now, trusted, SWEEP_BATCH)).fetchall()
        forgotten = 0
        for id, call_id, state, ended_at in rows:
            forget_at = forget_time(call_id, ended_at or 0, self._tombstone_ms)
            self._write("DELETE FROM large WHERE call=?", (id,))
            if state == "free" or forget_at <= trusted:
                self._write("DELETE FROM call WHERE id=?", (id,))
                forgotten += 1
            else:
                self._write(
                    "UPDATE call SET state='gone', outcome=NULL, expires_at=? WHERE id=?",
                    (forget_at, id),
                )
        return SweepStep(Sweep(lost, len(rows) - forgotten, forgotten), len(rows) == SWEEP_BATCH)

    # --- the trusted time -------------------------------------------------------------------------

    def _read_trusted(self) -> TrustedTime:
        row = self._execute("SELECT held FROM meta WHERE name='clock'").fetchone()
        if row is not None:
            return read_time(row[0])
        (newest,) = self._execute("SELECT max(created_at) FROM call").fetchone()
        return TrustedTime(self._clock() if newest is None else newest)

    def _advance_trusted(self, now: int) -> int:
        """Advance the trusted time and return it. It is stored once a minute, not each time."""
        timed = self._timer()
        self._trusted = self._trusted.advance(now, round((timed - self._timed) * 1000))
        self._timed = timed
        if abs(self._trusted.time - self._stored.time) >= STORE_EVERY or not self._is_stored:
            self._write(
                "INSERT OR REPLACE INTO meta VALUES('clock', ?)", (write_time(self._trusted),)
            )
            self._stored, self._is_stored = self._trusted, True
        return self._trusted.time


def is_free(row: CallRow) -> bool:
    """True if the next claim may run the call: it was released, or its owner is dead and the call
    may be repeated."""
    if row.state == "running" and not row.runs_elsewhere:
        return row.on_crash in RERUNNABLE
    return row.state == "free"


def owns(claim: Claim, row: CallRow) -> bool:
    """True if a claim may change a row that is not in progress here: its own row, or the lost row
    that the claim returned."""
    if row.attempt != claim.attempt or row.state in ("gone", "free"):
        return False
    return row.token == claim.token or (claim.state == "lost" and row.state in ("lost", "running"))
