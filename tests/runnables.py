"""Runnable tools made by hand, for tests of what runs them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from toolwire.conversation.json import JSON, Object
from toolwire.execution.tool_call import ToolCall
from toolwire.tools.errors import InvalidInput
from toolwire.tools.runnable import (
    TIMEOUT,
    Body,
    OnCrash,
    Requirements,
    Runnable,
    ToolContext,
    ToolId,
)

NOTHING = Requirements()


def takes(input: Object) -> Mapping[str, object]:
    """Any arguments but a parameter `bad`."""
    if "bad" in input:
        raise InvalidInput({"bad": "is not a parameter of this tool"})
    return input


def gives(value: object) -> JSON:
    """Plain JSON as it is. Raises ValueError or TypeError for anything else."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("not a JSON number")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [gives(one) for one in value]
    if isinstance(value, dict):
        return {str(name): gives(one) for name, one in value.items()}
    raise TypeError(f"a {type(value).__name__} is not JSON")


def runnable(
    body: Body,
    id: str = "Test.Tool@1.0.0",
    *,
    is_async: bool = True,
    needs: Requirements = NOTHING,
    timeout: float | None = TIMEOUT,
    concurrency: int | None = None,
    on_crash: OnCrash = "report",
    probe: Callable[[Mapping[str, object], ToolContext], object] | None = None,
    read_only: bool = False,
) -> Runnable:
    """A tool that takes any object and gives any JSON."""
    known = ToolId.read(id)
    assert known is not None
    return Runnable(
        id=known,
        description="A tool for tests.",
        input_schema={"type": "object"},
        output_schema={},
        body=body,
        takes=takes,
        gives=gives,
        is_async=is_async,
        needs=needs,
        timeout=timeout,
        concurrency=concurrency,
        on_crash=on_crash,
        probe=probe,
        read_only=read_only,
    )


class Counted:
    """An async body that counts its runs: each gives `[number of the run, arguments]`."""

    def __init__(self) -> None:
        self.runs = 0
        self.contexts: list[ToolContext] = []

    async def __call__(self, arguments: Mapping[str, object], context: ToolContext) -> object:
        self.runs += 1
        self.contexts.append(context)
        return [self.runs, dict(arguments)]


def ask(
    tool: Runnable, call_id: str | None = "c1", input: Object | None = None, *, principal: str = "p"
) -> ToolCall:
    """A call of a tool."""
    return ToolCall(
        tool=tool, input={} if input is None else input, call_id=call_id, principal=principal
    )
