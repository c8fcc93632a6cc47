"""Write streams whose chunks are pieces of messages in turn shape.

Text and reasoning go out as they come. A call goes out whole, because its arguments are a value,
and so does a refusal. This module knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.parts import Call, Part, Result, Role, Text
from toolwire.streaming.events import Chunk, Finish, PartComplete, PartDelta, PartEnd, PartStart
from toolwire.wires.engine.buffered_parts import PartBuffer
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.stream import StreamWriter

_TEXT_TYPES = frozenset({"text", "reasoning"})
"""Blocks that a reader continues with the first block of the next chunk."""


class GrowingBlock(Struct, frozen=True, eq=False):
    """A text or reasoning that has been written in part."""

    type: str
    add_text: Callable[[str], object]
    """Keeps a further text, on a wire whose last chunk repeats it."""


class TurnStreamWriter(StreamWriter):
    """Writes blocks as they come; subclasses put them into chunks."""

    supports_results = True
    part_writers: Mapping[type[Part], Callable[..., JSON]]
    """Write a part of another wire as a block."""

    def __init__(self, context: EncodeContext, version: int | None = None) -> None:
        super().__init__(context, version)
        self.role: Role = "assistant"
        self.buffer = PartBuffer()
        """Open parts that are written whole."""
        self.empty: dict[int, Part] = {}
        """Open texts and reasoning without text so far."""
        self.growing: dict[int, GrowingBlock] = {}
        self.separated = False
        """True if the newest chunk starts with an empty piece, which ends the text before it."""
        self.last_type: str | None = None
        """The type of the newest block, if a block of that type would continue it."""
        self.stop: str | None = None

    def block_type(self, block: Object) -> str:
        """The type of a block."""
        raise NotImplementedError

    def text_block(self, block_type: str, text: str) -> Object:
        """A block of a type, with a text."""
        raise NotImplementedError

    def create_chunk(self, blocks: list[JSON]) -> Chunk:
        """A chunk of the current message with some blocks."""
        raise NotImplementedError

    def start_message(self, role: Role) -> None:
        """The next message begins."""
        self.role = role
        self.last_type = None

    def keep_block(self, block: Object) -> Callable[[str], object]:
        """Keep a block that is written, if the wire repeats it later.

        Returns:
            What keeps the texts by which the block grows.
        """
        return bool

    def start(self, event: PartStart) -> list[Chunk]:
        part = event.part
        if isinstance(part, Call) or (isinstance(part, Text) and part.refusal):
            self.buffer.start(event)
        else:
            self.empty[event.slot] = part
        return []

    def delta(self, event: PartDelta) -> list[Chunk]:
        growing = self.growing.get(event.slot)
        if growing is not None:
            self.separated = False
            self._turn_to("assistant")
            growing.add_text(event.text)
            return [self.create_chunk([self.text_block(growing.type, event.text)])]
        if event.slot in self.buffer:
            self.buffer.delta(event)
            return []
        part = self.empty.pop(event.slot, None)
        if part is None:
            return []
        return self._write_part(replace(part, text=event.text), slot=event.slot)

    def text_appender(self, slot: int) -> Callable[[str], object] | None:
        growing = self.growing.get(slot)
        return None if growing is None or self.separated else growing.add_text

    def end(self, event: PartEnd) -> list[Chunk]:
        self.empty.pop(event.slot, None)
        self.growing.pop(event.slot, None)
        if event.slot not in self.buffer:
            return []
        return [chunk for part in self.buffer.end(event) for chunk in self._write_part(part)]

    def complete(self, event: PartComplete) -> list[Chunk]:
        return self._write_part(event.part)

    def _turn_to(self, role: Role) -> None:
        """Start the next message where results follow the assistant's parts, or the reverse."""
        if role != self.role:
            self.start_message(role)

    def _write_part(self, part: Part, slot: int | None = None) -> list[Chunk]:
        """Write a part; one with a slot is a text that may grow."""
        block = self.part_writers[type(part)](part, self.context)
        if not isinstance(block, dict):
            return []
        self._turn_to("tool" if isinstance(part, Result) else "assistant")
        kind = self.block_type(block)
        previous, self.last_type = self.last_type, kind if kind in _TEXT_TYPES else None
        self.separated = previous == kind
        add_text = self.keep_block(block)
        if slot is not None and self.last_type is not None:
            self.growing[slot] = GrowingBlock(kind, add_text)
        separator = [self.text_block(kind, "")] if self.separated else []
        return [self.create_chunk([*separator, block])]

    def finish(self, event: Finish) -> list[Chunk]:
        self.stop = event.stop
        return []
