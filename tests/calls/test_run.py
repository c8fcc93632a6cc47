"""`ToolExecutor.run`: any kind of tool, by its function or by its name."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Annotated

import pytest

from toolwire.errors import UsageError
from toolwire.execution import ExecutorClosed, SqliteLedger, ToolExecutor
from toolwire.tools import InvalidInput, ToolContext, ToolDefinitionError, UnknownTool, tool

Door = Annotated[str, "Which one."]


def ring_plain(doorbell_id: Door) -> str:
    """Ring a doorbell."""
    return f"rang {doorbell_id}"


@tool(id="Doorbell.Ring@1.0.0")
async def ring(doorbell_id: Door) -> str:
    """Ring a doorbell."""
    return f"rang {doorbell_id}"


@pytest.mark.parametrize(
    "any_tool",
    [ring, ring.runnable, ring_plain, "Doorbell.Ring", "Doorbell.Ring@1", "Doorbell_Ring"],
    ids=["decorated", "runnable", "function", "id", "version", "name for models"],
)
def test_run_accepts_every_kind_of_tool_and_runs_a_call_id_once(any_tool: object) -> None:
    async def main() -> None:
        async with ToolExecutor(tools=[ring]) as executor:
            first = await executor.run(any_tool, {"doorbell_id": "front"}, call_id="c1")  # type: ignore[arg-type]
            again = await executor.run(any_tool, {"doorbell_id": "front"}, call_id="c1")  # type: ignore[arg-type]
        assert (first.state, first.value, first.replayed) == ("done", "rang front", False)
        assert (again.state, again.value, again.replayed) == ("done", "rang front", True)

    asyncio.run(main())


@pytest.mark.parametrize("name", ["Doorbell.Rin", "doorbell_ring", "Ring", "DoorBell.Ring"])
def test_an_unknown_name_gets_a_suggestion(name: str) -> None:
    executor = ToolExecutor(tools=ring)
    with pytest.raises(UnknownTool, match=r"did you mean Doorbell\.Ring\?"):
        executor.run_sync(name)


def test_run_sync_remembers_calls_across_event_loops(tmp_path: Path) -> None:
    executor = ToolExecutor(SqliteLedger(tmp_path / "calls.db"))
    first = executor.run_sync(ring, {"doorbell_id": "front"}, call_id="c1")
    again = executor.run_sync(ring, {"doorbell_id": "front"}, call_id="c1")
    assert (first.replayed, again.replayed, again.value) == (False, True, "rang front")


def test_a_failure_is_in_the_result_and_bad_input_is_an_exception() -> None:
    def fail(doorbell_id: Door) -> str:
        """Fail."""
        raise ValueError("inner detail")

    executor = ToolExecutor()
    result = executor.run_sync(fail, {"doorbell_id": "front"})
    assert (result.state, result.value) == ("failed", None)
    assert result.failure is not None and result.failure.kind == "exception"
    with pytest.raises(InvalidInput, match="doorbell_id: is missing"):
        executor.run_sync(ring)


def test_a_transactional_tool_needs_a_ledger_with_transactions() -> None:
    @tool(id="A.B@1.0.0", on_crash="transactional")
    async def write(context: ToolContext) -> None:
        """Write something."""

    with pytest.raises(ToolDefinitionError, match="MemoryLedger has no transactions"):
        ToolExecutor().run_sync(write)


def test_a_closed_executor_can_be_opened_again() -> None:
    async def main() -> str:
        executor = ToolExecutor()
        await executor.close()
        with pytest.raises(ExecutorClosed, match=r"call open\(\), or create a new one"):
            await executor.run(ring, {"doorbell_id": "front"})
        await executor.open()
        return (await executor.run(ring, {"doorbell_id": "front"})).state

    assert asyncio.run(main()) == "done"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((None, {}), "expected a tool, a function or the name of a tool, got NoneType"),
        (
            (ring, '{"doorbell_id": "front"}'),
            "expected the input of a tool as a dict of its arguments, got str",
        ),
        ((ring, [1]), "expected the input of a tool as a dict of its arguments, got list"),
        ((ring, {"doorbell_id": "front"}, ""), "a call id must be a non-empty string, not ''"),
        ((ring, {"doorbell_id": "front"}, 5), "a call id must be a non-empty string, not 5"),
    ],
)
def test_a_wrong_argument_says_what_is_expected(arguments: tuple[object, ...], says: str) -> None:
    what, given, call_id = (*arguments, None)[:3]
    with pytest.raises(UsageError, match=f"^{re.escape(says)}$"):
        ToolExecutor().run_sync(what, given, call_id=call_id)  # type: ignore[arg-type]


def test_in_an_event_loop_the_tool_is_awaited() -> None:
    async def main() -> None:
        with pytest.raises(UsageError, match=r"use `await executor\.run\(\.\.\.\)`$"):
            ToolExecutor().run_sync(ring, {"doorbell_id": "front"})

    asyncio.run(main())
