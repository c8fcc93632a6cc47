"""The meaning of a call id: every rule about repeated calls, with the ledger in memory and in a
file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from uuid import UUID

import pytest
from runnables import CountingBody, runnable, tool_call

from toolwire.conversation.json import JSON, Object
from toolwire.execution.call_key import key_of
from toolwire.execution.errors import ExecutorClosed, MissingRequirements
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.base import Ledger
from toolwire.execution.ledger.memory import MemoryLedger
from toolwire.execution.ledger.sqlite.ledger import SqliteLedger
from toolwire.execution.tool_call import ToolCall
from toolwire.tools.errors import InvalidInput, NoEffect, RetryableToolError, ToolError
from toolwire.tools.runnable import Authorization, Requirements, ToolContext

Made = Callable[[], Ledger]


@pytest.fixture(params=["memory", "sqlite"])
def make_ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Made:
    """A function that makes a ledger."""
    return (
        MemoryLedger if request.param == "memory" else lambda: SqliteLedger(tmp_path / "calls.db")
    )


def test_the_first_call_runs_and_the_second_gets_its_answer(make_ledger: Made) -> None:
    async def main() -> None:
        body = CountingBody()
        tool = runnable(body)
        async with ToolExecutor(make_ledger()) as executor:
            first = await executor.execute(tool_call(tool, "c1", {"a": 1}))
            second = await executor.execute(tool_call(tool, "c1", {"a": 1}))
        assert (first.state, first.replayed, first.recorded, first.call_id) == (
            "done",
            False,
            True,
            "c1",
        )
        assert (second.state, second.replayed, second.call_id) == ("done", True, "c1")
        assert first.outcome is not None and first.outcome == second.outcome
        assert first.outcome.value == [1, {"a": 1}]
        assert first.outcome.duration_ms >= 0
        assert body.runs == 1

    asyncio.run(main())


@pytest.mark.parametrize(
    ("id", "input", "principal", "state", "runs"),
    [
        ("Test.Tool@1.0.0", {"b": 2.0, "a": 1}, "p", "done", 1),
        ("Test.Tool@1.0.0", {"a": 1, "b": 3}, "p", "mismatch", 1),
        ("Test.Other@1.0.0", {"a": 1, "b": 2}, "p", "mismatch", 1),
        ("Test.Tool@1.0.1", {"a": 1, "b": 2}, "p", "mismatch", 1),
        ("Test.Tool@1.0.0", {"a": 1, "b": 2}, "q", "done", 2),
    ],
    ids=["equal", "other input", "other tool", "other version", "other principal"],
)
def test_an_id_belongs_to_one_call_of_one_principal(
    make_ledger: Made, id: str, input: Object, principal: str, state: str, runs: int
) -> None:
    async def main() -> None:
        body = CountingBody()
        async with ToolExecutor(make_ledger()) as executor:
            await executor.execute(tool_call(runnable(body), "c1", {"a": 1, "b": 2}))
            again = await executor.execute(
                tool_call(runnable(body, id), "c1", input, principal=principal)
            )
        assert again.state == state
        assert body.runs == runs
        if state == "mismatch":
            assert (again.outcome, again.started_at, again.replayed) == (None, None, False)

    asyncio.run(main())


def test_two_users_of_one_principal_do_not_see_each_other(make_ledger: Made) -> None:
    async def main() -> None:
        body = CountingBody()
        tool = runnable(body)
        async with ToolExecutor(make_ledger()) as executor:
            for user in (None, "u", "v"):
                answer = await executor.execute(
                    ToolCall(tool=tool, call_id="c1", principal="p", user_id=user)
                )
                assert not answer.replayed
        assert body.runs == 3

    asyncio.run(main())


def test_a_rotated_token_and_another_trace_are_the_same_call(make_ledger: Made) -> None:
    async def main() -> None:
        body = CountingBody()
        tool = runnable(body, needs=Requirements((Authorization("google"),), ("KEY",)))
        async with ToolExecutor(make_ledger()) as executor:
            for n in range(2):
                asked = ToolCall(
                    tool=tool,
                    call_id="c1",
                    tokens={"google": f"t{n}"},
                    secrets={"KEY": f"s{n}"},
                    trace_id=f"{n}",
                )
                assert (await executor.execute(asked)).state == "done"
        assert body.runs == 1

    asyncio.run(main())


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (ToolError("no"), 0),
        (RetryableToolError("later", retry_after_ms=5), 1),
        (NoEffect("nothing"), 1),
        (ValueError("x"), 0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_failure_is_replayed_unless_it_may_be_tried_again(
    make_ledger: Made, error: Exception, again: int
) -> None:
    async def main() -> None:
        attempts: list[int] = []

        async def body(arguments: Mapping[str, object], context: ToolContext) -> JSON:
            attempts.append(context.attempt)
            raise error

        tool = runnable(body)
        async with ToolExecutor(make_ledger()) as executor:
            first, second = [await executor.execute(tool_call(tool)) for _ in range(2)]
        assert first.state == second.state == "failed"
        assert first.outcome is not None and first.outcome.failure is not None
        assert first.outcome.failure.can_retry == isinstance(error, RetryableToolError)
        assert attempts == [1, 2][: 1 + again]
        assert second.replayed == (not again)
        assert second.attempt == 1 + again

    asyncio.run(main())


def test_a_call_that_could_not_begin_may_come_again_with_its_id(make_ledger: Made) -> None:
    async def main() -> None:
        body = CountingBody()
        tool = runnable(body, needs=Requirements(secrets=("KEY",)))
        async with ToolExecutor(make_ledger()) as executor:
            with pytest.raises(MissingRequirements) as lacks:
                await executor.execute(ToolCall(tool=tool, call_id="c1", input={"bad": 1}))
            assert lacks.value.missing.secrets == ("KEY",)
            with pytest.raises(InvalidInput):
                await executor.execute(
                    ToolCall(tool=tool, call_id="c1", input={"bad": 1}, secrets={"KEY": "k"})
                )
            assert await executor.ledger.get(key_of("", None, "c1")) is None
            assert (
                await executor.execute(ToolCall(tool=tool, call_id="c1", secrets={"KEY": "k"}))
            ).state == "done"
            with pytest.raises(MissingRequirements):  # not even the recorded answer is for everyone
                await executor.execute(ToolCall(tool=tool, call_id="c1"))
        assert body.runs == 1

    asyncio.run(main())


def test_a_tool_gets_the_credentials_that_it_declares_and_no_others() -> None:
    async def main() -> None:
        body = CountingBody()
        tokens, secrets = {"google": "t", "other": "o"}, {"KEY": "k", "SPARE": "s"}
        async with ToolExecutor() as executor:
            for needs in (Requirements(), Requirements((Authorization("google"),), ("KEY",), True)):
                await executor.execute(
                    ToolCall(
                        tool=runnable(body, needs=needs),
                        user_id="u",
                        trace_id="tr",
                        tokens=tokens,
                        secrets=secrets,
                    )
                )
        plain, full = body.contexts
        assert (plain.tokens, plain.secrets, plain.user_id, plain.trace_id) == ({}, {}, None, "tr")
        assert (full.tokens, full.secrets, full.user_id) == ({"google": "t"}, {"KEY": "k"}, "u")
        assert full.tool_id == "Test.Tool@1.0.0"

    asyncio.run(main())


def test_a_call_without_an_id_gets_one_and_is_recorded_in_a_ledger_that_was_given(
    make_ledger: Made,
) -> None:
    async def main() -> None:
        body = CountingBody()
        async with ToolExecutor(make_ledger()) as executor:
            one, two = [await executor.execute(tool_call(runnable(body), None)) for _ in range(2)]
            assert one.call_id != two.call_id and UUID(one.call_id).version == 7
            record = await executor.ledger.get(key_of("p", None, one.call_id))
            assert record is not None and record.state == "done"
        assert body.runs == 2

    asyncio.run(main())


def test_without_a_ledger_only_calls_with_an_id_are_remembered() -> None:
    async def main() -> None:
        body = CountingBody()
        async with ToolExecutor() as executor:
            unnamed = await executor.execute(tool_call(runnable(body), None))
            assert await executor.ledger.get(key_of("p", None, unnamed.call_id)) is None
            assert not (await executor.execute(tool_call(runnable(body)))).replayed
            assert (await executor.execute(tool_call(runnable(body)))).replayed

    asyncio.run(main())


@pytest.mark.parametrize("record_reads", [False, True])
def test_a_tool_that_only_reads_is_recorded_only_if_asked_for(
    make_ledger: Made, record_reads: bool
) -> None:
    async def main() -> None:
        body = CountingBody()
        tool = runnable(body, read_only=True)
        async with ToolExecutor(make_ledger(), record_reads=record_reads) as executor:
            for call_id in ("c1", "c1", None):
                answer = await executor.execute(tool_call(tool, call_id))
                known = await executor.ledger.get(key_of("p", None, answer.call_id))
                assert (known is not None) == record_reads
        assert body.runs == (2 if record_reads else 3)

    asyncio.run(main())


def test_an_expired_result_is_gone_and_not_run_again(tmp_path: Path) -> None:
    async def main() -> None:
        for kind in ("memory", "sqlite"):
            now = [1_800_000_000_000]
            clock = lambda now=now: now[0]
            ledger: Ledger = (
                MemoryLedger(clock=clock)
                if kind == "memory"
                else SqliteLedger(tmp_path / "calls.db", clock=clock)
            )
            body = CountingBody()
            tool = runnable(body)
            async with ToolExecutor(ledger) as executor:
                await executor.execute(tool_call(tool))
                now[0] += 25 * 3600 * 1000 if kind == "sqlite" else 901_000
                await executor.ledger.sweep()
                gone = await executor.execute(tool_call(tool))
            assert (kind, gone.state, gone.outcome, body.runs) == (kind, "gone", None, 1)

    asyncio.run(main())


def test_an_id_older_than_the_record_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        body = CountingBody()
        async with ToolExecutor(SqliteLedger(tmp_path / "calls.db")) as executor:
            answer = await executor.execute(
                tool_call(runnable(body), "01810000-0000-7000-8000-000000000000")
            )
        assert (answer.state, body.runs) == ("too-old", 0)

    asyncio.run(main())


def test_an_executor_opens_its_ledger_on_first_use(tmp_path: Path) -> None:
    async def main() -> None:
        body = CountingBody()
        executor = ToolExecutor(SqliteLedger(tmp_path / "calls.db"))
        calls = (tool_call(runnable(body), call_id) for call_id in ("c1", "c1", None))
        results = await asyncio.gather(*map(executor.execute, calls))
        assert [result.state for result in results] == ["done"] * 3
        assert body.runs == 2
        await executor.close()

    asyncio.run(main())


def test_a_closed_executor_says_what_to_do(tmp_path: Path) -> None:
    async def main() -> None:
        async with ToolExecutor(SqliteLedger(tmp_path / "calls.db")) as executor:
            pass
        with pytest.raises(ExecutorClosed, match="call open"):
            await executor.run(runnable(CountingBody()), call_id="c1")

    asyncio.run(main())
