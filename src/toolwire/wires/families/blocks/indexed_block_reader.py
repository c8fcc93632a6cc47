"""Read streams of indexed blocks, which open, grow by deltas and close under an index.

A wire subclasses `IndexedBlockReader` and supplies its tables. The `deltas` of its block specs
drive reading and writing: a spec maps the type of a delta to the field of the delta and to the
field of the block that grows. The first delta of a spec carries the text of the part; its pieces
are forwarded as they arrive. This module knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import Struct, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object, get, put
from toolwire.conversation.parts import Call, Media, Part, Reasoning, Text
from toolwire.errors import DecodeError
from toolwire.streaming.accumulate import text_to_stream, without_text
from toolwire.streaming.events import (
    Event,
    Finish,
    Metadata,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
    Unsupported,
)
from toolwire.wires.engine.encode_context import UNKNOWN_FIELD
from toolwire.wires.engine.settings import SettingTable, read_settings
from toolwire.wires.engine.specs import UNREADABLE, Block, opaque
from toolwire.wires.engine.stream import STREAM_CUT, StreamReader, merge
from toolwire.wires.families.blocks.deltas import Join, join_text, leaves

BlockKey: TypeAlias = "JSON | tuple[str, JSON]"
"""The key of an open block: its index, with the name of the list if there are several."""

CUT_ERROR: JSON = {"type": "stream_cut", "message": STREAM_CUT}
_STREAMED = (Text, Reasoning, Call)
"""Parts that are forwarded while they grow; others are emitted when they are complete."""


class OpenBlock(Struct, eq=False):
    """A block of a stream that is being read."""

    key: BlockKey
    block: Object
    """The block in its opening event."""
    spec: Block | None
    slot: int = -1
    """The slot of its events; -1 until its `PartStart` is emitted."""
    arguments: str = ""
    """Arguments of the opening event, emitted at the end if no delta follows."""
    grew: bool = False
    is_implicit: bool = False
    """True if a delta opened it, so that other deltas may change its type."""
    signature: str | None = None
    pieces: dict[str, list[JSON]] = {}
    """The pieces by delta type; empty lists if the part is forwarded and the body is not kept."""
    main: str = ""
    """The type of the delta that carries the text of the part."""
    main_path: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.set_spec(self.spec)

    def set_spec(self, spec: Block | None) -> None:
        """Set the spec, and with it the type of the main delta."""
        self.spec = spec
        self.main = next(iter(spec.deltas), "") if spec is not None else ""
        self.main_path = tuple(self.main.split("."))


class IndexedBlockReader(StreamReader):
    """Reads a stream of indexed blocks. A subclass turns events into calls of these methods."""

    openers: Mapping[str, tuple[Block, ...]] = {}
    """The blocks that a delta can open implicitly, by the type of the delta."""
    joins: Mapping[str, Join] = {}
    """How the pieces of a field become its value, by the field of the block; text if not listed."""
    block_path: JsonPath = ()
    """The path to the block in the event that opens it."""
    delta_path: JsonPath = ("delta",)
    """The path to the delta in its event."""
    list_depth = 0
    """How many leading steps of a delta's path name the list of the block, not a field in it."""
    cut_error: JSON = CUT_ERROR
    """The error in the body of a stream that ended before the answer did."""
    finish_reasons: Mapping[str, str] = {}
    complete_reasons: frozenset[str] = frozenset()
    """Stop reasons after which a block that was never closed still counts as complete."""

    def __init__(self, *, keep: bool = False) -> None:
        super().__init__(keep=keep)
        self.open: dict[BlockKey, OpenBlock] = {}
        self.blocks: list[OpenBlock] = []
        """Every block in the order of opening, if the body is kept."""
        self.stop: str | None = None
        """The stop reason, as the wire writes it."""
        self.finished = False
        """True once an event marked the answer as complete."""

    def read_block(self, key: BlockKey, block: Object) -> Part:
        """The part of a complete block."""
        raise NotImplementedError

    def new_block(self, spec: Block) -> Object:
        """An empty block for a delta that opens one."""
        return {}

    def pointer(self, key: BlockKey, path: JsonPath) -> JsonPath:
        """The path, in the event of a delta, to a field of the delta."""
        return (*self.delta_path, *path)

    # --- blocks ---

    def start_block(self, key: BlockKey, block: Object, spec: Block | None) -> list[Event]:
        """Open a block. If the index is in use, its previous block is closed."""
        events = self.close_block(key)
        record = self._add(key, block, spec)
        if spec is not None and spec.deltas and spec.part is not Media:
            record.pieces[record.main] = []  # a block that never grows is empty, not absent
            events += self._announce(record)
        return events

    def _add(self, key: BlockKey, block: Object, spec: Block | None) -> OpenBlock:
        record = self.open[key] = OpenBlock(key, block, spec)
        if self.keep:
            self.blocks.append(record)
        return record

    def _announce(self, record: OpenBlock) -> list[Event]:
        """Emit the start of a part that can grow, and the text of its opening event."""
        spec = record.spec
        if spec is None or spec.read is None or spec.part not in _STREAMED:
            return []
        field = spec.deltas[record.main][1]
        opening = get(record.block, tuple(field.split(".")))
        block = record.block
        if opening is None or isinstance(opening, UnsetType):
            block = self._assemble(block, spec, {record.main: []})
        try:
            part = spec.read(block, (self.count, *self.block_path), spec)
        except UNREADABLE:
            return []
        text = text_to_stream(part)
        if text is None:
            return []
        record.signature = part.signature
        part = without_text(part)
        if isinstance(part, Call):
            part = self.assign_call_id(part)
            if not isinstance(opening, str) or field in self.joins:  # deltas replace it
                record.arguments, text = ("" if text == "{}" else text), ""
        record.slot = self.next_slot()
        events: list[Event] = [PartStart(record.slot, part)]
        if text:
            events.append(PartDelta(record.slot, text))
        for delta, pieces in record.pieces.items():
            for piece in pieces:
                events += self._forward(record, delta, piece)
            if not self.keep:
                record.pieces[delta] = []
        return events

    def grow(self, key: BlockKey, delta: str, piece: JSON, path: JsonPath) -> list[Event]:
        """Add a piece to a block.

        Args:
            key: The block.
            delta: The type of the delta, as the block specs name it.
            piece: The piece.
            path: The path in the block under which the piece is kept if no spec knows the delta.
        """
        record = self.open.get(key)
        if (
            record is not None
            and delta == record.main
            and record.slot >= 0
            and piece.__class__ is str
        ):  # nearly every event of a stream
            if self.keep:
                record.pieces[delta].append(piece)
            if not piece:
                return []
            record.grew = True
            return [PartDelta(record.slot, piece)]
        if piece is None:
            return []
        events: list[Event] = []
        if record is None or (record.spec is not None and delta not in record.spec.deltas):
            candidates = self.openers.get(delta, ())
            if not candidates:
                return self.keep_unknown(key, path, piece)
            # A block with two types of deltas has the type that knows both. If there is none, the
            # delta starts another block.
            spec = next((spec for spec in candidates if _fits(spec, record)), None)
            if record is not None and spec is not None:
                record.set_spec(spec)
            else:
                events = self.close_block(key)
                record = self._add(key, self.new_block(candidates[0]), candidates[0])
                record.is_implicit = True
        spec = record.spec
        if spec is None:
            return self.keep_unknown(key, path, piece)
        if record.slot < 0 and delta == record.main:
            events += self._announce(record)
        pieces = record.pieces.setdefault(delta, [])
        if self.keep or record.slot < 0:
            pieces.append(piece)
        return events + self._forward(record, delta, piece) if record.slot >= 0 else events

    def grow_nested(self, key: BlockKey, delta: Object) -> list[Event]:
        """Add every piece of a delta, on wires where its dotted path is the type of a delta."""
        record = self.open.get(key)
        if record is not None and record.slot >= 0:
            piece: JSON = delta
            for step in record.main_path:
                if not isinstance(piece, dict) or len(piece) != 1:
                    break
                piece = piece.get(step)
            else:
                if piece.__class__ is str:  # nearly every event of a stream
                    return self.grow(key, record.main, piece, ())
        events: list[Event] = []
        for path, piece in leaves(delta, self.openers):
            events += self.grow(key, path, piece, tuple(path.split("."))[self.list_depth :])
        return events

    def _forward(self, record: OpenBlock, delta: str, piece: JSON) -> list[Event]:
        """The events for a piece of a part that has started."""
        assert record.spec is not None
        field = record.spec.deltas[delta][0]
        if not isinstance(piece, str) or (delta != record.main and field != "signature"):
            return self.report_unknown(*self.pointer(record.key, (field,)), scope=record.slot)
        if delta != record.main:
            record.signature = (record.signature or "") + piece
        elif piece:
            record.grew = True
            return [PartDelta(record.slot, piece)]
        return []

    def keep_unknown(self, key: BlockKey, path: JsonPath, piece: JSON) -> list[Event]:
        """Keep a piece that no spec knows in its block.

        A field that was sent with the start of the part, such as the name of a call, does not
        change: a client of the stream has already seen it.
        """
        record = self.open.get(key)
        if record is None:
            return self.report_unknown(*self.pointer(key, path))
        announced = record.slot >= 0 and _understands(record.spec, path)
        if (self.keep or record.slot < 0) and not announced:
            previous = get(record.block, path)
            value = merge(None if isinstance(previous, UnsetType) else previous, piece)
            record.block = put(record.block, path, value)  # type: ignore[assignment]
        if record.slot < 0:
            return []
        return self.report_unknown(*self.pointer(key, path), scope=record.slot)

    def close_block(self, key: BlockKey, *, cut: bool = False) -> list[Event]:
        """Close a block, if one is open: emit the end of its part, or the complete part."""
        record = self.open.pop(key, None)
        if record is None:
            return []
        if record.slot >= 0:
            end = PartEnd(record.slot, signature=record.signature, cut=cut)
            if record.arguments and not record.grew:
                return [PartDelta(record.slot, record.arguments), end]
            return [end]
        block = self.assemble(record)
        try:
            part = self.read_block(key, block)
        except DecodeError:  # a body with such a block is refused, but this stream has started
            part = opaque(next(iter(block), ""), block, (self.count,))
        return [PartComplete(self.identify(part))]

    def close_parts(self, *, cut: bool) -> list[Event]:
        """Close every open block."""
        return [event for key in list(self.open) for event in self.close_block(key, cut=cut)]

    def assemble(self, record: OpenBlock) -> Object:
        """A block with its deltas, as in a body."""
        return self._assemble(record.block, record.spec, record.pieces)

    def _assemble(
        self, block: Object, spec: Block | None, pieces: Mapping[str, list[JSON]]
    ) -> Object:
        out: JSON = block
        for delta, values in pieces.items():
            if spec is not None and delta in spec.deltas:
                field = spec.deltas[delta][1]
                path = tuple(field.split("."))
                opening = get(block, path)
                join = self.joins.get(field, join_text)
                value = join(None if isinstance(opening, UnsetType) else opening, values)
                out = put(out, path, value)
        return out  # type: ignore[return-value]

    def text_appender(self, slot: int) -> Callable[[str], bool] | None:
        return bool if any(record.slot == slot for record in self.open.values()) else None

    # --- outside of blocks ---

    def read_metadata(
        self, table: SettingTable, fields: Object, known: frozenset[str], path: JsonPath
    ) -> list[Event]:
        """The settings in the fields of an event; unknown fields are reported under `path`."""
        settings = read_settings(table, fields, known)
        events: list[Event] = [Metadata(settings.values)] if settings.values else []
        events += [
            Unsupported((self.count, *path, *unknown), UNKNOWN_FIELD)
            for unknown in settings.unknown
        ]
        return events

    def end(self) -> list[Event]:
        if self.error is not None:
            return []
        if self.finished:
            stop = self.stop or ""
            finish = Finish(self.finish_reasons.get(stop, self.stop))
            return [*self.close_parts(cut=stop not in self.complete_reasons), finish]
        return self.fail_cut(self.cut_error)


def _understands(spec: Block | None, path: JsonPath) -> bool:
    """True if a spec reads the field at a path of its block."""
    if spec is None or path[:1] == () or path[0] not in spec.keys:
        return False
    inner = dict(spec.inner).get(str(path[0]))
    return inner is None or len(path) == 1 or path[1] in inner


def _fits(spec: Block, record: OpenBlock | None) -> bool:
    """True if a block that a delta opened can be of the spec, which knows all its deltas so far."""
    if record is None or not record.is_implicit:
        return False
    return record.pieces.keys() <= spec.deltas.keys()
