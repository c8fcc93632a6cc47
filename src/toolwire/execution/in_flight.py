"""A call in progress, and the results it can have."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from msgspec.structs import replace

from toolwire.execution.call_key import BusinessKey
from toolwire.execution.ledger.base import CallKey, Claim, Failure, Outcome, Record
from toolwire.execution.redaction import Redactor, call_redactor
from toolwire.execution.tool_call import ToolCall, ToolCallResult
from toolwire.tools.runnable import Runnable, ToolContext

RETRY_AFTER_MS = 1000
"""The delay after which callers may repeat a call that has no outcome yet."""


@lru_cache(maxsize=4096)
def _tool_id(tool: Runnable) -> str:
    return str(tool.id)


class InFlightCall:
    """A call in progress in this process."""

    __slots__ = (
        "arguments",
        "business",
        "call_id",
        "cancellable",
        "fingerprint",
        "key",
        "redactor",
        "registered_key",
        "released",
        "request",
        "stop_reason",
        "task",
        "tool_id",
        "waiter",
    )

    def __init__(
        self,
        request: ToolCall,
        arguments: Mapping[str, object],
        *,
        call_id: str,
        key: CallKey | None,
        fingerprint: bytes,
        business: BusinessKey | None = None,
    ) -> None:
        self.request = request
        self.arguments = arguments
        self.call_id = call_id
        self.tool_id = _tool_id(request.tool)
        self.registered_key: CallKey | None = None
        """The key under which duplicates find this call; None if they cannot."""
        self.waiter: asyncio.Future[ToolCallResult] | None = None
        """The first caller awaits this future, so that its cancellation does not cancel the task.
        """
        self.key = key
        """The ledger key; None if the call is not recorded."""
        self.fingerprint = fingerprint
        self.business = business
        """The business key of the call; None if its tool has none, or calls are not recorded."""
        self.released = False
        """True if the tool ran without effect, so that nothing is recorded."""
        self.task: asyncio.Task[ToolCallResult] | asyncio.Task[object] | None = None
        self.cancellable = False
        """False during ledger operations: a cancelled claim would leave its state unknown."""
        self.stop_reason = ""
        """Why the call must stop; empty if it need not."""
        self.redactor: Redactor | None = (
            call_redactor(request.tokens, request.secrets)
            if request.tokens or request.secrets
            else None
        )

    def stop(self, reason: str) -> None:
        """Cancel the tool if it runs, or prevent its start."""
        if not self.stop_reason:
            self.stop_reason = reason
            if self.cancellable and self.task is not None:
                self.task.cancel()

    def uncancel_after_stop(self) -> bool:
        """Take back a cancellation by `stop`; False if the task was cancelled by something
        else."""
        if self.stop_reason and self.task is not None and self.task.cancelling():
            self.task.uncancel()
            return True
        return False

    def context(self, attempt: int) -> ToolContext:
        """The context for the tool, with the credentials that it declares and no others."""
        request = self.request
        needs = request.tool.needs
        business = self.business
        idempotency_key = self.call_id if business is None else business.idempotency_key
        if not needs:
            return ToolContext(
                self.call_id,
                self.tool_id,
                attempt,
                trace_id=request.trace_id,
                client=request.client,
                idempotency_key=idempotency_key,
            )
        return ToolContext(
            self.call_id,
            self.tool_id,
            attempt,
            user_id=request.user_id if needs.user_id else None,
            tokens={
                authorization.id: request.tokens[authorization.id]
                for authorization in needs.authorization
            },
            secrets={id: request.secrets[id] for id in needs.secrets},
            trace_id=request.trace_id,
            client=request.client,
            idempotency_key=idempotency_key,
        )

    def redact(self, failure: Failure) -> Failure:
        """The failure without the tokens and secrets of this call."""
        return failure if self.redactor is None else self.redactor.redact_failure(failure)

    def result(
        self, outcome: Outcome, attempt: int, *, recorded: bool = True, replayed: bool = False
    ) -> ToolCallResult:
        """The result of a run."""
        state: Literal["done", "failed"] = "done" if outcome.failure is None else "failed"
        return ToolCallResult(
            state=state,
            call_id=self.call_id,
            outcome=outcome,
            replayed=replayed,
            recorded=recorded,
            attempt=attempt,
        )

    def rejection(self, failure: Failure) -> ToolCallResult:
        """The result of a call whose tool was not started. It may be repeated."""
        return ToolCallResult(state="failed", call_id=self.call_id, outcome=Outcome(None, failure))

    def unavailable(self) -> ToolCallResult:
        return ToolCallResult(
            state="unavailable", call_id=self.call_id, retry_after_ms=RETRY_AFTER_MS
        )

    def running(self, claim: Claim | None = None) -> ToolCallResult:
        record = None if claim is None else claim.record
        return ToolCallResult(
            state="running",
            call_id=self.call_id,
            attempt=1 if claim is None else claim.attempt,
            started_at=None if record is None else record.started_at,
            retry_after_ms=RETRY_AFTER_MS,
        )

    def result_of_claim(self, claim: Claim) -> ToolCallResult:
        """The result of a call that the ledger already knows."""
        if claim.record is not None:
            return self.result_of_record(claim.record)
        if claim.state in ("mismatch", "gone", "lost"):
            return ToolCallResult(state=claim.state, call_id=self.call_id, attempt=claim.attempt)
        return self.running(claim)

    def result_of_record(self, record: Record) -> ToolCallResult:
        """The result that a ledger record holds."""
        has_outcome = record.state in ("done", "failed")
        return ToolCallResult(
            state=record.state,
            call_id=self.call_id,
            outcome=(record.outcome or Outcome()) if has_outcome else None,
            replayed=has_outcome,
            recorded=record.recorded,
            attempt=record.attempt,
            started_at=record.started_at,
            retry_after_ms=RETRY_AFTER_MS if record.state == "running" else None,
        )


def as_replay(result: ToolCallResult) -> ToolCallResult:
    """The result for a duplicate that arrived while the call was in progress."""
    return replace(result, replayed=True) if result.state in ("done", "failed") else result
