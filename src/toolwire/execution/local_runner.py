"""The bodies of tools, run in this process: async ones in the event loop, the others in threads.

How many run at once is bounded for each tool and for all threads together; a thread that hangs
keeps its place, so one tool that hangs leaves the others alone. Whatever a body raises becomes a
failure; it never gets out of here. Records nothing.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from contextvars import copy_context
from time import perf_counter
from types import CoroutineType

from toolwire.conversation.json import JSON, Object
from toolwire.execution.eager_await import resumed
from toolwire.execution.failures import ExecutorBusy, only, raised, timed_out, unfit
from toolwire.execution.ledger.base import Claim, Outcome
from toolwire.execution.thread_pool import ThreadPool
from toolwire.tools.errors import NoEffect, ToolError
from toolwire.tools.runnable import Body, Runnable, ToolContext, ToolId

logger = logging.getLogger("toolwire.calls")


class LocalRunner:
    """Runs bodies here.

    `threads` is how many functions may block at once, `per_tool` how many of them may be of one
    tool (`concurrency` of a tool may ask for fewer). Who finds no room waits up to `patience`
    seconds and is then told so.
    """

    def __init__(self, *, threads: int = 64, per_tool: int = 16, patience: float = 10.0) -> None:
        self._per_tool = min(per_tool, threads)
        self._patience = patience
        self._threads = ThreadPool()
        self._room = asyncio.Semaphore(threads)
        self._rooms: dict[ToolId, asyncio.Semaphore] = {}

    async def run(
        self, claim: Claim, tool: Runnable, arguments: Object, context: ToolContext
    ) -> Outcome:
        """As every runner; the arguments are converted here."""
        place = await self.admit(tool)
        return await place.run(tool.takes(arguments), context)

    def at_once(self, tool: Runnable) -> CallContext | None:
        """A place for a tool that is not bounded; None for any other."""
        return CallContext(self, tool, ()) if tool.is_async and tool.concurrency is None else None

    async def admit(self, tool: Runnable) -> CallContext:
        """A place for one run: use it, or leave it. Raises Busy."""
        if (free := self.at_once(tool)) is not None:
            return free
        rooms = [self._room_of(tool)]
        if not tool.is_async:
            rooms.append(self._room)
        taken: list[asyncio.Semaphore] = []
        try:
            for room in rooms:
                await self._take(room)
                taken.append(room)
        except TimeoutError:
            raise ExecutorBusy(
                f"no room for another run of {tool.id}, {self._patience:g} s long"
            ) from None
        finally:
            if len(taken) < len(rooms):
                for room in taken:
                    room.release()
        return CallContext(self, tool, tuple(taken))

    def _room_of(self, tool: Runnable) -> asyncio.Semaphore:
        room = self._rooms.get(tool.id)
        if room is None:
            most = tool.concurrency or self._per_tool
            room = self._rooms[tool.id] = asyncio.Semaphore(
                most if tool.is_async else min(most, self._per_tool)
            )
        return room

    async def _take(self, room: asyncio.Semaphore) -> None:
        if not room.locked():
            await room.acquire()
            return
        async with asyncio.timeout(self._patience):
            await room.acquire()

    def start(self, job: Callable[[], None]) -> None:
        """Run a job in a thread. Somebody has made sure that there is room."""
        self._threads.start(job)


class CallContext:
    """Room for one run. It is given back when the body has really ended, which for a thread may be
    long after its timeout."""

    __slots__ = ("_rooms", "_runner", "tool")

    def __init__(
        self, runner: LocalRunner, tool: Runnable, rooms: tuple[asyncio.Semaphore, ...]
    ) -> None:
        self._runner = runner
        self.tool = tool
        self._rooms = rooms

    def leave(self) -> None:
        """Give the room back. Doing it twice is doing it once."""
        for room in self._rooms:
            room.release()
        self._rooms = ()

    async def run(self, arguments: Mapping[str, object], context: ToolContext) -> Outcome:
        """What the body came to. Raises NoEffect, and CancelledError if the task around it is
        cancelled."""
        tool = self.tool
        started = perf_counter()
        failure = None
        value: JSON = None
        try:
            given = await self._timed(tool.body, tool.is_async, arguments, context)
            ms = _since(started)
            try:
                value = tool.gives(given)
            except Exception as error:
                failure = unfit(str(tool.id), error)
        except _TimedOut:
            ms = _since(started)
            failure = timed_out(str(tool.id), tool.timeout or 0.0)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # it is the call that is cancelled, not something inside the tool
            ms = _since(started)
            failure = raised(error)
        except (
            BaseException
        ) as error:  # SystemExit and KeyboardInterrupt of a tool are its own, not the server's
            ms = _since(started)
            one = only(error)
            if isinstance(one, NoEffect):
                raise one from None
            if not isinstance(one, ToolError):
                logger.error("%s raised %s", tool.id, type(one).__name__, exc_info=error)
            failure = raised(one)
        if failure is not None:
            return Outcome(None, failure, ms)
        return Outcome(value, None, ms)

    async def ask(
        self, question: Body, arguments: Mapping[str, object], context: ToolContext
    ) -> object:
        """What a tool's probe says. Raises what it raises, and TimeoutError."""
        return await self._timed(
            question, inspect.iscoroutinefunction(question), arguments, context
        )

    async def _timed(
        self, body: Body, is_async: bool, arguments: Mapping[str, object], context: ToolContext
    ) -> object:
        if not is_async:
            return await self._limited(self._threaded(body, arguments, context), self.tool.timeout)
        try:
            started = perf_counter()
            given = body(arguments, context)
            if not isinstance(given, (CoroutineType, Awaitable)):
                return given
            steps = given.__await__()
            try:
                waits_for = next(steps)
            except StopIteration as ended:  # it has never waited, so no clock could have stopped it
                return ended.value
            timeout = self.tool.timeout
            left = None if timeout is None else timeout - (perf_counter() - started)
            return await self._limited(resumed(steps, waits_for), left)
        finally:
            self.leave()

    async def _limited(self, work: Awaitable[object], timeout: float | None) -> object:
        if timeout is None:
            return await work
        try:
            async with asyncio.timeout(timeout) as limit:
                return await work
        except TimeoutError:
            if limit.expired():
                raise _TimedOut from None
            raise

    async def _threaded(
        self, body: Body, arguments: Mapping[str, object], context: ToolContext
    ) -> object:
        given = await self._in_thread(body, arguments, context)
        return await given if isinstance(given, Awaitable) else given

    async def _in_thread(
        self, body: Body, arguments: Mapping[str, object], context: ToolContext
    ) -> object:
        """What a function gives, run in a thread with the context variables of here."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[tuple[object, BaseException | None]] = loop.create_future()
        variables = copy_context()

        def settle(given: object, error: BaseException | None) -> None:
            self.leave()
            if not answer.done():
                answer.set_result((given, error))
            else:
                logger.warning(
                    "%s ended after its call was answered; what it came to is dropped", self.tool.id
                )

        def job() -> None:
            given, error = None, None
            try:
                given = variables.run(body, arguments, context)
            except BaseException as raised_there:
                error = raised_there
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(settle, given, error)

        self._runner.start(job)
        given, error = await answer
        if error is not None:
            raise error
        return given


class _TimedOut(TimeoutError):
    """The body took longer than its tool allows; one of its own would be a failure like
    any other.
    """


def _since(started: float) -> float:
    return round((perf_counter() - started) * 1000, 3)
