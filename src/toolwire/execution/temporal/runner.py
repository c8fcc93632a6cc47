"""Run tools on workers of Temporal: one call is one standalone activity.

The activity id is made from the key and the attempt of the call, and Temporal rejects a second
activity with that id. A process that finds a call of a dead owner can therefore start it again: it
gets the same run (`docs/how-to/temporal.md`). A run that Temporal may have forgotten is never
started again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from hashlib import sha256
from typing import TypeVar
from urllib.parse import quote

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import ActivityFailureError, ActivityHandle, Client
from temporalio.common import ActivityIDConflictPolicy, ActivityIDReusePolicy, RetryPolicy
from temporalio.exceptions import (
    ActivityAlreadyStartedError,
    ApplicationError,
    TimeoutError,
    TimeoutType,
)
from temporalio.service import RPCError, RPCStatusCode

from toolwire.conversation.json import Object
from toolwire.execution.failures import ExecutorBusy
from toolwire.execution.ledger.base import Claim, Failure, Outcome, OutcomeUnknown
from toolwire.execution.log_redaction import redacting_logger
from toolwire.execution.temporal.payload import (
    PayloadError,
    call_fingerprint,
    decode_result,
    encode_call,
)
from toolwire.execution.temporal.worker import MAX_PAYLOAD_BYTES, QUEUE, STOPPED, worker
from toolwire.tools.errors import NoEffect
from toolwire.tools.runnable import Runnable, ToolContext

__all__ = ["MAX_PAYLOAD_BYTES", "QUEUE", "TemporalRunner", "activity_id", "worker"]

logger = redacting_logger("toolwire.execution")
MAX_ID_LENGTH = 900
"""Characters of an activity id. Temporal's default limit is 1000."""
START_TO_CLOSE_MARGIN = 30.0
"""Seconds beside the timeout of the tool, for a worker to find a slot and to transfer the data."""
FIRST_RETRY, LAST_RETRY = 0.2, 5.0
"""Seconds between two requests to Temporal: at first, and at most."""
PERMANENT = (RPCStatusCode.INVALID_ARGUMENT, RPCStatusCode.UNIMPLEMENTED)
"""Status codes of requests that Temporal will never accept. Requests with others are repeated."""
T = TypeVar("T")


def activity_id(claim: Claim, scope: str = "") -> str:
    """The activity id of a call. Different (scope, tenant, call id, attempt) have different ids."""
    attempt = claim.attempt if claim.record is None else claim.record.attempt
    parts = [
        quote(text, safe="", errors="surrogatepass")
        for text in (claim.key.tenant, claim.key.call_id)
    ]
    if scope:
        parts[0] = f"{quote(scope, safe='')}/{parts[0]}"
    if attempt > 1:  # earlier attempts were released without effect
        parts.append(str(attempt))
    id = ":".join(parts)
    return id if len(id) <= MAX_ID_LENGTH else f"sha256:{sha256(id.encode()).hexdigest()}:"


class TemporalRunner:
    """Runs tools as activities, on workers made by `worker`.

    Temporal stores arguments, tokens and secrets. Tools that get tokens or secrets are rejected
    unless the client has a payload codec, which encrypts them.

    Args:
        client: the Temporal client.
        queue: the task queue, or a function from a tool to its task queue.
        heartbeat_timeout: seconds without a heartbeat after which a worker counts as dead. A tool
            with `on_crash="retry"` then runs again; the outcome of any other tool is unknown.
        max_attempts: how often a tool with `on_crash="retry"` runs.
        worker_timeout: seconds that a call waits for a worker; None for no limit.
        default_timeout: seconds for a tool without a timeout.
        max_payload_bytes: the maximum size of the arguments.
        retention: seconds that Temporal remembers a finished activity; by default the setting of
            the namespace.
        scope: a name for the ledger, if several ledgers share a namespace.
        allow_plain_secrets: send tokens and secrets without a payload codec.
        clock: the current time, in seconds since 1970.
    """

    def __init__(
        self,
        client: Client,
        *,
        queue: str | Callable[[Runnable], str] = QUEUE,
        heartbeat_timeout: float = 30.0,
        max_attempts: int = 5,
        worker_timeout: float | None = None,
        default_timeout: float = 7 * 24 * 3600.0,
        max_payload_bytes: int = MAX_PAYLOAD_BYTES,
        retention: float | None = None,
        scope: str = "",
        allow_plain_secrets: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._client = client
        self._queue = queue
        self._heartbeat_timeout = timedelta(seconds=heartbeat_timeout)
        self._max_attempts = max_attempts
        self._worker_timeout = worker_timeout
        self._default_timeout = default_timeout
        self._max_payload_bytes = max_payload_bytes
        self._retention = retention
        self._scope = scope
        self._may_send_secrets = (
            allow_plain_secrets or client.data_converter.payload_codec is not None
        )
        self._clock = clock

    async def run(
        self, claim: Claim, tool: Runnable, arguments: Object, context: ToolContext
    ) -> Outcome:
        """Run a tool (see `Runner.run`). If it is cancelled, the activity continues, and `resume`
        finds it."""
        payload = self._payload(tool, arguments, context)
        handle = await self._start(claim, tool, payload)
        return await self._outcome(handle, tool, call_fingerprint(str(tool.id), arguments))

    async def resume(
        self, claim: Claim, tool: Runnable, arguments: Object, context: ToolContext
    ) -> Outcome:
        """Resume a call (see `Engine.resume`). A call that Temporal may have forgotten is only
        looked up."""
        handle = self._handle(activity_id(claim, self._scope))
        if await self._is_remembered(claim):
            try:
                payload = self._payload(tool, arguments, context)
                handle = await self._start(claim, tool, payload)
            except NoEffect as error:  # it may have been accepted when the call first started
                logger.warning(
                    "a call to %s is only looked up: %s", tool.id, error.developer_message
                )
        return await self._outcome(handle, tool, call_fingerprint(str(tool.id), arguments))

    # --- one activity -----------------------------------------------------------------------------

    def _payload(self, tool: Runnable, arguments: Object, context: ToolContext) -> bytes:
        """The payload for the worker. Raises NoEffect if it must not be sent, or is too large."""
        if tool.on_crash == "transactional":
            raise _cannot_run(
                f"{tool.id} is transactional: it must run beside the ledger, not on Temporal"
            )
        if not self._may_send_secrets and (context.tokens or context.secrets):
            raise _cannot_run(
                f"{tool.id} gets tokens or secrets, and the Temporal client has no payload codec to"
                " encrypt them"
            )
        payload = encode_call(arguments, context)
        if len(payload) > self._max_payload_bytes:
            raise NoEffect(
                f"The arguments are too large: {len(payload)} bytes; the maximum is"
                f" {self._max_payload_bytes}. The tool was not run.",
                developer_message="pass a reference to large data, not the data itself",
                kind="too_large",
            )
        return payload

    async def _start(self, claim: Claim, tool: Runnable, payload: bytes) -> ActivityHandle[bytes]:
        """Start the activity of a call, or find it. Raises NoEffect if Temporal rejects it."""
        id = activity_id(claim, self._scope)
        retry_policy = RetryPolicy(maximum_attempts=self._attempts_of(tool))
        timeout = (tool.timeout or self._default_timeout) + START_TO_CLOSE_MARGIN
        worker_timeout = None
        if self._worker_timeout is not None:
            worker_timeout = timedelta(seconds=self._worker_timeout)

        def start() -> Awaitable[ActivityHandle[bytes]]:
            return self._client.start_activity(
                str(tool.id),
                payload,
                id=id,
                task_queue=self._queue if isinstance(self._queue, str) else self._queue(tool),
                result_type=bytes,
                start_to_close_timeout=timedelta(seconds=timeout),
                schedule_to_start_timeout=worker_timeout,
                heartbeat_timeout=self._heartbeat_timeout,
                id_conflict_policy=ActivityIDConflictPolicy.USE_EXISTING,
                id_reuse_policy=ActivityIDReusePolicy.REJECT_DUPLICATE,
                retry_policy=retry_policy,
            )

        try:
            return await _request(start, "start an activity", PERMANENT)
        except ActivityAlreadyStartedError:  # and has already ended
            return self._handle(id)
        except RPCError as error:
            raise _cannot_run(f"Temporal rejected {tool.id}: {error}") from None

    async def _outcome(
        self, handle: ActivityHandle[bytes], tool: Runnable, fingerprint: str
    ) -> Outcome:
        """Wait for the outcome of an activity. Raises NoEffect, ExecutorBusy, OutcomeUnknown."""
        try:
            data = await _request(handle.result, "return a result", (RPCStatusCode.NOT_FOUND,))
            return decode_result(data, fingerprint)
        except ActivityFailureError as error:
            return self._failure_outcome(error.cause, tool)
        except PayloadError as error:
            raise OutcomeUnknown(str(error)) from None
        except RPCError as error:
            raise OutcomeUnknown(f"Temporal does not know {handle.id}: {error}") from None

    def _failure_outcome(self, cause: BaseException | None, tool: Runnable) -> Outcome:
        """The outcome of a failed activity. A tool that raises does not fail its activity, so this
        is a failure of the worker."""
        runs_once = self._attempts_of(tool) == 1
        if (
            isinstance(cause, TimeoutError)
            and cause.type == TimeoutType.SCHEDULE_TO_START
            and runs_once
        ):
            raise ExecutorBusy(f"no worker accepted {tool.id} within {self._worker_timeout:g} s")
        if isinstance(cause, ApplicationError) and cause.type == "NotFoundError" and runs_once:
            raise _cannot_run(f"the worker does not have {tool.id}: {cause.message}")
        if isinstance(cause, ApplicationError) and cause.type != STOPPED:
            logger.error("the activity of %s failed: %s", tool.id, cause)
            return Outcome(
                None, Failure(f"The tool failed ({cause.type}).", cause.type, kind="exception")
            )
        raise OutcomeUnknown(f"the activity ended with {type(cause).__name__}: {cause}") from cause

    def _attempts_of(self, tool: Runnable) -> int:
        return self._max_attempts if tool.on_crash == "retry" else 1

    def _handle(self, id: str) -> ActivityHandle[bytes]:
        return self._client.get_activity_handle(id, result_type=bytes)

    async def _is_remembered(self, claim: Claim) -> bool:
        """True if Temporal would still know an activity of this call.

        The retention starts at the end of the activity, which is after the claim. A tenth of it
        allows for clocks that differ.
        """
        if claim.record is None:
            return False
        if self._retention is None:
            request = DescribeNamespaceRequest(namespace=self._client.namespace)
            try:
                response = await _request(
                    lambda: self._client.workflow_service.describe_namespace(request, retry=True),
                    "describe the namespace",
                    (),
                )
            except RPCError:
                return False
            retention = response.config.workflow_execution_retention_ttl
            self._retention = retention.ToTimedelta().total_seconds()
        return self._clock() - claim.record.started_at / 1000 < self._retention * 0.9


def _cannot_run(reason: str) -> NoEffect:
    return NoEffect("The tool could not be run.", developer_message=reason, kind="engine")


async def _request(
    send: Callable[[], Awaitable[T]], action: str, permanent: tuple[RPCStatusCode, ...]
) -> T:
    """Repeat a request to Temporal until it responds: it may have executed a request that it did
    not acknowledge.

    Raises RPCError only for a status in `permanent`.
    """
    delay = FIRST_RETRY
    while True:
        try:
            return await send()
        except RPCError as error:
            if error.status in permanent:
                raise
            logger.warning("Temporal did not %s; retry in %.1f s: %s", action, delay, error)
        except RuntimeError as error:  # a lazy client reports a failed connection like this
            if not str(error).startswith("Failed client connect"):
                raise
            logger.warning("Temporal cannot be reached; retry in %.1f s: %s", delay, error)
        except asyncio.CancelledError:  # the SDK raises it if the server ends a long poll
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
        await asyncio.sleep(delay)
        delay = min(delay * 2, LAST_RETRY)
