"""A ledger in PostgreSQL, for several processes or machines.

Every claim and every result is committed before the caller gets it, and concurrent operations of a
replica share a statement. Leases decide which replicas are alive, by the clock of the database. The
ledger needs `synchronous_commit` and, with standbys, synchronous ones: a promoted standby without
the last commits has lost claims, and their calls may run twice. It works behind a pooler in
transaction mode; notifications then need `direct_dsn`, or waiting takes up to a second longer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Literal
from uuid import uuid4

from toolwire.errors import UsageError
from toolwire.execution.ledger.base import CallKey, Claim, LedgerUnavailable, Outcome, Record, Sweep
from toolwire.execution.ledger.outcome_codec import pack
from toolwire.execution.ledger.postgres.batcher import Batcher
from toolwire.execution.ledger.postgres.binary import encode_text, index_bytes, notification_name
from toolwire.execution.ledger.postgres.claimed_calls import (
    ClaimedCall,
    claim_of_unrecorded,
    row_of_unrecorded,
)
from toolwire.execution.ledger.postgres.connection import (
    CONNECTION_ERRORS,
    PgConnection,
    first_line,
)
from toolwire.execution.ledger.postgres.heartbeat import LeaseHeartbeat
from toolwire.execution.ledger.postgres.notifications import CallWatchers, listen
from toolwire.execution.ledger.postgres.operations import (
    ClaimOperation,
    EndOperation,
    LedgerRow,
    ReadOperation,
)
from toolwire.execution.ledger.postgres.options import LedgerOptions
from toolwire.execution.ledger.postgres.parameters import end_parameters
from toolwire.execution.ledger.postgres.sql import Statements
from toolwire.execution.ledger.postgres.tables import prepare_tables
from toolwire.execution.ledger.postgres.transaction import (
    FinishResult,
    PgTransactionScope,
    TransactionPool,
)
from toolwire.execution.ledger.uuid7_expiry import creation_time
from toolwire.tools.runnable import OnCrash

__all__ = ["PostgresLedger"]

MAX_OUTCOME_BYTES = 256 << 20
"""The maximum size of an outcome. The limit of PostgreSQL is 1 GB."""


class _OpenState:
    """The state of an open ledger."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        key: bytes,
        heartbeat: LeaseHeartbeat,
        transactions: TransactionPool,
    ) -> None:
        self.loop = loop
        self.key = key
        self.heartbeat = heartbeat
        self.transactions = transactions
        self.claimed: dict[CallKey, ClaimedCall] = {}
        self.batcher: Batcher
        self.watchers: CallWatchers
        self.listening: asyncio.Task[None] | None = None

    def holds(self, op: ClaimOperation) -> bool:
        claimed = self.claimed.get(op.key)
        return claimed is not None and claimed.token == op.token


class PostgresLedger:
    """A ledger in a PostgreSQL database, shared by any number of replicas.

    It belongs to the event loop that opened it.

    Args:
        dsn: the address of the database.
        lease: seconds without a renewal after which a replica counts as dead. A lease must last
            longer than a failover of the database.
        result_ttl: seconds that a result is kept.
        tombstone_ttl: seconds that the id of a call is kept.
        key: the key of the fingerprints; by default a random one. The key of the first replica is
            stored in the database.
        schema: the schema of the tables.
        sweep_interval: seconds between two sweeps; by default the lease.
        timeout: seconds that an operation waits for an unavailable database.
        connections: how many statements may run at once.
        max_transactions: how many transactional tools may run at once.
        direct_dsn: an address without a pooler, for notifications.
    """

    def __init__(
        self,
        dsn: str,
        *,
        lease: float = 30.0,
        result_ttl: float = 24 * 3600.0,
        tombstone_ttl: float = 30 * 24 * 3600.0,
        key: bytes | None = None,
        schema: str = "public",
        sweep_interval: float | None = None,
        timeout: float = 5.0,
        connections: int = 2,
        max_transactions: int = 8,
        direct_dsn: str | None = None,
    ) -> None:
        if not 0 < result_ttl <= tombstone_ttl:
            raise UsageError(
                f"expected 0 < result_ttl <= tombstone_ttl, got {result_ttl} and {tombstone_ttl}"
            )
        if key is not None and len(key) < 16:
            raise UsageError(f"expected a key of 16 bytes or more, got {len(key)}")
        if lease <= 0 or timeout <= 0 or connections < 1 or max_transactions < 1:
            raise UsageError("expected lease, timeout, connections and max_transactions above 0")
        if not schema or "\0" in schema:
            raise UsageError(f"expected the name of a schema, got {schema!r}")
        self._dsn = dsn
        self._lease = lease
        self._result_ttl = result_ttl
        self._tombstone_ttl = tombstone_ttl
        self._configured_key = key
        self._sql = Statements(schema)
        self._sweep_interval = lease if sweep_interval is None else sweep_interval
        self._timeout = timeout
        self._connection_count = connections
        self._max_transactions = max_transactions
        self._direct_dsn = direct_dsn or dsn
        self._open: _OpenState | None = None

    @property
    def key(self) -> bytes:
        """The key of the fingerprints, available while the ledger is open."""
        if self._open is None:
            raise LedgerUnavailable("the ledger is not open: call open() first")
        return self._open.key

    # --- open and close ---------------------------------------------------------------------------

    async def open(self) -> None:
        """Create missing tables and take a lease. A second call does nothing.

        Raises LedgerUnavailable if the database cannot be reached or is unsuitable for a ledger.
        """
        if self._open is not None:
            self._require_open()
            return
        loop = asyncio.get_running_loop()
        options = LedgerOptions(
            uuid4(),
            lease=self._lease,
            result_ttl=self._result_ttl,
            tombstone_ttl=self._tombstone_ttl,
        )
        heartbeat = LeaseHeartbeat(
            PgConnection(self._dsn, max(1.0, self._lease / 3)),
            self._sql,
            options,
            sweep_interval=self._sweep_interval,
        )
        try:
            key = await prepare_tables(
                self._dsn, self._sql, key=self._configured_key, timeout=self._timeout
            )
            await heartbeat.start()
        except CONNECTION_ERRORS as error:
            raise LedgerUnavailable(
                f"the database cannot be reached: {first_line(error)}"
            ) from error
        connections = [
            PgConnection(self._dsn, self._timeout) for _ in range(self._connection_count)
        ]
        session = _OpenState(
            loop, key, heartbeat, TransactionPool(self._dsn, self._timeout, self._max_transactions)
        )
        session.watchers = watchers = CallWatchers(self._read_row)
        session.batcher = Batcher(
            connections,
            self._sql,
            options,
            on_end=watchers.wake,
            on_lapse=heartbeat.renew_now,
            is_held=session.holds,
        )
        heartbeat.on_renewal = session.batcher.report_available
        session.listening = asyncio.create_task(
            listen(self._direct_dsn, self._sql.listen, watchers, self._timeout)
        )
        self._options = options
        self._open = session

    async def close(self) -> None:
        """Record the remaining results if the database is available, and give the lease back."""
        if self._open is None:
            return
        session = self._require_open()
        self._open = None
        session.watchers.close()
        assert session.listening is not None
        session.listening.cancel()
        await asyncio.gather(session.listening, return_exceptions=True)
        await session.batcher.stop(self._timeout)
        await session.heartbeat.stop(self._timeout)
        await session.transactions.close()
        lost = sum(claimed.record is not None for claimed in session.claimed.values())
        if lost:
            raise LedgerUnavailable(f"{lost} results could not be recorded before closing")

    def _require_open(self) -> _OpenState:
        if self._open is None:
            raise LedgerUnavailable("the ledger is not open: call open() first")
        if asyncio.get_running_loop() is not self._open.loop:
            raise UsageError(
                "this ledger belongs to the event loop that opened it; open another one for this"
                " loop"
            )
        return self._open

    # --- the ledger -------------------------------------------------------------------------------

    async def claim(
        self, key: CallKey, fp: bytes, *, tool: str, on_crash: OnCrash, token: bytes
    ) -> Claim:
        """Claim a call before its tool runs; see `Ledger.claim`."""
        session = self._require_open()
        if not fp or not token:
            raise UsageError("expected a fingerprint and a token, got nothing")
        claimed = session.claimed.get(key)
        if claimed is not None and claimed.record is not None:
            return claim_of_unrecorded(claimed, claimed.record, key=key, fp=fp, token=token)
        batcher, loop = session.batcher, session.loop
        now = loop.time()
        if batcher.down_since is not None and now - batcher.down_since > self._timeout:
            raise LedgerUnavailable(f"the database failed: {batcher.failure}")
        if now > session.heartbeat.valid_until and not await session.heartbeat.wait_until_valid(
            self._timeout
        ):
            raise LedgerUnavailable("this replica could not renew its lease")
        if batcher.unsettled_claims and (undo := batcher.unsettled_claims.get(token)) is not None:
            await self._wait_for_undo(undo.future)
            batcher.unsettled_claims.pop(token, None)
        future: asyncio.Future[Claim] = loop.create_future()
        op = ClaimOperation(
            key,
            future,
            now + self._timeout,
            fp=fp,
            tool=encode_text(tool),
            on_crash=on_crash,
            token=token,
            created=creation_time(key.call_id),
        )
        batcher.put(op)
        try:
            claim = await future
        except asyncio.CancelledError:
            batcher.abandon_claim(op)
            raise
        if claim.state == "new":
            session.claimed[key] = ClaimedCall(fp, tool, token, claim.attempt, op.started)
        return claim

    async def finish(self, claim: Claim, outcome: Outcome) -> FinishResult:
        """Record the outcome of a call; see `Ledger.finish`."""
        packed = _pack(outcome)
        session = self._require_open()
        state: Literal["done", "failed"] = "done" if outcome.failure is None else "failed"
        claimed = session.claimed.get(claim.key)
        if claimed is not None and claimed.token != claim.token:
            claimed = None
        if claimed is not None and claimed.record is not None:
            raise LedgerUnavailable("this result is not recorded yet")
        op = self._end(session, claim, state, packed)
        try:
            done: FinishResult = await op.future
        except LedgerUnavailable:
            if claimed is not None and not op.answered:
                claimed.record = Record(
                    claim.key,
                    claimed.tool,
                    state,
                    claim.attempt,
                    claimed.started,
                    session.heartbeat.now(),
                    outcome,
                    recorded=False,
                )
                op.future.add_done_callback(
                    lambda end: end.exception() or session.claimed.pop(claim.key, None)
                )
                session.watchers.wake(op.key_bytes)
            raise
        except asyncio.CancelledError:
            session.claimed.pop(claim.key, None)
            raise
        if claimed is not None:
            session.claimed.pop(claim.key, None)
        return done

    async def release(self, claim: Claim) -> None:
        """End a claim without effect: the same id may run again."""
        await self._end_without_outcome(claim, "free")

    async def lose(self, claim: Claim) -> None:
        """Mark a call whose outcome will never be known as `lost`."""
        await self._end_without_outcome(claim, "lost")

    async def _end_without_outcome(self, claim: Claim, state: Literal["free", "lost"]) -> None:
        session = self._require_open()
        claimed = session.claimed.get(claim.key)
        if claimed is not None and claimed.token == claim.token:
            if claimed.record is not None:
                return
            del session.claimed[claim.key]
        await self._end(session, claim, state, None).future

    def _end(
        self,
        session: _OpenState,
        claim: Claim,
        state: Literal["done", "failed", "free", "lost"],
        packed: bytes | None,
    ) -> EndOperation:
        future: asyncio.Future[FinishResult] = session.loop.create_future()
        op = EndOperation(
            claim, future, session.loop.time() + self._timeout, state=state, outcome=packed
        )
        session.batcher.put(op)
        return op

    async def wait(self, key: CallKey, timeout: float) -> Record | None:
        """Wait until a call has ended; None after `timeout` seconds."""
        session = self._require_open()
        claimed = session.claimed.get(key)
        if claimed is not None and claimed.record is not None:
            return claimed.record
        record = await session.watchers.wait(key, timeout)
        claimed = session.claimed.get(key)
        return record if claimed is None or claimed.record is None else claimed.record

    async def get(self, key: CallKey) -> Record | None:
        """Return the record of a call; None if there is none."""
        session = self._require_open()
        claimed = session.claimed.get(key)
        if claimed is not None and claimed.record is not None:
            return claimed.record
        row = await self._read_row(key, False)
        return None if row is None or (row.dead and row.rerunnable) else row.record(key)

    async def _read_row(self, key: CallKey, flag: bool) -> LedgerRow | None:
        session = self._require_open()
        claimed = session.claimed.get(key)
        if claimed is not None and claimed.record is not None:
            # A waiter on this replica need not wait for the database
            return row_of_unrecorded(claimed, claimed.record)
        future: asyncio.Future[LedgerRow | None] = session.loop.create_future()
        session.batcher.put(
            ReadOperation(key, future, session.loop.time() + self._timeout, flag=flag)
        )
        return await future

    async def sweep(self) -> Sweep:
        """Mark calls of dead owners, and delete old results and ids."""
        try:
            return await self._require_open().heartbeat.sweep()
        except CONNECTION_ERRORS as error:
            raise LedgerUnavailable(
                f"the database cannot be reached: {first_line(error)}"
            ) from error

    # --- transactions -----------------------------------------------------------------------------

    def transaction(self, claim: Claim) -> PgTransactionScope:
        """A transaction for a tool: its writes and its record are committed together."""
        session = self._require_open()
        if claim.state != "new":
            raise UsageError(f"expected a new claim, got one with state {claim.state}")

        key_bytes = index_bytes(claim.key.tenant), index_bytes(claim.key.call_id)

        def end(outcome: Outcome) -> tuple[bytes, Mapping[str, object]]:
            state: Literal["done", "failed"] = "done" if outcome.failure is None else "failed"
            op = EndOperation(
                claim, session.loop.create_future(), 0.0, state=state, outcome=_pack(outcome)
            )
            return self._sql.end_or_fail, self._options.params | end_parameters(op) | {
                "name": notification_name(*key_bytes)
            }

        async def resolve_commit() -> FinishResult:
            """Find out whether a COMMIT whose result was lost has succeeded. If not, the call is
            released first, so that it cannot succeed later."""
            await self.release(claim)
            row = await self._read_row(claim.key, False)
            if row is not None and row.token == claim.token and row.state in ("done", "failed"):
                return "recorded"
            raise LedgerUnavailable("the connection was lost before the transaction was committed")

        def on_end() -> None:
            session.claimed.pop(claim.key, None)
            session.watchers.wake(key_bytes)

        return PgTransactionScope(
            session.transactions, end=end, resolve_commit=resolve_commit, on_end=on_end
        )

    async def _wait_for_undo(self, undo: asyncio.Future[None]) -> None:
        """Wait until an abandoned claim is undone, before the same claim is made again."""
        done, _ = await asyncio.wait({undo}, timeout=self._timeout)
        if not done:
            raise LedgerUnavailable(
                "the database cannot be reached: an earlier claim is not undone"
            )


def _pack(outcome: Outcome) -> bytes:
    packed = pack(outcome)
    if len(packed) > MAX_OUTCOME_BYTES:
        raise UsageError(
            f"expected a result of at most {MAX_OUTCOME_BYTES} bytes, got {len(packed)}"
        )
    return packed
