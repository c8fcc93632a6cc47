"""Items of a stream: the base of items that are emitted while they grow, and items emitted whole.

For a part that is emitted while it grows, only a length and a checksum are kept, to compare the
emitted text with the finished item, which is authoritative.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import UnsetType
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.parts import Call, Part, Result
from toolwire.streaming.events import Chunk, Event, PartComplete, PartDelta, PartEnd, Unsupported
from toolwire.wires.engine.encode_context import UNKNOWN_FIELD, VALUE_CHANGED
from toolwire.wires.engine.json_types import correct_content
from toolwire.wires.engine.specs import UNREADABLE, Block, read_id, text_or_none
from toolwire.wires.engine.stream import StreamReader
from toolwire.wires.engine.text_digest import TextDigest
from toolwire.wires.families.items.deltas import Change, ItemAccumulator
from toolwire.wires.families.items.turns import CallIndex, ItemReader


class GrowingPart:
    """A part that is emitted while it grows."""

    __slots__ = ("_complete", "_digest", "_initial", "closed", "part", "prefixed", "slot")

    def __init__(self, slot: int, part: Part, initial: JSON) -> None:
        self.slot = slot
        self.part = part
        self.prefixed = False
        """True once something was emitted or reported before the text, which must happen only
        once."""
        self.closed = False
        self._initial = initial
        """The text of the opening event, which is emitted if no other text follows."""
        self._digest = TextDigest()
        self._complete: str | None = None
        """The complete text, if it differs from the emitted text."""

    def append(self, text: str) -> Event:
        """Emit more text."""
        self._digest.append(text)
        return PartDelta(self.slot, text)

    def catch_up(self, text: JSON) -> list[Event]:
        """Emit the missing end of the complete text; if that is a different text, `close` reports
        it."""
        if not isinstance(text, str) or not text:
            return []
        if not self._digest.is_start_of(text):
            self._complete = text
            return []
        self._complete = None
        return [self.append(text[self._digest.length :])] if len(text) > self._digest.length else []

    def was_emitted(self, text: JSON) -> bool:
        """True if a text is the emitted text, or is no text."""
        if not isinstance(text, str):
            return True
        return len(text) == self._digest.length and self._digest.is_start_of(text)

    def close(
        self, text: str | None, path: JsonPath, *, signature: str | None = None, cut: bool = False
    ) -> list[Event]:
        """Emit the end of the part, after the missing end of the complete text if that is known.

        `path` is reported if that is a different text; writers report different arguments.
        """
        self.closed = True
        text = text if text is not None else self._complete
        if text is None and not self._digest.length:
            text = text_or_none(self._initial)
        if text is not None and not self._digest.is_start_of(text):
            changed = [] if isinstance(self.part, Call) else [Unsupported(path, VALUE_CHANGED)]
            return [PartEnd(self.slot, text, signature, cut), *changed]
        return [*self.catch_up(text), PartEnd(self.slot, signature=signature, cut=cut)]


class ItemStreamBase(StreamReader):
    """What items need of their stream reader."""

    def __init__(self, items: ItemReader, *, keep: bool = False) -> None:
        super().__init__(keep=keep)
        self.wire = items.name
        self.items = items
        self.index = CallIndex()
        self.trailing: list[Event] = []
        """Events to emit after those of the item that is being closed."""


class StreamItem(ItemAccumulator):
    """An item that is emitted when it is finished."""

    __slots__ = (
        "cut",
        "deferred",
        "digests",
        "emitted",
        "ended",
        "final_index",
        "live",
        "output_index",
        "reader",
    )

    def __init__(self, reader: ItemStreamBase, output_index: JSON, block: Object) -> None:
        super().__init__(block)
        self.reader = reader
        self.output_index = output_index
        self.live = False
        """True once parts are emitted while they grow: later items need not wait."""
        self.emitted = False
        """True once it was emitted completely."""
        self.digests: dict[JsonPath, int] | None = None
        """The digests of its content once it is finished."""
        self.final_index: int | None = None
        """Its index in the output of the finished response."""
        self.cut = False
        """True if it ended because the stream was cut off."""
        self.ended = False
        """True if nothing more is expected of it."""
        self.deferred: list[tuple[int, Callable[[], list[Event]]]] | None = None
        """Events that wait until the items before this one are emitted: the number of each, and the
        function that emits it. None if nothing has to wait."""

    def emit_start(self) -> list[Event]:
        """The events for its start."""
        return []

    def emit(self, event: Chunk, change: Change) -> list[Event]:
        """The events for a change of one of its fields."""
        return []

    def emit_end(self) -> list[Event]:
        """The events for its end, finished or not."""
        out: list[Event] = []
        call: Call | None = None
        for part in self.read_parts(self.assemble()):
            if isinstance(part, Call):
                part = call = self.reader.assign_call_id(part)
            elif isinstance(part, Result):
                part = self.with_call_id(part, call)
            out.append(PartComplete(part))
        return out

    # --- reading as in a body ---

    def is_unidentified(self) -> bool:
        """True if it is a call whose id or name only the finished response can have."""
        spec = self.reader.items.blocks.get(str(self.type))
        if spec is None or spec.part is not Call or spec.read is None:
            return False
        try:
            part = spec.read(self.block, (), spec)
        except UNREADABLE:
            return False
        return "call_id" in spec.keys and isinstance(part, Call) and lacks_identity(part)

    def read_parts(self, block: Object) -> list[Part]:
        """Its parts, read as in a body, with paths into the stream."""
        reader, unknown = self.reader, self.reader.index.unknown_fields
        root: JsonPath = (reader.count, "item")
        if reader.items.is_message(block):
            block = {**block, "content": correct_content(block.get("content"))}
        ((_, parts),) = reader.items.read_items([block], "", reader.index)
        reader.trailing += [Unsupported((*root, *path[2:]), UNKNOWN_FIELD) for path in unknown]
        unknown.clear()
        return [
            replace(part, source=replace(part.source, path=(*root, *part.path[2:])))
            for part in parts
        ]

    def with_call_id(self, result: Result, call: Call | None) -> Result:
        """The result with the id of its call, which may be in the same item."""
        if call is not None:
            return replace(result, call_id=call.id)
        return self.reader.assign_result_id(result)

    def report_new_fields(
        self, before: JSON | UnsetType, block: Object, spec: Block, path: JsonPath
    ) -> None:
        """Report unknown fields of a finished block that were absent when it was opened."""
        known = before if isinstance(before, dict) else {}
        self.reader.trailing += [
            Unsupported((*path, key), UNKNOWN_FIELD)
            for key, value in block.items()
            if key not in spec.keys
            and value is not None
            and value != []
            and known.get(key) in (None, [])
        ]


def lacks_identity(call: Call) -> bool:
    """True for a call that has no name, or that a result of the client cannot refer to by a call
    id."""
    return not call.name or (call.origin != "wire" and call.executor == "client")


class ImmediateItem(StreamItem):
    """An item that is complete when it is added, and stays open while its action runs."""

    __slots__ = ()

    def emit_start(self) -> list[Event]:
        self.live = True
        block = {key: value for key, value in self.block.items() if key != "status"}
        return [
            PartComplete(self.with_call_id(part, None) if isinstance(part, Result) else part)
            for part in self.read_parts(block)
        ]

    def emit_end(self) -> list[Event]:
        if self.block.get("status") in (None, "completed"):
            return []
        path = (self.reader.count, "item", "status")
        return [Unsupported(path, "the item was emitted before its final status was known")]


class OpenItems:
    """The unfinished items of a stream, and the keys of the finished ones."""

    __slots__ = ("_closed", "_open")

    def __init__(self) -> None:
        self._open: dict[JSON, StreamItem] = {}
        """Items by output index and by id; an item with neither is under None."""
        self._closed: set[str | int] = set()
        """The output indexes and ids of finished items."""

    def __bool__(self) -> bool:
        return bool(self._open)

    def add(self, item: StreamItem) -> None:
        index = item.output_index
        if index.__class__ is int:
            self._open[index] = item
        if item.id:
            self._open[item.id] = item
        elif index.__class__ is not int:
            self._open[None] = item

    def close(self, item: StreamItem) -> None:
        """Move an item to the finished ones."""
        for key in [key for key, other in self._open.items() if other is item]:
            del self._open[key]
            if isinstance(key, str | int):
                self._closed.add(key)
        if item.id:
            self._closed.add(item.id)

    def find(self, event: Chunk) -> StreamItem | None:
        """The item of an event: by its id, otherwise by its index. Some servers use a new id for
        the item in every event."""
        item_id, index = event.get("item_id"), event.get("output_index")
        item = self._open.get(item_id) if item_id.__class__ is str and item_id else None
        return item if item is not None or index.__class__ is not int else self._open.get(index)

    def find_same(self, block: Object, event: Chunk) -> StreamItem | None:
        """The unfinished item that a block represents."""
        item_id, index = read_id(block.get("id"))[0], event.get("output_index")
        found = [self._open.get(item_id)] if item_id else []
        found += [self._open.get(index)] if index.__class__ is int else []
        found.append(self._open.get(None))
        return next((item for item in found if item is not None and item.is_item(block)), None)

    def is_closed(self, event: Chunk) -> bool:
        """True if an event refers to a finished item."""
        names = (event.get("item_id"), event.get("output_index"))
        return any(name in self._closed for name in names if isinstance(name, str | int))
