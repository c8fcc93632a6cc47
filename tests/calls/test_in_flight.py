"""Concurrent calls: many duplicates, callers that disconnect, and a server that stops."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from runnables import CountingBody, runnable, tool_call

from toolwire.conversation.json import JSON
from toolwire.execution.call_key import fingerprint, key_of
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.base import CallKey, Claim
from toolwire.execution.ledger.memory import MemoryLedger
from toolwire.execution.ledger.sqlite.ledger import SqliteLedger
from toolwire.execution.tool_call import ToolCall
from toolwire.tools.errors import InvalidInput
from toolwire.tools.runnable import OnCrash, ToolContext


class BlockingTool:
    """An async tool that runs until the test releases it."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.free = asyncio.Event()
        self.runs = 0
        self.cancelled = 0

    async def __call__(self, arguments: Mapping[str, object], context: ToolContext) -> object:
        self.runs += 1
        self.begun.set()
        try:
            await self.free.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return self.runs


class CountingLedger(MemoryLedger):
    """A ledger that counts claims."""

    claims = 0

    async def claim(
        self, key: CallKey, fp: bytes, *, tool: str, on_crash: OnCrash, token: bytes
    ) -> Claim:
        self.claims += 1
        return await super().claim(key, fp, tool=tool, on_crash=on_crash, token=token)


@pytest.mark.parametrize("ids", [1, 50])
def test_a_storm_of_duplicates_runs_each_id_once(ids: int, tmp_path: Path) -> None:
    async def main() -> None:
        body = CountingBody()
        tool = runnable(body)
        async with ToolExecutor(SqliteLedger(tmp_path / "calls.db")) as executor:
            answers = await asyncio.gather(
                *(executor.execute(tool_call(tool, f"c{n % ids}")) for n in range(400))
            )
            assert executor.metrics.in_flight == 0
        assert body.runs == ids
        assert {answer.state for answer in answers} == {"done"}
        assert sum(not answer.replayed for answer in answers) == ids
        for n in range(ids):
            assert (
                len({str(answer.outcome) for answer in answers if answer.call_id == f"c{n}"}) == 1
            )

    asyncio.run(main())


def test_duplicates_in_one_process_do_not_ask_the_ledger() -> None:
    async def main() -> None:
        body, ledger = BlockingTool(), CountingLedger()
        async with ToolExecutor(ledger) as executor:
            many = [
                asyncio.create_task(executor.execute(tool_call(runnable(body)))) for _ in range(20)
            ]
            await body.begun.wait()
            other = await executor.execute(tool_call(runnable(body), "c1", {"other": 1}))
            body.free.set()
            await asyncio.gather(*many)
        assert other.state == "mismatch" and other.outcome is None
        assert (ledger.claims, body.runs) == (1, 1)

    asyncio.run(main())


def test_a_cancelled_caller_does_not_cancel_the_others() -> None:
    async def main() -> None:
        body = BlockingTool()
        async with ToolExecutor() as executor:
            many = [
                asyncio.create_task(executor.execute(tool_call(runnable(body)))) for _ in range(5)
            ]
            await body.begun.wait()
            for gone in (many[0], many[3]):  # the first, whose call it was, and one that joined it
                gone.cancel()
                with suppress(asyncio.CancelledError):
                    await gone
            body.free.set()
            left = await asyncio.gather(many[1], many[2], many[4])
            assert {answer.state for answer in left} == {"done"}
            assert (await executor.execute(tool_call(runnable(body)))).replayed
        assert (body.runs, body.cancelled) == (1, 0)

    asyncio.run(main())


def test_a_call_with_an_id_goes_on_when_everybody_has_gone_and_is_recorded() -> None:
    async def main() -> None:
        body = BlockingTool()
        async with ToolExecutor() as executor:
            caller = asyncio.create_task(executor.execute(tool_call(runnable(body))))
            await body.begun.wait()
            caller.cancel()
            await asyncio.gather(caller, return_exceptions=True)
            body.free.set()
            record = await executor.ledger.wait(key_of("p", None, "c1"), 10)
            assert record is not None and record.state == "done"

    asyncio.run(main())


@pytest.mark.parametrize("recorded", [False, True])
def test_a_call_without_an_id_is_cancelled_with_its_caller(recorded: bool) -> None:
    async def main() -> None:
        body = BlockingTool()
        async with ToolExecutor(MemoryLedger() if recorded else None) as executor:
            caller = asyncio.create_task(executor.execute(tool_call(runnable(body), None)))
            await body.begun.wait()
            caller.cancel()
            with pytest.raises(asyncio.CancelledError):
                await caller
            while executor.metrics.in_flight:
                await asyncio.sleep(0.001)
        assert body.cancelled == 1

    asyncio.run(main())


def test_a_duplicate_that_waits_too_long_gets_running() -> None:
    async def main() -> None:
        body = BlockingTool()
        async with ToolExecutor(wait=0.02) as executor:
            first = asyncio.create_task(executor.execute(tool_call(runnable(body))))
            await body.begun.wait()
            for wait in (None, 0.01):
                late = await executor.execute(
                    ToolCall(tool=runnable(body), call_id="c1", principal="p", wait=wait)
                )
                assert late.state == "running" and late.retry_after_ms and late.outcome is None
            body.free.set()
            assert (await first).state == "done"

    asyncio.run(main())


def test_a_call_that_runs_in_another_process_is_waited_for() -> None:
    async def main() -> None:
        ledger = MemoryLedger()
        body, idle = BlockingTool(), CountingBody()
        async with ToolExecutor(ledger) as here, ToolExecutor(ledger) as there:
            first = asyncio.create_task(here.execute(tool_call(runnable(body))))
            await body.begun.wait()
            tired = await there.execute(
                ToolCall(tool=runnable(idle), call_id="c1", principal="p", wait=0.02)
            )
            assert tired.state == "running" and tired.started_at is not None
            second = asyncio.create_task(there.execute(tool_call(runnable(idle))))
            await asyncio.sleep(0.01)
            body.free.set()
            assert (await first).outcome == (await second).outcome
            assert (await second).replayed
        assert idle.runs == 0

    asyncio.run(main())


def test_a_call_released_elsewhere_runs_here() -> None:
    async def main() -> None:
        ledger = MemoryLedger()
        body = CountingBody()
        tool = runnable(body)
        async with ToolExecutor(ledger) as executor:
            fp = fingerprint(ledger.key, tool.id, {})
            claim = await ledger.claim(
                key_of("p", None, "c1"), fp, tool=str(tool.id), on_crash="report", token=b"t"
            )
            waiting = asyncio.create_task(executor.execute(tool_call(tool)))
            await asyncio.sleep(0.02)
            assert body.runs == 0
            await ledger.release(claim)
            answer = await waiting
        assert (answer.state, answer.attempt, body.runs) == ("done", 2, 1)

    asyncio.run(main())


def test_draining_waits_for_calls_in_progress_and_rejects_new_ones() -> None:
    async def main() -> None:
        body, idle = BlockingTool(), CountingBody()
        async with ToolExecutor() as executor:
            named = asyncio.create_task(executor.execute(tool_call(runnable(body))))
            direct = asyncio.create_task(executor.execute(tool_call(runnable(body), None)))
            await body.begun.wait()
            drained = asyncio.create_task(executor.drain(30))
            await asyncio.sleep(0)
            assert executor.draining
            for call_id in ("new", None):
                refused = await executor.execute(tool_call(runnable(idle), call_id))
                assert refused.state == "unavailable" and refused.retry_after_ms
            joined = asyncio.create_task(executor.execute(tool_call(runnable(body))))
            await asyncio.sleep(0)
            body.free.set()
            assert await drained
            assert {(await one).state for one in (named, direct, joined)} == {"done"}
        assert (idle.runs, body.cancelled) == (0, 0)

    asyncio.run(main())


@pytest.mark.parametrize(("on_crash", "again"), [("report", False), ("retry", True)])
def test_a_call_that_does_not_end_in_time_is_cancelled_and_its_callers_get_a_result(
    on_crash: OnCrash, again: bool
) -> None:
    async def main() -> None:
        body = BlockingTool()
        executor = ToolExecutor(ledger := MemoryLedger())
        named = asyncio.create_task(executor.execute(tool_call(runnable(body, on_crash=on_crash))))
        unnamed = asyncio.create_task(executor.execute(tool_call(runnable(body), None)))
        reads = asyncio.create_task(
            executor.execute(tool_call(runnable(body, read_only=True), None))
        )
        await asyncio.sleep(0.01)
        assert await executor.drain(0.01)
        for one in (named, unnamed, reads):
            answer = await one
            assert answer.outcome is not None and answer.outcome.failure is not None
            assert answer.outcome.failure.kind == "cancelled"
        assert body.cancelled == 3
        known = await ledger.get(key_of("p", None, "c1"))
        assert (known is None) == again
        later = await ToolExecutor(ledger).execute(
            tool_call(runnable(CountingBody(), on_crash=on_crash))
        )
        assert (later.state, later.attempt) == (("done", 2) if again else ("failed", 1))

    asyncio.run(main())


def test_calls_beyond_the_limit_fail_as_busy() -> None:
    async def main() -> None:
        body = BlockingTool()
        async with ToolExecutor(max_running=2) as executor:
            some = [
                asyncio.create_task(executor.execute(tool_call(runnable(body), f"c{n}")))
                for n in range(2)
            ]
            await asyncio.sleep(0.01)
            over = await executor.execute(tool_call(runnable(body), "c9"))
            assert over.outcome is not None and over.outcome.failure is not None
            assert (over.outcome.failure.kind, over.outcome.failure.can_retry) == ("busy", True)
            assert await executor.ledger.get(key_of("p", None, "c9")) is None
            body.free.set()
            await asyncio.gather(*some)
            assert (await executor.execute(tool_call(runnable(body), "c9"))).state == "done"

    asyncio.run(main())


def test_a_body_that_will_not_stop_does_not_keep_the_server_from_stopping(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("toolwire.execution.executor.CLEANUP_SECONDS", 0.05)

    async def main() -> None:
        free = asyncio.Event()

        async def stubborn(arguments: Mapping[str, object], context: ToolContext) -> object:
            while not free.is_set():
                with suppress(asyncio.CancelledError):
                    await free.wait()
            return 1

        executor = ToolExecutor()
        caller = asyncio.create_task(executor.execute(tool_call(runnable(stubborn))))
        await asyncio.sleep(0.01)
        assert not await executor.drain(0.01)
        free.set()
        assert (await caller).state == "done"
        assert await executor.drain(1)

    asyncio.run(main())


def test_an_executor_can_be_opened_again(tmp_path: Path) -> None:
    async def main() -> None:
        body = CountingBody()
        executor = ToolExecutor(SqliteLedger(tmp_path / "calls.db"))
        for _ in range(2):
            async with executor:
                assert (await executor.execute(tool_call(runnable(body)))).state == "done"
        assert body.runs == 1

    asyncio.run(main())


def test_input_too_deep_to_compare_is_refused() -> None:
    deep: JSON = 1
    for _ in range(100_000):
        deep = [deep]

    async def main() -> None:
        async with ToolExecutor() as executor:
            with pytest.raises(InvalidInput):
                await executor.execute(tool_call(runnable(CountingBody()), "c1", {"a": deep}))

    asyncio.run(main())
