"""What a loop needs of a model, and what it tells those who watch.

A model takes a request and says its answer as neutral events, then once more as the message it adds
up to. Speaks no wire itself.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol, TypeAlias

from msgspec import Struct

from toolwire.agent.machine import Phase
from toolwire.codec import Encoded
from toolwire.conversation.model import Change, Loss, Usage
from toolwire.conversation.parts import Call, Message, Result
from toolwire.errors import ToolwireError
from toolwire.streaming import events
from toolwire.tools.runnable import Runnable


class ModelReply(Struct, frozen=True):
    """An answer that is over. `cut`: its stream broke off; a call that was not complete is not in
    it."""

    message: Message
    usage: Usage | None = None
    cut: bool = False


class ModelError(ToolwireError):
    """A model that gave no answer: what its server said, and what it means.

    `defect`: the history was refused; sending it again as it is would be refused again. `again`: it
    may work later.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        defect: bool = False,
        again: bool = False,
        after: float | None = None,
        meaning: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.defect = defect
        self.again = again
        self.after = after
        """Seconds to wait first, if the server says so."""
        self.meaning = meaning
        """What `explain` makes of it."""

    def __str__(self) -> str:
        return "\n".join((self.message, *self.meaning))


class Model(Protocol):
    """A model somewhere."""

    @property
    def name(self) -> str:
        """As it is called in the request."""

    @property
    def target(self) -> str:
        """The wire or profile it speaks."""

    @property
    def native(self) -> bool:
        """Whether it has tools of its own; if not, all is said in text."""

    def ask(self, body: Encoded) -> AsyncIterator[events.Event | Retry | ModelReply]:
        """The answer as it comes; the last one is the reply. Raises ModelError."""

    async def close(self) -> None: ...


# --- what is told to those who watch ---


class ModelRequest(Struct, frozen=True):
    """A model is asked: for the how-manieth answer, which one, and what was done to the history for
    it."""

    turn: int
    model: str
    changes: tuple[Change, ...] = ()
    losses: tuple[Loss, ...] = ()


class Retry(Struct, frozen=True):
    """A request is sent again, and why."""

    why: str
    wait: float = 0.0
    changes: tuple[Change, ...] = ()
    """What was mended in the history, if it was refused."""


class ToolStarted(Struct, frozen=True):
    """A call begins to run."""

    n: int
    call: Call


class ToolFinished(Struct, frozen=True):
    """A call has its result. `state`: how its record stands, or why it was not run; `replayed`: it
    had run before.

    A call that was denied, or of a tool that there is not, was never `Running`.
    """

    n: int
    call: Call
    result: Result
    seconds: float
    state: str = "done"
    replayed: bool = False


class RunResult(Struct, frozen=True):
    """The loop has ended: how, why, and what all answers together have used up."""

    phase: Phase
    why: str | None
    usage: Usage
    text: str
    """What the model said last."""


Seen: TypeAlias = "events.Event | ModelRequest | Retry | ToolStarted | ToolFinished | RunResult"


# --- who may run what ---


class Allow(Struct, frozen=True):
    """Run it as it is."""


class Deny(Struct, frozen=True):
    """Do not run it; the model is told why."""

    reason: str = "the user declined this call"


class Edit(Struct, frozen=True):
    """Run it with other arguments, as JSON text."""

    arguments: str


Verdict: TypeAlias = "Allow | Deny | Edit"
Approve: TypeAlias = Callable[[Call, Runnable], "Verdict | Awaitable[Verdict]"]


class Limits(Struct, frozen=True):
    """Where a loop ends, and how much of it runs at once."""

    turns: int = 50
    parallel: int = 8
    """Calls at once."""
    result_chars: int = 100_000
    """Longer results are cut, with a mark."""
    tool_seconds: float | None = None
    """For every tool, on top of its own limit."""
