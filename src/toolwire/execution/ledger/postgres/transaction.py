"""Commit the writes of a tool and the record of its result in one transaction.

The record and COMMIT are sent in one message, so that a process that is stopped between them holds
no lock. Only statements on this connection are part of the transaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Literal

import psycopg
from psycopg import AsyncConnection, errors
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow

from toolwire.errors import UsageError
from toolwire.execution.ledger.base import LedgerUnavailable, Outcome
from toolwire.execution.ledger.postgres.connection import (
    CONNECTION_ERRORS,
    connect,
    first_line,
    is_contention,
)
from toolwire.tools.errors import NoEffect

FinishResult = Literal["recorded", "fenced"]


class TransactionPool:
    """A pool of connections for transactional tools."""

    def __init__(self, dsn: str, timeout: float, max_connections: int) -> None:
        self._dsn = dsn
        self.timeout = timeout
        self._slots = asyncio.Semaphore(max_connections)
        self._idle: list[AsyncConnection[TupleRow]] = []
        self._closed = False

    async def acquire(self) -> AsyncConnection[TupleRow]:
        """A connection with an open transaction. Raises LedgerUnavailable."""
        await self._slots.acquire()
        try:
            while self._idle:
                connection = self._idle.pop()
                try:
                    async with asyncio.timeout(self.timeout):
                        # Opens the transaction, and checks the connection
                        await connection.execute(b"SELECT 1")
                    return connection
                except CONNECTION_ERRORS:
                    await connection.close()
            return await connect(self._dsn, self.timeout, autocommit=False)
        except BaseException as error:
            self._slots.release()
            if isinstance(error, CONNECTION_ERRORS):
                raise LedgerUnavailable(
                    f"the database cannot be reached: {first_line(error)}"
                ) from error
            raise

    async def release(self, connection: AsyncConnection[TupleRow]) -> None:
        """Roll back an uncommitted transaction, and keep the connection."""
        try:
            if not connection.closed:
                async with asyncio.timeout(self.timeout):
                    await connection.rollback()
        except CONNECTION_ERRORS:
            await connection.close()
        finally:
            if (
                connection.closed
                or self._closed
                or connection.info.transaction_status != TransactionStatus.IDLE
            ):
                await connection.close()
            else:
                self._idle.append(connection)
            self._slots.release()

    async def close(self) -> None:
        self._closed = True
        while self._idle:
            await self._idle.pop().close()


class OpenTransaction:
    """The transaction as a tool sees it. The ledger commits it, not the tool."""

    def __init__(self, connection: AsyncConnection[TupleRow]) -> None:
        self._connection = connection
        self.used = False

    async def execute(self, query: str, params: object = None) -> object:
        """Execute a statement and return the psycopg cursor. Parameters are `%s` or `%(name)s`.

        Raises NoEffect if the connection was lost or the transaction conflicts with another one: it
        is rolled back, and the call may run again.
        """
        if params is not None and not isinstance(params, Mapping | tuple | list):
            raise UsageError(
                f"expected a list, a tuple or a dict of parameters, got {type(params).__name__}"
            )
        self.used = True
        try:
            return await self._connection.execute(query.encode(), params)
        except psycopg.Error as error:
            if self._connection.closed or is_contention(error):
                raise NoEffect(
                    "the database is not available", developer_message=type(error).__name__
                ) from error
            raise


class PgTransactionScope:
    """`async with`: `finish` commits; without it, the transaction is rolled back."""

    def __init__(
        self,
        connections: TransactionPool,
        *,
        end: Callable[[Outcome], tuple[bytes, Mapping[str, object]]],
        resolve_commit: Callable[[], Awaitable[FinishResult]],
        on_end: Callable[[], None],
    ) -> None:
        self._connections = connections
        self._end = end
        self._resolve_commit = resolve_commit
        self._on_end = on_end
        self._connection_in_use: AsyncConnection[TupleRow] | None = None
        self._inside: OpenTransaction | None = None

    @property
    def connection(self) -> OpenTransaction:
        if self._inside is None:
            raise UsageError("the transaction is not open")
        return self._inside

    async def __aenter__(self) -> PgTransactionScope:
        self._connection_in_use = await self._connections.acquire()
        self._inside = OpenTransaction(self._connection_in_use)
        return self

    async def __aexit__(self, *exc: object) -> None:
        connection, self._connection_in_use, self._inside = self._connection_in_use, None, None
        if connection is not None:
            await self._connections.release(connection)

    async def finish(self, outcome: Outcome) -> FinishResult:
        """Record the outcome and commit; `fenced` if another replica has the call, and nothing was
        committed.

        Raises:
            LedgerUnavailable: the connection was lost; the call is released and its writes are
                rolled back.
            psycopg.Error: the database rejects the tool's writes (a deferred constraint).
        """
        connection = self._connection_in_use
        if connection is None:
            raise UsageError("the transaction is not open")
        if connection.info.transaction_status == TransactionStatus.INERROR:
            raise UsageError("a statement of the tool failed, so nothing can be committed")
        if connection.info.transaction_status == TransactionStatus.IDLE and self.connection.used:
            raise UsageError("the tool ended the transaction itself")
        query, params = self._end(outcome)
        try:
            async with asyncio.timeout(self._connections.timeout), connection.pipeline():
                await connection.execute(query, params, binary=True)
                await connection.execute(b"COMMIT")
        except errors.DivisionByZero:
            self._on_end()
            return "fenced"
        except psycopg.Error as error:
            if not connection.closed and not isinstance(error, psycopg.OperationalError):
                raise
            await connection.close()
            return await self._resolve_commit()
        except OSError:
            await connection.close()
            return await self._resolve_commit()
        self._on_end()
        return "recorded"
