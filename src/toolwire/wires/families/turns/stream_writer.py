"""Write streams whose chunks are pieces of messages in turn shape.

Text and reasoning are written as they arrive. Calls, whose arguments are a value, and refusals are
written whole. This module knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.parts import Call, Opaque, Part, Result, Role, Text
from toolwire.streaming.accumulate import with_text
from toolwire.streaming.events import Chunk
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.sequential_writer import QueuedPart, SequentialWriter

_TEXT_TYPES = frozenset({"text", "reasoning"})
"""Blocks that a reader continues with the first block of the next chunk."""


class GrowingBlock(Struct, frozen=True, eq=False):
    """A text or reasoning that has been written partly."""

    type: str
    add_text: Callable[[str], object]
    """Stores further text, on a wire whose last chunk repeats it."""


class TurnStreamWriter(SequentialWriter):
    """Writes blocks as they arrive. Subclasses put them into chunks."""

    supports_results = True
    repeats_unknown_parts = True
    part_writers: Mapping[type[Part], Callable[..., JSON]]
    """The functions that write parts as blocks."""

    def __init__(self, context: EncodeContext, version: int | None = None) -> None:
        super().__init__(context, version)
        self.role: Role = "assistant"
        self.growing: GrowingBlock | None = None
        """The block of the open text or reasoning."""
        self.separated = False
        """True if the newest chunk starts with an empty piece, which ends the text before it."""
        self.last_type: str | None = None
        """The type of the newest block, if a block of that type would continue it."""

    def block_type(self, block: Object) -> str:
        """The type of a block."""
        raise NotImplementedError

    def text_block(self, block_type: str, text: str) -> Object:
        """A block of a type with a text."""
        raise NotImplementedError

    def create_chunk(self, blocks: list[JSON]) -> Chunk:
        """A chunk of the current message with these blocks."""
        raise NotImplementedError

    def start_message(self, role: Role) -> None:
        """Start the next message."""
        self.role = role
        self.last_type = None

    def keep_block(self, block: Object) -> Callable[[str], object]:
        """Keep a written block, if the wire repeats it later.

        Returns:
            A function that keeps the texts by which the block grows.
        """
        return bool

    def waits_for_end(self, part: Part) -> bool:
        return isinstance(part, Call) or (isinstance(part, Text) and part.refusal)

    def open_part(self, queued: QueuedPart, text: str) -> list[Chunk]:
        self.growing = None
        block = self._write_block(with_text(queued.part, text))
        if block is None:
            return []
        self.growing = GrowingBlock(self.block_type(block), self.keep_block(block))
        return self._write_chunk(block)

    def grow_part(self, queued: QueuedPart, text: str) -> list[Chunk]:
        growing = self.growing
        if growing is None:
            return []
        self.separated = False
        self._turn_to("assistant")
        growing.add_text(text)
        return [self.create_chunk([self.text_block(growing.type, text)])]

    def appender(self, queued: QueuedPart) -> Callable[[str], object] | None:
        growing = self.growing
        return None if growing is None or self.separated else growing.add_text

    def write_part(self, part: Part, choice: int) -> list[Chunk]:
        block = self._write_block(part)
        if block is None:
            return []
        self.keep_block(block)
        if isinstance(part, Opaque):  # the block may have no type
            self.last_type, self.separated = None, False
            return [self.create_chunk([block])]
        return self._write_chunk(block)

    def _write_block(self, part: Part) -> Object | None:
        block = self.part_writers[type(part)](part, self.context)
        if not isinstance(block, dict):
            return None
        self._turn_to("tool" if isinstance(part, Result) else "assistant")
        return block

    def _write_chunk(self, block: Object) -> list[Chunk]:
        """The chunk of a block; an empty piece separates it from a block that it would otherwise
        continue."""
        kind = self.block_type(block)
        previous, self.last_type = self.last_type, kind if kind in _TEXT_TYPES else None
        self.separated = previous == kind
        separator = [self.text_block(kind, "")] if self.separated else []
        return [self.create_chunk([*separator, block])]

    def _turn_to(self, role: Role) -> None:
        """Start the next message when results follow the assistant's parts, or the reverse."""
        if role != self.role:
            self.start_message(role)
