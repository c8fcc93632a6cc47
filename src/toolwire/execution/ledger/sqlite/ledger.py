"""A ledger in a SQLite file, for the processes of one machine.

Every claim and every result is on disk before the caller gets it (WAL, `synchronous=FULL`), and
concurrent ones share a commit. Processes may share the file; threads and event loops of a process
may share the ledger. Several machines need PostgreSQL.
"""

from __future__ import annotations

import sqlite3
import time
from asyncio import timeout as timeout_after
from collections.abc import Callable
from contextlib import ExitStack
from os import PathLike, fspath
from threading import Lock
from typing import Literal, TypeVar

from toolwire.errors import UsageError
from toolwire.execution.ledger.base import (
    CallKey,
    Claim,
    Failure,
    LedgerUnavailable,
    Outcome,
    Record,
    Sweep,
)
from toolwire.execution.ledger.outcome_codec import pack
from toolwire.execution.ledger.sqlite.file import (
    LedgerFileError,
    create_lock_folder,
    create_tables,
    file_error,
    key_of,
    open_database,
)
from toolwire.execution.ledger.sqlite.owners import OwnerFiles
from toolwire.execution.ledger.sqlite.rows import SweepStep
from toolwire.execution.ledger.sqlite.store import SqliteStore
from toolwire.execution.ledger.sqlite.write_lock import WriteLock
from toolwire.execution.ledger.store_thread import Job, StoreThread, Waiter
from toolwire.tools.runnable import OnCrash

__all__ = ["LedgerFileError", "SqliteLedger"]

R = TypeVar("R")
MAX_OUTCOME_BYTES = 512 << 20
"""The maximum size of an outcome. The limit of SQLite is 1 GB."""


def _now() -> int:
    return time.time_ns() // 1_000_000


class SqliteLedger:
    """A ledger in a file, or in memory with `:memory:`.

    Args:
        path: the file.
        result_ttl: seconds that a result is kept.
        tombstone_ttl: seconds that the id of a call is kept.
        key: the key of the fingerprints; by default a random one that is stored in the file.
        sweep_interval: seconds between two sweeps.
        lock_timeout: seconds to wait while another process writes.
        clock: milliseconds since 1970. It decides when records expire, never who owns a call.
        timer: seconds of a clock that never jumps. Ids are forgotten only if `clock` agrees with
            it.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        result_ttl: float = 24 * 3600.0,
        tombstone_ttl: float = 30 * 24 * 3600.0,
        key: bytes | None = None,
        sweep_interval: float = 60.0,
        lock_timeout: float = 10.0,
        clock: Callable[[], int] = _now,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        if not 0 < result_ttl <= tombstone_ttl:
            raise UsageError(
                f"expected 0 < result_ttl <= tombstone_ttl, got {result_ttl} and {tombstone_ttl}"
            )
        if key is not None and len(key) < 16:
            raise UsageError(f"expected a key of 16 bytes or more, got {len(key)}")
        self.path = fspath(path)
        self._key = key
        self._result_ms = int(result_ttl * 1000)
        self._tombstone_ms = int(tombstone_ttl * 1000)
        self._sweep_interval = sweep_interval
        self._lock_timeout = lock_timeout
        self._clock = clock
        self._timer = timer
        self._lock = Lock()
        self._writer: StoreThread[SqliteStore] | None = None
        self._open_key: bytes | None = None

    @property
    def key(self) -> bytes:
        """The key of the fingerprints, available while the ledger is open."""
        if self._open_key is None:
            raise LedgerUnavailable("the ledger is not open: call open() first")
        return self._open_key

    async def open(self) -> None:
        """Open the file. A second call does nothing.

        Raises LedgerFileError if the file cannot be used.
        """
        with self._lock:
            if self._writer is None:
                self._writer = StoreThread(self._open)
            writer = self._writer
        try:
            self._open_key = await writer.submit(_Key())
        except LedgerFileError:
            with self._lock:
                if self._writer is writer:
                    self._writer = None
            raise

    async def close(self) -> None:
        """Finish all operations and release the file. A second call does nothing.

        Raises LedgerUnavailable if results could not be written.
        """
        with self._lock:
            writer, self._writer = self._writer, None
        if writer is not None:
            await writer.stop()

    async def claim(
        self, key: CallKey, fp: bytes, *, tool: str, on_crash: OnCrash, token: bytes
    ) -> Claim:
        """Claim a call before its tool runs; see `Ledger.claim`."""
        if not fp or not token:
            raise UsageError("expected a fingerprint and a token, got nothing")
        return await self._submit(_Claim(key, fp, tool, on_crash, token))

    async def finish(self, claim: Claim, outcome: Outcome) -> Literal["recorded", "fenced"]:
        """Record an outcome; see `Ledger.finish`.

        Raises UsageError for an outcome that is not JSON or too large. A failure is recorded
        instead, so that the call has ended.
        """
        try:
            packed = pack(outcome)
            problem = None
            if len(packed) > MAX_OUTCOME_BYTES:
                problem = f"it has {len(packed)} bytes; the maximum is {MAX_OUTCOME_BYTES}"
        except (TypeError, ValueError, RecursionError) as error:
            problem = str(error)
        if problem is None:
            return await self._submit(_Finish(claim, packed, outcome))
        failure = Failure(
            "the result could not be stored", developer_message=problem, kind="result_not_kept"
        )
        replacement = Outcome(None, failure, outcome.duration_ms)
        await self._submit(_Finish(claim, pack(replacement), replacement))
        raise UsageError(f"the result cannot be recorded: {problem}")

    async def release(self, claim: Claim) -> None:
        """End a claim without effect: the same id may run again."""
        await self._submit(_Release(claim))

    async def lose(self, claim: Claim) -> None:
        """Mark a call whose outcome will never be known as `lost`."""
        await self._submit(_Lose(claim))

    async def wait(self, key: CallKey, timeout: float) -> Record | None:
        """Wait until a call has ended; None after `timeout` seconds."""
        waiter = Waiter()
        end = waiter.create_future()
        current = await self._submit(_Wait(key, waiter))
        if current is None or current.state != "running":
            return current
        try:
            async with timeout_after(timeout):
                record = await end
        except TimeoutError:
            return None
        return record if isinstance(record, Record) else None

    async def get(self, key: CallKey) -> Record | None:
        """Return the record of a call; None if there is none."""
        return await self._submit(_Get(key))

    async def sweep(self) -> Sweep:
        """Mark calls of dead owners, and delete old results and ids."""
        lost = expired = forgotten = 0
        more = True
        while more:  # in steps, so that calls are not blocked
            step, more = await self._submit(_Sweep())
            lost += step.lost
            expired += step.expired
            forgotten += step.forgotten
        return Sweep(lost, expired, forgotten)

    async def _submit(self, job: Job[SqliteStore, R]) -> R:
        writer = self._writer
        if writer is None:
            raise LedgerUnavailable("the ledger is not open: call open() first")
        try:
            return await writer.submit(job)
        except UnicodeEncodeError as error:
            raise UsageError(
                f"a call id contains a lone surrogate, which UTF-8 cannot encode: {error.reason}"
            ) from None

    def _open(self) -> SqliteStore:
        """Open the store, in its thread."""
        with ExitStack() as undo:
            try:
                db = open_database(self.path, self._lock_timeout)
                undo.callback(db.close)
                folder = create_lock_folder(self.path)
                write_lock = WriteLock(
                    None if folder is None else folder / "write", self._lock_timeout
                )
                undo.callback(write_lock.close)
                owners = OwnerFiles(folder)
                undo.callback(owners.leave)
                owners.enter()
                write_lock.acquire()
                create_tables(db, self.path, self._lock_timeout)
                key = key_of(db, self.path, self._key)
                write_lock.release()
                store = SqliteStore(
                    db,
                    owners=owners,
                    write_lock=write_lock,
                    key=key,
                    clock=self._clock,
                    timer=self._timer,
                    result_ms=self._result_ms,
                    tombstone_ms=self._tombstone_ms,
                    sweep_interval=self._sweep_interval,
                )
            except (OSError, sqlite3.Error) as error:
                raise file_error(self.path, error) from error
            undo.pop_all()
            return store


# --- jobs of the thread ---------------------------------------------------------------------------


class _Key(Job[SqliteStore, bytes]):
    __slots__ = ()

    def run(self, store: SqliteStore) -> bytes:
        return store.key

    def fallback(self, store: SqliteStore, error: BaseException) -> bytes:
        return store.key


class _Claim(Job[SqliteStore, Claim]):
    __slots__ = ("fp", "key", "on_crash", "token", "tool")
    batchable = True

    def __init__(self, key: CallKey, fp: bytes, tool: str, on_crash: OnCrash, token: bytes) -> None:
        super().__init__()
        self.key = key
        self.fp = fp
        self.tool = tool
        self.on_crash: OnCrash = on_crash
        self.token = token

    def prepare(self, store: SqliteStore) -> None:
        store.prepare_claim(self.key, self.fp, self.tool, self.on_crash, self.token)

    def run(self, store: SqliteStore) -> Claim:
        return store.claim(self.key, self.fp, self.tool, self.on_crash, self.token)

    def fallback(self, store: SqliteStore, error: BaseException) -> Claim:
        return store.claim_without_writing(self.key, self.fp, self.token, str(error))

    def on_abandoned(self) -> Job[SqliteStore, None] | None:
        """Release the claim of a cancelled caller; otherwise the call would stay in progress for
        ever."""
        claim = self.result
        return _Abandon(claim) if isinstance(claim, Claim) and claim.state == "new" else None


class _Finish(Job[SqliteStore, Literal["recorded", "fenced"]]):
    __slots__ = ("claim", "outcome", "packed")
    batchable = True

    def __init__(self, claim: Claim, packed: bytes, outcome: Outcome) -> None:
        super().__init__()
        self.claim = claim
        self.packed = packed
        self.outcome = outcome

    def prepare(self, store: SqliteStore) -> None:
        store.prepare_finish(self.claim, self.packed, self.outcome)

    def run(self, store: SqliteStore) -> Literal["recorded", "fenced"]:
        return store.finish(self.claim, self.packed, self.outcome)

    def fallback(self, store: SqliteStore, error: BaseException) -> Literal["recorded", "fenced"]:
        store.keep_unwritten(self.claim, self.packed, self.outcome)
        return super().fallback(store, error)


class _Release(Job[SqliteStore, None]):
    __slots__ = ("claim",)

    def __init__(self, claim: Claim) -> None:
        super().__init__()
        self.claim = claim

    def run(self, store: SqliteStore) -> None:
        store.release(self.claim)

    def fallback(self, store: SqliteStore, error: BaseException) -> None:
        store.keep_unwritten(self.claim, None, None)
        super().fallback(store, error)


class _Lose(Job[SqliteStore, None]):
    __slots__ = ("claim",)

    def __init__(self, claim: Claim) -> None:
        super().__init__()
        self.claim = claim

    def run(self, store: SqliteStore) -> None:
        store.lose(self.claim)


class _Abandon(_Release):
    __slots__ = ()

    def run(self, store: SqliteStore) -> None:
        store.abandon(self.claim)


class _Wait(Job[SqliteStore, Record | None]):
    __slots__ = ("key", "waiter")

    def __init__(self, key: CallKey, waiter: Waiter) -> None:
        super().__init__()
        self.key = key
        self.waiter = waiter

    def run(self, store: SqliteStore) -> Record | None:
        return store.wait(self.key, self.waiter)

    def fallback(self, store: SqliteStore, error: BaseException) -> Record | None:
        return store.wait(self.key, self.waiter)


class _Get(Job[SqliteStore, Record | None]):
    __slots__ = ("key",)

    def __init__(self, key: CallKey) -> None:
        super().__init__()
        self.key = key

    def run(self, store: SqliteStore) -> Record | None:
        return store.get(self.key)

    def fallback(self, store: SqliteStore, error: BaseException) -> Record | None:
        return store.get(self.key)


class _Sweep(Job[SqliteStore, SweepStep]):
    __slots__ = ()

    def run(self, store: SqliteStore) -> SweepStep:
        return store.sweep()
