"""The bodies of tools, run by workers of Temporal: one call is one standalone activity.

The id of the activity is the key and the attempt of the call, and Temporal refuses a second one of
that id. So whoever finds a call whose owner died may ask again: it is the same run, and its result
is the true one (`docs/temporal.md`). A run of which Temporal does not know the end, or may have
forgotten it, is never begun a second time. Records nothing: that is the ledger's.
"""

from __future__ import annotations

import asyncio
import logging
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
from toolwire.execution.temporal.payload import PayloadError, answered, call, mark_of
from toolwire.execution.temporal.worker import LARGEST, QUEUE, STOPPED, worker
from toolwire.tools.errors import NoEffect
from toolwire.tools.runnable import Runnable, ToolContext

__all__ = ["LARGEST", "QUEUE", "TemporalRunner", "activity_id", "worker"]

logger = logging.getLogger("toolwire.calls")
LONGEST_ID = 900
"""Characters of an id. Temporal takes 1000 unless it is told otherwise."""
SLACK = 30.0
"""Seconds that a worker has beside the timeout of the tool: to find room, to convert, to send."""
AGAIN, AGAIN_MOST = 0.2, 5.0
"""Seconds until an engine that did not answer is asked again: at first, and at most."""
REFUSED = (RPCStatusCode.INVALID_ARGUMENT, RPCStatusCode.UNIMPLEMENTED)
"""What Temporal says to a request that it will never take, whoever sends it and when. All else may
change: it is asked again."""
T = TypeVar("T")


def activity_id(claim: Claim, scope: str = "") -> str:
    """The id of the run of a call. No two of (scope, tenant, call id, attempt) share one."""
    attempt = claim.attempt if claim.record is None else claim.record.attempt
    parts = [
        quote(one, safe="", errors="surrogatepass") for one in (claim.key.tenant, claim.key.call_id)
    ]
    if scope:
        parts[0] = f"{quote(scope, safe='')}/{parts[0]}"
    if attempt > 1:  # only what was released has one: nothing happened before
        parts.append(str(attempt))
    id = ":".join(parts)
    return id if len(id) <= LONGEST_ID else f"sha256:{sha256(id.encode()).hexdigest()}:"


class TemporalRunner:
    """Runs bodies as activities, on workers made by `worker`.

    `queue` is the task queue, or says for each tool which one. A worker that was not heard of for
    `heartbeat` seconds counts as dead; a tool that may be run again (`on_crash="retry"`) then is,
    `attempts` times at most, and of any other nobody knows what it came to. `patience`: seconds
    that a call waits for a worker; None is for ever. `longest`: seconds for a tool that has no
    timeout of its own. `largest`: bytes of arguments. `retention`: seconds that Temporal remembers
    an activity after its end; the namespace is asked if it is not given. `scope`: a name for the
    ledger, if several share a namespace.

    Arguments, tokens and secrets are stored in Temporal. Tools that get tokens or secrets are
    refused unless the client has a payload codec, which is what encrypts them, or `plain_secrets`
    says that this is not needed.
    """

    def __init__(
        self,
        client: Client,
        *,
        queue: str | Callable[[Runnable], str] = QUEUE,
        heartbeat: float = 30.0,
        attempts: int = 5,
        patience: float | None = None,
        longest: float = 7 * 24 * 3600.0,
        largest: int = LARGEST,
        retention: float | None = None,
        scope: str = "",
        plain_secrets: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._client = client
        self._queue = queue
        self._heartbeat = timedelta(seconds=heartbeat)
        self._attempts = attempts
        self._patience = patience
        self._longest = longest
        self._largest = largest
        self._retention = retention
        self._scope = scope
        self._hidden = plain_secrets or client.data_converter.payload_codec is not None
        self._clock = clock

    async def run(
        self, claim: Claim, tool: Runnable, arguments: Object, context: ToolContext
    ) -> Outcome:
        """As every runner. Cancelled, it leaves the activity alone: `resume` finds it."""
        sent = self._sent(tool, arguments, context)
        handle = await self._begun(claim, tool, sent)
        return await self._came_to(handle, tool, mark_of(str(tool.id), arguments))

    async def resume(
        self, claim: Claim, tool: Runnable, arguments: Object, context: ToolContext
    ) -> Outcome:
        """As every engine. A call that is about as old as what Temporal remembers is looked up and
        not begun."""
        handle = self._handle(activity_id(claim, self._scope))
        if await self._is_remembered(claim):
            try:
                handle = await self._begun(claim, tool, self._sent(tool, arguments, context))
            except NoEffect as refused:  # not now; but who knows what whoever began it was allowed
                logger.warning(
                    "a call of %s is looked up only: %s", tool.id, refused.developer_message
                )
        return await self._came_to(handle, tool, mark_of(str(tool.id), arguments))

    # --- one activity -----------------------------------------------------------------------------

    def _sent(self, tool: Runnable, arguments: Object, context: ToolContext) -> bytes:
        """What is sent to the worker. Raises NoEffect for what must not or cannot be."""
        if tool.on_crash == "transactional":
            raise _never(
                f"{tool.id} is transactional: it has to run where the ledger is, and not on"
                " Temporal"
            )
        if not self._hidden and (context.tokens or context.secrets):
            raise _never(
                f"{tool.id} gets tokens or secrets, and the Temporal client has no payload codec to"
                " encrypt them"
            )
        sent = call(arguments, context)
        if len(sent) > self._largest:
            raise NoEffect(
                f"The arguments are too large: {len(sent)} bytes, and {self._largest} are taken at"
                " most. Nothing was done.",
                developer_message="pass a reference to what is large, not the thing itself",
                kind="too-large",
            )
        return sent

    async def _begun(self, claim: Claim, tool: Runnable, sent: bytes) -> ActivityHandle[bytes]:
        """The one activity of this call. Raises NoEffect if there is none and never will be."""
        id = activity_id(claim, self._scope)
        retried = RetryPolicy(maximum_attempts=self._most(tool))
        waits = None if self._patience is None else timedelta(seconds=self._patience)

        def start() -> Awaitable[ActivityHandle[bytes]]:
            return self._client.start_activity(
                str(tool.id),
                sent,
                id=id,
                task_queue=self._queue if isinstance(self._queue, str) else self._queue(tool),
                result_type=bytes,
                start_to_close_timeout=timedelta(seconds=(tool.timeout or self._longest) + SLACK),
                schedule_to_start_timeout=waits,
                heartbeat_timeout=self._heartbeat,
                id_conflict_policy=ActivityIDConflictPolicy.USE_EXISTING,
                id_reuse_policy=ActivityIDReusePolicy.REJECT_DUPLICATE,
                retry_policy=retried,
            )

        try:
            return await _insisting(start, "begin", REFUSED)
        except ActivityAlreadyStartedError:  # and it has ended
            return self._handle(id)
        except RPCError as refused:
            raise _never(f"Temporal refused to begin {tool.id}: {refused}") from None

    async def _came_to(self, handle: ActivityHandle[bytes], tool: Runnable, mark: str) -> Outcome:
        """What an activity came to. Raises NoEffect, Busy, OutcomeUnknown."""
        try:
            return answered(
                await _insisting(handle.result, "tell the result", (RPCStatusCode.NOT_FOUND,)), mark
            )
        except ActivityFailureError as failed:
            return self._failed(failed.cause, tool)
        except PayloadError as strange:
            raise OutcomeUnknown(str(strange)) from None
        except RPCError as error:
            raise OutcomeUnknown(
                f"Temporal does not know {handle.id}, or no longer: {error}"
            ) from None

    def _failed(self, cause: BaseException | None, tool: Runnable) -> Outcome:
        """A body that raises gives an answer all the same; so it is the worker that failed, or
        another program that works."""
        once = self._most(tool) == 1
        if isinstance(cause, TimeoutError) and cause.type == TimeoutType.SCHEDULE_TO_START and once:
            raise ExecutorBusy(f"no worker took {tool.id} within {self._patience:g} s")
        if isinstance(cause, ApplicationError) and cause.type == "NotFoundError" and once:
            raise _never(f"the worker does not have {tool.id}: {cause.message}")
        if isinstance(cause, ApplicationError) and cause.type != STOPPED:
            return Outcome(
                None, Failure(f"The tool failed ({cause.type}).", cause.message, kind="exception")
            )
        raise OutcomeUnknown(f"the activity ended with {type(cause).__name__}: {cause}") from cause

    def _most(self, tool: Runnable) -> int:
        return self._attempts if tool.on_crash == "retry" else 1

    def _handle(self, id: str) -> ActivityHandle[bytes]:
        return self._client.get_activity_handle(id, result_type=bytes)

    async def _is_remembered(self, claim: Claim) -> bool:
        """Whether Temporal would still know an activity of this call if there was one.

        It forgets so long after the end, which is after the claim. A tenth is left for clocks that
        differ.
        """
        if claim.record is None:
            return False
        if self._retention is None:
            asked = DescribeNamespaceRequest(namespace=self._client.namespace)
            try:
                told = await _insisting(
                    lambda: self._client.workflow_service.describe_namespace(asked, retry=True),
                    "answer",
                    (),
                )
            except RPCError:
                return False
            self._retention = (
                told.config.workflow_execution_retention_ttl.ToTimedelta().total_seconds()
            )
        return self._clock() - claim.record.started_at / 1000 < self._retention * 0.9


def _never(why: str) -> NoEffect:
    return NoEffect(
        "The tool could not be run. Nothing was done.", developer_message=why, kind="engine"
    )


async def _insisting(
    ask: Callable[[], Awaitable[T]], what: str, final: tuple[RPCStatusCode, ...]
) -> T:
    """The answer of Temporal, however long it takes to come: it may have begun what it did not
    acknowledge.

    Raises RPCError only if its status is one of `final`.
    """
    pause = AGAIN
    while True:
        try:
            return await ask()
        except RPCError as error:
            if error.status in final:
                raise
            logger.warning("Temporal did not %s, asked again in %.1f s: %s", what, pause, error)
        except (
            RuntimeError
        ) as error:  # a client that connects when it is first used says so in no other way
            if not str(error).startswith("Failed client connect"):
                raise
            logger.warning("Temporal cannot be reached, asked again in %.1f s: %s", pause, error)
        except asyncio.CancelledError:  # the SDK makes one out of a poll that the server gave up
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
        await asyncio.sleep(pause)
        pause = min(pause * 2, AGAIN_MOST)
