"""Run one call of a model: ask for approval, execute the tool, make the result.

Every call gets a result, whatever its tool does. The key of a call survives restarts, so that the
ledger recognizes the call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from inspect import isawaitable
from time import perf_counter

from msgspec import Struct

from toolwire.agent.approvals import Allow, Approve, Decision, Deny, Edit
from toolwire.agent.commands import RunTool
from toolwire.agent.events import Limits, ToolFinished, ToolStarted
from toolwire.agent.tool_results import (
    arguments_of,
    error_result,
    result_of,
    shorten,
    unknown_tool_result,
)
from toolwire.agent.toolset import Toolset
from toolwire.conversation.parts import Result
from toolwire.execution.call_key import key_of
from toolwire.execution.errors import MissingRequirements
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.base import LedgerUnavailable
from toolwire.execution.ledger.memory import MemoryLedger
from toolwire.execution.log_redaction import redacting_logger
from toolwire.execution.tool_call import ToolCall
from toolwire.tools.errors import InvalidInput
from toolwire.tools.runnable import Runnable

logger = redacting_logger("toolwire.agent")
PRINCIPAL = "agent"
"""The owner of the calls in the ledger."""


class _CallOutcome(Struct, frozen=True):
    """The result of a call, and the state that is reported."""

    result: Result
    state: str
    replayed: bool = False


class ToolCaller:
    """Runs the calls of one run of an agent.

    Args:
        tools: The tools of the agent.
        executor: Runs the tools and records the calls.
        limits: How many calls run at once, and for how long.
        approve: Decides about each call.
        user_id: The user on whose behalf tools run.
        tokens: Tokens that tools may get.
        secrets: Secrets that tools may get.
        may_have_run: True if open calls may have run in a process whose records are lost.
        report: Gets `ToolStarted` and `ToolFinished`.
    """

    def __init__(
        self,
        tools: Toolset,
        executor: ToolExecutor,
        *,
        limits: Limits,
        approve: Approve | None,
        user_id: str | None,
        tokens: Mapping[str, str],
        secrets: Mapping[str, str],
        may_have_run: bool,
        report: Callable[[ToolStarted | ToolFinished], None],
    ) -> None:
        self._tools = tools
        self._executor = executor
        self._limits = limits
        self._approve = approve
        self._user_id = user_id
        self._tokens = tokens
        self._secrets = secrets
        self._records_lost = may_have_run and isinstance(executor.ledger, MemoryLedger)
        self._report = report
        self._slots = asyncio.Semaphore(max(1, limits.parallel))

    async def run(self, command: RunTool) -> Result | Edit:
        """Return the result of a call; an Edit if the user changed its arguments before it ran."""
        call, start = command.call, perf_counter()
        try:
            tool = self._tools.find(call.name)
            decision = await self._decide(command, tool)
            if isinstance(decision, Edit):
                return decision
            async with self._slots:
                start = perf_counter()
                if isinstance(decision, Deny):
                    outcome = _CallOutcome(error_result(call, decision.reason), "denied")
                elif tool is None:
                    result = unknown_tool_result(call, self._tools.names)
                    outcome = _CallOutcome(result, "unknown-tool")
                else:
                    self._report(ToolStarted(command.number, call))
                    outcome = await self._execute(command, tool)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            outcome = _CallOutcome(error_result(call, "the call was cancelled"), "failed")
        except Exception as error:
            logger.error("the call of %s could not be run", call.name, exc_info=error)
            why = f"the call could not be run: {type(error).__name__}"
            outcome = _CallOutcome(error_result(call, why), "failed")
        finished = ToolFinished(
            command.number,
            call,
            outcome.result,
            seconds=perf_counter() - start,
            state=outcome.state,
            replayed=outcome.replayed,
        )
        self._report(finished)
        return outcome.result

    async def _decide(self, command: RunTool, tool: Runnable | None) -> Decision:
        """Return the decision about a call; ask `approve` unless the call was decided before."""
        if self._approve is None or tool is None or command.edited:
            return Allow()
        if command.resumed and await self._is_recorded(command):
            return Allow()  # it was approved, and has started
        answer = self._approve(command.call, tool)
        decision = await answer if isawaitable(answer) else answer
        if isinstance(decision, Allow | Deny | Edit):
            return decision
        logger.error(
            "approve returned %r for a call of %s, which was not run; return Allow(), Deny(...) or"
            " Edit(...)",
            decision,
            command.call.name,
        )
        return Deny("the call was not approved")

    async def _is_recorded(self, command: RunTool) -> bool:
        key = key_of(PRINCIPAL, self._user_id, command.key)
        try:
            return await self._executor.ledger.get(key) is not None
        except LedgerUnavailable:
            return False

    async def _execute(self, command: RunTool, tool: Runnable) -> _CallOutcome:
        call = command.call
        arguments = arguments_of(call)
        if arguments is None:
            result = error_result(call, "the arguments are not a JSON object")
            return _CallOutcome(result, "bad-arguments")
        repeatable = tool.read_only or tool.idempotent or tool.on_crash == "retry"
        unsafe = command.resumed and self._records_lost and not repeatable
        if unsafe and not await self._is_recorded(command):
            why = "it is not known whether this call ran before the interruption"
            return _CallOutcome(error_result(call, why), "lost")
        request = ToolCall(
            tool=tool,
            input=arguments,
            call_id=command.key,
            principal=PRINCIPAL,
            user_id=self._user_id,
            tokens=self._tokens,
            secrets=self._secrets,
        )
        try:
            answer = await asyncio.wait_for(
                self._executor.execute(request), self._limits.tool_seconds
            )
        except InvalidInput as error:
            result = error_result(call, f"the arguments do not match the schema: {error}")
            return _CallOutcome(result, "bad-arguments")
        except MissingRequirements as error:
            return _CallOutcome(error_result(call, str(error)), "missing-requirements")
        except TimeoutError:
            result = error_result(call, "the tool took too long; it may still be running")
            return _CallOutcome(result, "timeout")
        result = shorten(call, result_of(call, answer), self._limits.result_chars)
        return _CallOutcome(result, answer.state, answer.replayed)
