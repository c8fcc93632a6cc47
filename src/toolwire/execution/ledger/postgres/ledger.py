"""The record of calls in PostgreSQL: the ledger of a tool server that is several processes, or
several machines.

Every claim and every result is committed before anybody is told, and concurrent ones of a replica
share a statement. Who is alive is decided by leases on the database's own clock. It needs
`synchronous_commit` and, with standbys, synchronous ones: a standby that is promoted without the
last commits has forgotten claims, and their calls may run twice. Works behind a pooler that pools
by transaction; notifications then need `direct`, or waiting takes up to a second longer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from secrets import token_bytes
from typing import Literal
from uuid import uuid4

from msgspec import Struct
from psycopg import AsyncConnection
from psycopg.rows import TupleRow

from toolwire.errors import UsageError
from toolwire.execution.ledger.base import CallKey, Claim, LedgerUnavailable, Outcome, Record, Sweep
from toolwire.execution.ledger.outcome_codec import pack
from toolwire.execution.ledger.postgres import sql as _pg_sql
from toolwire.execution.ledger.postgres.batcher import Batcher, LedgerOptions
from toolwire.execution.ledger.postgres.binary import binary, indexed, word
from toolwire.execution.ledger.postgres.connection import BROKEN, PgConnection, connect, told
from toolwire.execution.ledger.postgres.heartbeat import LeaseHeartbeat
from toolwire.execution.ledger.postgres.notifications import CallWatchers, listen
from toolwire.execution.ledger.postgres.operations import (
    ClaimOperation,
    LedgerRow,
    ReadOperation,
    ReleaseOperation,
)
from toolwire.execution.ledger.postgres.parameters import end_of
from toolwire.execution.ledger.postgres.sql import Statements
from toolwire.execution.ledger.postgres.transaction import (
    ConnectionFactory,
    Finished,
    PgTransactionScope,
)
from toolwire.execution.ledger.uuid7_expiry import born
from toolwire.tools.runnable import OnCrash

__all__ = ["PostgresLedger"]

LARGEST = 256 << 20
"""Bytes of an outcome that are taken at most: PostgreSQL itself ends at 1 GB."""


class _HeldClaim(Struct):
    """A call that runs here; `record` once it has ended."""

    fp: bytes
    tool: str
    token: bytes
    attempt: int
    started: int
    record: Record | None = None


class _OpenState:
    """What there is while the ledger is open."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        key: bytes,
        keeper: LeaseHeartbeat,
        connections: ConnectionFactory,
    ) -> None:
        self.loop = loop
        self.key = key
        self.keeper = keeper
        self.connections = connections
        self.held: dict[CallKey, _HeldClaim] = {}
        self.lanes: Batcher
        self.watches: CallWatchers
        self.listening: asyncio.Task[None] | None = None

    def holds(self, op: ClaimOperation) -> bool:
        held = self.held.get(op.key)
        return held is not None and held.token == op.token


class PostgresLedger:
    """A ledger in a PostgreSQL database, shared by any number of replicas. It belongs to the event
    loop that opened it.

    A replica that has not renewed its lease for `lease` seconds counts as dead; the lease has to
    outlive a failover of the database. A result is kept for `result_ttl` seconds, its id for
    `tombstone_ttl`. `key`: what fingerprints are keyed with; that of the first replica stays in the
    database for all, and without one it is random. `patience`: seconds that anybody waits for a
    database that is away. `lanes`: statements under way at once. `transactions`: tools that may be
    in a transaction at once. `direct`: a DSN around the pooler, for notifications.
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
        sweep_every: float | None = None,
        patience: float = 5.0,
        lanes: int = 2,
        transactions: int = 8,
        direct: str | None = None,
    ) -> None:
        if not 0 < result_ttl <= tombstone_ttl:
            raise UsageError(
                f"expected 0 < result_ttl <= tombstone_ttl, got {result_ttl} and {tombstone_ttl}"
            )
        if key is not None and len(key) < 16:
            raise UsageError(f"expected a key of 16 bytes or more, got {len(key)}")
        if lease <= 0 or patience <= 0 or lanes < 1 or transactions < 1:
            raise UsageError("expected a lease, a patience, lanes and transactions above zero")
        if not schema or "\0" in schema:
            raise UsageError(f"expected the name of a schema, got {schema!r}")
        self._dsn = dsn
        self._lease = lease
        self._result_ttl = result_ttl
        self._tombstone_ttl = tombstone_ttl
        self._given = key
        self._sql = Statements(schema)
        self._sweep_every = lease if sweep_every is None else sweep_every
        self._patience = patience
        self._lanes = lanes
        self._transactions = transactions
        self._direct = direct or dsn
        self._open: _OpenState | None = None

    @property
    def key(self) -> bytes:
        if self._open is None:
            raise LedgerUnavailable("the ledger is not open")
        return self._open.key

    # --- open and close ---------------------------------------------------------------------------

    async def open(self) -> None:
        """Create the tables if they are not there, and take a lease. Opening an open one changes
        nothing.

        Raises LedgerUnavailable if the database cannot be reached or is no place for a ledger.
        """
        if self._open is not None:
            self._opened()
            return
        loop = asyncio.get_running_loop()
        terms = LedgerOptions(
            uuid4(),
            lease=self._lease,
            result_ttl=self._result_ttl,
            tombstone_ttl=self._tombstone_ttl,
        )
        keeper = LeaseHeartbeat(
            PgConnection(self._dsn, max(1.0, self._lease / 3)),
            self._sql,
            terms,
            sweep_every=self._sweep_every,
        )
        try:
            key = await self._prepared()
            await keeper.start()
        except BROKEN as error:
            raise LedgerUnavailable(f"the database cannot be reached: {told(error)}") from error
        links = [PgConnection(self._dsn, self._patience) for _ in range(self._lanes)]
        opened = _OpenState(
            loop, key, keeper, ConnectionFactory(self._dsn, self._patience, self._transactions)
        )
        opened.watches = watches = CallWatchers(self._look)
        opened.lanes = Batcher(
            links, self._sql, terms, ended=watches.ended, lapsed=keeper.poke, held=opened.holds
        )
        keeper.back = opened.lanes.back
        opened.listening = asyncio.create_task(
            listen(self._direct, self._sql.listen, watches, self._patience)
        )
        self._terms = terms
        self._open = opened

    async def close(self) -> None:
        """Record what is still to be recorded, if the database is there, and give the
        lease back.
        """
        if self._open is None:
            return
        opened = self._opened()
        self._open = None
        opened.watches.close()
        assert opened.listening is not None
        opened.listening.cancel()
        await asyncio.gather(opened.listening, return_exceptions=True)
        await opened.lanes.stop(self._patience)
        await opened.keeper.stop(self._patience)
        await opened.connections.close()
        left = sum(held.record is not None for held in opened.held.values())
        if left:
            raise LedgerUnavailable(f"{left} results could not be recorded to the end")

    async def _prepared(self) -> bytes:
        """The key, from a database that has all tables in the form that is known here."""
        connection = await connect(self._dsn, self._patience)
        sql = self._sql
        async with connection, asyncio.timeout(max(30.0, self._patience)):
            ((durable,),) = await (await connection.execute(sql.durable)).fetchall()
            if durable == "off":
                raise LedgerUnavailable(
                    "synchronous_commit is off: what this database acknowledges may be lost"
                )
            ((there,),) = await (await connection.execute(sql.there, [sql.tw_meta])).fetchall()
            known = await _meta(connection, sql) if there else {}
            if "version" not in known:
                async with connection.transaction():  # one replica after the other
                    await connection.execute(b"SELECT pg_advisory_xact_lock(%s)", [_pg_sql.OPENING])
                    for statement in sql.create:
                        await connection.execute(statement)
                    await connection.execute(sql.meta, ["version", str(_pg_sql.VERSION).encode()])
                    await connection.execute(sql.meta, ["key", self._given or token_bytes(32)])
                    known = await _meta(connection, sql)
        if known["version"] != str(_pg_sql.VERSION).encode():
            version = known["version"].decode(errors="replace")
            raise LedgerUnavailable(
                f"the tables are of version {version}, this program knows version {_pg_sql.VERSION}"
            )
        if self._given is not None and self._given != known["key"]:
            raise LedgerUnavailable(
                "the record was made with another key: every call in it would be taken for a"
                " different one"
            )
        return known["key"]

    def _opened(self) -> _OpenState:
        if self._open is None:
            raise LedgerUnavailable("the ledger is not open")
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
        opened = self._opened()
        if not fp or not token:
            raise UsageError("expected a fingerprint and a token, got nothing")
        held = opened.held.get(key)
        if held is not None and held.record is not None:
            return _remembered(key, held, fp, token)
        lanes, loop = opened.lanes, opened.loop
        now = loop.time()
        if lanes.down_since is not None and now - lanes.down_since > self._patience:
            raise LedgerUnavailable(f"the database failed: {lanes.why}")
        if now > opened.keeper.good_until and not await opened.keeper.alive(self._patience):
            raise LedgerUnavailable("this replica could not renew its lease")
        if lanes.debts and (debt := lanes.debts.get(token)) is not None:
            await self._paid(debt.future)
            lanes.debts.pop(token, None)
        future: asyncio.Future[Claim] = loop.create_future()
        op = ClaimOperation(
            key,
            future,
            now + self._patience,
            fp=fp,
            tool=binary(tool),
            on_crash=on_crash,
            token=token,
            born=born(key.call_id),
        )
        lanes.put(op)
        try:
            claim = await future
        except asyncio.CancelledError:
            lanes.left(op)
            raise
        if claim.state == "new":
            opened.held[key] = _HeldClaim(fp, tool, token, claim.attempt, op.started)
        return claim

    async def finish(self, claim: Claim, outcome: Outcome) -> Finished:
        packed = _packed(outcome)
        opened = self._opened()
        state: Literal["done", "failed"] = "done" if outcome.failure is None else "failed"
        held = opened.held.get(claim.key)
        if held is not None and held.token != claim.token:
            held = None
        if held is not None and held.record is not None:
            raise LedgerUnavailable("this result is still to be recorded")
        op = self._ending(opened, claim, state, packed)
        try:
            done: Finished = await op.future
        except LedgerUnavailable:
            if held is not None and not op.over:
                held.record = Record(
                    claim.key,
                    held.tool,
                    state,
                    claim.attempt,
                    held.started,
                    opened.keeper.now(),
                    outcome,
                    recorded=False,
                )
                op.future.add_done_callback(
                    lambda told: told.exception() or opened.held.pop(claim.key, None)
                )
                opened.watches.ended(op.place)
            raise
        except asyncio.CancelledError:
            opened.held.pop(claim.key, None)
            raise
        if held is not None:
            opened.held.pop(claim.key, None)
        return done

    async def release(self, claim: Claim) -> None:
        opened = self._opened()
        held = opened.held.get(claim.key)
        if held is not None and held.token == claim.token:
            if held.record is not None:
                return
            del opened.held[claim.key]
        await self._ending(opened, claim, "free", None).future

    async def lose(self, claim: Claim) -> None:
        opened = self._opened()
        held = opened.held.get(claim.key)
        if held is not None and held.token == claim.token:
            if held.record is not None:
                return
            del opened.held[claim.key]
        await self._ending(opened, claim, "lost", None).future

    def _ending(
        self,
        opened: _OpenState,
        claim: Claim,
        state: Literal["done", "failed", "free", "lost"],
        packed: bytes | None,
    ) -> ReleaseOperation:
        future: asyncio.Future[Finished] = opened.loop.create_future()
        op = ReleaseOperation(
            claim, future, opened.loop.time() + self._patience, state=state, outcome=packed
        )
        opened.lanes.put(op)
        return op

    async def wait(self, key: CallKey, timeout: float) -> Record | None:
        opened = self._opened()
        held = opened.held.get(key)
        if held is not None and held.record is not None:
            return held.record
        record = await opened.watches.wait(key, timeout)
        held = opened.held.get(key)
        return record if held is None or held.record is None else held.record

    async def get(self, key: CallKey) -> Record | None:
        opened = self._opened()
        held = opened.held.get(key)
        if held is not None and held.record is not None:
            return held.record
        row = await self._look(key, False)
        return None if row is None or (row.dead and row.rerunnable) else row.record(key)

    async def _look(self, key: CallKey, flag: bool) -> LedgerRow | None:
        opened = self._opened()
        held = opened.held.get(key)
        future: asyncio.Future[LedgerRow | None] = opened.loop.create_future()
        if held is not None and held.record is not None:
            record = (
                held.record
            )  # a waiter on this replica need not wait for the database to come back
            return LedgerRow(
                record.state,
                record.attempt,
                held.token,
                held.fp,
                binary(held.tool),
                held.started,
                record.ended_at,
                _packed(record.outcome or Outcome()),
                False,
                False,
                False,
            )
        opened.lanes.put(ReadOperation(key, future, opened.loop.time() + self._patience, flag=flag))
        return await future

    async def sweep(self) -> Sweep:
        try:
            return await self._opened().keeper.sweep()
        except BROKEN as error:
            raise LedgerUnavailable(f"the database cannot be reached: {told(error)}") from error

    # --- transactions -----------------------------------------------------------------------------

    def transaction(self, claim: Claim) -> PgTransactionScope:
        """What the tool writes in it and the record of its result are committed together, or not at
        all."""
        opened = self._opened()
        if claim.state != "new":
            raise UsageError(f"expected a claim that is new, got one that is {claim.state}")

        place = indexed(claim.key.tenant), indexed(claim.key.call_id)

        def end(outcome: Outcome) -> tuple[bytes, Mapping[str, object]]:
            state: Literal["done", "failed"] = "done" if outcome.failure is None else "failed"
            op = ReleaseOperation(
                claim, opened.loop.create_future(), 0.0, state=state, outcome=_packed(outcome)
            )
            return self._sql.end_or_fail, self._terms.params | end_of(op) | {"word": word(*place)}

        async def settle() -> Finished:
            """The answer to COMMIT was lost. If it was not done, it can no longer be: the call is
            free before anybody is told."""
            await self.release(claim)
            row = await self._look(claim.key, False)
            if row is not None and row.token == claim.token and row.state in ("done", "failed"):
                return "recorded"
            raise LedgerUnavailable(
                "the database went away before the transaction was committed: nothing was done"
            )

        def ended() -> None:
            opened.held.pop(claim.key, None)
            opened.watches.ended(place)

        return PgTransactionScope(opened.connections, claim, end=end, settle=settle, ended=ended)

    async def _paid(self, debt: asyncio.Future[None]) -> None:
        """A claim that was given up is settled before the same one is made again."""
        done, _ = await asyncio.wait({debt}, timeout=self._patience)
        if not done:
            raise LedgerUnavailable(
                "the database cannot be reached: an earlier claim is not settled"
            )


def _packed(outcome: Outcome) -> bytes:
    packed = pack(outcome)
    if len(packed) > LARGEST:
        raise UsageError(f"expected a result of at most {LARGEST} bytes, got {len(packed)}")
    return packed


def _remembered(key: CallKey, held: _HeldClaim, fp: bytes, token: bytes) -> Claim:
    """The answer to a claim of a call that has ended here and could not be recorded yet."""
    if held.fp != fp:
        return Claim("mismatch", key, token)
    assert held.record is not None
    state: Literal["done", "failed"] = "failed" if held.record.state == "failed" else "done"
    return Claim(state, key, token, held.attempt, held.record)


async def _meta(connection: AsyncConnection[TupleRow], sql: Statements) -> dict[str, bytes]:
    return dict(await (await connection.execute(sql.known)).fetchall())
