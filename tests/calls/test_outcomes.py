"""Every way in which a tool can end is a result, and no exception of a tool stops the server."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping

import pytest
from rows import rows
from runnables import runnable, tool_call

from toolwire.conversation.json import JSON
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.base import Failure
from toolwire.execution.tool_call import ToolCallResult
from toolwire.tools.errors import NoEffect, RetryableToolError, ToolError
from toolwire.tools.runnable import Runnable, ToolContext


class Mute(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


class Odd:
    """A value that is not JSON."""


def stop() -> None:
    next(iter(()))


def leave() -> None:
    sys.exit(2)


def raising(error: BaseException) -> Callable[[], JSON]:
    def act() -> JSON:
        raise error

    return act


ENDS: dict[str, tuple[Callable[[], object], str, str, str | None]] = {
    # name: (what the tool does, part of the message, part of the developer message, kind)
    "tool error": (
        raising(ToolError("No such city.", developer_message="404", kind="nope")),
        "No such city.",
        "404",
        "nope",
    ),
    "retryable": (raising(RetryableToolError("Later.")), "Later.", "", None),
    "no effect": (raising(NoEffect("Nothing done.")), "Nothing done.", "", None),
    "exception": (
        raising(ValueError("inner detail")),
        "(ValueError)",
        "ValueError (test_outcomes.py:",
        "exception",
    ),
    "mute exception": (raising(Mute()), "(Mute)", "Mute", "exception"),
    "cancelled by itself": (
        raising(asyncio.CancelledError("mine")),
        "(CancelledError)",
        "CancelledError",
        "exception",
    ),
    "keyboard interrupt": (raising(KeyboardInterrupt()), "(KeyboardInterrupt)", "", "exception"),
    "exit": (leave, "(SystemExit)", "SystemExit", "exception"),
    "stop iteration": (stop, "(RuntimeError)", "RuntimeError", "exception"),
    "its own timeout": (
        raising(TimeoutError("upstream")),
        "(TimeoutError)",
        "TimeoutError",
        "exception",
    ),
    "group of one": (
        raising(ExceptionGroup("g", [ExceptionGroup("h", [ToolError("Inner.")])])),
        "Inner.",
        "",
        None,
    ),
    "group": (
        raising(ExceptionGroup("g", [ValueError("inner detail"), KeyError("k")])),
        "(ExceptionGroup)",
        "[ValueError, KeyError]",
        "exception",
    ),
    "base group": (
        raising(BaseExceptionGroup("g", [SystemExit(1), KeyError()])),
        "(BaseExceptionGroup)",
        "",
        "exception",
    ),
    "not JSON": (Odd, "invalid result", "(TypeError)", "bad_result"),
    "not a number": (lambda: {"x": float("nan")}, "invalid result", "(ValueError)", "bad_result"),
}


def failure_of(answer: ToolCallResult) -> Failure:
    assert (
        answer.state == "failed"
        and answer.outcome is not None
        and answer.outcome.failure is not None
    )
    return answer.outcome.failure


def tool_that(act: Callable[[], object], kind: str) -> Runnable:
    async def later(arguments: Mapping[str, object], context: ToolContext) -> object:
        await asyncio.sleep(0)
        return act()

    def now(arguments: Mapping[str, object], context: ToolContext) -> object:
        return act()

    async def late() -> object:
        return act()

    def awaitable(arguments: Mapping[str, object], context: ToolContext) -> object:
        return late()

    bodies = {"async": later, "thread": now, "plain": now, "awaitable": awaitable}
    return runnable(bodies[kind], is_async=kind in ("async", "plain"))


@pytest.mark.parametrize("kind", ["async", "thread", "plain", "awaitable"])
@rows("call_id", ["c1", None])
@rows("name", ENDS)
def test_every_end_of_a_tool_is_a_result(name: str, kind: str, call_id: str | None) -> None:
    act, message, developer_message, kind_of_failure = ENDS[name]

    async def main() -> None:
        async with ToolExecutor() as executor:
            failure = failure_of(await executor.execute(tool_call(tool_that(act, kind), call_id)))
            assert message in failure.message
            assert developer_message in (failure.developer_message or "")
            assert failure.kind == kind_of_failure
            assert failure.can_retry == (name == "retryable")
            assert "inner detail" not in repr(failure)
            fine = await executor.execute(tool_call(tool_that(lambda: 1, kind), "c2"))
            assert fine.outcome is not None and fine.outcome.value == 1

    asyncio.run(main())


def test_every_field_of_a_retryable_error_is_in_the_failure() -> None:
    async def main() -> None:
        error = RetryableToolError(
            "Wait.",
            developer_message="dev",
            additional_prompt_content="try b",
            retry_after_ms=500,
            kind="limit",
            extra={"n": [1]},
        )
        async with ToolExecutor() as executor:
            failure = failure_of(
                await executor.execute(tool_call(tool_that(raising(error), "async")))
            )
        assert failure == Failure("Wait.", "dev", True, 500, "try b", "limit", {"n": [1]})

    asyncio.run(main())


def test_extra_data_that_is_not_json_is_left_out_and_reported() -> None:
    async def main() -> None:
        error = ToolError("No.")
        error.extra = {"n": float("inf")}
        async with ToolExecutor() as executor:
            failure = failure_of(
                await executor.execute(tool_call(tool_that(raising(error), "async")))
            )
        assert failure.extra == {}
        assert "extra" in (failure.developer_message or "")

    asyncio.run(main())


@pytest.mark.parametrize("is_async", [True, False])
def test_a_timeout_is_a_failure_that_is_recorded(is_async: bool) -> None:
    async def main() -> None:
        release = asyncio.Event()
        loop = asyncio.get_running_loop()

        async def slow(arguments: Mapping[str, object], context: ToolContext) -> object:
            return await release.wait()

        def slow_in_thread(arguments: Mapping[str, object], context: ToolContext) -> object:
            return asyncio.run_coroutine_threadsafe(release.wait(), loop).result()

        tool = runnable(slow if is_async else slow_in_thread, is_async=is_async, timeout=0.05)
        async with ToolExecutor() as executor:
            failure = failure_of(await executor.execute(tool_call(tool)))
            again = await executor.execute(tool_call(tool))
            release.set()
            await asyncio.sleep(0.05)
        assert (failure.kind, failure.can_retry) == ("timeout", False)
        assert "may have had its effect" in failure.message
        assert again.replayed and failure_of(again) == failure

    asyncio.run(main())
