"""Read streams whose chunks have the shape of whole bodies: they hold parts, not deltas of parts.

The parts of such a stream have no numbers. Whether a piece of text continues the text before it is
decided by the wire; any other part is complete in its chunk. Knows no wire.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.parts import Part, Reasoning, Text
from toolwire.streaming.events import Event, PartComplete, PartDelta, PartEnd, PartStart
from toolwire.wires.engine.stream import StreamReader, copy_json


class OpenText(Struct, eq=False):
    """The newest text or reasoning, while the next chunk may continue it."""

    part: Text | Reasoning
    """The part as its first piece started it."""
    slot: int
    block: Object
    """The block that the body will hold."""
    field: str
    """The field of the block that grows."""
    pieces: list[str] = []
    """The texts so far, if the body is kept."""


class PartSequence:
    """The parts of one candidate or one answer, in the order in which chunks hold them."""

    __slots__ = ("blocks", "choice", "keep", "open", "reader")

    def __init__(self, reader: StreamReader, choice: int = 0, *, keep: bool | None = None) -> None:
        self.reader = reader
        self.choice = choice
        self.keep = reader.keep if keep is None else keep
        self.blocks: list[JSON] = []
        """The blocks of the body, if the body is kept."""
        self.open: OpenText | None = None

    def add_text(
        self, part: Text | Reasoning, block: Object, field: str = "text", *, continues: bool
    ) -> list[Event]:
        """Add a piece of text, which continues the open text or starts a new one."""
        if continues and self.open is not None:
            return self.continue_text(self.open, part.text)
        out = self.close()
        block = dict(block) if self.keep else block
        current = self.open = OpenText(part, self.reader.next_slot(), block, field)
        if self.keep:
            self.blocks.append(block)
        opened = replace(part, text="", signature=None)
        out.append(PartStart(current.slot, opened, self.choice))
        return out + self.continue_text(current, part.text)

    def continue_text(self, current: OpenText, text: str) -> list[Event]:
        """Append text to the open text."""
        if self.keep:
            current.pieces.append(text)
        return [PartDelta(current.slot, text)] if text else []

    def add(self, part: Part, block: JSON) -> list[Event]:
        """Add a complete part, which ends the open text."""
        out = self.close()
        if self.keep:
            self.blocks.append(copy_json(block))
        return [*out, PartComplete(self.reader.identify(part), self.choice)]

    def close(self, *, cut: bool = False, signature: str | None = None) -> list[Event]:
        """End the open text. `cut`: the stream ended before the text did."""
        current, self.open = self.open, None
        if current is None:
            return []
        if self.keep:
            current.block[current.field] = "".join(current.pieces)
        return [PartEnd(current.slot, signature=signature, cut=cut)]
