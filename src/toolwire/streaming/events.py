"""The neutral stream: the events of a response while it is generated.

A part starts, grows and ends, or is complete at once. The texts of its deltas, joined, are its text
(for a call: its arguments). A slot groups the events of one part of one stream and means nothing
outside it. This module knows no wire.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from toolwire.conversation.json import JSON, JsonPath
from toolwire.conversation.model import Setting
from toolwire.conversation.parts import Part, Role


class MessageStart(Struct, frozen=True, gc=False):
    """An answer starts, with its id, model and creation time if the wire sends them."""

    settings: dict[str, Setting]


class TurnStart(Struct, frozen=True, gc=False):
    """The next message starts, in streams with several messages: a turn, or results of its
    calls."""

    role: Role


class PartStart(Struct, frozen=True, gc=False):
    """A part starts: text, reasoning, or a call, whose id and name do not change any more."""

    slot: int
    part: Part
    choice: int = 0
    """The index of the candidate that the part belongs to."""
    more: bool = False
    """True if this text continues one that another part interrupted."""


class PartDelta(Struct, frozen=True, gc=False):
    """More text of an open part."""

    slot: int
    text: str


class PartEnd(Struct, frozen=True, gc=False):
    """An open part ends."""

    slot: int
    whole: str | None = None
    """The final text, if it differs from the joined deltas."""
    signature: str | None = None
    """The provider's signature over the part, which arrives last."""
    cut: bool = False
    """True if the stream was cut off before the wire ended this part."""
    alias: str | None = None
    """The id of a call that the wire sent only after the call had started under another id."""


class PartComplete(Struct, frozen=True, gc=False):
    """A part that arrived complete."""

    part: Part
    choice: int = 0
    unseen: bool = False
    """True if the call was emitted before this stream started; only its result appears here."""


class Metadata(Struct, frozen=True, gc=False):
    """Settings that arrive late, above all usage."""

    settings: dict[str, Setting]


class Finish(Struct, frozen=True, gc=False):
    """An answer is complete, with the reason why the model stopped."""

    stop: str | None
    choice: int = 0


class StreamError(Struct, frozen=True, gc=False):
    """The source reports an error in mid-stream, or the stream was cut off (`cut`)."""

    message: str
    code: str | None = None
    cut: bool = False


class Unsupported(Struct, frozen=True, gc=False):
    """Content without a neutral form: its path and a description."""

    path: JsonPath
    reason: str


Event: TypeAlias = (
    "MessageStart | TurnStart | PartStart | PartDelta | PartEnd | PartComplete | Metadata | Finish"
    " | StreamError | Unsupported"
)
Chunk: TypeAlias = "dict[str, JSON]"
"""One event of a wire, as a JSON object."""
