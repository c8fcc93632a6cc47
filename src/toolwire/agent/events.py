"""The protocol of models, and the events that an agent reports while it runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol, TypeAlias

from msgspec import Struct

from toolwire.agent.phases import Phase
from toolwire.codec import Encoded
from toolwire.conversation.model import Change, Conversation, Loss, Usage
from toolwire.conversation.parts import Call, Message, Result
from toolwire.errors import ToolwireError, require_count, require_seconds
from toolwire.streaming import events

# --- models ---


class ModelReply(Struct, frozen=True):
    """A complete response of a model.

    `cut` is True if its stream broke off; an incomplete call is not part of the message.
    """

    message: Message
    usage: Usage | None = None
    cut: bool = False


class ModelError(ToolwireError):
    """A model gave no response.

    Attributes:
        message: The error message of the server.
        status: The HTTP status, if there was one.
        defect: True if the server refuses this history, and would refuse it again.
        transient: True if the same request may succeed later.
        retry_after: Seconds to wait before a retry, if the server names a time.
        meaning: The explanations of `explain` for the message.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        defect: bool = False,
        transient: bool = False,
        retry_after: float | None = None,
        meaning: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.defect = defect
        self.transient = transient
        self.retry_after = retry_after
        self.meaning = meaning

    def __str__(self) -> str:
        return "\n".join((self.message, *self.meaning))


class Model(Protocol):
    """A model that an agent can use. `HttpModel` is one."""

    @property
    def name(self) -> str:
        """The name of the model in requests."""

    @property
    def target(self) -> str:
        """The wire or profile that requests are written for."""

    @property
    def native_tools(self) -> bool:
        """True if the model has a tool API; if not, tools are described in text."""

    def ask(self, request: Encoded) -> AsyncIterator[events.Event | Retry | ModelReply]:
        """Yield the response as it arrives; the reply is the last item. Raises ModelError."""

    async def close(self) -> None:
        """Close the connections."""


# --- events ---


class ModelRequest(Struct, frozen=True):
    """A request is sent to the model. Has the number of the turn and the repairs of the history."""

    turn: int
    model: str
    changes: tuple[Change, ...] = ()
    losses: tuple[Loss, ...] = ()


class Retry(Struct, frozen=True):
    """A request is sent again after `wait` seconds; the response so far is discarded."""

    why: str
    wait: float = 0.0
    changes: tuple[Change, ...] = ()
    """Repairs of the history, if the server refused it."""


class ToolStarted(Struct, frozen=True):
    """A call starts to run. `number` counts the calls of a response from 0."""

    number: int
    call: Call


class ToolFinished(Struct, frozen=True):
    """A call has its result.

    `state` is the state of its record, or why it did not run; `replayed` is True if the result is
    from an earlier run. A call that did not run has no `ToolStarted`.
    """

    number: int
    call: Call
    result: Result
    seconds: float
    state: str = "done"
    replayed: bool = False


class RunResult(Struct, frozen=True):
    """The end of a run.

    Attributes:
        phase: `done`, `failed`, or `stopped` by a limit.
        stop: Why the model stopped, or why the run ended.
        usage: The tokens of all turns together.
        text: The last text of the model.
        conversation: All messages; `encode` writes them for any wire.
    """

    phase: Phase
    stop: str | None
    usage: Usage
    text: str
    conversation: Conversation = Conversation(())

    @property
    def error(self) -> str | None:
        """Why the model gave no answer, and what to do about it; None if it gave one."""
        if self.phase is Phase.FAILED:
            return self.stop or "the model gave no response"
        if self.phase is Phase.STOPPED:
            return (
                f"stopped after {self.stop or 'a limit'} without a final answer; call run() again"
                " to continue, or raise the limits"
            )
        return None


AgentEvent: TypeAlias = (
    "events.Event | ModelRequest | Retry | ToolStarted | ToolFinished | RunResult"
)


class AgentError(ToolwireError):
    """A run ended without an answer from the model.

    The conversation so far is kept: `run()` without a question continues it.

    Attributes:
        result: The end of the run, with usage and conversation.
    """

    def __init__(self, result: RunResult) -> None:
        super().__init__(result)
        self.result = result

    def __str__(self) -> str:
        return self.result.error or "the run ended without an answer"


class Limits(Struct, frozen=True, kw_only=True):
    """The limits of one run."""

    turns: int = 50
    """The maximum number of requests to the model."""
    parallel: int = 8
    """The maximum number of concurrent calls."""
    result_chars: int = 100_000
    """The maximum number of characters of a result; a longer one is cut, with a note for the
    model."""
    tool_seconds: float | None = None
    """The time limit of every call in seconds, in addition to the tool's own."""

    def __post_init__(self) -> None:
        require_count(self.turns, "turns=", least=1)
        require_count(self.parallel, "parallel=", least=1)
        require_count(self.result_chars, "result_chars=", least=0)
        if self.tool_seconds is not None:
            require_seconds(self.tool_seconds, "tool_seconds=")
