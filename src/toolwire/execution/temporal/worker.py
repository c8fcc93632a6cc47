"""A Temporal worker whose activities are tools.

Tools run in their own event loop and threads, so that a tool that blocks does not stop the
heartbeats: a worker is dead only when its process is. An exception of a tool is part of the result,
not a failure of the activity, which Temporal would run again.
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
from toolwire.execution.log_redaction import redact_logs
from toolwire.execution.redaction import call_redactor
from toolwire.execution.temporal.payload import call_fingerprint, decode_call, encode_result
from toolwire.tools.errors import InvalidInput, NoEffect, ToolDefinitionError
from toolwire.tools.runnable import Runnable

QUEUE = "toolwire"
MAX_PAYLOAD_BYTES = 1_900_000
"""The maximum size of arguments and results. Temporal's default limit is 2 MiB, and a codec may add
some bytes."""
STOPPED = "toolwire.stopped"
"""The failure type of an activity whose worker was shut down while it ran."""


def worker(
    client: Client,
    tools: Iterable[Runnable],
    *,
    queue: str = QUEUE,
    max_running: int = 100,
    shutdown_timeout: float = 30.0,
    max_payload_bytes: int = MAX_PAYLOAD_BYTES,
    runner: LocalRunner | None = None,
) -> Worker:
    """Make a worker with these tools as activities. Run it with `await worker(...).run()` or `async
    with`.

    Args:
        client: the Temporal client.
        tools: the tools to run.
        queue: the task queue.
        max_running: how many calls may run at once.
        shutdown_timeout: seconds that calls have to end when the worker is shut down.
        max_payload_bytes: the maximum size of a result.
        runner: runs the tools.

    Raises:
        ToolDefinitionError: a tool is transactional.
    """
    activities = list(tools)
    for tool in activities:
        if tool.on_crash == "transactional":
            raise ToolDefinitionError(
                str(tool.id),
                "on_crash is transactional, but a worker has no transaction of the ledger",
            )
    loop = _ToolLoop(runner or LocalRunner(), max_payload_bytes=max_payload_bytes)
    return Worker(
        client,
        task_queue=queue,
        activities=[_activity(tool, loop) for tool in activities],
        max_concurrent_activities=max_running,
        graceful_shutdown_timeout=timedelta(seconds=shutdown_timeout),
    )


def _activity(tool: Runnable, loop: _ToolLoop) -> Callable[[bytes], Awaitable[bytes]]:
    @activity.defn(name=str(tool.id))
    async def run(payload: bytes) -> bytes:
        info = activity.info()
        running = loop.start(tool, payload, info.attempt)
        heartbeat = asyncio.create_task(_send_heartbeats(info.heartbeat_timeout))
        try:
            return await asyncio.wrap_future(running)
        except asyncio.CancelledError:
            if activity.is_worker_shutdown():  # not a cancellation of this activity
                raise ApplicationError("the worker was shut down", type=STOPPED) from None
            raise
        finally:
            heartbeat.cancel()

    return run


async def _send_heartbeats(timeout: timedelta | None) -> None:
    """Send heartbeats, three times as often as needed."""
    while timeout is not None:
        activity.heartbeat()
        await asyncio.sleep(timeout.total_seconds() / 3)


class _ToolLoop:
    """An event loop for tools, in a thread that starts with the first call."""

    def __init__(self, runner: LocalRunner, *, max_payload_bytes: int) -> None:
        self._runner = runner
        self._max_payload_bytes = max_payload_bytes
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    def start(self, tool: Runnable, payload: bytes, attempt: int) -> Future[bytes]:
        """Run a tool and return its encoded result. Cancelling the future cancels the tool."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(
                    target=self._loop.run_forever, name="toolwire-tools", daemon=True
                ).start()
        return asyncio.run_coroutine_threadsafe(self._run(tool, payload, attempt), self._loop)

    async def _run(self, tool: Runnable, payload: bytes, attempt: int) -> bytes:
        arguments, context = decode_call(payload, str(tool.id))
        # Temporal counts its own attempts from one
        context = replace(context, attempt=context.attempt + attempt - 1)
        redactor = call_redactor(context.tokens, context.secrets)
        outcome: Outcome | NoEffect | ExecutorBusy
        with redact_logs(redactor):
            try:
                slot = await self._runner.acquire_slot(tool)
                try:
                    decoded = tool.decode_arguments(arguments)
                except InvalidInput as error:  # the server has another version of this tool
                    slot.release()
                    raise NoEffect(
                        f"The worker rejects these arguments: {error}", kind="engine"
                    ) from None
                outcome = await slot.run(decoded, context)
            except (NoEffect, ExecutorBusy) as error:
                outcome = error
        if redactor is not None and isinstance(outcome, Outcome) and outcome.failure is not None:
            outcome = replace(outcome, failure=redactor.redact_failure(outcome.failure))
        return encode_result(
            call_fingerprint(str(tool.id), arguments), outcome, max_bytes=self._max_payload_bytes
        )
