"""Tools and calls for tests of the executor."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from toolwire.conversation.json import JSON, Object
from toolwire.execution.tool_call import ToolCall
from toolwire.tools.errors import InvalidInput
from toolwire.tools.runnable import (
    DEFAULT_TIMEOUT,
    Body,
    OnCrash,
    Requirements,
    Runnable,
    ToolContext,
    ToolId,
)

NOTHING = Requirements()


def decode_arguments(input: Object) -> Mapping[str, object]:
    """Accept any arguments except `bad`."""
    if "bad" in input:
        raise InvalidInput({"bad": "is not a parameter of this tool"})
    return input


def encode_result(value: object) -> JSON:
    """Return JSON as it is. Raises ValueError or TypeError for any other value."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("not a JSON number")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [encode_result(one) for one in value]
    if isinstance(value, dict):
        return {str(name): encode_result(one) for name, one in value.items()}
    raise TypeError(f"a {type(value).__name__} is not JSON")


def runnable(
    body: Body,
    id: str = "Test.Tool@1.0.0",
    *,
    is_async: bool = True,
    needs: Requirements = NOTHING,
    timeout: float | None = DEFAULT_TIMEOUT,
    concurrency: int | None = None,
    on_crash: OnCrash = "report",
    probe: Callable[[Mapping[str, object], ToolContext], object] | None = None,
    read_only: bool = False,
) -> Runnable:
    """A tool that accepts any object and returns any JSON."""
    known = ToolId.read(id)
    assert known is not None
    return Runnable(
        id=known,
        description="A tool for tests.",
        input_schema={"type": "object"},
        output_schema={},
        body=body,
        decode_arguments=decode_arguments,
        encode_result=encode_result,
        is_async=is_async,
        needs=needs,
        timeout=timeout,
        concurrency=concurrency,
        on_crash=on_crash,
        probe=probe,
        read_only=read_only,
    )


class CountingBody:
    """An async function that counts its runs and returns `[number of the run, arguments]`."""

    def __init__(self) -> None:
        self.runs = 0
        self.contexts: list[ToolContext] = []

    async def __call__(self, arguments: Mapping[str, object], context: ToolContext) -> object:
        self.runs += 1
        self.contexts.append(context)
        return [self.runs, dict(arguments)]


def tool_call(
    tool: Runnable, call_id: str | None = "c1", input: Object | None = None, *, principal: str = "p"
) -> ToolCall:
    """A call of a tool."""
    return ToolCall(
        tool=tool, input={} if input is None else input, call_id=call_id, principal=principal
    )
