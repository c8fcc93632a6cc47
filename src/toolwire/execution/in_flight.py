"""A call under way, and the answers it may get. Runs nothing and asks no ledger."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from msgspec.structs import replace

from toolwire.execution.ledger.base import CallKey, Claim, Failure, Outcome, Record
from toolwire.execution.redaction import Scrubber, scrubber
from toolwire.execution.tool_call import Answer, Ask
from toolwire.tools.runnable import Context, Runnable

AGAIN_MS = 1000
"""What callers are told to wait before they ask again."""


@lru_cache(maxsize=4096)
def label(tool: Runnable) -> str:
    """The id of a tool as text, made once."""
    return str(tool.id)


class Flight:
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
        ask: Ask,
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
        self.waiter: asyncio.Future[Answer] | None = None
        """What the first caller waits for, so that it is not the task which is cancelled with it.
        """
        self.key = key
        """None if nothing is recorded."""
        self.fp = fp
        self.task: asyncio.Task[Answer] | asyncio.Task[object] | None = None
        self.cancellable = False
        """Not while the ledger is at it: it must not be in doubt whether something was claimed."""
        self.stopped = ""
        """Why it was told to stop, if it was."""
        self.secrets: Scrubber | None = (
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

    def context(self, attempt: int) -> Context:
        """What the tool may see: what it declared and nothing else."""
        ask = self.ask
        needs = ask.tool.needs
        if not needs:
            return Context(self.call_id, self.tool, attempt, trace_id=ask.trace_id)
        return Context(
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
    ) -> Answer:
        """The answer of a run."""
        state: Literal["done", "failed"] = "done" if outcome.failure is None else "failed"
        return Answer(
            state=state,
            call_id=self.call_id,
            outcome=outcome,
            replayed=replayed,
            recorded=recorded,
            attempt=attempt,
        )

    def refused(self, failure: Failure) -> Answer:
        """The answer of a call whose body did not begin, and may begin later."""
        return Answer(state="failed", call_id=self.call_id, outcome=Outcome(None, failure))

    def unavailable(self) -> Answer:
        return Answer(state="unavailable", call_id=self.call_id, retry_after_ms=AGAIN_MS)

    def running(self, claim: Claim | None = None) -> Answer:
        record = None if claim is None else claim.record
        return Answer(
            state="running",
            call_id=self.call_id,
            attempt=1 if claim is None else claim.attempt,
            started_at=None if record is None else record.started_at,
            retry_after_ms=AGAIN_MS,
        )

    def claimed(self, claim: Claim) -> Answer:
        """The answer of a call that was there before."""
        if claim.record is not None:
            return self.known(claim.record)
        if claim.state in ("mismatch", "gone", "lost"):
            return Answer(state=claim.state, call_id=self.call_id, attempt=claim.attempt)
        return self.running(claim)

    def known(self, record: Record) -> Answer:
        """The answer that a record gives."""
        ended = record.state in ("done", "failed")
        return Answer(
            state=record.state,
            call_id=self.call_id,
            outcome=(record.outcome or Outcome()) if ended else None,
            replayed=ended,
            recorded=record.recorded,
            attempt=record.attempt,
            started_at=record.started_at,
            retry_after_ms=AGAIN_MS if record.state == "running" else None,
        )


def shared(answer: Answer) -> Answer:
    """The answer for those who came while the call was under way."""
    return replace(answer, replayed=True) if answer.state in ("done", "failed") else answer
