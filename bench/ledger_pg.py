"""How fast the PostgreSQL ledger is: against one transaction per write on a pool of connections, in the same run.

Both write the same two rows' worth of data for a call (claimed, ended with 1 kB), durably, into the same server.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from psycopg import AsyncConnection
from psycopg.rows import TupleRow

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import postgres

from toolwire.io.postgres import PostgresLedger
from toolwire.tools.ledger import CallKey, Outcome

CALLERS = (1, 32, 128)
POOL = 8
ROUNDS = 5
OUTCOME = Outcome({"text": "x" * 1000})
Call = Callable[[str], Awaitable[None]]


async def measured(call: Call, callers: int, calls: int) -> tuple[float, float]:
    """Calls in a second, and µs of this process's CPU for one."""
    ids = iter([os.urandom(12).hex() for _ in range(calls)])

    async def caller() -> None:
        for one in ids:
            await call(one)

    began, cpu = perf_counter(), process_time()
    await asyncio.gather(*(caller() for _ in range(callers)))
    return calls / (perf_counter() - began), (process_time() - cpu) / calls * 1e6


async def compared(dsn: str) -> list[tuple[int, float, float, float]]:
    """Callers, calls in a second, µs of CPU for a call, and how many times as many as with a transaction per write."""
    ledger = PostgresLedger(dsn, schema=postgres.fresh())
    await ledger.open()
    pool: asyncio.Queue[AsyncConnection[TupleRow]] = asyncio.Queue()
    for _ in range(POOL):
        pool.put_nowait(await AsyncConnection.connect(dsn, autocommit=True))
    table = f"{postgres.fresh()}_plain"
    first = await pool.get()
    await first.execute(
        f"CREATE TABLE {table}(call_id text PRIMARY KEY, state text NOT NULL, token bytea NOT NULL, result text)".encode()
    )
    pool.put_nowait(first)
    claim = f"INSERT INTO {table} VALUES (%s, 'running', %s) ON CONFLICT DO NOTHING RETURNING state".encode()
    finish = f"UPDATE {table} SET state = 'done', result = %s WHERE call_id = %s AND token = %s RETURNING state".encode()
    text = "x" * 1000

    async def batched(one: str) -> None:
        key = CallKey("bench", one)
        claim = await ledger.claim(key, b"f" * 32, tool="Bench.Call@1.0.0", on_crash="report", token=os.urandom(16))
        assert await ledger.finish(claim, OUTCOME) == "recorded"

    async def single(one: str) -> None:
        token = os.urandom(16)
        for query, params in ((claim, (one, token)), (finish, (text, one, token))):
            connection = await pool.get()
            try:
                await (await connection.execute(query, params)).fetchall()
            finally:
                pool.put_nowait(connection)

    rows = []
    for callers in CALLERS:
        calls = 100 if callers == 1 else 1500
        speeds, costs, ratios = [], [], []
        for _ in range(ROUNDS):
            slow, _ = await measured(single, callers, calls // 3)
            fast, cpu = await measured(batched, callers, calls)
            speeds.append(fast)
            costs.append(cpu)
            ratios.append(fast / slow)
        rows.append((callers, median(speeds), median(costs), median(ratios)))
    while not pool.empty():
        await pool.get_nowait().close()
    await ledger.close()
    return rows


def rows() -> list[tuple[int, float, float, float]]:
    """Callers, calls in a second, µs of CPU for a call, times as many as with a transaction per write."""
    return asyncio.run(compared(postgres.dsn()))


if __name__ == "__main__":
    for callers, speed, cpu, times in rows():
        print(f"{callers:4} callers: {speed:7.0f} calls/s, {cpu:4.0f} µs CPU for a call, {times:.1f} x one transaction per write")
