"""The record of calls in a SQLite file: the ledger of a tool server that is one process.

Every claim and every result is on the disk before anybody is told (WAL, `synchronous=FULL`), and
concurrent ones share a commit. One process holds the file; many threads and event loops may use one
ledger. Several processes need PostgreSQL.
"""

from __future__ import annotations

import time
from asyncio import timeout as within
from collections.abc import Callable
from os import PathLike, fspath
from secrets import token_bytes
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
from toolwire.execution.ledger.sqlite.file import LedgerFileError, key_of, opened
from toolwire.execution.ledger.sqlite.rows import SweepResult
from toolwire.execution.ledger.sqlite.store import SqliteStore
from toolwire.execution.ledger.store_thread import Job, PendingJobs, StoreThread
from toolwire.tools.runnable import OnCrash

__all__ = ["LedgerFileError", "SqliteLedger"]

R = TypeVar("R")
LARGEST = 512 << 20
"""Bytes of an outcome that are taken at most: SQLite itself ends at 1 GB."""


def _now() -> int:
    return time.time_ns() // 1_000_000


class SqliteLedger:
    """A ledger in a file, or in memory with `:memory:` (nothing survives then).

    A result is kept for `result_ttl` seconds, its id for `tombstone_ttl`; old ones are swept every
    `sweep_every` seconds. `key`: what fingerprints are keyed with; without one the file keeps a
    random one. `patience`: seconds to wait for another process to let go of the file. `clock` gives
    milliseconds since 1970; it decides when things expire, never who owns a call.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        result_ttl: float = 24 * 3600.0,
        tombstone_ttl: float = 30 * 24 * 3600.0,
        key: bytes | None = None,
        sweep_every: float = 60.0,
        patience: float = 2.0,
        clock: Callable[[], int] = _now,
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
        self._sweep_every = sweep_every
        self._patience = patience
        self._clock = clock
        self._lock = Lock()
        self._writer: StoreThread[SqliteStore] | None = None
        self._known: bytes | None = None

    @property
    def key(self) -> bytes:
        if self._known is None:
            raise LedgerUnavailable("the ledger is not open")
        return self._known

    async def open(self) -> None:
        """Hold the file. Opening an open one changes nothing.

        Raises LedgerFileError if this file cannot be held.
        """
        with self._lock:
            if self._writer is None:
                self._writer = StoreThread(self._open)
            writer = self._writer
        try:
            self._known = await writer.do(_Key())
        except LedgerFileError:
            with self._lock:
                if self._writer is writer:
                    self._writer = None
            raise

    async def close(self) -> None:
        """Let go of the file once everything asked is done. Closing a closed one changes nothing.

        Raises LedgerUnavailable if there are results that could not be written to the end.
        """
        with self._lock:
            writer, self._writer = self._writer, None
        if writer is not None:
            await writer.stop()

    async def claim(
        self, key: CallKey, fp: bytes, *, tool: str, on_crash: OnCrash, token: bytes
    ) -> Claim:
        if not fp or not token:
            raise UsageError("expected a fingerprint and a token, got nothing")
        return await self._do(_Claim(key, fp, tool, on_crash, token))

    async def finish(self, claim: Claim, outcome: Outcome) -> Literal["recorded", "fenced"]:
        """Durable before it says `recorded`.

        Raises LedgerUnavailable as the protocol says, and UsageError for an outcome that cannot be
        kept (not JSON, or too large): a failure is recorded in its place, so that the call has
        ended for everybody else.
        """
        try:
            packed = pack(outcome)
            why = (
                f"it has {len(packed)} bytes, and {LARGEST} are kept at most"
                if len(packed) > LARGEST
                else None
            )
        except (TypeError, ValueError, RecursionError) as error:
            why = str(error)
        if why is None:
            return await self._do(_Finish(claim, packed, outcome))
        failure = Failure(
            "the result could not be kept", developer_message=why, kind="result_not_kept"
        )
        instead = Outcome(None, failure, outcome.duration_ms)
        await self._do(_Finish(claim, pack(instead), instead))
        raise UsageError(f"the result cannot be recorded: {why}")

    async def release(self, claim: Claim) -> None:
        await self._do(_Release(claim))

    async def lose(self, claim: Claim) -> None:
        await self._do(_Lose(claim))

    async def wait(self, key: CallKey, timeout: float) -> Record | None:
        waiter = PendingJobs()
        ended = waiter.expect()
        found = await self._do(_Wait(key, waiter))
        if found is None or found.state != "running":
            return found
        try:
            async with within(timeout):
                record = await ended
        except TimeoutError:
            return None
        return record if isinstance(record, Record) else None

    async def get(self, key: CallKey) -> Record | None:
        return await self._do(_Get(key))

    async def sweep(self) -> Sweep:
        lost = expired = forgotten = 0
        more = True
        while more:  # step by step, so that calls come in between
            found, more = await self._do(_Sweep())
            lost, expired, forgotten = (
                lost + found.lost,
                expired + found.expired,
                forgotten + found.forgotten,
            )
        return Sweep(lost, expired, forgotten)

    async def _do(self, job: Job[SqliteStore, R]) -> R:
        writer = self._writer
        if writer is None:
            raise LedgerUnavailable("the ledger is not open")
        try:
            return await writer.do(job)
        except UnicodeEncodeError as error:
            raise UsageError(
                "expected text that UTF-8 can hold, got half a surrogate pair in a call id:"
                f" {error.reason}"
            ) from None

    def _open(self) -> SqliteStore:
        """In the writer's thread."""
        db = opened(self.path, self._patience)
        try:
            return SqliteStore(
                db,
                owner=token_bytes(16),
                key=key_of(db, self.path, self._key),
                clock=self._clock,
                result_ms=self._result_ms,
                tombstone_ms=self._tombstone_ms,
                sweep_every=self._sweep_every,
            )
        except BaseException:
            db.close()
            raise


# --- jobs: what the writer does in a batch, and what it says if the batch was undone --------------


class _Key(Job[SqliteStore, bytes]):
    __slots__ = ()

    def run(self, store: SqliteStore) -> bytes:
        return store.key

    def refused(self, store: SqliteStore, error: BaseException) -> bytes:
        return store.key


class _Claim(Job[SqliteStore, Claim]):
    __slots__ = ("fp", "key", "on_crash", "token", "tool")
    together = True

    def __init__(self, key: CallKey, fp: bytes, tool: str, on_crash: OnCrash, token: bytes) -> None:
        super().__init__()
        self.key = key
        self.fp = fp
        self.tool = tool
        self.on_crash: OnCrash = on_crash
        self.token = token

    def foretell(self, store: SqliteStore) -> None:
        store.will_claim(self.key, self.fp, self.tool, self.on_crash, self.token)

    def run(self, store: SqliteStore) -> Claim:
        return store.claim(self.key, self.fp, self.tool, self.on_crash, self.token)

    def refused(self, store: SqliteStore, error: BaseException) -> Claim:
        return store.known(self.key, self.fp, self.token, str(error))

    def unheard(self) -> Job[SqliteStore, None] | None:
        """Nobody is there to run it: let it go, or it would be under way for ever."""
        claim = self.answer
        return _Abandon(claim) if isinstance(claim, Claim) and claim.state == "new" else None


class _Finish(Job[SqliteStore, Literal["recorded", "fenced"]]):
    __slots__ = ("claim", "outcome", "packed")
    together = True

    def __init__(self, claim: Claim, packed: bytes, outcome: Outcome) -> None:
        super().__init__()
        self.claim = claim
        self.packed = packed
        self.outcome = outcome

    def foretell(self, store: SqliteStore) -> None:
        store.will_finish(self.claim, self.packed, self.outcome)

    def run(self, store: SqliteStore) -> Literal["recorded", "fenced"]:
        return store.finish(self.claim, self.packed, self.outcome)

    def refused(self, store: SqliteStore, error: BaseException) -> Literal["recorded", "fenced"]:
        store.keep(self.claim, self.packed, self.outcome)
        return super().refused(store, error)


class _Release(Job[SqliteStore, None]):
    __slots__ = ("claim",)

    def __init__(self, claim: Claim) -> None:
        super().__init__()
        self.claim = claim

    def run(self, store: SqliteStore) -> None:
        store.release(self.claim)

    def refused(self, store: SqliteStore, error: BaseException) -> None:
        store.keep(self.claim, None, None)
        super().refused(store, error)


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

    def __init__(self, key: CallKey, waiter: PendingJobs) -> None:
        super().__init__()
        self.key = key
        self.waiter = waiter

    def run(self, store: SqliteStore) -> Record | None:
        return store.wait(self.key, self.waiter)

    def refused(self, store: SqliteStore, error: BaseException) -> Record | None:
        return store.wait(self.key, self.waiter)


class _Get(Job[SqliteStore, Record | None]):
    __slots__ = ("key",)

    def __init__(self, key: CallKey) -> None:
        super().__init__()
        self.key = key

    def run(self, store: SqliteStore) -> Record | None:
        return store.get(self.key)

    def refused(self, store: SqliteStore, error: BaseException) -> Record | None:
        return store.get(self.key)


class _Sweep(Job[SqliteStore, SweepResult]):
    __slots__ = ()

    def run(self, store: SqliteStore) -> SweepResult:
        return store.sweep()
