"""Queue the operations of the PostgreSQL ledger, and send them in batches.

An operation is sent again after a lost connection, until its deadline. A batch is sorted, so that
two replicas take their locks in the same order.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from math import ceil
from operator import attrgetter

from toolwire.execution.ledger.base import LedgerUnavailable
from toolwire.execution.ledger.postgres.batch_executor import BatchExecutor
from toolwire.execution.ledger.postgres.connection import (
    CONNECTION_ERRORS,
    PgConnection,
    first_line,
    is_contention,
    is_transient,
)
from toolwire.execution.ledger.postgres.operations import (
    BatchedOperation,
    ClaimOperation,
    EndOperation,
    KeyBytes,
    ReadOperation,
    UndoClaimOperation,
)
from toolwire.execution.ledger.postgres.options import LedgerOptions
from toolwire.execution.ledger.postgres.sql import Statements

MAX_BATCH = 512
MAX_BATCH_BYTES = 8_000_000
_LONG_QUEUE = 8
_MAX_DELAY = 1.0
_RETRY_DELAY = 0.05
_MIN_RECORD_SECONDS = 5.0
_key_bytes = attrgetter("key_bytes")


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
        self._options = options
        self._is_held = is_held
        self.executor = BatchExecutor(
            sql,
            options,
            on_end=on_end,
            on_lapse=on_lapse,
            is_held=is_held,
            discard_claim=self._discard,
            retry_claim=self._retry_claim,
        )
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
        ends of calls, and longer: a repetition of such a call would get no result."""
        start = self._loop.time()
        for op in [*self._delayed]:
            self._put_now(op)
        while self._queue or self._in_progress:
            if self._to_record():
                limit = max(timeout, _MIN_RECORD_SECONDS)
            else:
                limit = timeout if self.down_since is None else 0.0
            if self._loop.time() - start >= limit:
                break
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

    async def _execute_batch(self, connection: PgConnection, batch: list[BatchedOperation]) -> None:
        try:
            await self.executor.execute(connection, batch)
        except CONNECTION_ERRORS as error:
            if is_transient(error):
                raise
            unanswered = [op for op in batch if not op.answered]
            if len(unanswered) < 2:
                self._put_back(unanswered, error)
                return
            for op in unanswered:  # find the operation that the database rejects
                await self._execute_batch(connection, [op])

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

    def _retry_claim(self, op: ClaimOperation) -> None:
        """Execute a claim again soon, until its deadline."""
        if op.deadline <= self._loop.time():
            self._fail(op, "this replica could not renew its lease")
        else:
            self._put_later(op, _RETRY_DELAY)

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
