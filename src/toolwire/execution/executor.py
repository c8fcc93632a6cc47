"""Run tool calls so that a repeated call id runs its tool once.

    executor = ToolExecutor(SqliteLedger("calls.db"))
    result = await executor.run(ring, {"doorbell_id": "front"}, call_id="c1")
    result.state, result.value

A call with an id continues when its caller disconnects, and a repetition with the same id gets its
result. The executor checks requirements and input before it uses the ledger, and a tool starts only
after a durable claim.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from hmac import compare_digest
from time import perf_counter
from types import TracebackType
from typing import Self, TypeAlias
from weakref import WeakKeyDictionary

from opentelemetry.trace import Span, TracerProvider

from toolwire.conversation.json import JSON, Object
from toolwire.errors import UsageError, require_text, require_type
from toolwire.execution.call_ids import uuid7
from toolwire.execution.call_key import BusinessKey, business_key, fingerprint, key_of, tenant
from toolwire.execution.call_metrics import CallMetrics
from toolwire.execution.call_runner import CallRunner
from toolwire.execution.errors import ExecutorClosed, MissingRequirements
from toolwire.execution.failures import busy_failure
from toolwire.execution.in_flight import InFlightCall, as_replay
from toolwire.execution.ledger.base import CallKey, Ledger, Runner
from toolwire.execution.ledger.memory import MemoryLedger
from toolwire.execution.log_redaction import redact_logs, redacting_logger
from toolwire.execution.sync import run_in_new_loop
from toolwire.execution.telemetry import Telemetry, log_result, set_result_attributes
from toolwire.execution.tool_call import ToolCall, ToolCallResult, missing_requirements
from toolwire.tools.errors import InvalidInput, ToolDefinitionError
from toolwire.tools.function import Function, runnable
from toolwire.tools.registry import Tools, ToolSource
from toolwire.tools.runnable import Runnable

logger = redacting_logger("toolwire.execution")
CLEANUP_SECONDS = 2.0
"""Seconds that cancelled tools have to clean up."""
AnyTool: TypeAlias = Runnable | Function[..., object] | Callable[..., object] | str
"""A tool: made by `@tool`, a plain function, or the name or id of a tool in `tools`."""


class ToolExecutor:
    """Runs tool calls, at most once per call id.

    The executor opens itself on first use. Close it with `close()`, or use `async with`.

    Args:
        ledger: where calls are recorded. By default, calls are recorded in memory, for a while.
            With a ledger, calls without an id are also recorded, under a generated id.
        tools: tools that `run` finds by name.
        wait: seconds that a repetition waits for the call in progress.
        runner: where tools run; by default in this process.
        max_running: how many calls may be in progress; further ones fail as busy.
        record_reads: also record calls of tools with `read_only`.
        sweep_interval: seconds between two sweeps of the ledger; None for no sweeps.
        metrics: where calls are counted.
        tracer_provider: OpenTelemetry provider; by default that of the process.
    """

    def __init__(
        self,
        ledger: Ledger | None = None,
        *,
        tools: ToolSource | Iterable[ToolSource] = (),
        wait: float = 55.0,
        runner: Runner | None = None,
        max_running: int = 4096,
        record_reads: bool = False,
        sweep_interval: float | None = 30.0,
        metrics: CallMetrics | None = None,
        tracer_provider: TracerProvider | None = None,
    ) -> None:
        if ledger is not None and not hasattr(ledger, "claim"):
            got = type(ledger).__name__
            raise UsageError(f"expected a ledger, such as SqliteLedger(path), got {got}")
        self.ledger: Ledger = MemoryLedger() if ledger is None else ledger
        self.wait = wait
        self.metrics = metrics or CallMetrics()
        self._tools = Tools.of(tools)
        self._functions: WeakKeyDictionary[Callable[..., object], Runnable] = WeakKeyDictionary()
        self._record_calls_without_id = ledger is not None
        self._runner = CallRunner(self.ledger, runner, self.metrics, wait=wait)
        self._max_running = max_running
        self._record_reads = record_reads
        self._sweep_interval = sweep_interval
        self._telemetry = Telemetry(tracer_provider)
        self._in_progress: set[InFlightCall] = set()
        self._by_key: dict[CallKey, InFlightCall] = {}
        self._is_open = False
        self._is_closed = False
        self._draining = False
        self._opening = asyncio.Lock()

    # --- open and close ---------------------------------------------------------------------------

    @property
    def draining(self) -> bool:
        """True if the executor accepts no new calls."""
        return self._draining

    async def open(self) -> None:
        """Open the ledger and start its sweeps. A second call does nothing."""
        async with self._opening:
            self._draining = False
            if self._is_open:
                return
            await self.ledger.open()
            self._is_open = True
            self._is_closed = False
            if self._sweep_interval is not None:
                claims = self._runner.claims
                claims.start_background(claims.sweep(self._sweep_interval))

    async def close(self) -> None:
        """Stop the calls in progress and close the ledger."""
        await self.drain(0.0)
        await self._runner.claims.close()
        await self.ledger.close()
        self._is_open = False
        self._is_closed = True

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def check_tools(self, tools: Iterable[Runnable]) -> None:
        """Raise ToolDefinitionError for a tool whose crash policy this executor cannot honour."""
        obstacle = self._runner.transaction_obstacle
        for tool in tools:
            if tool.on_crash == "transactional" and obstacle is not None:
                raise ToolDefinitionError(
                    str(tool.id), f"on_crash is transactional, but {obstacle}"
                )
            if tool.on_crash == "probe" and tool.probe is None:
                raise ToolDefinitionError(
                    str(tool.id), "on_crash is probe, but the tool has no probe"
                )

    async def drain(self, timeout: float = 30.0) -> bool:
        """Reject new calls, wait for the calls in progress, then cancel them.

        Returns True if all calls have ended.
        """
        self._draining = True
        if not await self._wait_until_idle(timeout):
            for call in list(self._in_progress):
                call.stop("the server is stopping")
            await self._wait_until_idle(CLEANUP_SECONDS)
        return not self._in_progress

    async def _wait_until_idle(self, timeout: float) -> bool:
        deadline = perf_counter() + timeout
        while self._in_progress and perf_counter() < deadline:
            await asyncio.sleep(0.01)
        return not self._in_progress

    # --- run a call -------------------------------------------------------------------------------

    async def run(
        self,
        tool: AnyTool,
        input: Mapping[str, JSON] | None = None,
        *,
        call_id: str | None = None,
        principal: str = "",
        user_id: str | None = None,
        tokens: Mapping[str, str] | None = None,
        secrets: Mapping[str, str] | None = None,
        trace_id: str | None = None,
        wait: float | None = None,
    ) -> ToolCallResult:
        """Run a tool.

        Args:
            tool: a tool made by `@tool`, a plain function, or a name in `tools`.
            input: the arguments by name.
            call_id: the idempotency key. A repetition gets the recorded result.
            principal: the authenticated caller; call ids of different callers are independent.
            user_id: the user on whose behalf the tool runs.
            tokens: tokens by authorization id; the tool gets those that it declares.
            secrets: secrets by id; the tool gets those that it declares.
            trace_id: the caller's trace id.
            wait: seconds to wait if the call is already in progress.

        Raises:
            UsageError: the call id is empty, or the input is not a dict.
            UnknownTool: `tools` has no tool of this name.
            InvalidInput: the input does not match the input schema.
            MissingRequirements: the tool needs more tokens, secrets or a user id.
            ToolDefinitionError: the function is not a valid tool.
            ExecutorClosed: the executor was closed.
        """
        if call_id is not None:
            require_text(call_id, "a call id")
        found = self._find(tool)
        if found.on_crash in ("transactional", "probe"):
            self.check_tools((found,))
        return await self.execute(
            ToolCall(
                tool=found,
                input=_as_object(input),
                call_id=call_id,
                principal=principal,
                user_id=user_id,
                tokens=tokens or {},
                secrets=secrets or {},
                trace_id=trace_id,
                wait=wait,
            )
        )

    def run_sync(
        self, tool: AnyTool, input: Mapping[str, JSON] | None = None, *, call_id: str | None = None
    ) -> ToolCallResult:
        """Run a tool like `run`, without an event loop. Opens and closes the ledger each time.

        Raises:
            UsageError: An event loop runs in this thread.
        """

        async def main() -> ToolCallResult:
            async with self:
                return await self.run(tool, input, call_id=call_id)

        return run_in_new_loop(main, instead="executor.run(...)")

    def _find(self, tool: AnyTool) -> Runnable:
        if isinstance(tool, Runnable):
            return tool
        if isinstance(tool, Function):
            return tool.runnable
        if isinstance(tool, str):
            return self._tools.find(tool)
        if not callable(tool):
            got = type(tool).__name__
            raise UsageError(f"expected a tool, a function or the name of a tool, got {got}")
        found = self._functions.get(tool)
        if found is None:
            found = self._functions[tool] = runnable(tool, {}, stacklevel=4)
        return found

    async def execute(self, request: ToolCall) -> ToolCallResult:
        """Run a call.

        If the caller is cancelled, a call with an id continues; a call without one is stopped.

        Raises:
            MissingRequirements: the tool needs a token, a secret or a user id that the call
                does not have. Nothing was recorded.
            InvalidInput: the input does not match the input schema. Nothing was recorded.
            ExecutorClosed: the executor was closed.
        """
        if not self._is_open:
            await self._open_on_first_use()
        tool = request.tool
        if tool.needs and (missing := missing_requirements(request)):
            raise MissingRequirements(missing)
        arguments = tool.decode_arguments(request.input)
        if request.call_id is None:
            return await self._execute_without_id(request, arguments)
        key = key_of(request.principal, request.user_id, request.call_id)
        try:
            digest = fingerprint(self.ledger.key, tool.id, request.input)
        except RecursionError:
            raise InvalidInput({"input": "nested too deeply"}) from None
        running = self._by_key.get(key)
        if running is not None:
            return await self._join(running, request, digest)
        recorded = self._record_reads or not tool.read_only
        call = InFlightCall(
            request,
            arguments,
            call_id=request.call_id,
            key=key if recorded else None,
            fingerprint=digest,
            business=self._business_key(request, arguments) if recorded else None,
        )
        if (rejection := self._rejection(call)) is not None:
            return rejection
        call.registered_key = key
        self._by_key[key] = call
        return await self._start(call)

    async def _open_on_first_use(self) -> None:
        if self._is_closed:
            raise ExecutorClosed("this ToolExecutor is closed: call open(), or create a new one")
        await self.open()

    async def _execute_without_id(
        self, request: ToolCall, arguments: Mapping[str, object]
    ) -> ToolCallResult:
        call_id = uuid7()
        recorded = self._record_reads or not request.tool.read_only
        business = self._business_key(request, arguments) if recorded else None
        # The generated id is known to no other call, so a business key needs no record of it
        recorded = recorded and self._record_calls_without_id and business is None
        call = InFlightCall(
            request,
            arguments,
            call_id=call_id,
            key=key_of(request.principal, request.user_id, call_id) if recorded else None,
            fingerprint=os.urandom(32),  # the id is new, so no other call is compared with it
            business=business,
        )
        if (rejection := self._rejection(call)) is not None:
            return rejection
        try:
            return await self._start(call)
        except asyncio.CancelledError:
            call.stop("the caller disconnected")
            raise

    def _business_key(
        self, request: ToolCall, arguments: Mapping[str, object]
    ) -> BusinessKey | None:
        """The business key of a call; None if it has none. Raises InvalidInput."""
        tool = request.tool
        if tool.key is None:
            return None
        try:
            value = tool.key(arguments)
            if value is None:
                return None
            owner = tenant(request.principal, request.user_id)
            return business_key(self.ledger.key, owner, tool.id, value)
        except Exception as error:
            logger.error("the key of %s raised %s", tool.id, type(error).__name__, exc_info=error)
            raise InvalidInput(
                {"input": "the tool cannot compute its business key from this input"}
            ) from error

    async def _join(self, call: InFlightCall, request: ToolCall, digest: bytes) -> ToolCallResult:
        """Wait for the call in progress with the same id."""
        if not compare_digest(call.fingerprint, digest):
            result = ToolCallResult(state="mismatch", call_id=call.call_id)
        else:
            assert call.task is not None
            wait = self.wait if request.wait is None else request.wait
            done, _ = await asyncio.wait((call.task,), timeout=wait)
            result = as_replay(_task_result(call)) if done else call.running()
        self.metrics.count_result(str(request.tool.id), result.state, replayed=result.replayed)
        return result

    def _rejection(self, call: InFlightCall) -> ToolCallResult | None:
        if self._draining:
            result = call.unavailable()
        elif len(self._in_progress) >= self._max_running:
            result = call.rejection(busy_failure(f"{self._max_running} calls are in progress"))
        else:
            return None
        self.metrics.count_result(call.tool_id, result.state)
        return result

    def _start(self, call: InFlightCall) -> asyncio.Future[ToolCallResult]:
        """Start a call in a task, which continues when its caller is cancelled."""
        loop = asyncio.get_running_loop()
        self._in_progress.add(call)
        call.waiter = loop.create_future()
        call.task = loop.create_task(self._run_task(call, call.waiter))
        return call.waiter

    async def _run_task(
        self, call: InFlightCall, waiter: asyncio.Future[ToolCallResult]
    ) -> ToolCallResult:
        try:
            result = await self._run_and_observe(call)
            if not waiter.done():
                waiter.set_result(result)
            return result
        except Exception as error:  # of logging, metrics or tracing: CallRunner raises none
            if not waiter.done():
                waiter.set_exception(error)
            raise
        finally:
            waiter.cancel()  # no effect on a future that is done
            if call.registered_key is not None:
                del self._by_key[call.registered_key]

    async def _run_and_observe(self, call: InFlightCall) -> ToolCallResult:
        """Run a call with its span, log line and metrics."""
        self.metrics.change_in_flight(1)
        tracer = self._telemetry.tracer()
        redactor = call.redactor
        started = perf_counter()
        try:
            if tracer is None and redactor is None:
                return self._report(call, await self._runner.run(call), started)
            span_context = (
                nullcontext()
                if tracer is None
                else self._telemetry.call_span(
                    tracer, call.request, call.call_id, redactor=redactor
                )
            )
            with redact_logs(redactor), span_context as span:
                return self._report(call, await self._runner.run(call), started, span=span)
        finally:
            self._in_progress.discard(call)
            self.metrics.change_in_flight(-1)

    def _report(
        self,
        call: InFlightCall,
        result: ToolCallResult,
        started: float,
        *,
        span: Span | None = None,
    ) -> ToolCallResult:
        if span is not None:
            set_result_attributes(span, result)
        duration_ms = (perf_counter() - started) * 1000
        log_result(call.request, result, duration_ms, redactor=call.redactor)
        self.metrics.count_result(call.tool_id, result.state, replayed=result.replayed)
        return result


def _task_result(call: InFlightCall) -> ToolCallResult:
    """The result of a call that has ended; `unavailable` if its task was cancelled or failed."""
    task = call.task
    if task is None or task.cancelled() or task.exception() is not None:
        return call.unavailable()
    result = task.result()
    assert isinstance(result, ToolCallResult)
    return result


def _as_object(input: Mapping[str, JSON] | None) -> Object:
    """The arguments of a call as a dict of its own."""
    require_type(input, Mapping | None, "the input of a tool as a dict of its arguments")
    return dict(input or {})
