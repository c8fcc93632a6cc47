"""Run the calls of one response that belong to the gateway's tools."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count
from time import time

from msgspec.structs import replace

from toolwire.agent.tool_results import arguments_of, error_result, result_of, shorten
from toolwire.conversation.parts import Call, Result
from toolwire.execution.errors import MissingRequirements
from toolwire.execution.tool_call import ToolCall, ToolCallResult
from toolwire.gateway.observe.request_record import ToolRun
from toolwire.gateway.tools.call_keys import CallKeys
from toolwire.gateway.tools.gateway_tools import GatewayTools
from toolwire.tools.errors import InvalidInput
from toolwire.tools.runnable import Runnable

MAX_RESULT_LENGTH = 100_000
"""Characters of a result."""


class ToolRuns:
    """Runs the tool calls of one request."""

    def __init__(
        self, tools: GatewayTools, keys: CallKeys, *, client: str, report: Callable[[ToolRun], None]
    ) -> None:
        self._tools = tools
        self._keys = keys
        self._client = client
        self._report = report

    async def run(self, calls: list[tuple[Call, str, Runnable]]) -> list[Result]:
        """The results of calls, given with the name and the tool of each. As many run at the same
        time as the configuration allows."""
        slots = asyncio.Semaphore(self._tools.config.parallel)
        keys = [self._keys.next(name, call.input) for call, name, _ in calls]

        async def run_in_slot(call: Call, tool: Runnable, key: str) -> Result:
            async with slots:
                return await self._run(call, tool, key)

        pairs = zip(calls, keys, strict=True)
        return list(
            await asyncio.gather(*(run_in_slot(call, tool, key) for (call, _, tool), key in pairs))
        )

    async def _run(self, call: Call, tool: Runnable, key: str) -> Result:
        arguments = arguments_of(call)
        replayed = False
        if arguments is None:
            result, state = (
                error_result(call, "the arguments are not a JSON object"),
                "bad-arguments",
            )
        else:
            tool_call = ToolCall(
                tool=tool,
                input=arguments,
                call_id=key,
                principal=f"gateway:{self._client}" if self._client else "gateway",
                user_id=self._client or None,
                secrets={} if tool.remote else self._tools.secrets,
            )
            try:
                seconds = self._tools.config.tool_timeout
                answer = await asyncio.wait_for(self._execute(tool_call), seconds)
                result = shorten(call, result_of(call, answer), MAX_RESULT_LENGTH)
                state, replayed = answer.state, answer.replayed
            except InvalidInput as error:
                result = error_result(call, f"the arguments do not match the schema: {error}")
                state = "bad-arguments"
            except MissingRequirements as error:
                result, state = error_result(call, str(error)), "missing-requirements"
            except TimeoutError:
                result = error_result(call, "the tool timed out; it may still be running")
                state = "timeout"
        self._report(ToolRun(str(tool.id), state, replayed))
        return result

    async def _execute(self, tool_call: ToolCall) -> ToolCallResult:
        """The outcome of a call. A recorded outcome that is older than the idempotency window
        belongs to an earlier request, so the call gets another id. A business key holds for all
        requests."""
        window = self._tools.config.idempotency_window
        for number in count(1):
            answer = await self._tools.executor.execute(tool_call)
            age = time() - (answer.started_at or 0) / 1000
            if answer.replayed_by_key or not answer.replayed:
                return answer
            if answer.started_at is None or age <= window:
                return answer
            base = (tool_call.call_id or "").partition(".")[0]
            tool_call = replace(tool_call, call_id=f"{base}.{number}")
        raise AssertionError
