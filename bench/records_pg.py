"""How many calls the PostgreSQL ledger records, against one transaction for each write on a pool of
connections, in the same run.

All write the same for a call (a claim, then an end with a kilobyte), durably, to the same server. The
ledger is compared with itself without batches, each operation a separate statement, and with a bare
table without leases, fences and indexes, which guarantees less.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from psycopg import AsyncConnection
from psycopg.rows import TupleRow
from records import CALLERS, Row, compare, through

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import postgres

from toolwire.execution.ledger.postgres.ledger import PostgresLedger

POOL = 8
BARE = "PostgreSQL, by a bare table"


def rows(rounds: int = 5) -> list[Row]:
    """Measure PostgreSQL with 1, 32 and 128 callers."""
    return asyncio.run(_measure(postgres.dsn(), rounds))


async def _measure(dsn: str, rounds: int) -> list[Row]:
    ledger, single = (
        PostgresLedger(dsn, schema=postgres.fresh()),
        PostgresLedger(dsn, schema=postgres.fresh(), connections=POOL),
    )
    await ledger.open()
    await single.open()
    assert single._open is not None
    single._open.batcher.max_batch = 1
    plain = await Plain.on(dsn)
    others = {"PostgreSQL": through(single), BARE: plain.call}
    try:
        return [
            await compare(name, n, through(ledger), other, rounds)
            for name, other in others.items()
            for n in CALLERS
        ]
    finally:
        await plain.close()
        await single.close()
        await ledger.close()


class Plain:
    """A table of calls with one transaction per write."""

    def __init__(self, table: str) -> None:
        self._pool: asyncio.Queue[AsyncConnection[TupleRow]] = asyncio.Queue()
        self._claim = f"INSERT INTO {table} VALUES (%s, 'running', %s) ON CONFLICT DO NOTHING RETURNING state".encode()
        self._finish = (
            f"UPDATE {table} SET state = 'done', result = %s WHERE call_id = %s AND token = %s"
            " RETURNING state".encode()
        )

    @classmethod
    async def on(cls, dsn: str) -> Plain:
        """Create a table, and open connections to it."""
        table = f"{postgres.fresh()}_plain"
        columns = "call_id text PRIMARY KEY, state text NOT NULL, token bytea NOT NULL, result text"
        made = cls(table)
        for n in range(POOL):
            connection = await AsyncConnection.connect(dsn, autocommit=True)
            if n == 0:
                await connection.execute(f"CREATE TABLE {table}({columns})".encode())
            made._pool.put_nowait(connection)
        return made

    async def close(self) -> None:
        """Close all connections."""
        while not self._pool.empty():
            await self._pool.get_nowait().close()

    async def call(self, id: str) -> None:
        """Record one call."""
        token = os.urandom(16)
        await self._do(self._claim, (id, token))
        await self._do(self._finish, ("x" * 1000, id, token))

    async def _do(self, query: bytes, values: tuple[object, ...]) -> None:
        connection = await self._pool.get()
        try:
            await (await connection.execute(query, values)).fetchall()
        finally:
            self._pool.put_nowait(connection)


if __name__ == "__main__":
    for row in rows():
        print(row)
