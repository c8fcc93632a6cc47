"""One connection to PostgreSQL that is made again when it breaks, and what its errors mean.

Repeats nothing by itself that may have been done: whoever asked knows whether that is safe. Knows
no ledger.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import psycopg
from psycopg import AsyncConnection, errors
from psycopg.rows import TupleRow

from toolwire.execution.ledger.postgres.binary import ADAPTERS

BROKEN = (psycopg.Error, OSError, TimeoutError)
"""All that can go wrong between here and the database."""
_UNPREPARED = (errors.InvalidSqlStatementName, errors.DuplicatePreparedStatement)
"""What a pooler makes of prepared statements. Whoever is told this may be sure that nothing was
done."""
_PASSING = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    errors.ReadOnlySqlTransaction,
    OSError,
    TimeoutError,
)
_OFTEN = 2
"""A statement that was sent so often is prepared: it is a fifth of the time of a batch."""
_ROWS_BY_KEY = (
    b"SELECT set_config(name, 'off', false) FROM"
    b" unnest('{enable_seqscan,enable_hashjoin,enable_mergejoin}'::text[]) AS name"
)
"""How a prepared statement is done is decided once, and often on an empty table, where reading all
of it is best."""


def passing(error: BaseException) -> bool:
    """Whether the same may go well later: the database is away, full, in recovery, or somebody was
    in the way."""
    return isinstance(error, _PASSING)


def contended(error: BaseException) -> bool:
    """Whether it may go well at once: two were in each other's way."""
    return isinstance(error, (errors.DeadlockDetected, errors.SerializationFailure))


def told(error: BaseException) -> str:
    """An error in one line."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


async def connect(
    dsn: str, timeout: float, *, autocommit: bool = True
) -> AsyncConnection[TupleRow]:
    """A new connection. Nothing is prepared on it, and nothing is set for the session: a pooler may
    stand between."""
    async with asyncio.timeout(timeout):
        return await AsyncConnection.connect(
            dsn,
            autocommit=autocommit,
            prepare_threshold=None,
            context=ADAPTERS,
            connect_timeout=max(2, round(timeout)),
        )


async def straight(connection: AsyncConnection[TupleRow]) -> bool:
    """Whether nothing stands between here and the server: a pooler makes up the number of the
    process that it tells its clients.

    Behind one, a statement of the same name may be prepared in the next session, and be another
    one.
    """
    ((pid,),) = await (await connection.execute(b"SELECT pg_backend_pid()")).fetchall()
    return bool(pid == connection.info.backend_pid)


class PgConnection:
    """A connection in autocommit: a statement is a transaction."""

    def __init__(self, dsn: str, timeout: float) -> None:
        self._dsn = dsn
        self._timeout = timeout
        self._connection: AsyncConnection[TupleRow] | None = None
        self._prepares = True

    @property
    def up(self) -> bool:
        """As far as one can tell without asking."""
        return self._connection is not None and not self._connection.closed

    async def ready(self) -> None:
        """Connect, if it is not."""
        if not self.up:
            self._connection = await connect(self._dsn, self._timeout)
            if self._prepares:
                await self._prepared(self._connection)

    async def _prepared(self, connection: AsyncConnection[TupleRow]) -> None:
        """Let statements be prepared, where that can be."""
        whole = False
        try:
            async with asyncio.timeout(self._timeout):
                self._prepares = await straight(connection)
                if self._prepares:
                    await connection.execute(_ROWS_BY_KEY)
                    connection.prepare_threshold = _OFTEN
            whole = True
        finally:
            if not whole:
                await self.drop()

    async def run(self, query: bytes, params: Mapping[str, object]) -> list[TupleRow]:
        """The rows of a statement. An error leaves open whether it was done."""
        await self.ready()
        connection = self._connection
        assert connection is not None
        whole = False
        try:
            async with asyncio.timeout(self._timeout):
                cursor = await connection.execute(query, params, binary=True)
                rows = await cursor.fetchall() if cursor.description else []
            whole = True
            return rows
        except _UNPREPARED:
            if not self._prepares:
                raise
            self._prepares = False
        except psycopg.Error:
            whole = not connection.closed  # the server said no, and is still there
            raise
        finally:
            if not whole:
                await self.drop()
        return await self.run(query, params)

    async def drop(self) -> None:
        """Without the connection; the next statement makes a new one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()
