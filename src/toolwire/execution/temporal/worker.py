"""A worker of Temporal whose activities are tools.

Tools run in an event loop and threads of their own, so that one that blocks does not stop the
heartbeats: a worker is dead when its process is. What a tool raises is an answer, not a failure of
the activity, which Temporal would run again. Knows no ledger.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import Future
from datetime import timedelta

from msgspec.structs import replace
from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

from toolwire.execution.failures import ExecutorBusy
from toolwire.execution.ledger.base import Outcome
from toolwire.execution.local_runner import LocalRunner
from toolwire.execution.redaction import guard_logs, hiding, scrubber
from toolwire.execution.temporal.payload import answer, called, mark_of
from toolwire.tools.errors import InvalidInput, NoEffect, ToolDefinitionError
from toolwire.tools.runnable import Runnable

QUEUE = "toolwire"
LARGEST = 1_900_000
"""Bytes of arguments or of a result. Temporal takes 2 MiB unless it is told otherwise, and a codec
may add some."""
STOPPED = "toolwire.stopped"
"""The type of the failure of an activity whose worker was shut down in the middle of it."""


def worker(
    client: Client,
    tools: Iterable[Runnable],
    *,
    queue: str = QUEUE,
    max_running: int = 100,
    grace: float = 30.0,
    largest: int = LARGEST,
    runner: LocalRunner | None = None,
    guard_all_logs: bool = True,
) -> Worker:
    """A worker with these tools as activities, to be run with `await worker(...).run()` or `async
    with`.

    `max_running`: calls at once. `grace`: seconds that calls have to end when the worker is shut
    down. Raises ToolDefinitionError for a tool that cannot run here.
    """
    found = list(tools)
    for tool in found:
        if tool.on_crash == "transactional":
            raise ToolDefinitionError(
                str(tool.id),
                "on_crash is transactional, and a worker has no transaction of the ledger",
            )
    if guard_all_logs:
        guard_logs()
    bodies = _ToolActivities(runner or LocalRunner())
    return Worker(
        client,
        task_queue=queue,
        activities=[_activity(tool, bodies, largest) for tool in found],
        max_concurrent_activities=max_running,
        graceful_shutdown_timeout=timedelta(seconds=grace),
    )


def _activity(
    tool: Runnable, bodies: _ToolActivities, largest: int
) -> Callable[[bytes], Awaitable[bytes]]:
    @activity.defn(name=str(tool.id))
    async def run(sent: bytes) -> bytes:
        info = activity.info()
        running = bodies.start(tool, sent, info.attempt, largest)
        beating = asyncio.create_task(_beat(info.heartbeat_timeout))
        try:
            return await asyncio.wrap_future(running)
        except asyncio.CancelledError:
            if (
                activity.is_worker_shutdown()
            ):  # told apart from a cancellation that somebody asked for
                raise ApplicationError("the worker was shut down", type=STOPPED) from None
            raise
        finally:
            beating.cancel()

    return run


async def _beat(timeout: timedelta | None) -> None:
    """Says that this process lives, three times as often as needed."""
    while timeout is not None:
        activity.heartbeat()
        await asyncio.sleep(timeout.total_seconds() / 3)


class _ToolActivities:
    """The event loop in which tools run, in a thread that begins with the first of them."""

    def __init__(self, runner: LocalRunner) -> None:
        self._runner = runner
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    def start(self, tool: Runnable, sent: bytes, attempt: int, largest: int) -> Future[bytes]:
        """What is sent back, some day. Cancelling it cancels the tool."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(
                    target=self._loop.run_forever, name="toolwire-bodies", daemon=True
                ).start()
        return asyncio.run_coroutine_threadsafe(self._run(tool, sent, attempt, largest), self._loop)

    async def _run(self, tool: Runnable, sent: bytes, attempt: int, largest: int) -> bytes:
        arguments, context = called(sent, str(tool.id))
        context = replace(
            context, attempt=context.attempt + attempt - 1
        )  # Temporal counts its own from one
        secrets = (
            scrubber(context.tokens, context.secrets) if context.tokens or context.secrets else None
        )
        outcome: Outcome | NoEffect | ExecutorBusy
        with hiding(secrets):
            try:
                place = await self._runner.admit(tool)
                try:
                    taken = tool.takes(arguments)
                except InvalidInput as error:  # the server has another version of this tool
                    place.leave()
                    raise NoEffect(
                        f"The worker does not take these arguments: {error}", kind="engine"
                    ) from None
                outcome = await place.run(taken, context)
            except (NoEffect, ExecutorBusy) as nothing:
                outcome = nothing
        if secrets is not None and isinstance(outcome, Outcome) and outcome.failure is not None:
            outcome = replace(outcome, failure=secrets.failure(outcome.failure))
        return answer(mark_of(str(tool.id), arguments), outcome, largest)
