"""Read streams whose chunks are pieces of messages in turn shape.

A chunk holds whole blocks, except that the first block of a chunk continues the newest text or
reasoning before it if both have the same type. This module knows no wire by name: a wire adds how
its chunks name messages.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, text_of
from toolwire.conversation.parts import Call, Part, Reasoning, Result, Text
from toolwire.errors import RemoteError
from toolwire.streaming.events import (
    Event,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
    StreamError,
    Unsupported,
)
from toolwire.wires.engine.specs import Block
from toolwire.wires.engine.stream import STREAM_CUT, StreamReader, copy_json
from toolwire.wires.families.turns.history import MessageShape

UNKNOWN_FIELD = "no such field on this wire"
_CUT = {"message": STREAM_CUT}


class GrowingPart(Struct, eq=False):
    """The newest part, while the next chunk may continue it."""

    spec: Block
    block: Object
    """The block as the whole message will hold it."""
    field: str
    """The field of the block that grows."""
    slot: int | None = None
    """None if no events are emitted for the part before it is complete, or at all."""
    pieces: list[str] = []
    """Its texts, joined at the end; only the first one if the body is not wanted."""


def growing_field(spec: Block) -> str:
    """The field of a block that grows in a stream."""
    ((_, field),) = spec.deltas.values()
    return field


class MessageRecord(Struct, eq=False):
    """A message of the stream, as the whole body will hold it."""

    fields: Object
    content: list[JSON]


class TurnStreamReader(StreamReader):
    """Reads the blocks of chunks; subclasses read what is around them."""

    may_contain_results = True
    shape: MessageShape
    signature_field: str
    """The field of a text or reasoning that ends it, because it holds its signature."""

    def __init__(self, *, keep: bool = False) -> None:
        super().__init__(keep=keep)
        self.messages: list[MessageRecord] = []
        """Filled only if the body is wanted."""
        self.growing: GrowingPart | None = None
        self.slots = 0
        """Number of parts opened so far."""
        self.error: JSON = None

    # --- blocks ---

    def read_block(self, block: JSON, path: JsonPath, *, first: bool) -> list[Event]:
        """The events of one block; `first` says whether it is the first of its chunk."""
        if not isinstance(block, dict):
            return [Unsupported(path, UNKNOWN_FIELD)]
        try:
            part = self.shape.read_part(block, path)
        except RemoteError as error:
            return [Unsupported(error.path, error.why)]
        return self.read_part(part, block, first=first)

    def read_part(self, part: Part, block: Object, *, first: bool) -> list[Event]:
        """The events of a part that was read from a block."""
        if isinstance(part, Text | Reasoning) and isinstance(part.spec, Block):
            return self.read_text(part, part.spec, block, first=first)
        out = self.close_growing()
        self.keep_block(copy_json(block))
        return out + self.complete(part)

    def read_text(
        self, part: Text | Reasoning, spec: Block, block: Object, *, first: bool
    ) -> list[Event]:
        """Continue the growing text, or open a new one."""
        growing = self.growing
        if first and growing is not None and self._continues(growing, spec, block):
            if self.keep:
                growing.pieces.append(part.text)
            signature = block.get(self.signature_field)
            if signature is not None:
                growing.block[self.signature_field] = copy_json(signature)
            return self._delta(growing, part.text)
        out = self.close_growing()
        field, slot = growing_field(spec), self.next_slot()
        growing = self.growing = GrowingPart(spec, dict(block), field, slot, [part.text])
        self.keep_block(growing.block)
        if growing.slot is not None:
            out.append(PartStart(growing.slot, replace(part, text="", signature=None)))
        return out + self._delta(growing, part.text)

    def _continues(self, growing: GrowingPart, spec: Block, block: Object) -> bool:
        """True if a block is text of the same type and nothing else, and no signature precedes it.

        Fields that are null do not count: some serializers write them all.
        """
        if growing.spec is not spec or not isinstance(block.get(growing.field), str):
            return False
        if growing.block.get(self.signature_field) not in (None, ""):
            return False
        if spec.clean(block):
            return True
        return spec.clean({key: value for key, value in block.items() if value is not None})

    def _delta(self, growing: GrowingPart, text: str) -> list[Event]:
        return [PartDelta(growing.slot, text)] if text and growing.slot is not None else []

    def next_slot(self) -> int | None:
        """The slot of a part that opens; None if nothing is to be emitted for it."""
        self.slots += 1
        return self.slots - 1

    def close_growing(self, *, cut: bool = False) -> list[Event]:
        """Close the part that grows, if there is one."""
        growing, self.growing = self.growing, None
        if growing is None:
            return []
        if len(growing.pieces) > 1:
            growing.block[growing.field] = "".join(growing.pieces)
        if growing.slot is None:
            return []
        signature = self.shape.read_part(growing.block, ()).signature
        return [PartEnd(growing.slot, signature=signature, cut=cut)]

    def complete(self, part: Part) -> list[Event]:
        """The event of a part that arrived whole, under the id of its call."""
        if isinstance(part, Call):
            part = self.assign_call_id(part)
        elif isinstance(part, Result):
            part = self.assign_result_id(part)
        return [PartComplete(part)]

    def keep_block(self, block: JSON) -> None:
        """Add a block to the newest message of the body, if the body is wanted."""
        if self.keep:
            self.messages[-1].content.append(block)

    # --- the end ---

    def close_parts(self, *, cut: bool) -> list[Event]:
        """Close everything that is open."""
        return self.close_growing(cut=cut)

    def fail(self, error: JSON, code: str | None = None) -> list[Event]:
        """Close everything, and report an error of the peer."""
        self.error = error
        message = error.get("message") if isinstance(error, dict) else error
        text = message if isinstance(message, str) else text_of(error)
        return [*self.close_parts(cut=True), StreamError(text, code)]

    def fail_cut(self) -> list[Event]:
        """Close everything, and report that the stream ended too early."""
        self.error = dict(_CUT)
        return [*self.close_parts(cut=True), StreamError(STREAM_CUT, cut=True)]

    @property
    def peer_failed(self) -> bool:
        """True if the peer reported an error."""
        return self.error is not None and self.error != _CUT

    def error_field(self) -> Object:
        """The error as a field of the body, if there was one."""
        return {} if self.error is None else {"error": self.error}

    def message_bodies(self) -> list[JSON]:
        """The messages as the body holds them."""
        field = self.shape.content
        return [{**message.fields, field: message.content} for message in self.messages]
