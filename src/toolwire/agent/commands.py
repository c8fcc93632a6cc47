"""The inputs of the agent machine, and the commands that it returns."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from toolwire.agent.phases import Phase
from toolwire.agent.thread import Thread
from toolwire.conversation.model import Usage
from toolwire.conversation.parts import Call, Message, Part, Result

# --- events ---


class UserMessage(Struct, frozen=True):
    """A message of the user; None to let the model continue."""

    message: str | Message | None = None


class CallComplete(Struct, frozen=True):
    """A call of the response is complete; the response may go on. `before` holds the parts so
    far."""

    call: Call
    before: tuple[Part, ...] = ()


class ModelReplied(Struct, frozen=True):
    """The response is complete."""

    message: Message
    usage: Usage | None = None


class ToolReturned(Struct, frozen=True):
    """A call has its result."""

    number: int
    result: Result


class ArgumentsEdited(Struct, frozen=True):
    """The user changed the arguments of a call before it ran."""

    number: int
    arguments: str


class ModelFailed(Struct, frozen=True):
    """The model gave no response."""

    why: str


class StopRequested(Struct, frozen=True):
    """The run is cancelled."""


MachineEvent: TypeAlias = (
    "UserMessage | CallComplete | ModelReplied | ArgumentsEdited | ToolReturned | ModelFailed"
    " | StopRequested"
)

# --- commands ---


class CallModel(Struct, frozen=True):
    """Send the thread to the model."""

    turn: int


class RunTool(Struct, frozen=True):
    """Run a call. `key` is the id of its record in the ledger."""

    number: int
    call: Call
    key: str
    resumed: bool = False
    """True if the call may have run before; the ledger decides."""
    edited: bool = False
    """True if the user changed the arguments, which counts as approval."""


class SaveSession(Struct, frozen=True):
    """Store the thread."""

    thread: Thread


class FinishRun(Struct, frozen=True):
    """The run is over."""

    phase: Phase
    why: str | None = None


Command: TypeAlias = "CallModel | RunTool | SaveSession | FinishRun"
