"""The neutral stream: what happens while an answer is being given.

A part is opened, grows, and is closed; what came at once is whole. The texts of a part's deltas,
joined, are its text (or the arguments of a call). A slot groups the events of one part inside one
stream and means nothing outside it. Knows no wire.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from toolwire.conversation.json import JSON, JsonPath
from toolwire.conversation.model import Setting
from toolwire.conversation.parts import Part, Role


class MessageStart(Struct, frozen=True, gc=False):
    """An answer begins: its id, model and time, as far as the wire says."""

    settings: dict[str, Setting]


class TurnStart(Struct, frozen=True, gc=False):
    """The next message begins, in streams that hold several: a model's turn, or the results of its
    calls."""

    role: Role


class PartStart(Struct, frozen=True, gc=False):
    """A part is opened: a text, reasoning, or a call whose id and name are known from here on and
    do not change."""

    slot: int
    part: Part
    choice: int = 0
    """Which of several candidates."""
    more: bool = False
    """Whether this is a text going on that something else interrupted, and not another text."""


class PartDelta(Struct, frozen=True, gc=False):
    """More text of an open part."""

    slot: int
    text: str


class PartEnd(Struct, frozen=True, gc=False):
    """An open part is closed."""

    slot: int
    whole: str | None = None
    """The text after all, where it is not what the deltas add up to."""
    signature: str | None = None
    """The provider's signature over the part, which comes last."""
    cut: bool = False
    """Whether it was never finished: the stream broke off before the wire said that this part is
    over."""
    alias: str | None = None
    """The id that the wire gave a call after all, when it had been announced under another."""


class PartComplete(Struct, frozen=True, gc=False):
    """A part that came at once."""

    part: Part
    choice: int = 0
    unseen: bool = False
    """Whether nobody said it: a call that was told before this stream began, and is only known by
    its result."""


class Metadata(Struct, frozen=True, gc=False):
    """Settings that come late: usage, above all."""

    settings: dict[str, Setting]


class Finish(Struct, frozen=True, gc=False):
    """An answer is over, and why."""

    stop: str | None
    choice: int = 0


class StreamError(Struct, frozen=True, gc=False):
    """The peer reports an error in mid-stream, or the stream broke off (`cut`)."""

    message: str
    code: str | None = None
    cut: bool = False


class Unsupported(Struct, frozen=True, gc=False):
    """Something that has no neutral form stays behind: where it stood, and what it was."""

    path: JsonPath
    reason: str


Event: TypeAlias = (
    "MessageStart | TurnStart | PartStart | PartDelta | PartEnd | PartComplete | Metadata | Finish"
    " | StreamError | Unsupported"
)
Chunk: TypeAlias = "dict[str, JSON]"
"""One event of a wire, as the JSON object it is there."""
