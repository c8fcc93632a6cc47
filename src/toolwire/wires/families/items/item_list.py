"""Write messages as a flat list of items, whatever the items of a wire look like.

Items that were read from the same wire are written verbatim, with the edits of their parts; an item
is written whole as long as one of its parts is left. A subclass decides how a new part is written.
This module knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.parts import Call, Media, Message, Opaque, Part, Result, Role, Text
from toolwire.wires.engine.capabilities import Capabilities, Place
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.part_lowering import lower_part
from toolwire.wires.engine.patching import patch_block, patch_message
from toolwire.wires.families.items.content import ContentBlock
from toolwire.wires.families.items.turns import ItemReader


class ItemListWriter:
    """Writes the messages of one conversation as items."""

    lists: frozenset[str]
    """The fields of a body that hold items."""
    capabilities: Capabilities
    """The capabilities of the wire, to which parts that were added to one of its messages are
    lowered."""

    def __init__(self, reader: ItemReader, context: EncodeContext) -> None:
        self.reader = reader
        self.context = context
        self.items: list[JSON] = []
        self.content: list[JSON] = []
        """Blocks of the user or system message that is being written."""
        self.role: Role = "user"

    def write_items(self, messages: Iterable[Message]) -> list[JSON]:
        """The items of the messages."""
        for message in messages:
            self.role = message.role
            self.write_message(message)
            self._close_message()
        return self.items

    def write_new_part(self, part: Part) -> list[JSON]:
        """The items of a part of the assistant that is the only one of its message and of no
        wire."""
        self.role = "assistant"
        self._write_part(part)
        self._close_message()
        return self.items

    # --- for subclasses ---

    def write_call(self, call: Call) -> JSON:
        """The item of a new call."""
        raise NotImplementedError

    def write_result(self, result: Result) -> JSON:
        """The item of a new result."""
        raise NotImplementedError

    def write_answer_part(self, part: Part) -> None:
        """Add the item of a text, reasoning or a medium of the assistant."""
        raise NotImplementedError

    def write_blocks(self, part: Part) -> list[JSON]:
        """The blocks of a part in a user or system message."""
        raise NotImplementedError

    def write_content(self, content: list[JSON]) -> JSON:
        """The item that holds the blocks of a user or system message."""
        raise NotImplementedError

    def prepare_parts(self, path: JsonPath) -> None:
        """Called before the parts of an item of the same wire are written."""

    def finish_item(self, item: Object, parts: tuple[Part, ...]) -> None:
        """Called after an item of the same wire was written."""

    # --- items of the same wire ---

    def write_message(self, message: Message) -> None:
        """Add the items of a message."""
        native, parts, raw = message.wire == self.context.wire, message.parts, message.source.raw
        if native and isinstance(raw, dict):
            item = patch_message(message, self.context, self._read_message)
            if isinstance(item, UnsetType) and all(map(_is_content, parts)):
                content = [block for part in parts for block in self.patch_blocks(part)]
                item = {**raw, "content": content}
            if not isinstance(item, UnsetType):
                self.items.append(item)
                return
        if not native:
            for part in parts:
                self._write_part(part)
            return
        unedited = message in self.context.unedited
        sources = [self._source_item(part) for part in parts]
        start = 0
        while start < len(parts):
            source, path = sources[start], parts[start].source.path[:2]
            end = start + 1
            while (
                end < len(parts)
                and source is not None
                and sources[end] is source
                and parts[end].source.path[:2] == path
            ):
                end += 1
            self.prepare_parts(path)
            self._write_parts(source, parts[start:end], unedited=unedited)
            start = end

    def _read_message(self, item: JSON, path: JsonPath) -> Message:
        assert isinstance(item, dict)
        role, parts = self.reader.read_message(item, path)
        return Message(role or "user", parts)

    def _source_item(self, part: Part) -> Object | None:
        """The item that a part was read from; None for a part of a wire of another shape."""
        source = part.source
        if not source.path or source.path[0] not in self.lists:
            return None
        spec = source.spec
        item = spec.item if isinstance(spec, ContentBlock) else source.raw
        return item if isinstance(item, dict) else None

    def _write_parts(
        self, source: Object | None, parts: tuple[Part, ...], *, unedited: bool
    ) -> None:
        """Write the parts of one item, or one part that was not read from an item."""
        item: JSON | UnsetType = UNSET
        if source is not None:
            item = source if unedited else self._patch_item(source, parts)
        if source is None or isinstance(item, UnsetType):
            for part in parts:
                self._write_part(part)
            return
        self.add_item(item)
        self.finish_item(source, parts)

    def _patch_item(self, item: Object, parts: tuple[Part, ...]) -> JSON | UnsetType:
        """An item with the edits of its parts; UNSET if the type of a part changed."""
        if not isinstance(parts[0].spec, ContentBlock):
            edited: JSON | UnsetType = item
            for part in parts:
                if not isinstance(edited, UnsetType):
                    edited = patch_block(part, self.context, edited)
            return edited
        blocks: list[JSON] = []
        for part in parts:
            raw = part.raw
            block = UNSET if isinstance(raw, UnsetType) else patch_block(part, self.context, raw)
            if isinstance(block, UnsetType):
                return UNSET
            blocks.append(block)
        content = item.get("content")
        if isinstance(content, str):
            return item if blocks[0] is content else {**item, "content": blocks[0]}
        return item if blocks == content else {**item, "content": blocks}

    def patch_blocks(self, part: Part) -> list[JSON]:
        """The blocks of a part in a message that gained or lost parts."""
        if isinstance(part.spec, ContentBlock) and isinstance(part.raw, dict):
            block = patch_block(part, self.context, part.raw)
            if not isinstance(block, UnsetType):
                return [block]
        return self.write_blocks(part)

    # --- new parts, and parts of other wires ---

    def _write_part(self, part: Part) -> None:
        if isinstance(part, Call):
            self.add_item(self.write_call(part))
        elif isinstance(part, Result):
            self.add_item(self.write_result(part))
        elif self.role != "assistant":
            self.content += self.mark(self.write_blocks(part), part)
        elif isinstance(part, Text):
            self.write_answer_part(part)
        else:
            # Lowering skips messages of this wire, but parts may have been added to them.
            for lowered in self.lower(part, "assistant"):
                self.write_answer_part(lowered)

    def lower(self, part: Part, place: Place) -> Iterable[Part]:
        """The part, lowered to the capabilities of the wire."""
        context = self.context
        return lower_part(part, self.capabilities, place, kind=context.kind, losses=context.losses)

    def mark(self, blocks: list[JSON], part: Part) -> list[JSON]:
        """The blocks of a part; the last one has the cache breakpoint of the part."""
        breakpoints, marks = self.context.breakpoints, self.capabilities.cache_breakpoints
        if breakpoints is None or marks is None or not blocks:
            return blocks
        return [*blocks[:-1], *marks.mark_block(blocks[-1], part, breakpoints)]

    def add_item(self, item: JSON) -> None:
        """Add an item after the message that is being written."""
        self._close_message()
        self.items.append(item)

    def _close_message(self) -> None:
        if self.content:
            self.items.append(self.write_content(self.content))
            self.content = []


def _is_content(part: Part) -> bool:
    return isinstance(part, (Text, Media, Opaque))
