"""The path of a call: checked, joined with its like, claimed, run, recorded, answered.

A call with an id runs on when its caller goes away, and whoever comes with the same id gets its
answer. Before anything is looked up it is known that the caller has what the tool needs and that
the input fits. A body begins only after a durable claim. Knows no protocol and no database.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from hmac import compare_digest
from time import perf_counter
from types import TracebackType
from typing import Self

from opentelemetry.trace import Span, TracerProvider

from toolwire.execution.call_ids import uuid7
from toolwire.execution.call_key import fingerprint, key_of
from toolwire.execution.call_runner import CallRunner
from toolwire.execution.failures import busy
from toolwire.execution.in_flight import AGAIN_MS, InFlightCall, shared
from toolwire.execution.ledger.base import CallKey, Ledger, LedgerUnavailable, Runner
from toolwire.execution.ledger.memory import MemoryLedger
from toolwire.execution.metrics import Metrics
from toolwire.execution.redaction import guard_logs, hiding
from toolwire.execution.telemetry import Telemetry, answered, log
from toolwire.execution.tool_call import MissingRequirements, ToolCall, ToolCallResult, missing
from toolwire.tools.errors import InvalidInput, ToolDefinitionError
from toolwire.tools.runnable import Runnable

GRACE = 2.0
"""Seconds that cancelled bodies have to clean up."""


class ToolExecutor:
    """Runs calls once.

    Without a ledger, calls are remembered in memory, for a while. With one, every call is recorded
    in it, also those that came without an id (they get one, and nothing is promised about repeats);
    tools that only read are not, unless `record_reads`. `wait` is how long a duplicate waits for
    the first one, `max_running` how many may be under way at once. `guard_all_logs` keeps secrets
    out of all log records of the process (see `scrub`).
    """

    def __init__(
        self,
        ledger: Ledger | None = None,
        *,
        wait: float = 55.0,
        runner: Runner | None = None,
        max_running: int = 4096,
        record_reads: bool = False,
        sweep_every: float | None = 30.0,
        metrics: Metrics | None = None,
        tracer_provider: TracerProvider | None = None,
        guard_all_logs: bool = True,
    ) -> None:
        self.ledger: Ledger = MemoryLedger() if ledger is None else ledger
        self.wait = wait
        self.metrics = metrics or Metrics()
        self._records_unnamed = ledger is not None
        self._runs = CallRunner(self.ledger, runner, self.metrics, wait)
        self._max_running = max_running
        self._record_reads = record_reads
        self._sweep_every = sweep_every
        self._telemetry = Telemetry(tracer_provider)
        self._live: set[InFlightCall] = set()
        self._flights: dict[CallKey, InFlightCall] = {}
        self._draining = False
        if guard_all_logs:
            guard_logs()

    # --- life -------------------------------------------------------------------------------------

    @property
    def draining(self) -> bool:
        """Whether new calls are refused."""
        return self._draining

    async def open(self) -> None:
        """Open the ledger and keep it swept."""
        await self.ledger.open()
        self._draining = False
        if self._sweep_every is not None:
            self._runs.later(self._runs.sweep(self._sweep_every))

    async def close(self) -> None:
        """Stop what is still under way and close the ledger."""
        await self.drain(0.0)
        await self._runs.close()
        await self.ledger.close()

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

    def fits(self, tools: Iterable[Runnable]) -> None:
        """Raises ToolDefinitionError for a tool that cannot be run as it wants."""
        why = self._runs.untransactional
        for tool in tools:
            if tool.on_crash == "transactional" and why is not None:
                raise ToolDefinitionError(str(tool.id), f"on_crash is transactional, and {why}")
            if tool.on_crash == "probe" and tool.probe is None:
                raise ToolDefinitionError(
                    str(tool.id), "on_crash is probe, and there is no probe to ask"
                )

    async def drain(self, timeout: float = 30.0) -> bool:
        """Take no more calls, wait for those under way, then cancel them. Whether all
        have ended.
        """
        self._draining = True
        if not await self._quiet(timeout):
            for flight in list(self._live):
                flight.stop("the server is stopping")
            await self._quiet(GRACE)
        return not self._live

    async def _quiet(self, timeout: float) -> bool:
        until = perf_counter() + timeout
        while self._live and perf_counter() < until:
            await asyncio.sleep(0.01)
        return not self._live

    # --- one call ---------------------------------------------------------------------------------

    async def call(self, ask: ToolCall) -> ToolCallResult:
        """What became of the call.

        Raises MissingRequirements and InvalidInput; nothing was looked up or recorded then.
        Cancelled, it stops the call only if that has no id by which it could be asked for again.
        """
        tool = ask.tool
        if tool.needs and (lacking := missing(ask)):
            raise MissingRequirements(lacking)
        arguments = tool.takes(ask.input)
        if ask.call_id is None:
            return await self._unnamed(ask, arguments)
        key = key_of(ask.principal, ask.user_id, ask.call_id)
        try:
            fp = fingerprint(self.ledger.key, tool.id, ask.input)
        except LedgerUnavailable:  # it is not open
            return ToolCallResult(state="unavailable", call_id=ask.call_id, retry_after_ms=AGAIN_MS)
        except RecursionError:
            raise InvalidInput({"input": "nested too deeply"}) from None
        flight = self._flights.get(key)
        if flight is not None:
            return await self._join(flight, ask, fp)
        recorded = self._record_reads or not tool.read_only
        flight = InFlightCall(ask, arguments, ask.call_id, key if recorded else None, fp)
        if (refusal := self._refusal(flight)) is not None:
            return refusal
        flight.slot = key
        self._flights[key] = flight
        return await self._start(flight)

    async def _unnamed(self, ask: ToolCall, arguments: Mapping[str, object]) -> ToolCallResult:
        tool = ask.tool
        call_id = uuid7()
        recorded = self._records_unnamed and (self._record_reads or not tool.read_only)
        if not recorded:
            flight = InFlightCall(ask, arguments, call_id, None, b"")
            return self._refusal(flight) or await self._flown(flight)
        key = key_of(ask.principal, ask.user_id, call_id)
        flight = InFlightCall(
            ask, arguments, call_id, key, os.urandom(32)
        )  # no other call has its id, so none is compared with it
        if (refusal := self._refusal(flight)) is not None:
            return refusal
        try:
            return await self._start(flight)
        except asyncio.CancelledError:
            flight.stop("the caller is gone")
            raise

    async def _join(self, flight: InFlightCall, ask: ToolCall, fp: bytes) -> ToolCallResult:
        """The answer of a call that is under way here."""
        if not compare_digest(flight.fp, fp):
            answer = ToolCallResult(state="mismatch", call_id=flight.call_id)
        else:
            assert flight.task is not None
            ended, _ = await asyncio.wait(
                (flight.task,), timeout=self.wait if ask.wait is None else ask.wait
            )
            answer = shared(_result(flight)) if ended else flight.running()
        self.metrics.called(str(ask.tool.id), answer.state, replayed=answer.replayed)
        return answer

    def _refusal(self, flight: InFlightCall) -> ToolCallResult | None:
        if self._draining:
            answer = flight.unavailable()
        elif len(self._live) >= self._max_running:
            answer = flight.refused(busy(f"{self._max_running} calls are under way"))
        else:
            return None
        self.metrics.called(flight.tool, answer.state)
        return answer

    def _start(self, flight: InFlightCall) -> asyncio.Future[ToolCallResult]:
        """Let a call fly in a task of its own, which outlives whoever waits for the answer."""
        loop = asyncio.get_running_loop()
        self._live.add(flight)
        flight.waiter = loop.create_future()
        flight.task = loop.create_task(self._landed(flight, flight.waiter))
        return flight.waiter

    async def _landed(
        self, flight: InFlightCall, waiter: asyncio.Future[ToolCallResult]
    ) -> ToolCallResult:
        try:
            answer = await self._flown(flight)
            if not waiter.done():
                waiter.set_result(answer)
            return answer
        except (
            Exception
        ) as error:  # not of the call, which tells everything by its answer: of whoever watches it
            if not waiter.done():
                waiter.set_exception(error)
            raise
        finally:
            waiter.cancel()  # does nothing if it has its answer
            if flight.slot is not None:
                del self._flights[flight.slot]

    async def _flown(self, flight: InFlightCall) -> ToolCallResult:
        """The answer of a call, told to whoever watches."""
        if flight.task is None:
            flight.task = asyncio.current_task()
            self._live.add(flight)
        self.metrics.in_flight += 1
        tracer = self._telemetry.tracer()
        secrets = flight.secrets
        started = perf_counter()
        try:
            if tracer is None and secrets is None:
                return self._told(flight, await self._runs.answer(flight), started)
            with (
                hiding(secrets),
                (
                    nullcontext()
                    if tracer is None
                    else self._telemetry.call(tracer, flight.ask, flight.call_id, secrets)
                ) as span,
            ):
                return self._told(flight, await self._runs.answer(flight), started, span)
        finally:
            self._live.discard(flight)
            self.metrics.in_flight -= 1

    def _told(
        self, flight: InFlightCall, answer: ToolCallResult, started: float, span: Span | None = None
    ) -> ToolCallResult:
        if span is not None:
            answered(span, answer)
        log(flight.ask, answer, (perf_counter() - started) * 1000, flight.secrets)
        self.metrics.called(flight.tool, answer.state, replayed=answer.replayed)
        return answer


def _result(flight: InFlightCall) -> ToolCallResult:
    """The answer of a flight that has ended; a task that the event loop threw away has none."""
    task = flight.task
    if task is None or task.cancelled() or task.exception() is not None:
        return flight.unavailable()
    answer = task.result()
    assert isinstance(answer, ToolCallResult)
    return answer
