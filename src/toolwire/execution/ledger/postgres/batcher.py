"""Send operations to the PostgreSQL ledger in batches: one statement for many operations.

An operation may be executed twice, so it is sent again after a lost connection. A batch is sorted,
so that two replicas take their locks in the same order.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from math import ceil
from operator import attrgetter
from typing import TypeAlias
from uuid import UUID

from psycopg.rows import TupleRow

from toolwire.execution.ledger.base import CallIdTooOld, Claim, LedgerUnavailable
from toolwire.execution.ledger.postgres.binary import Texts, notification_name
from toolwire.execution.ledger.postgres.connection import (
    CONNECTION_ERRORS,
    PgConnection,
    first_line,
    is_contention,
    is_transient,
)
from toolwire.execution.ledger.postgres.operations import (
    ClaimOperation,
    EndOperation,
    LookupResult,
    ReadOperation,
    RowOperation,
    UndoClaimOperation,
    decide_claim,
    read_row,
)
from toolwire.execution.ledger.postgres.parameters import (
    claim_parameters,
    claims_parameters,
    end_parameters,
    ends_parameters,
    key_parameters,
    row_parameters,
)
from toolwire.execution.ledger.postgres.sql import Statements
from toolwire.execution.ledger.uuid7_expiry import TOLERANCE

BatchedOperation: TypeAlias = ClaimOperation | EndOperation | ReadOperation | UndoClaimOperation
KeyBytes: TypeAlias = tuple[bytes, bytes]
MAX_BATCH = 512
MAX_BATCH_BYTES = 8_000_000
_LONG_QUEUE = 8
_MAX_DELAY = 1.0
_RETRY_DELAY = 0.05
_key_bytes = attrgetter("key_bytes")
_FINAL = ("done", "failed")
_REPEATED_ENDS = {"done": _FINAL, "failed": _FINAL, "free": ("free",), "lost": ("lost",)}
"""The states of a call whose end was recorded, while only the result of the statement was lost."""


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


class Batcher:
    """A queue of operations, and a few connections that execute them.

    Args:
        on_end: called with the key of a call that may have ended.
        on_lapse: called when the lease of this replica has ended.
        is_held: True if a claim whose caller was cancelled is in use by another caller.
    """

    def __init__(
        self,
        connections: Sequence[PgConnection],
        sql: Statements,
        options: LedgerOptions,
        *,
        on_end: Callable[[KeyBytes], None],
        on_lapse: Callable[[], None],
        is_held: Callable[[ClaimOperation], bool],
    ) -> None:
        self._sql = sql
        self._options = options
        self._on_end = on_end
        self._on_lapse = on_lapse
        self._is_held = is_held
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._queue: deque[BatchedOperation] = deque()
        self._idle: deque[asyncio.Future[None]] = deque()
        self._in_progress: dict[PgConnection, list[BatchedOperation]] = {}
        """The batch of each busy connection."""
        self._delayed: dict[BatchedOperation, asyncio.TimerHandle] = {}
        self.unsettled_claims: dict[bytes, UndoClaimOperation] = {}
        """By token: claims that must be undone, in case they were granted."""
        self.max_batch = MAX_BATCH
        """The maximum number of operations in a statement."""
        self.down_since: float | None = None
        self.failure = ""
        self.statements = 0
        self._tasks = [asyncio.create_task(self._work(connection)) for connection in connections]
        self._tasks.append(asyncio.create_task(self._expire()))

    def put(self, op: BatchedOperation) -> None:
        """Queue an operation; its future gets the result."""
        self._queue.append(op)
        if len(self._queue) == 1:
            self._wake_worker()

    def report_available(self) -> None:
        """Note that the database is available."""
        self.down_since = None

    def _wake_worker(self) -> None:
        while self._idle:
            idle = self._idle.popleft()
            if not idle.done():
                idle.set_result(None)
                return

    def _put_later(self, op: BatchedOperation, seconds: float) -> None:
        self._delayed[op] = self._loop.call_later(seconds, self._put_now, op)

    def _put_now(self, op: BatchedOperation) -> None:
        self._delayed.pop(op).cancel()
        self.put(op)

    async def stop(self, timeout: float) -> None:
        """Execute the queued operations, then stop. If the database is unavailable, wait only for
        ends of calls."""
        end = self._loop.time() + timeout
        for op in [*self._delayed]:
            self._put_now(op)
        while (
            (self._queue or self._in_progress)
            and self._loop.time() < end
            and (self.down_since is None or self._to_record())
        ):
            await asyncio.sleep(0.005)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for connection in self._connections:
            await connection.drop()
        for op in self._queue:
            op.fail(LedgerUnavailable("the ledger was closed"))
        self._queue.clear()

    def _to_record(self) -> bool:
        return any(
            isinstance(op, EndOperation)
            for ops in (self._queue, *self._in_progress.values())
            for op in ops
        )

    async def _work(self, connection: PgConnection) -> None:
        pause = 0.0
        while True:
            while not self._queue:
                idle = self._loop.create_future()
                self._idle.append(idle)
                await idle
            batch: list[BatchedOperation] = []
            self._in_progress[connection] = batch
            try:
                if not connection.up:
                    self._wake_worker()  # another connection may be faster than a new one
                await connection.ready()
                batch = self._in_progress[connection] = self._next_batch()
                await self._execute_batch(connection, batch)
                pause, self.down_since = 0.0, None
            except CONNECTION_ERRORS as error:
                self._put_back(batch, error)
                pause = 0.0 if is_contention(error) else min(_MAX_DELAY, pause * 2 or 0.02)
            except asyncio.CancelledError:
                for op in batch:
                    op.fail(LedgerUnavailable("the ledger was closed"))
                raise
            except Exception as error:  # the worker must not die: all callers would wait for ever
                for op in batch:
                    op.fail(LedgerUnavailable(f"the operation failed: {error!r}"))
                    if isinstance(op, ClaimOperation):
                        self.abandon_claim(op)
            finally:
                del self._in_progress[connection]
            if pause:
                await asyncio.sleep(pause)

    def _next_batch(self) -> list[BatchedOperation]:
        """The next batch, without cancelled operations. A long queue is shared between the idle
        connections.

        Otherwise callers that send one operation after another would all wait at the same time, and
        the database would wait for them afterwards.
        """
        batch: list[BatchedOperation] = []
        size, max_batch = 0, self.max_batch
        if len(self._queue) >= _LONG_QUEUE:
            max_batch = min(
                max_batch,
                ceil(len(self._queue) / (len(self._connections) - len(self._in_progress) + 1)),
            )
        while self._queue and len(batch) < max_batch and size < MAX_BATCH_BYTES:
            op = self._queue.popleft()
            if op.future.done() and isinstance(op, ClaimOperation | ReadOperation):
                self._discard(op)
                continue
            if isinstance(op, EndOperation) and op.outcome is not None:
                size += len(op.outcome)
            op.sent = True
            batch.append(op)
        if self._queue:
            self._wake_worker()
        batch.sort(key=_key_bytes)
        return batch

    # --- errors -----------------------------------------------------------------------------------

    def _put_back(self, batch: list[BatchedOperation], error: Exception) -> None:
        """Queue the operations of a lost connection again, until their deadline."""
        now = self._loop.time()
        if is_transient(error) and not is_contention(error):
            self.down_since = self.down_since or now
            self.failure = first_line(error)
        for op in batch:
            if op.answered:
                continue
            if op.future.done() and isinstance(op, ClaimOperation | ReadOperation):
                self._discard(op)
            elif op.deadline <= now or not is_transient(error):
                self._fail(op, f"the database failed: {first_line(error)}")
            else:
                self.put(op)

    def _discard(self, op: ClaimOperation | ReadOperation) -> None:
        """Discard an operation whose caller was cancelled."""
        op.answered = True
        if isinstance(op, ClaimOperation):
            self.abandon_claim(op)

    def _fail(self, op: BatchedOperation, failure: str) -> None:
        """Fail an operation. Ends of calls and undos are repeated until they succeed."""
        error = LedgerUnavailable(failure)
        if isinstance(op, UndoClaimOperation):
            self._put_later(op, _MAX_DELAY)
        elif isinstance(op, EndOperation):
            before, op.future = op.future, self._loop.create_future()
            op.deadline = float("inf")
            if not before.done():
                before.set_exception(error)
            self._put_later(op, _MAX_DELAY)
        else:
            op.fail(error)
            if isinstance(op, ClaimOperation):
                self.abandon_claim(op)

    def abandon_claim(self, op: ClaimOperation) -> None:
        """Undo a claim whose caller was cancelled, in case it was granted. The same claim waits
        until this is done."""
        if not op.sent or self._is_held(op):
            return
        undo = self.unsettled_claims.get(op.token)
        if undo is None:
            self.unsettled_claims[op.token] = undo = UndoClaimOperation(
                op, self._loop.create_future()
            )
        if op.answered and not undo.due:  # before that, the claim could be executed after its undo
            undo.due = True
            self.put(undo)
            self._loop.call_later(self._options.lease, self._repeat_undo, undo)

    def _repeat_undo(self, undo: UndoClaimOperation) -> None:
        """Repeat an undo after a lease: a statement on an abandoned connection may arrive late."""
        if self.unsettled_claims.get(undo.claim.token) is undo:
            if not undo.answered:
                self._loop.call_later(self._options.lease, self._repeat_undo, undo)
                return
            del self.unsettled_claims[undo.claim.token]
            self.put(UndoClaimOperation(undo.claim, self._loop.create_future()))

    async def _expire(self) -> None:
        """Fail operations after their deadline, also while there is no connection."""
        while True:
            await asyncio.sleep(0.1)
            now = self._loop.time()
            if any(op.deadline <= now for op in self._queue):
                late = [op for op in self._queue if op.deadline <= now]
                self._queue = deque(op for op in self._queue if op.deadline > now)
                for op in late:
                    self._fail(op, f"the database failed: {self.failure or 'no response in time'}")

    # --- one batch --------------------------------------------------------------------------------

    async def _execute_batch(self, connection: PgConnection, batch: list[BatchedOperation]) -> None:
        try:
            await self._execute(connection, batch)
        except CONNECTION_ERRORS as error:
            if is_transient(error):
                raise
            abandon_claim = [op for op in batch if not op.answered]
            if len(abandon_claim) < 2:
                self._put_back(abandon_claim, error)
                return
            for op in abandon_claim:  # find the operation that the database rejects
                await self._execute_batch(connection, [op])

    async def _execute(self, connection: PgConnection, batch: list[BatchedOperation]) -> None:
        claims: list[ClaimOperation] = []
        ends: list[EndOperation] = []
        reads: list[RowOperation] = []
        flagged: list[RowOperation] = []
        remote_keys: list[KeyBytes] = []
        for op in batch:
            if isinstance(op, ClaimOperation):
                claims.append(op)
            elif isinstance(op, EndOperation):
                ends.append(op)
            elif isinstance(op, ReadOperation):
                reads.append(op)
                if op.flag:
                    flagged.append(op)
            else:
                await self._undo_claim(connection, op, remote_keys)
        if claims or ends:
            reads += await self._write(connection, claims, ends, remote_keys)
        if flagged:
            await self._run(connection, self._sql.flag, key_parameters(flagged))
        if reads:
            await self._read_rows(connection, reads, remote_keys)
        if remote_keys:
            await self._run(
                connection,
                self._sql.notify,
                {
                    "names": Texts(
                        [notification_name(*key_bytes).encode() for key_bytes in remote_keys]
                    )
                },
            )

    async def _run(
        self, connection: PgConnection, query: bytes, params: Mapping[str, object]
    ) -> list[TupleRow]:
        self.statements += 1
        return await connection.run(query, {**self._options.params, **params})

    async def _write(
        self,
        connection: PgConnection,
        claims: list[ClaimOperation],
        ends: list[EndOperation],
        remote_keys: list[KeyBytes],
    ) -> list[RowOperation]:
        """Execute claims and ends in one statement; return those that changed nothing."""
        sql = self._sql
        granted: dict[KeyBytes, tuple[bytes, int]] = {}
        answered: dict[int, bool] = {}
        if not ends:
            query, params = (
                (sql.claim, claim_parameters(claims[0]))
                if len(claims) == 1
                else (sql.claims, claims_parameters(claims))
            )
            granted = {
                (tenant, call_id): (token, ms)
                for tenant, call_id, token, ms in await self._run(connection, query, params)
            }
        elif not claims:
            query, params = (
                (sql.end, end_parameters(ends[0]))
                if len(ends) == 1
                else (sql.ends, ends_parameters(ends))
            )
            answered = dict(await self._run(connection, query, params))
        else:
            for tenant, call_id, token, ms, i, waiters in await self._run(
                connection, sql.both, claims_parameters(claims) | ends_parameters(ends)
            ):
                if i is None:
                    granted[tenant, call_id] = (token, ms)
                else:
                    answered[i] = waiters
        unchanged: list[RowOperation] = []
        for op in claims:
            token, ms = granted.get(op.key_bytes, (b"", 0))
            if token == op.token:
                self._grant(op, 1, ms)
            else:
                unchanged.append(op)
        for i, end in enumerate(ends, 1):
            if i in answered:
                end.resolve("recorded")
                self._notify(end.key_bytes, answered[i], remote_keys)
            else:
                unchanged.append(end)
        return unchanged

    def _notify(self, key_bytes: KeyBytes, waiters: bool, remote_keys: list[KeyBytes]) -> None:
        self._on_end(key_bytes)
        if waiters:
            remote_keys.append(key_bytes)

    def _grant(self, op: ClaimOperation, attempt: int, started: int) -> None:
        op.started = started
        if op.future.done():
            self._discard(op)
        else:
            op.resolve(Claim("new", op.key, op.token, attempt))

    async def _undo_claim(
        self, connection: PgConnection, op: UndoClaimOperation, remote_keys: list[KeyBytes]
    ) -> None:
        claim = op.claim
        if not self._is_held(claim):
            for (waiters,) in await self._run(
                connection, self._sql.undo_claim, row_parameters(claim)
            ):
                self._notify(op.key_bytes, waiters, remote_keys)
        op.resolve(None)

    async def _read_rows(
        self, connection: PgConnection, reads: list[RowOperation], remote_keys: list[KeyBytes]
    ) -> None:
        for columns in await self._run(connection, self._sql.read, key_parameters(reads)):
            op = reads[columns[0] - 1]
            lookup = read_row(columns)
            if lookup.row is not None and lookup.row.dead and not lookup.row.rerunnable:
                lookup = await self._mark_lost(connection, op, remote_keys)
            row = lookup.row
            if isinstance(op, ReadOperation):
                op.resolve(row)
            elif isinstance(op, ClaimOperation) and op.future.done():
                self._discard(op)
            elif isinstance(op, ClaimOperation):
                await self._decide_claim(connection, op, lookup)
            elif (
                row is not None
                and (row.token, row.attempt) == (op.token, op.attempt)
                and row.state in _REPEATED_ENDS[op.state]
            ):
                op.resolve("recorded")  # a repetition
            else:
                op.resolve("fenced")

    async def _mark_lost(
        self, connection: PgConnection, op: RowOperation, remote_keys: list[KeyBytes]
    ) -> LookupResult:
        """Mark a call of a dead owner as lost, and read it again: it may have ended meanwhile."""
        for (waiters,) in await self._run(
            connection, self._sql.mark_lost, {"tenant": op.tenant, "call_id": op.call_id}
        ):
            self._notify(op.key_bytes, waiters, remote_keys)
        return read_row((await self._run(connection, self._sql.read, key_parameters([op])))[0])

    async def _decide_claim(
        self, connection: PgConnection, op: ClaimOperation, lookup: LookupResult
    ) -> None:
        row = lookup.row
        if row is None:
            if op.created is not None and op.created < lookup.now - self._options.horizon:
                op.fail(
                    CallIdTooOld(f"{op.key.call_id} is older than the retention of this ledger")
                )
            else:
                self._retry_claim(op, lookup)
            return
        claim = decide_claim(op, row)
        if claim is not None and claim.state == "new":
            self._grant(op, row.attempt, row.started)
        elif claim is not None:
            op.resolve(claim)
        elif rows := await self._run(
            connection, self._sql.take_over, row_parameters(op) | {"attempt": row.attempt}
        ):
            self._grant(op, *rows[0])
        else:
            self._retry_claim(op, lookup)

    def _retry_claim(self, op: ClaimOperation, lookup: LookupResult) -> None:
        """Retry a claim whose row changed meanwhile, or whose lease has ended."""
        if not lookup.alive:
            self._on_lapse()
        if op.deadline <= self._loop.time():
            self._fail(op, "this replica could not renew its lease")
        else:
            self._put_later(op, _RETRY_DELAY)
