"""A connection to PostgreSQL that reconnects, and the meaning of its errors.

A statement that may have been executed is not repeated here: the caller knows whether that is safe.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import psycopg
from psycopg import AsyncConnection, errors
from psycopg.rows import TupleRow

from toolwire.execution.ledger.postgres.binary import ADAPTERS

CONNECTION_ERRORS = (psycopg.Error, OSError, TimeoutError)
"""Every error of a connection to the database."""
INVALID_ADDRESS = (
    "invalid address; write it as postgresql://USER:PASSWORD@HOST/DATABASE, with special characters"
    " of the password percent-encoded"
)
"""Replaces the message of the driver, which quotes the part that it cannot read: the password."""
_PREPARED_STATEMENT_ERRORS = (errors.InvalidSqlStatementName, errors.DuplicatePreparedStatement)
"""Errors of prepared statements behind a pooler. The statement was not executed."""
_TRANSIENT = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    errors.ReadOnlySqlTransaction,
    OSError,
    TimeoutError,
)
_PREPARE_THRESHOLD = 2
"""Executions after which a statement is prepared: that saves a fifth of the time of a batch."""
_DISABLE_TABLE_SCANS = (
    b"SELECT set_config(name, 'off', false) FROM"
    b" unnest('{enable_seqscan,enable_hashjoin,enable_mergejoin}'::text[]) AS name"
)
"""PostgreSQL plans a prepared statement once, often for an empty table, where a table scan is
best."""


def is_transient(error: BaseException) -> bool:
    """True if a later attempt may succeed: the database is unavailable, full, or in recovery."""
    return isinstance(error, _TRANSIENT)


def is_contention(error: BaseException) -> bool:
    """True if an immediate retry may succeed: two transactions were in conflict."""
    return isinstance(error, (errors.DeadlockDetected, errors.SerializationFailure))


def first_line(error: BaseException) -> str:
    """The first line of an error."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


async def connect(
    dsn: str, timeout: float, *, autocommit: bool = True
) -> AsyncConnection[TupleRow]:
    """Open a connection, without prepared statements and session settings: there may be a
    pooler."""
    try:
        async with asyncio.timeout(timeout):
            return await AsyncConnection.connect(
                dsn,
                autocommit=autocommit,
                prepare_threshold=None,
                context=ADAPTERS,
                connect_timeout=max(2, round(timeout)),
            )
    except psycopg.ProgrammingError:
        raise psycopg.ProgrammingError(INVALID_ADDRESS) from None


async def is_direct(connection: AsyncConnection[TupleRow]) -> bool:
    """True if there is no pooler: a pooler invents the process id that it reports.

    Behind a pooler, the next session may have another prepared statement of the same name.
    """
    ((pid,),) = await (await connection.execute(b"SELECT pg_backend_pid()")).fetchall()
    return bool(pid == connection.info.backend_pid)


class PgConnection:
    """A connection in autocommit mode: each statement is a transaction."""

    def __init__(self, dsn: str, timeout: float) -> None:
        self._dsn = dsn
        self._timeout = timeout
        self._connection: AsyncConnection[TupleRow] | None = None
        self._may_prepare = True

    @property
    def up(self) -> bool:
        """True if the connection is open, as far as the client knows."""
        return self._connection is not None and not self._connection.closed

    async def ready(self) -> None:
        """Connect if it is not connected."""
        if not self.up:
            self._connection = await connect(self._dsn, self._timeout)
            if self._may_prepare:
                await self._enable_prepared_statements(self._connection)

    async def _enable_prepared_statements(self, connection: AsyncConnection[TupleRow]) -> None:
        """Enable prepared statements if there is no pooler."""
        complete = False
        try:
            async with asyncio.timeout(self._timeout):
                self._may_prepare = await is_direct(connection)
                if self._may_prepare:
                    await connection.execute(_DISABLE_TABLE_SCANS)
                    connection.prepare_threshold = _PREPARE_THRESHOLD
            complete = True
        finally:
            if not complete:
                await self.drop()

    async def run(self, query: bytes, params: Mapping[str, object]) -> list[TupleRow]:
        """Execute a statement and return its rows. After an error, it may have been executed."""
        await self.ready()
        connection = self._connection
        assert connection is not None
        complete = False
        try:
            async with asyncio.timeout(self._timeout):
                cursor = await connection.execute(query, params, binary=True)
                rows = await cursor.fetchall() if cursor.description else []
            complete = True
            return rows
        except _PREPARED_STATEMENT_ERRORS:
            if not self._may_prepare:
                raise
            self._may_prepare = False
        except psycopg.Error:
            complete = not connection.closed  # the server rejected the statement
            raise
        finally:
            if not complete:
                await self.drop()
        return await self.run(query, params)

    async def drop(self) -> None:
        """Close the connection. The next statement opens a new one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()
