"""Read streams whose chunks are pieces of messages in turn shape.

A chunk holds whole blocks, but its first block continues the newest text or reasoning if both have
the same type. This module knows no wire by name: a wire adds how its chunks name messages.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.parts import Part, Reasoning, Text
from toolwire.errors import DecodeError
from toolwire.streaming.events import Event, Unsupported
from toolwire.wires.engine.encode_context import UNKNOWN_FIELD
from toolwire.wires.engine.part_sequence import PartSequence
from toolwire.wires.engine.specs import Block
from toolwire.wires.engine.stream import STREAM_CUT, StreamReader, copy_json
from toolwire.wires.families.turns.history import MessageShape

CUT_ERROR: JSON = {"message": STREAM_CUT}


def growing_field(spec: Block) -> str:
    """The field of a block that grows in a stream."""
    ((_, field),) = spec.deltas.values()
    return field


class MessageRecord(Struct, eq=False):
    """A message of the stream, as in the whole body."""

    fields: Object
    content: list[JSON]


class TurnStreamReader(StreamReader):
    """Reads the blocks of chunks. Subclasses read everything around them."""

    may_contain_results = True
    shape: MessageShape
    signature_field: str
    """The field with the signature of a text or reasoning, which ends it."""

    def __init__(self, *, keep: bool = False) -> None:
        super().__init__(keep=keep)
        self.messages: list[MessageRecord] = []
        """The messages of the body, if it is kept."""
        self.parts = PartSequence(self)

    def start_record(self, fields: Object) -> None:
        """Start the next message of the body, if the body is kept."""
        if self.keep:
            self.parts.blocks = []
            self.messages.append(MessageRecord(fields, self.parts.blocks))

    # --- blocks ---

    def read_block(self, block: JSON, path: JsonPath, *, first: bool) -> list[Event]:
        """The events of one block; `first` is True if it is the first of its chunk."""
        if not isinstance(block, dict):
            return [Unsupported(path, UNKNOWN_FIELD)]
        try:
            part = self.shape.read_part(block, path)
        except DecodeError as error:
            return [Unsupported(error.path, error.why)]
        return self.read_part(part, block, first=first)

    def read_part(self, part: Part, block: Object, *, first: bool) -> list[Event]:
        """The events of a part that was read from a block."""
        if isinstance(part, Text | Reasoning) and isinstance(part.spec, Block):
            return self.read_text(part, part.spec, block, first=first)
        return [*self.close_text(), *self.parts.add(part, block)]

    def read_text(
        self, part: Text | Reasoning, spec: Block, block: Object, *, first: bool
    ) -> list[Event]:
        """Continue the open text, or open a new one."""
        if not first or not self._continues(spec, block):
            field = growing_field(spec)
            return [
                *self.close_text(),
                *self.parts.add_text(part, dict(block), field, continues=False),
            ]
        current, signature = self.parts.open, block.get(self.signature_field)
        if current is not None and signature is not None:
            current.block[self.signature_field] = copy_json(signature)
        return self.parts.add_text(part, block, continues=True)

    def _continues(self, spec: Block, block: Object) -> bool:
        """True if a block is only text of the same type, and no signature precedes it.

        Null fields do not count, because some serializers write them all.
        """
        current = self.parts.open
        if current is None or current.part.spec is not spec:
            return False
        if not isinstance(block.get(current.field), str):
            return False
        if current.block.get(self.signature_field) not in (None, ""):
            return False
        if spec.clean(block):
            return True
        return spec.clean({key: value for key, value in block.items() if value is not None})

    def text_appender(self, slot: int) -> Callable[[str], bool] | None:
        current = self.parts.open
        if current is None or current.slot != slot or current.block.get(self.signature_field):
            return None  # a signature ends the text
        return bool

    def close_text(self, *, cut: bool = False) -> list[Event]:
        """Close the open text, if any."""
        current = self.parts.open
        if current is None:
            return []
        signature = self.shape.read_part(current.block, ()).signature
        return self.parts.close(cut=cut, signature=signature)

    def close_parts(self, *, cut: bool) -> list[Event]:
        return self.close_text(cut=cut)

    # --- the body ---

    def error_field(self) -> Object:
        """The error as a field of the body, if there was one."""
        return {} if self.error is None else {"error": self.error}

    def message_bodies(self) -> list[JSON]:
        """The messages as in the whole body."""
        field = self.shape.content
        return [{**message.fields, field: message.content} for message in self.messages]
