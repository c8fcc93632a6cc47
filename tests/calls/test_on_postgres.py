"""Calls on a real PostgreSQL: two replicas, and tools that write into the ledger's own database."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import postgres
import pytest
from psycopg import AsyncConnection
from runnables import CountingBody, runnable, tool_call

from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.postgres.ledger import PostgresLedger
from toolwire.tools.errors import NoEffect, RetryableToolError, ToolError
from toolwire.tools.runnable import ToolContext


async def rows(table: str) -> int:
    async with await AsyncConnection.connect(postgres.dsn(), autocommit=True) as connection:
        cursor = await connection.execute(f"SELECT count(*) FROM {table}".encode())
        found = await cursor.fetchone()
        assert found is not None
        return int(found[0])


async def table() -> str:
    name = f"{postgres.fresh()}_effects"
    async with await AsyncConnection.connect(postgres.dsn(), autocommit=True) as connection:
        await connection.execute(f"CREATE TABLE {name}(call_id text)".encode())
    return name


def test_a_storm_over_two_replicas_runs_each_id_once() -> None:
    async def main() -> None:
        schema = postgres.fresh()
        body = CountingBody()
        tool = runnable(body)
        async with (
            ToolExecutor(PostgresLedger(postgres.dsn(), schema=schema)) as one,
            ToolExecutor(PostgresLedger(postgres.dsn(), schema=schema)) as two,
        ):
            answers = await asyncio.gather(
                *(
                    executor.execute(tool_call(tool, f"c{n % 10}"))
                    for n in range(100)
                    for executor in (one, two)
                )
            )
            other = await two.execute(tool_call(tool, "c0", {"other": 1}))
        assert {answer.state for answer in answers} == {"done"}
        assert (body.runs, other.state) == (10, "mismatch")
        for n in range(10):
            assert (
                len({str(answer.outcome) for answer in answers if answer.call_id == f"c{n}"}) == 1
            )

    asyncio.run(main())


@pytest.mark.parametrize(
    ("error", "state", "effects", "again"),
    [
        (None, "done", 1, False),
        (ToolError("no"), "failed", 0, False),
        (RuntimeError("no"), "failed", 0, False),
        (NoEffect("no"), "failed", 0, True),
        (RetryableToolError("no"), "failed", 0, True),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_a_transactional_tool_writes_with_its_record_or_not_at_all(
    error: Exception | None, state: str, effects: int, again: bool
) -> None:
    async def main() -> None:
        name = await table()
        runs = 0

        async def body(arguments: Mapping[str, object], context: ToolContext) -> object:
            nonlocal runs
            runs += 1
            assert context.transaction is not None
            await context.transaction.execute(f"INSERT INTO {name} VALUES(%s)", (context.call_id,))
            if error is not None:
                raise error
            return "written"

        tool = runnable(body, on_crash="transactional")
        async with ToolExecutor(
            PostgresLedger(postgres.dsn(), schema=postgres.fresh())
        ) as executor:
            executor.check_tools([tool])
            answers = await asyncio.gather(*(executor.execute(tool_call(tool)) for _ in range(5)))
            assert {answer.state for answer in answers} == {state}
            assert (await rows(name), runs) == (effects, 1)
            late = await executor.execute(tool_call(tool))
            assert (late.state, late.replayed, runs) == (state, not again, 1 + again)
        assert await rows(name) == effects

    asyncio.run(main())


def test_a_transactional_tool_that_runs_into_its_timeout_has_written_nothing() -> None:
    async def main() -> None:
        name = await table()

        async def body(arguments: Mapping[str, object], context: ToolContext) -> object:
            assert context.transaction is not None
            await context.transaction.execute(f"INSERT INTO {name} VALUES(%s)", (context.call_id,))
            await asyncio.sleep(60)
            return None

        async with ToolExecutor(
            PostgresLedger(postgres.dsn(), schema=postgres.fresh())
        ) as executor:
            answer = await executor.execute(
                tool_call(runnable(body, on_crash="transactional", timeout=0.3))
            )
            assert answer.outcome is not None and answer.outcome.failure is not None
            assert answer.outcome.failure.kind == "timeout"
            assert (
                await executor.execute(
                    tool_call(runnable(body, on_crash="transactional", timeout=0.3))
                )
            ).replayed
        assert await rows(name) == 0

    asyncio.run(main())
