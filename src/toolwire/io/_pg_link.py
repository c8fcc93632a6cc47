"""One connection to PostgreSQL that is made again when it breaks, and what its errors mean.

Never repeats anything by itself: whoever asked knows whether that is safe. Knows no ledger.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import psycopg
from psycopg import AsyncConnection, errors
from psycopg.rows import TupleRow

from toolwire.io._pg_pack import ADAPTERS

BROKEN = (psycopg.Error, OSError, TimeoutError)
"""All that can go wrong between here and the database."""
_PASSING = (psycopg.OperationalError, psycopg.InterfaceError, errors.ReadOnlySqlTransaction, OSError, TimeoutError)


def passing(error: BaseException) -> bool:
    """Whether the same may go well later: the database is away, full, in recovery, or somebody was in the way."""
    return isinstance(error, _PASSING)


def contended(error: BaseException) -> bool:
    """Whether it may go well at once: two were in each other's way."""
    return isinstance(error, (errors.DeadlockDetected, errors.SerializationFailure))


def told(error: BaseException) -> str:
    """An error in one line."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


async def connect(dsn: str, timeout: float, *, autocommit: bool = True) -> AsyncConnection[TupleRow]:
    """A new connection. Nothing is prepared on the server, and nothing is set for the session: a pooler may stand between."""
    async with asyncio.timeout(timeout):
        return await AsyncConnection.connect(
            dsn, autocommit=autocommit, prepare_threshold=None, context=ADAPTERS, connect_timeout=max(2, round(timeout))
        )


class Link:
    """A connection in autocommit: a statement is a transaction."""

    def __init__(self, dsn: str, timeout: float) -> None:
        self._dsn = dsn
        self._timeout = timeout
        self._connection: AsyncConnection[TupleRow] | None = None

    @property
    def up(self) -> bool:
        """As far as one can tell without asking."""
        return self._connection is not None and not self._connection.closed

    async def ready(self) -> None:
        """Connect, if it is not."""
        if not self.up:
            self._connection = await connect(self._dsn, self._timeout)

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
        except psycopg.Error:
            whole = not connection.closed  # the server said no, and is still there
            raise
        finally:
            if not whole:
                await self.drop()

    async def drop(self) -> None:
        """Without the connection; the next statement makes a new one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()
