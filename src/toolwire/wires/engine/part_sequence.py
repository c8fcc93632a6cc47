"""Read streams whose chunks have the shape of whole bodies: they hold parts, not deltas of parts.

Nothing numbers the parts of such a stream. A piece of text may continue the text before it, which
the wire decides; any other part is complete in its chunk. Knows no wire.
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
    """The part as its first piece opened it."""
    slot: int
    block: Object
    """The block as the whole body will hold it."""
    field: str
    """The field of the block that grows."""
    pieces: list[str] = []
    """Its texts, if the body is wanted."""


class PartSequence:
    """The parts of one candidate or one answer, in the order in which chunks hold them."""

    __slots__ = ("blocks", "choice", "keep", "open", "reader")

    def __init__(self, reader: StreamReader, choice: int = 0, *, keep: bool | None = None) -> None:
        self.reader = reader
        self.choice = choice
        self.keep = reader.keep if keep is None else keep
        self.blocks: list[JSON] = []
        """The blocks as the whole body holds them, if the body is wanted."""
        self.open: OpenText | None = None

    def add_text(
        self, part: Text | Reasoning, block: Object, field: str = "text", *, continues: bool
    ) -> list[Event]:
        """Add a piece of text, which continues the open one or starts another."""
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
        """Add more text to the open one."""
        if self.keep:
            current.pieces.append(text)
        return [PartDelta(current.slot, text)] if text else []

    def add(self, part: Part, block: JSON) -> list[Event]:
        """Add a part that is complete."""
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
