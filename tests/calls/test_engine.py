"""Calls on an engine whose runs outlive the server: what happens to them when the server stops,
returns, or does not know the outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from runnables import runnable

from toolwire.conversation.json import Object
from toolwire.execution.call_key import key_of
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.base import CallKey, Claim, Failure, Outcome, OutcomeUnknown
from toolwire.execution.ledger.sqlite.ledger import SqliteLedger
from toolwire.execution.tool_call import ToolCall
from toolwire.tools.errors import NoEffect
from toolwire.tools.runnable import OnCrash, Runnable, ToolContext


class Elsewhere:
    """An engine that behaves like one outside of this process: a run continues until the test ends
    it."""

    def __init__(self) -> None:
        self.begun: list[tuple[CallKey, int]] = []
        self.resumed = 0
        self._ends: dict[tuple[CallKey, int], asyncio.Future[Outcome]] = {}

    async def run(
        self, claim: Claim, tool: Runnable, arguments: Object, context: ToolContext
    ) -> Outcome:
        run = (claim.key, claim.attempt)
        if run not in self._ends:
            self.begun.append(run)
        return await asyncio.shield(self._end(run))

    async def resume(
        self, claim: Claim, tool: Runnable, arguments: Object, context: ToolContext
    ) -> Outcome:
        self.resumed += 1
        return await self.run(claim, tool, arguments, context)

    def _end(self, run: tuple[CallKey, int]) -> asyncio.Future[Outcome]:
        return self._ends.setdefault(run, asyncio.get_running_loop().create_future())

    def ends(self, outcome: Outcome | Exception, attempt: int = 1) -> None:
        end = self._end((key_of("p", None, "c"), attempt))
        if isinstance(outcome, Outcome):
            end.set_result(outcome)
        else:
            end.set_exception(outcome)


async def nothing(arguments: Mapping[str, object], context: ToolContext) -> object:
    raise AssertionError("the body runs here, and not on the engine")


def ask(
    on_crash: OnCrash = "report",
    probe: Callable[[Mapping[str, object], ToolContext], object] | None = None,
) -> ToolCall:
    tool = runnable(nothing, on_crash=on_crash, probe=probe)
    return ToolCall(tool=tool, input={"n": 1}, call_id="c", principal="p")


def executor_in(place: Path, engine: Elsewhere) -> ToolExecutor:
    return ToolExecutor(SqliteLedger(place / "ledger.db"), runner=engine)


async def wait_until_running(engine: Elsewhere) -> None:
    while not engine.begun:
        await asyncio.sleep(0.01)


async def leave_call_running(place: Path, engine: Elsewhere, what: ToolCall) -> None:
    """Leave a call in progress on the engine, of a server that has stopped."""
    async with executor_in(place, engine) as server:
        call = asyncio.create_task(server.execute(what))
        await wait_until_running(engine)
        await server.drain(0.0)
        assert (await call).state == "running"


@pytest.mark.parametrize("on_crash", ["report", "retry"])
def test_the_next_server_gets_the_result_of_a_call_of_the_previous_one(
    tmp_path: Path, on_crash: OnCrash
) -> None:
    async def main() -> None:
        engine = Elsewhere()
        await leave_call_running(tmp_path, engine, ask(on_crash))
        async with executor_in(tmp_path, engine) as server:
            again = asyncio.create_task(server.execute(ask(on_crash)))
            while not engine.resumed:
                await asyncio.sleep(0.01)
            engine.ends(Outcome("done there"))
            answer = await again
            assert (answer.state, answer.outcome, answer.attempt) == (
                "done",
                Outcome("done there"),
                1,
            )
            assert (await server.execute(ask(on_crash))).replayed
        assert (len(engine.begun), engine.resumed) == (1, 1)

    asyncio.run(main())


def test_a_server_without_the_engine_says_that_the_call_is_lost(tmp_path: Path) -> None:
    async def main() -> None:
        await leave_call_running(tmp_path, Elsewhere(), ask())
        async with ToolExecutor(SqliteLedger(tmp_path / "ledger.db")) as server:
            assert (await server.execute(ask())).state == "lost"

    asyncio.run(main())


def test_a_call_that_the_engine_does_not_know_is_lost_and_stays_lost(tmp_path: Path) -> None:
    async def main() -> None:
        engine = Elsewhere()
        engine.ends(OutcomeUnknown("the worker died"))
        async with executor_in(tmp_path, engine) as server:
            assert (await server.execute(ask())).state == "lost"
            assert (await server.execute(ask())).state == "lost"
            record = await server.ledger.get(key_of("p", None, "c"))
            assert record is not None and record.state == "lost"

    asyncio.run(main())


def test_an_engine_that_breaks_leaves_a_call_that_can_be_resumed(tmp_path: Path) -> None:
    class FailingEngine(Elsewhere):
        async def run(
            self, claim: Claim, tool: Runnable, arguments: Object, context: ToolContext
        ) -> Outcome:
            if not self.resumed:
                raise OSError("broken pipe")
            return Outcome("it had begun")

    async def main() -> None:
        async with executor_in(tmp_path, FailingEngine()) as server:
            assert (await server.execute(ask())).state == "lost"
            answer = await server.execute(ask())
            assert (answer.state, answer.outcome) == ("done", Outcome("it had begun"))

    asyncio.run(main())


def test_a_tool_that_can_be_asked_is_asked_when_the_engine_does_not_know(tmp_path: Path) -> None:
    async def main() -> None:
        engine = Elsewhere()
        engine.ends(OutcomeUnknown("the worker died"))
        what = ask("probe", lambda arguments, context: "it happened")
        async with executor_in(tmp_path, engine) as server:
            assert (await server.execute(what)).state == "lost"
            answer = await server.execute(what)
            assert (answer.state, answer.outcome) == ("done", Outcome("it happened"))

    asyncio.run(main())


ENDS = [NoEffect("nothing happened"), Outcome(None, Failure("later", can_retry=True))]


@pytest.mark.parametrize("end", ENDS, ids=["nothing", "later"])
def test_a_call_that_came_to_nothing_while_no_server_lived_may_run_again(
    tmp_path: Path, end: Outcome | NoEffect
) -> None:
    async def main() -> None:
        engine = Elsewhere()
        await leave_call_running(tmp_path, engine, ask())
        async with executor_in(tmp_path, engine) as server:
            engine.ends(end)
            assert (await server.execute(ask())).state == "failed"
            engine.ends(Outcome("second"), attempt=2)
            answer = await server.execute(ask())
            assert (answer.state, answer.attempt) == ("done", 2)
        assert [attempt for _, attempt in engine.begun] == [1]

    asyncio.run(main())
