"""A call under way, and the answers it may get. Runs nothing and asks no ledger."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from msgspec.structs import replace

from toolwire.execution.ledger.base import CallKey, Claim, Failure, Outcome, Record
from toolwire.execution.redaction import Redactor, scrubber
from toolwire.execution.tool_call import ToolCall, ToolCallResult
from toolwire.tools.runnable import Runnable, ToolContext

AGAIN_MS = 1000
"""What callers are told to wait before they ask again."""


@lru_cache(maxsize=4096)
def label(tool: Runnable) -> str:
    """The id of a tool as text, made once."""
    return str(tool.id)


class InFlightCall:
    """A call under way in this process."""

    __slots__ = (
        "arguments",
        "ask",
        "call_id",
        "cancellable",
        "fp",
        "key",
        "secrets",
        "slot",
        "stopped",
        "task",
        "tool",
        "waiter",
    )

    def __init__(
        self,
        ask: ToolCall,
        arguments: Mapping[str, object],
        call_id: str,
        key: CallKey | None,
        fp: bytes,
    ) -> None:
        self.ask = ask
        self.arguments = arguments
        self.call_id = call_id
        self.tool = label(ask.tool)
        self.slot: CallKey | None = None
        """Where others find it to join in."""
        self.waiter: asyncio.Future[ToolCallResult] | None = None
        """What the first caller waits for, so that it is not the task which is cancelled with it.
        """
        self.key = key
        """None if nothing is recorded."""
        self.fp = fp
        self.task: asyncio.Task[ToolCallResult] | asyncio.Task[object] | None = None
        self.cancellable = False
        """Not while the ledger is at it: it must not be in doubt whether something was claimed."""
        self.stopped = ""
        """Why it was told to stop, if it was."""
        self.secrets: Redactor | None = (
            scrubber(ask.tokens, ask.secrets) if ask.tokens or ask.secrets else None
        )

    def stop(self, why: str) -> None:
        """Cancel the body now, or do not begin it."""
        if not self.stopped:
            self.stopped = why
            if self.cancellable and self.task is not None:
                self.task.cancel()

    def calmed(self) -> bool:
        """Whether the task was cancelled by `stop`, which has then done its work and is
        taken back.
        """
        if self.stopped and self.task is not None and self.task.cancelling():
            self.task.uncancel()
            return True
        return False

    def context(self, attempt: int) -> ToolContext:
        """What the tool may see: what it declared and nothing else."""
        ask = self.ask
        needs = ask.tool.needs
        if not needs:
            return ToolContext(self.call_id, self.tool, attempt, trace_id=ask.trace_id)
        return ToolContext(
            self.call_id,
            self.tool,
            attempt,
            ask.user_id if needs.user_id else None,
            {one.id: ask.tokens[one.id] for one in needs.authorization},
            {one: ask.secrets[one] for one in needs.secrets},
            ask.trace_id,
        )

    def came_to(
        self, outcome: Outcome, attempt: int, *, recorded: bool = True, replayed: bool = False
    ) -> ToolCallResult:
        """The answer of a run."""
        state: Literal["done", "failed"] = "done" if outcome.failure is None else "failed"
        return ToolCallResult(
            state=state,
            call_id=self.call_id,
            outcome=outcome,
            replayed=replayed,
            recorded=recorded,
            attempt=attempt,
        )

    def refused(self, failure: Failure) -> ToolCallResult:
        """The answer of a call whose body did not begin, and may begin later."""
        return ToolCallResult(state="failed", call_id=self.call_id, outcome=Outcome(None, failure))

    def unavailable(self) -> ToolCallResult:
        return ToolCallResult(state="unavailable", call_id=self.call_id, retry_after_ms=AGAIN_MS)

    def running(self, claim: Claim | None = None) -> ToolCallResult:
        record = None if claim is None else claim.record
        return ToolCallResult(
            state="running",
            call_id=self.call_id,
            attempt=1 if claim is None else claim.attempt,
            started_at=None if record is None else record.started_at,
            retry_after_ms=AGAIN_MS,
        )

    def claimed(self, claim: Claim) -> ToolCallResult:
        """The answer of a call that was there before."""
        if claim.record is not None:
            return self.known(claim.record)
        if claim.state in ("mismatch", "gone", "lost"):
            return ToolCallResult(state=claim.state, call_id=self.call_id, attempt=claim.attempt)
        return self.running(claim)

    def known(self, record: Record) -> ToolCallResult:
        """The answer that a record gives."""
        ended = record.state in ("done", "failed")
        return ToolCallResult(
            state=record.state,
            call_id=self.call_id,
            outcome=(record.outcome or Outcome()) if ended else None,
            replayed=ended,
            recorded=record.recorded,
            attempt=record.attempt,
            started_at=record.started_at,
            retry_after_ms=AGAIN_MS if record.state == "running" else None,
        )


def shared(answer: ToolCallResult) -> ToolCallResult:
    """The answer for those who came while the call was under way."""
    return replace(answer, replayed=True) if answer.state in ("done", "failed") else answer
