"""A tool's own writes and the record of its result in one transaction: both are there afterwards,
or neither.

The record and COMMIT go to the server in one message, so whoever is stopped between the two holds
no lock. Only what the tool writes through this connection is covered.
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
from toolwire.execution.ledger.base import Claim, LedgerUnavailable, Outcome
from toolwire.execution.ledger.postgres.connection import BROKEN, connect, contended, told
from toolwire.tools.errors import NoEffect

Finished = Literal["recorded", "fenced"]


class ConnectionFactory:
    """Connections for tools, made when needed, kept for the next one, never more than `most`."""

    def __init__(self, dsn: str, timeout: float, most: int) -> None:
        self._dsn = dsn
        self.timeout = timeout
        self._room = asyncio.Semaphore(most)
        self._spare: list[AsyncConnection[TupleRow]] = []
        self._closed = False

    async def take(self) -> AsyncConnection[TupleRow]:
        """Raises LedgerUnavailable."""
        await self._room.acquire()
        try:
            while self._spare:
                connection = self._spare.pop()
                try:
                    async with asyncio.timeout(self.timeout):
                        await connection.execute(
                            b"SELECT 1"
                        )  # opens the transaction, and finds out if the server is still there
                    return connection
                except BROKEN:
                    await connection.close()
            return await connect(self._dsn, self.timeout, autocommit=False)
        except BaseException as error:
            self._room.release()
            if isinstance(error, BROKEN):
                raise LedgerUnavailable(f"the database cannot be reached: {told(error)}") from error
            raise

    async def give_back(self, connection: AsyncConnection[TupleRow]) -> None:
        """Whatever is not committed is undone."""
        try:
            if not connection.closed:
                async with asyncio.timeout(self.timeout):
                    await connection.rollback()
        except BROKEN:
            await connection.close()
        finally:
            if (
                connection.closed
                or self._closed
                or connection.info.transaction_status != TransactionStatus.IDLE
            ):
                await connection.close()
            else:
                self._spare.append(connection)
            self._room.release()

    async def close(self) -> None:
        self._closed = True
        while self._spare:
            await self._spare.pop().close()


class OpenTransaction:
    """What a tool gets: statements of the transaction. It ends without the tool's doing."""

    def __init__(self, connection: AsyncConnection[TupleRow]) -> None:
        self._connection = connection
        self.used = False

    async def execute(self, query: str, params: object = None) -> object:
        """The psycopg cursor of a statement: `%s` or `%(name)s` stand for params.

        Raises NoEffect if the database went away or others were in the way: everything is undone,
        and may be tried again.
        """
        if params is not None and not isinstance(params, Mapping | tuple | list):
            raise UsageError(
                f"expected a list, a tuple or a dict of parameters, got {type(params).__name__}"
            )
        self.used = True
        try:
            return await self._connection.execute(query.encode(), params)
        except psycopg.Error as error:
            if self._connection.closed or contended(error):
                raise NoEffect(
                    "the database could not do it now", developer_message=told(error)
                ) from error
            raise


class PgTransactionScope:
    """`async with`: `finish` commits; left without it, everything is undone."""

    def __init__(
        self,
        connections: ConnectionFactory,
        claim: Claim,
        *,
        end: Callable[[Outcome], tuple[bytes, Mapping[str, object]]],
        settle: Callable[[], Awaitable[Finished]],
        ended: Callable[[], None],
    ) -> None:
        self._connections = connections
        self._claim = claim
        self._end = end
        self._settle = settle
        self._ended = ended
        self._taken: AsyncConnection[TupleRow] | None = None
        self._inside: OpenTransaction | None = None

    @property
    def connection(self) -> OpenTransaction:
        if self._inside is None:
            raise UsageError("the transaction is not open")
        return self._inside

    async def __aenter__(self) -> PgTransactionScope:
        self._taken = await self._connections.take()
        self._inside = OpenTransaction(self._taken)
        return self

    async def __aexit__(self, *exc: object) -> None:
        taken, self._taken, self._inside = self._taken, None, None
        if taken is not None:
            await self._connections.give_back(taken)

    async def finish(self, outcome: Outcome) -> Finished:
        """Committed with the tool's writes, or `fenced` and undone with them.

        Raises LedgerUnavailable if the database went away: the call is then free again and its
        writes are undone. Raises what the database says if it does not take the tool's writes (a
        deferred constraint).
        """
        connection = self._taken
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
            self._ended()
            return "fenced"
        except psycopg.Error as error:
            if not connection.closed and not isinstance(error, psycopg.OperationalError):
                raise
            await connection.close()
            return await self._settle()
        except OSError:
            await connection.close()
            return await self._settle()
        self._ended()
        return "recorded"
