"""A call as a protocol hands it over, and the answer it gets back: the same for every protocol.

Input is checked and requirements are met before anything is looked up or recorded. Runs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from toolwire.conversation.json import Object
from toolwire.errors import ToolwireError
from toolwire.execution.ledger.base import Outcome
from toolwire.tools.runnable import Authorization, Runnable


class ToolCall(Struct, frozen=True, kw_only=True):
    """One call of one tool."""

    tool: Runnable
    input: Object = {}
    call_id: str | None = None
    """None if the caller gave none: one is made, and nothing is promised about repeats."""
    principal: str = ""
    """Who was authenticated; part of the key of the record, together with the user."""
    user_id: str | None = None
    tokens: Mapping[str, str] = {}
    secrets: Mapping[str, str] = {}
    trace_id: str | None = None
    wait: float | None = None
    """Seconds to wait for a call that is already under way; None is the default of the server."""

    def __repr__(self) -> str:
        """Without tokens and secrets: this ends up in logs."""
        return f"Ask(tool={self.tool.id}, call_id={self.call_id!r})"

    __str__ = __repr__


class ToolCallResult(Struct, frozen=True, kw_only=True):
    """What became of a call.

    `done` and `failed` have an outcome. `running`: the first one is still at it. `lost`: it ran and
    nobody knows how it ended. `mismatch`: the id belongs to another call. `gone`: it ran, the
    result is no longer kept. `unavailable`: the ledger could not record it, so it was not run.
    `too-old`: the id is older than the record.
    """

    state: Literal[
        "done", "failed", "running", "lost", "mismatch", "gone", "unavailable", "too-old"
    ]
    call_id: str
    outcome: Outcome | None = None
    replayed: bool = False
    recorded: bool = True
    """False if the outcome could not be written down yet."""
    attempt: int = 1
    started_at: int | None = None
    retry_after_ms: int | None = None


class MissingRequirement(Struct, frozen=True):
    """What a tool needs and was not given."""

    authorization: tuple[Authorization, ...] = ()
    secrets: tuple[str, ...] = ()
    user_id: bool = False

    def __bool__(self) -> bool:
        return bool(self.authorization or self.secrets or self.user_id)


def missing(ask: ToolCall) -> MissingRequirement:
    """What a call lacks of what its tool declares. An empty text is none."""
    needs = ask.tool.needs
    return MissingRequirement(
        tuple(one for one in needs.authorization if not ask.tokens.get(one.id)),
        tuple(one for one in needs.secrets if not ask.secrets.get(one)),
        needs.user_id and not ask.user_id,
    )


class MissingRequirements(ToolwireError):
    """A call that was not even looked up: its tool needs what was not given."""

    def __init__(self, missing: MissingRequirement) -> None:
        lacks = [
            *(one.id for one in missing.authorization),
            *missing.secrets,
            *(["user_id"] if missing.user_id else []),
        ]
        super().__init__(f"the tool needs {', '.join(lacks)}")
        self.missing = missing
