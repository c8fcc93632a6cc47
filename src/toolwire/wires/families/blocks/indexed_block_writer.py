"""Write streams of indexed blocks, which open, grow by deltas and close under an index.

A wire subclasses `IndexedBlockWriter` and supplies its tables. The first of the `deltas` of a block
spec carries the text of the part. This module knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.parts import Call, Part
from toolwire.streaming.accumulate import with_text
from toolwire.streaming.events import Chunk, PartEnd, StreamError
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.sequential_writer import QueuedPart, SequentialWriter
from toolwire.wires.engine.specs import Block


class WrittenBlock(Struct, eq=False):
    """A block of a stream that is being written."""

    index: int
    spec: Block
    delta: str = ""
    """The type of the deltas that carry the text."""
    field: str = ""
    """The field of the delta that holds the text."""
    grew: bool = False

    def __post_init__(self) -> None:
        if self.spec.deltas:
            self.delta, (self.field, _) = next(iter(self.spec.deltas.items()))


class IndexedBlockWriter(SequentialWriter):
    """Writes a stream of indexed blocks. A subclass makes the events of the wire.

    The APIs close a block before the next one opens, and clients append deltas to the newest block.
    """

    repeats_deltas = False
    """True if the deltas of a block differ only in their text."""
    specs: Mapping[type[Part], Block] = {}
    """The spec of the block that a part is written as."""
    writers: Mapping[type[Part], Callable[..., JSON]] = {}
    """The functions that write parts in bodies: they make the opening blocks."""
    empty_arguments = ""
    """The text for a call without arguments, on wires that require some text."""

    def __init__(self, context: EncodeContext, version: int | None = None) -> None:
        super().__init__(context, version)
        self.block: WrittenBlock | None = None
        """The open block; None if the wire has no block for the part."""
        self.count = 0

    # --- for subclasses ---

    def write_start(self, block: WrittenBlock, content: Object) -> list[Chunk]:
        """The events that open a block; `content` is the block as in a body."""
        raise NotImplementedError

    def write_delta(self, block: WrittenBlock, text: str) -> Chunk:
        """The event that adds text to a block."""
        raise NotImplementedError

    def write_stop(self, block: WrittenBlock) -> Chunk:
        """The event that closes a block."""
        raise NotImplementedError

    def write_complete(self, block: WrittenBlock, part: Part, content: Object) -> list[Chunk]:
        """The events of a block that does not grow."""
        return [*self.write_start(block, content), self.write_stop(block)]

    def write_end(self) -> list[Chunk]:
        """The last events of the stream."""
        raise NotImplementedError

    def write_error(self, event: StreamError) -> Chunk:
        """The event that reports an error."""
        raise NotImplementedError

    def next_index(self, spec: Block) -> int:
        """The index of the next block."""
        self.count += 1
        return self.count - 1

    # --- blocks ---

    def open_part(self, queued: QueuedPart, text: str) -> list[Chunk]:
        part = queued.part if isinstance(queued.part, Call) else with_text(queued.part, text)
        content = self._write_block(part)
        if self.block is None or content is None:
            return []
        out = self.write_start(self.block, content)
        return out + self.grow_part(queued, text) if text else out

    def _write_block(self, part: Part) -> Object | None:
        """Write the block of a part and make it the open one; None if the wire has no such
        block."""
        content = self.writers[type(part)](part, self.context)
        self.block = None
        if not isinstance(content, dict):
            return None
        spec = self.specs[type(part)]
        self.block = WrittenBlock(self.next_index(spec), spec)
        return content

    def grow_part(self, queued: QueuedPart, text: str) -> list[Chunk]:
        if self.block is None:
            return []
        self.block.grew = True
        return [self.write_delta(self.block, text)]

    def appender(self, queued: QueuedPart) -> Callable[[str], object] | None:
        return bool if self.repeats_deltas else None

    def close_part(self, queued: QueuedPart, event: PartEnd) -> list[Chunk]:
        self.report_changed_arguments(event)
        block = self.block
        if block is None:
            return []
        needs_text = isinstance(queued.part, Call) and not (block.grew or event.cut)
        if self.empty_arguments and needs_text:
            return [self.write_delta(block, self.empty_arguments), self.write_stop(block)]
        if event.signature:
            return [*self._write_signature(block, event.signature), self.write_stop(block)]
        return [self.write_stop(block)]

    def _write_signature(self, block: WrittenBlock, signature: str) -> list[Chunk]:
        """The event that adds a signature to a block, if the block can have one."""
        for delta, (field, _) in block.spec.deltas.items():
            if field == "signature":
                block.delta, block.field = delta, field
                return [self.write_delta(block, signature)]
        return []

    def write_part(self, part: Part, choice: int) -> list[Chunk]:
        content = self._write_block(part)
        if self.block is None or content is None:
            return []
        return self.write_complete(self.block, part, content)

    # --- the end ---

    def close(self) -> list[Chunk]:
        return [*self.close_unfinished(), *self.write_end()]

    def error(self, event: StreamError) -> list[Chunk]:
        return [*self.close_unfinished(), self.write_error(event)]
