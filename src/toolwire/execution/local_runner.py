"""Run tools in this process: async functions in the event loop, others in threads.

The number of concurrent runs is limited per tool and for all threads together. A thread that hangs
keeps its slot, so that one hanging tool does not block the others. Every exception of a tool
becomes a failure.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from contextvars import copy_context
from time import perf_counter
from types import CoroutineType

from toolwire.conversation.json import JSON, Object
from toolwire.execution.eager_await import finish_await
from toolwire.execution.failures import (
    ExecutorBusy,
    failure_from,
    invalid_result_failure,
    timeout_failure,
    unwrap_group,
)
from toolwire.execution.ledger.base import Claim, Outcome
from toolwire.execution.log_redaction import redacting_logger
from toolwire.execution.thread_pool import ThreadPool
from toolwire.tools.errors import NoEffect, ToolError
from toolwire.tools.runnable import Body, Runnable, ToolContext, ToolId

logger = redacting_logger("toolwire.execution")


class LocalRunner:
    """Runs tools in this process.

    Args:
        threads: how many sync tools may run at once.
        per_tool: how many of them may be of one tool. A tool can ask for fewer (`concurrency`).
        slot_timeout: seconds to wait for a free slot before a call fails as busy.
    """

    def __init__(
        self, *, threads: int = 64, per_tool: int = 16, slot_timeout: float = 10.0
    ) -> None:
        self._per_tool = min(per_tool, threads)
        self._slot_timeout = slot_timeout
        self._threads = ThreadPool()
        self._thread_slots = asyncio.Semaphore(threads)
        self._tool_slots: dict[ToolId, asyncio.Semaphore] = {}

    async def run(
        self, claim: Claim, tool: Runnable, arguments: Object, context: ToolContext
    ) -> Outcome:
        """Validate the arguments and run the tool (see `Runner.run`)."""
        slot = await self.acquire_slot(tool)
        return await slot.run(tool.decode_arguments(arguments), context)

    def slot_without_limit(self, tool: Runnable) -> RunSlot | None:
        """A slot for an async tool without a concurrency limit; None for any other tool."""
        return RunSlot(self, tool, ()) if tool.is_async and tool.concurrency is None else None

    async def acquire_slot(self, tool: Runnable) -> RunSlot:
        """Wait for a slot for one run. Use it or release it.

        Raises:
            ExecutorBusy: no slot became free within `slot_timeout`.
        """
        if (unlimited := self.slot_without_limit(tool)) is not None:
            return unlimited
        needed = [self._slots_of(tool)]
        if not tool.is_async:
            needed.append(self._thread_slots)
        acquired: list[asyncio.Semaphore] = []
        try:
            for semaphore in needed:
                await self._acquire(semaphore)
                acquired.append(semaphore)
        except TimeoutError:
            raise ExecutorBusy(
                f"no free slot for {tool.id} within {self._slot_timeout:g} s"
            ) from None
        finally:
            if len(acquired) < len(needed):
                for semaphore in acquired:
                    semaphore.release()
        return RunSlot(self, tool, tuple(acquired))

    def _slots_of(self, tool: Runnable) -> asyncio.Semaphore:
        semaphore = self._tool_slots.get(tool.id)
        if semaphore is None:
            limit = tool.concurrency or self._per_tool
            if not tool.is_async:
                limit = min(limit, self._per_tool)
            semaphore = self._tool_slots[tool.id] = asyncio.Semaphore(limit)
        return semaphore

    async def _acquire(self, semaphore: asyncio.Semaphore) -> None:
        if not semaphore.locked():
            await semaphore.acquire()
            return
        async with asyncio.timeout(self._slot_timeout):
            await semaphore.acquire()

    def start_thread(self, job: Callable[[], None]) -> None:
        """Run a job in a thread. The caller holds a slot for it."""
        self._threads.start(job)


class RunSlot:
    """A slot for one run.

    It is released when the tool has really ended: for a thread, that may be long after its timeout.
    """

    __slots__ = ("_runner", "_semaphores", "tool")

    def __init__(
        self, runner: LocalRunner, tool: Runnable, semaphores: tuple[asyncio.Semaphore, ...]
    ) -> None:
        self._runner = runner
        self.tool = tool
        self._semaphores = semaphores

    def release(self) -> None:
        """Give the slot back. A second call does nothing."""
        for semaphore in self._semaphores:
            semaphore.release()
        self._semaphores = ()

    async def run(self, arguments: Mapping[str, object], context: ToolContext) -> Outcome:
        """Run the tool and return its outcome.

        Raises:
            NoEffect: the tool promises that nothing happened.
            CancelledError: the task around the run was cancelled.
        """
        tool = self.tool
        started = perf_counter()
        failure = None
        value: JSON = None
        try:
            returned = await self._run_function(tool.body, tool.is_async, arguments, context)
            duration = _milliseconds_since(started)
            try:
                value = tool.encode_result(returned)
            except Exception as error:
                logger.error("%s returned an invalid result", tool.id, exc_info=error)
                failure = invalid_result_failure(str(tool.id), error)
        except _ToolTimeout:
            duration = _milliseconds_since(started)
            failure = timeout_failure(str(tool.id), tool.timeout or 0.0)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # the call is cancelled, not a task inside the tool
            duration = _milliseconds_since(started)
            failure = failure_from(error)
        except BaseException as error:  # SystemExit of a tool must not end the server
            duration = _milliseconds_since(started)
            cause = unwrap_group(error)
            if isinstance(cause, NoEffect):
                raise cause from None
            if not isinstance(cause, ToolError):
                logger.error("%s raised %s", tool.id, type(cause).__name__, exc_info=error)
            failure = failure_from(cause)
        if failure is not None:
            return Outcome(None, failure, duration)
        return Outcome(value, None, duration)

    async def run_probe(
        self, probe: Body, arguments: Mapping[str, object], context: ToolContext
    ) -> object:
        """Run the probe of a tool. Raises the exceptions of the probe, and TimeoutError."""
        is_async = inspect.iscoroutinefunction(probe)
        return await self._run_function(probe, is_async, arguments, context)

    async def _run_function(
        self, function: Body, is_async: bool, arguments: Mapping[str, object], context: ToolContext
    ) -> object:
        if not is_async:
            work = self._run_and_await_in_thread(function, arguments, context)
            return await self._with_timeout(work, self.tool.timeout)
        try:
            started = perf_counter()
            returned = function(arguments, context)
            if not isinstance(returned, (CoroutineType, Awaitable)):
                return returned
            steps = returned.__await__()
            try:
                awaited = next(steps)
            except StopIteration as done:  # it never waited, so no timer could have stopped it
                return done.value
            timeout = self.tool.timeout
            if timeout is not None:
                timeout -= perf_counter() - started
            return await self._with_timeout(finish_await(steps, awaited), timeout)
        finally:
            self.release()

    async def _with_timeout(self, work: Awaitable[object], timeout: float | None) -> object:
        if timeout is None:
            return await work
        try:
            async with asyncio.timeout(timeout) as limit:
                return await work
        except TimeoutError:
            if limit.expired():
                raise _ToolTimeout from None
            raise

    async def _run_and_await_in_thread(
        self, function: Body, arguments: Mapping[str, object], context: ToolContext
    ) -> object:
        returned = await self._run_in_thread(function, arguments, context)
        return await returned if isinstance(returned, Awaitable) else returned

    async def _run_in_thread(
        self, function: Body, arguments: Mapping[str, object], context: ToolContext
    ) -> object:
        """Run a function in a thread, with the context variables of the caller."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[tuple[object, BaseException | None]] = loop.create_future()
        variables = copy_context()

        def finish(value: object, error: BaseException | None) -> None:
            self.release()
            if not done.done():
                done.set_result((value, error))
            else:
                logger.warning("%s ended after its call; the result is discarded", self.tool.id)

        def job() -> None:
            value: object = None
            error: BaseException | None = None
            try:
                value = variables.run(function, arguments, context)
            except BaseException as tool_error:
                error = tool_error
            with suppress(RuntimeError):  # the loop is closed: no caller is left
                loop.call_soon_threadsafe(finish, value, error)

        self._runner.start_thread(job)
        value, error = await done
        if error is not None:
            raise error
        return value


class _ToolTimeout(TimeoutError):
    """The tool exceeded its timeout. A TimeoutError inside the tool is an ordinary failure."""


def _milliseconds_since(started: float) -> float:
    return round((perf_counter() - started) * 1000, 3)
