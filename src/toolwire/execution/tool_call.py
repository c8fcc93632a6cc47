"""A tool call and its result, the same for every protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from toolwire.conversation.json import JSON, Object
from toolwire.execution.ledger.base import Failure, Outcome
from toolwire.tools.client import CallingClient
from toolwire.tools.runnable import Requirements, Runnable


class ToolCall(Struct, frozen=True, kw_only=True):
    """A call of one tool."""

    tool: Runnable
    input: Object = {}
    call_id: str | None = None
    """The idempotency key. If None, the executor generates one and cannot detect repetitions."""
    principal: str = ""
    """The authenticated caller. Part of the ledger key, together with the user id."""
    user_id: str | None = None
    tokens: Mapping[str, str] = {}
    secrets: Mapping[str, str] = {}
    trace_id: str | None = None
    wait: float | None = None
    """Seconds to wait for a call in progress with the same id; None for the executor's default."""
    client: CallingClient | None = None
    """The client, for tools that send requests to it while they run."""

    def __repr__(self) -> str:
        """The call without tokens and secrets, for logs."""
        return f"ToolCall(tool={self.tool.id}, call_id={self.call_id!r})"

    __str__ = __repr__


class ToolCallResult(Struct, frozen=True, kw_only=True):
    """The result of a call.

    States:
        done, failed: the tool ran; `outcome` holds its value or its failure.
        running: another request runs this call; repeat it with the same call id.
        lost: the tool ran, and its outcome is unknown.
        gone: the tool ran, and its result has expired.
        mismatch: the call id belongs to another call.
        unavailable: the ledger could not record the call, so the tool was not run.
        too-old: the call id is older than the ledger's retention, so the tool was not run.
    """

    state: Literal[
        "done", "failed", "running", "lost", "mismatch", "gone", "unavailable", "too-old"
    ]
    call_id: str
    outcome: Outcome | None = None
    replayed: bool = False
    """True if the result comes from an earlier call with the same id or the same business key."""
    replayed_by_key: bool = False
    """True if that earlier call had the same business key, whatever its id."""
    recorded: bool = True
    """False if the ledger could not store the outcome yet."""
    attempt: int = 1
    started_at: int | None = None
    """Milliseconds since 1970, by the ledger's clock."""
    retry_after_ms: int | None = None

    @property
    def value(self) -> JSON:
        """The value that the tool returned; None if it did not succeed."""
        return None if self.outcome is None else self.outcome.value

    @property
    def failure(self) -> Failure | None:
        """Why the tool failed; None if it succeeded or has no outcome."""
        return None if self.outcome is None else self.outcome.failure


def missing_requirements(call: ToolCall) -> Requirements:
    """The requirements of the tool that the call does not meet. An empty value does not count."""
    needs = call.tool.needs
    return Requirements(
        tuple(
            authorization
            for authorization in needs.authorization
            if not call.tokens.get(authorization.id)
        ),
        tuple(id for id in needs.secrets if not call.secrets.get(id)),
        needs.user_id and not call.user_id,
    )
