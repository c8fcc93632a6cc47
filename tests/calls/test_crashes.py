"""After a crash, and when the ledger fails: what runs again, what is probed, what is reported."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import pytest
from runnables import CountingBody, runnable, tool_call

from toolwire.conversation.json import Object
from toolwire.execution.call_key import fingerprint, key_of
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.base import CallKey, Claim, LedgerUnavailable, Outcome, Record, Sweep
from toolwire.execution.ledger.memory import MemoryLedger
from toolwire.execution.ledger.sqlite.ledger import SqliteLedger
from toolwire.tools.errors import NoEffect, RetryableToolError, ToolDefinitionError, ToolError
from toolwire.tools.runnable import OnCrash, Runnable, ToolContext, Transaction


async def crash(path: Path, tool: Runnable) -> None:
    """Leave a call that a dead process had claimed."""
    ledger = SqliteLedger(path)
    await ledger.open()
    fp = fingerprint(ledger.key, tool.id, {})
    claim = await ledger.claim(
        key_of("p", None, "c1"), fp, tool=str(tool.id), on_crash=tool.on_crash, token=b"t" * 16
    )
    assert claim.state == "new"
    await ledger.close()


def knows(arguments: Mapping[str, object], context: ToolContext) -> object:
    return "it happened"


async def knows_later(arguments: Mapping[str, object], context: ToolContext) -> object:
    await asyncio.sleep(0)
    return "it happened"


def says(error: BaseException) -> Callable[[Mapping[str, object], ToolContext], object]:
    def probe(arguments: Mapping[str, object], context: ToolContext) -> object:
        raise error

    return probe


@pytest.mark.parametrize(
    ("on_crash", "probe", "state", "runs", "value", "attempt"),
    [
        ("report", None, "lost", 0, None, 1),
        ("retry", None, "done", 1, [1, {}], 2),
        ("probe", knows, "done", 0, "it happened", 1),
        ("probe", knows_later, "done", 0, "it happened", 1),
        ("probe", says(NoEffect("never")), "done", 1, [1, {}], 2),
        ("probe", says(LookupError("?")), "lost", 0, None, 1),
        ("probe", says(ZeroDivisionError()), "lost", 0, None, 1),
        ("probe", says(SystemExit(1)), "lost", 0, None, 1),
        ("probe", says(asyncio.CancelledError()), "lost", 0, None, 1),
        ("probe", lambda arguments, context: object(), "lost", 0, None, 1),
    ],
)
@pytest.mark.parametrize("is_async", [True, False])
def test_after_a_crash_the_tool_decides(
    tmp_path: Path,
    on_crash: OnCrash,
    probe: Callable[[Mapping[str, object], ToolContext], object] | None,
    state: str,
    runs: int,
    value: object,
    attempt: int,
    is_async: bool,
) -> None:
    body = CountingBody()

    def blocking(arguments: Mapping[str, object], context: ToolContext) -> object:
        return asyncio.run(body(arguments, context))

    tool = runnable(
        body if is_async else blocking, is_async=is_async, on_crash=on_crash, probe=probe
    )

    async def main() -> None:
        path = tmp_path / "calls.db"
        await crash(path, tool)
        async with ToolExecutor(SqliteLedger(path)) as executor:
            answer = await executor.execute(tool_call(tool))
            assert (answer.state, answer.attempt, body.runs) == (state, attempt, runs)
            if state == "done":
                assert answer.outcome is not None and answer.outcome.value == value
                assert answer.replayed == (runs == 0)
                again = await executor.execute(tool_call(tool))
                assert again.replayed and again.outcome is not None and again.outcome.value == value
            else:
                assert answer.outcome is None and answer.started_at is not None
        assert body.runs == runs

    asyncio.run(main())


class Failing(MemoryLedger):
    """A ledger one of whose methods fails."""

    def __init__(self, what: str, error: Exception, times: int = 100) -> None:
        super().__init__()
        self.what, self.error, self.times = what, error, times
        self.sweeps = 0

    def _fail(self, what: str) -> None:
        if what == self.what and self.times:
            self.times -= 1
            raise self.error

    async def claim(
        self, key: CallKey, fp: bytes, *, tool: str, on_crash: OnCrash, token: bytes
    ) -> Claim:
        self._fail("claim")
        return await super().claim(key, fp, tool=tool, on_crash=on_crash, token=token)

    async def finish(self, claim: Claim, outcome: Outcome) -> Literal["recorded", "fenced"]:
        self._fail("finish")
        return await super().finish(claim, outcome)

    async def release(self, claim: Claim) -> None:
        self._fail("release")
        await super().release(claim)

    async def wait(self, key: CallKey, timeout: float) -> Record | None:
        self._fail("wait")
        return await super().wait(key, timeout)

    async def sweep(self) -> Sweep:
        self._fail("sweep")
        self.sweeps += 1
        return await super().sweep()


@pytest.mark.parametrize(
    "error",
    [LedgerUnavailable("full"), OSError("unforeseen")],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize(
    ("what", "state", "runs"), [("claim", "unavailable", 0), ("finish", "done", 1)]
)
def test_a_ledger_that_fails_stops_a_call_before_and_not_after_it_ran(
    what: str, state: str, runs: int, error: Exception
) -> None:
    async def main() -> None:
        body = CountingBody()
        async with ToolExecutor(Failing(what, error)) as executor:
            answer = await executor.execute(tool_call(runnable(body)))
            assert (
                f'toolwire_ledger_errors_total{{operation="{what}"}} 1' in executor.metrics.render()
            )
        assert (answer.state, body.runs) == (state, runs)
        assert answer.recorded == (what == "claim")
        assert (answer.outcome is not None) == (what == "finish")

    asyncio.run(main())


def test_a_release_that_failed_is_done_later() -> None:
    async def main() -> None:
        async def body(arguments: Mapping[str, object], context: ToolContext) -> object:
            if context.attempt == 1:
                raise RetryableToolError("again")
            return context.attempt

        async with ToolExecutor(Failing("release", LedgerUnavailable("down"), times=2)) as executor:
            assert (await executor.execute(tool_call(runnable(body)))).state == "failed"
            answer = await executor.execute(tool_call(runnable(body)))
        assert (answer.state, answer.attempt) == ("done", 2)

    asyncio.run(main())


def test_a_call_that_runs_elsewhere_is_found_although_waiting_for_it_fails() -> None:
    async def main() -> None:
        go_on, runs = asyncio.Event(), []

        async def body(arguments: Mapping[str, object], context: ToolContext) -> object:
            runs.append(context.attempt)
            await go_on.wait()
            return 1

        ledger = Failing("wait", LedgerUnavailable("down"), times=1)
        async with ToolExecutor(ledger) as first, ToolExecutor(ledger) as second:
            running = asyncio.create_task(first.execute(tool_call(runnable(body))))
            await asyncio.sleep(0)
            waiting = asyncio.create_task(second.execute(tool_call(runnable(body))))
            while ledger.times:
                await asyncio.sleep(0.01)
            go_on.set()
            answers = [await running, await waiting]
            assert 'ledger_errors_total{operation="wait"} 1' in second.metrics.render()
        assert [(answer.state, answer.replayed) for answer in answers] == [
            ("done", False),
            ("done", True),
        ]
        assert runs == [1]

    asyncio.run(main())


def test_a_sweep_that_fails_is_counted_and_repeated() -> None:
    async def main() -> None:
        ledger = Failing("sweep", OSError("disk"), times=2)
        async with ToolExecutor(ledger, sweep_interval=0.01) as executor:
            while ledger.sweeps < 1:
                await asyncio.sleep(0.01)
            assert 'ledger_errors_total{operation="sweep"} 2' in executor.metrics.render()

    asyncio.run(main())


class Overtaken(MemoryLedger):
    """A ledger in which another process finishes the call while the tool runs."""

    def __init__(self, other: Outcome | None) -> None:
        super().__init__()
        self.other = other

    async def finish(self, claim: Claim, outcome: Outcome) -> Literal["recorded", "fenced"]:
        if self.other is not None:
            await super().finish(claim, self.other)
        return "fenced"


@pytest.mark.parametrize(("other", "state"), [(Outcome("theirs"), "done"), (None, "running")])
def test_a_fenced_call_returns_the_result_of_its_successor(
    other: Outcome | None, state: str
) -> None:
    async def main() -> None:
        async with ToolExecutor(Overtaken(other), wait=0.05) as executor:
            answer = await executor.execute(tool_call(runnable(CountingBody())))
        assert (answer.state, answer.outcome, answer.replayed) == (state, other, other is not None)

    asyncio.run(main())


# --- transactions ---------------------------------------------------------------------------------


class Connection:
    def __init__(self) -> None:
        self.written: list[str] = []

    async def execute(self, query: str, params: object = None) -> object:
        self.written.append(query)
        return None


class Scope:
    """A transaction: effects are kept together with the record, or not at all."""

    def __init__(self, ledger: Transactional, claim: Claim) -> None:
        self.ledger, self.claim = ledger, claim
        self._connection = Connection()
        self.outcome: Outcome | None = None

    @property
    def connection(self) -> Transaction:
        return self._connection

    async def finish(self, outcome: Outcome) -> Literal["recorded", "fenced"]:
        self.outcome = outcome
        return self.ledger.says

    async def __aenter__(self) -> Scope:
        if self.ledger.breaks == "begin":
            raise LedgerUnavailable("cannot begin")
        return self

    async def __aexit__(self, *exc: object) -> bool | None:
        if exc[0] is None and self.outcome is not None:
            if self.ledger.breaks == "commit":
                raise LedgerUnavailable("cannot commit")
            self.ledger.effects += self._connection.written
            await self.ledger.finish(self.claim, self.outcome)
            if self.ledger.breaks == "answer":
                raise LedgerUnavailable("committed, and the answer was lost")
        return None


class Transactional(MemoryLedger):
    def __init__(self, breaks: str = "", says: Literal["recorded", "fenced"] = "recorded") -> None:
        super().__init__()
        self.breaks, self.says = breaks, says
        self.effects: list[str] = []

    def transaction(self, claim: Claim) -> Scope:
        return Scope(self, claim)


@pytest.mark.parametrize(
    ("breaks", "error", "state", "effects", "then"),
    [
        ("", None, "done", 1, "replayed"),
        ("", ToolError("no"), "failed", 0, "replayed"),
        ("", NoEffect("no"), "failed", 0, "runs"),
        ("", RetryableToolError("no"), "failed", 0, "runs"),
        ("", RuntimeError("no"), "failed", 0, "replayed"),
        ("begin", None, "unavailable", 0, "runs"),
        ("commit", None, "unavailable", 0, "runs"),
        ("answer", None, "done", 1, "replayed"),
    ],
)
def test_in_a_transaction_effect_and_record_stand_or_fall_together(
    breaks: str, error: Exception | None, state: str, effects: int, then: str
) -> None:
    async def main() -> None:
        runs = 0

        async def body(arguments: Mapping[str, object], context: ToolContext) -> object:
            nonlocal runs
            runs += 1
            assert context.transaction is not None
            await context.transaction.execute("INSERT")
            if error is not None:
                raise error
            return 1

        ledger = Transactional(breaks)
        tool = runnable(body, on_crash="transactional")
        async with ToolExecutor(ledger) as executor:
            executor.check_tools([tool])
            assert (await executor.execute(tool_call(tool))).state == state
            assert len(ledger.effects) == effects
            ledger.breaks = ""
            before = runs
            again = await executor.execute(tool_call(tool))
            assert again.replayed == (then == "replayed")
            assert runs - before == (then == "runs")

    asyncio.run(main())


def test_a_fenced_transaction_writes_nothing() -> None:
    async def main() -> None:
        ledger = Transactional(says="fenced")

        async def body(arguments: Mapping[str, object], context: ToolContext) -> object:
            assert context.transaction is not None
            await context.transaction.execute("INSERT")
            return 1

        async with ToolExecutor(ledger, wait=0.02) as executor:
            answer = await executor.execute(tool_call(runnable(body, on_crash="transactional")))
        assert (answer.state, ledger.effects) == ("running", [])

    asyncio.run(main())


def test_tools_that_cannot_be_run_as_they_want_are_refused_at_the_start() -> None:
    executor = ToolExecutor()
    executor.check_tools(
        [runnable(CountingBody()), runnable(CountingBody(), on_crash="probe", probe=knows)]
    )
    with pytest.raises(
        ToolDefinitionError, match=r"Test\.Tool@1\.0\.0: .*MemoryLedger has no transactions"
    ):
        executor.check_tools([runnable(CountingBody(), on_crash="transactional")])
    with pytest.raises(ToolDefinitionError, match="no probe"):
        executor.check_tools([runnable(CountingBody(), on_crash="probe")])


# --- another runner -------------------------------------------------------------------------------


class RemoteRunner:
    """A runner in another process, which gets the input before it is decoded."""

    def __init__(self, end: Outcome | Exception) -> None:
        self.end = end
        self.seen: list[tuple[Claim, Object]] = []

    async def run(
        self, claim: Claim, tool: Runnable, arguments: Object, context: ToolContext
    ) -> Outcome:
        self.seen.append((claim, arguments))
        if isinstance(self.end, Exception):
            raise self.end
        return self.end


@pytest.mark.parametrize(
    "ledger", [MemoryLedger, Transactional], ids=["without transactions", "with transactions"]
)
def test_a_transactional_tool_is_refused_because_of_the_engine_whatever_the_ledger(
    ledger: Callable[[], MemoryLedger],
) -> None:
    with pytest.raises(
        ToolDefinitionError,
        match=(
            r"Test\.Tool@1\.0\.0: .*an engine \(RemoteRunner\) runs it outside the ledger's transactions$"
        ),
    ):
        ToolExecutor(ledger(), runner=RemoteRunner(Outcome(1))).check_tools(
            [runnable(CountingBody(), on_crash="transactional")]
        )


@pytest.mark.parametrize(
    ("end", "state", "replayed"),
    [
        (Outcome(5), "done", True),
        (NoEffect("no"), "failed", False),
        (OSError("engine down"), "failed", True),
    ],
    ids=["outcome", "no effect", "broken"],
)
def test_bodies_may_run_on_an_engine(end: Outcome | Exception, state: str, replayed: bool) -> None:
    async def main() -> None:
        engine = RemoteRunner(end)
        async with ToolExecutor(runner=engine) as executor:
            answer = await executor.execute(tool_call(runnable(CountingBody()), "c1", {"a": 1}))
            assert answer.state == state
            assert engine.seen[0][1] == {"a": 1} and engine.seen[0][0].attempt == 1
            assert (
                await executor.execute(tool_call(runnable(CountingBody()), "c1", {"a": 1}))
            ).replayed == replayed

    asyncio.run(main())
