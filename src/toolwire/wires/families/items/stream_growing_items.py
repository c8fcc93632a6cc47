"""Stream items that are emitted while they grow: messages, reasoning, and calls."""

from __future__ import annotations

from itertools import chain

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, get, text_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import Call, Reasoning, Result, Source
from toolwire.streaming.events import Chunk, Event, PartComplete, PartStart, Unsupported
from toolwire.wires.engine.encode_context import UNKNOWN_FIELD, VALUE_CHANGED
from toolwire.wires.engine.specs import UNREADABLE, Block, text_or_none
from toolwire.wires.engine.text_digest import TextDigest
from toolwire.wires.families.items.content import find_spec, read_block
from toolwire.wires.families.items.deltas import PART_ENDS, Change, growing_field, list_index
from toolwire.wires.families.items.stream_items import (
    GrowingPart,
    ItemStreamBase,
    StreamItem,
    lacks_identity,
)
from toolwire.wires.families.items.turns import MESSAGE

_TEXT_FIELDS = {"output_text": "text", "refusal": "refusal", "text": "text"}
"""Message blocks that grow, and the field of their text."""
_PART_EVENTS = ("response.content_part.added", "response.content_part.done")


class _MessageItem(StreamItem):
    """A message: its text parts are emitted while they grow."""

    __slots__ = ("_initial", "_parts")

    def __init__(self, reader: ItemStreamBase, output_index: JSON, block: Object) -> None:
        super().__init__(reader, output_index, block)
        self._parts: dict[int, GrowingPart | None] = {}
        """Parts that have started, by index; None for a part that was emitted whole."""
        self._initial = [entry.assemble() for _, entry in self.entries("content")]
        """The content of the opening event, until another event follows."""

    def emit(self, event: Chunk, change: Change) -> list[Event]:
        if not self._initial:
            return self._emit_change(event, change)
        started = [self._start_part(n, entry) for n, entry in enumerate(self._initial)]
        self._initial = []
        return [*chain(*started), *self._emit_change(event, change)]

    def _emit_change(self, event: Chunk, change: Change) -> list[Event]:
        n = list_index(event.get("content_index"))
        if change.action in ("append", "complete"):
            text = change.read_text(event)
            out = [] if n in self._parts else self._start_part(n, change.new)
            part = self._parts.get(n)
            if part is None or part.closed or not text:
                return out
            return out + ([part.append(text)] if change.action == "append" else part.catch_up(text))
        part, value = self._parts.get(n), event.get(change.field)
        out = []
        if event["type"] in _PART_EVENTS and n not in self._parts:
            out = self._start_part(n, value)
            part = self._parts.get(n)
        if event["type"] == "response.content_part.done" and n not in self._parts and self.live:
            return self._emit_whole(n, value)
        if part is None or part.closed:
            return out
        if event["type"] == "response.content_part.done":
            return out + self._end_part(part, value, (self.reader.count, "part"))
        if event["type"] == "response.output_text.annotation.added":
            part.prefixed = True
            return [Unsupported((self.reader.count, "annotation"), UNKNOWN_FIELD)]
        return out

    def _start_part(self, n: int, block: JSON) -> list[Event]:
        """Start a part that grows; any other part is emitted when it is complete."""
        spec = find_spec(block, in_answer=True) if isinstance(block, dict) else None
        field = _TEXT_FIELDS.get(spec.name) if spec is not None else None
        if field is None or spec is None or spec.read is None or not isinstance(block, dict):
            return []
        part = spec.read({**block, field: ""}, (self.reader.count, "part"), spec)
        growing = self._parts[n] = GrowingPart(self.reader.next_slot(), part, block.get(field))
        self.live = True
        return [PartStart(growing.slot, replace(part, source=replace(part.source, raw=block)))]

    def _emit_whole(self, n: int, block: JSON) -> list[Event]:
        self._parts[n] = None
        return [PartComplete(read_block(block, (self.reader.count, "part"), in_answer=True))]

    def _end_part(self, growing: GrowingPart, block: JSON, path: JsonPath) -> list[Event]:
        part = growing.part
        if not isinstance(block, dict) or not isinstance(part.spec, Block):
            return growing.close(None, path, cut=self.cut)
        known: Object = dict(part.raw) if isinstance(part.raw, dict) else {}
        if growing.prefixed:  # its annotations have been reported
            known["annotations"] = True
        self.report_new_fields(known, block, part.spec, path)
        return growing.close(_text_of(block), path, cut=self.cut)

    def emit_end(self) -> list[Event]:
        if not self._parts:
            return super().emit_end()
        out: list[Event] = []
        path: JsonPath = (self.reader.count, "item")
        if self.finished is not None:
            self.report_new_fields({}, self.finished, MESSAGE, path)
            if self.finished.get("status") not in (None, "completed"):
                self.reader.trailing.append(Unsupported((*path, "status"), UNKNOWN_FIELD))
        for n, (index, entry) in enumerate(self.entries("content")):
            part, part_path = self._parts.get(index), (*path, "content", n)
            if index not in self._parts:
                out.append(PartComplete(read_block(entry.assemble(), part_path, in_answer=True)))
            elif entry.finished is None:
                continue
            elif growing_field(entry.finished) != entry.field:
                out.append(Unsupported(part_path, VALUE_CHANGED))
            elif part is not None and not part.closed:
                out += self._end_part(part, entry.finished, part_path)
            elif part is not None and not part.was_emitted(_text_of(entry.finished)):
                out.append(Unsupported(part_path, VALUE_CHANGED))
        for part in self._parts.values():
            if part is not None and not part.closed:
                out += part.close(None, (self.reader.count,), cut=self.cut)
        return out


def _text_of(entry: JSON) -> str | None:
    """The text or refusal of an entry; None if it has none or an empty one."""
    if not isinstance(entry, dict):
        return None
    return text_or_none(entry.get("text")) or text_or_none(entry.get("refusal")) or None


class _ReasoningItem(StreamItem):
    """Reasoning: one text, which is its content or its summary."""

    __slots__ = ("_digests", "_field", "_n", "_part")

    def __init__(self, reader: ItemStreamBase, output_index: JSON, block: Object) -> None:
        super().__init__(reader, output_index, block)
        self._part: GrowingPart | None = None
        self._field = ""
        self._n = 0
        self._digests: dict[int, TextDigest] = {}
        """The emitted texts by index."""

    @property
    def _spec(self) -> Block:
        return self.reader.items.blocks["reasoning"]

    def emit(self, event: Chunk, change: Change) -> list[Event]:
        field, is_append = change.path[0], change.action == "append"
        n, text = list_index(event.get(f"{field}_index")), change.read_text(event)
        if change.action == "set":
            if event["type"] not in PART_ENDS:
                return []  # its text is emitted if no other text follows
            text = _text_of(event.get(change.field)) or ""
        if not text:
            return []
        if self._part is not None and field != self._field:  # of the two, a body reads the content
            return self.reader.report_unknown(change.field, scope=self, reason=VALUE_CHANGED)
        return self._append(field, n, text) if is_append else self._complete_entry(field, n, text)

    def _append(self, field: str, n: int, text: str) -> list[Event]:
        """Emit more text of an entry, which is a paragraph of the reasoning."""
        out: list[Event] = []
        if self._part is None:
            self._field, self._n = field, n
            raw = {**self.block, "summary": [], "content": []}
            part = Reasoning("", source=Source(raw, (self.reader.count,), self._spec))
            self._part = GrowingPart(self.reader.next_slot(), part, None)
            self.live = True
            out.append(PartStart(self._part.slot, part))
        if n != self._n:
            self._n = n
            out.append(self._part.append("\n\n"))
        self._digests.setdefault(n, TextDigest()).append(text)
        return [*out, self._part.append(text)]

    def _complete_entry(self, field: str, n: int, text: str) -> list[Event]:
        """Emit the missing end of a text. A text that differs from the emitted one is reported,
        here or by `close`."""
        digest = self._digests.get(n)
        if self._part is None or digest is None:
            return self._append(field, n, text)
        if digest.is_start_of(text) and (n == self._n or len(text) == digest.length):
            rest = text[digest.length :]
            return self._append(field, n, rest) if rest else []
        if len(self._digests) == 1:
            return self._part.catch_up(text)
        return self.reader.report_unknown("text", scope=self, reason=VALUE_CHANGED)

    def emit_end(self) -> list[Event]:
        growing = self._part
        if growing is None:
            return super().emit_end()
        path: JsonPath = (self.reader.count, "item")
        if self.finished is not None:
            self.report_new_fields(growing.part.raw, self.block, self._spec, path)
            part = self.read_parts(self.assemble())[0]
            if not isinstance(part, Reasoning) or not part.text:  # it cannot be read
                self.reader.trailing.append(Unsupported(path, VALUE_CHANGED))
        out: list[Event] = []
        for n, entry in self.entries(self._field):
            text = _text_of(entry.finished if n in self._digests else entry.assemble())
            if text:
                out += self._complete_entry(self._field, n, text)
        if self._field == "summary" and any(
            _text_of(entry.assemble()) for _, entry in self.entries("content")
        ):
            out += self.reader.report_unknown("content", scope=self, reason=VALUE_CHANGED)
        signature = text_or_none(self.block.get("encrypted_content"))
        return out + growing.close(None, path, signature=signature, cut=self.cut)


_ARGUMENT_FIELDS = {
    "function_call": ("arguments", False),
    "custom_tool_call": ("input", False),
    "mcp_call": ("arguments", False),
    "code_interpreter_call": ("code", True),
}
"""Calls that are emitted while they grow: the field that grows, and True if it is one text among
the arguments rather than all of them."""


class _CallItem(StreamItem):
    """A call whose arguments arrive in pieces."""

    __slots__ = ("_field", "_is_inside", "_part")

    def __init__(self, reader: ItemStreamBase, output_index: JSON, block: Object) -> None:
        super().__init__(reader, output_index, block)
        self._field, self._is_inside = _ARGUMENT_FIELDS[str(self.type)]
        self._part: GrowingPart | None = None

    @property
    def spec(self) -> Block:
        return self.reader.items.blocks[str(self.type)]

    def emit_start(self) -> list[Event]:
        spec, block = self.spec, self.block
        try:
            part = spec.read(block, (self.reader.count, "item"), spec)  # type: ignore[misc]
        except UNREADABLE:
            return []
        # An id or name cannot change once it is emitted, so a call without them waits for its end.
        if not isinstance(part, Call) or not part.id or lacks_identity(part):
            return []
        initial = None if self._is_inside else part.args.text
        part = self.reader.assign_call_id(replace(part, args=LazyJson("")))
        self.reader.index.add(part)
        self._part = GrowingPart(self.reader.next_slot(), part, initial)
        self.live = spec.answer is None
        return [PartStart(self._part.slot, part)]

    def emit(self, event: Chunk, change: Change) -> list[Event]:
        part, text = self._part, change.read_text(event)
        if part is None or not text:
            return []
        if change.action != "append":
            return [] if self._is_inside else part.catch_up(text)
        if not self._is_inside:
            return [part.append(text)]
        out: list[Event] = []
        if not part.prefixed:
            part.prefixed = True
            out.append(part.append(f'{{{text_of(self._field)}:"'))
        return [*out, part.append(text_of(text)[1:-1])]

    def emit_end(self) -> list[Event]:
        growing = self._part
        if growing is None:
            return super().emit_end()
        if self.live and self.finished is None:
            return growing.close(None, (self.reader.count,), cut=self.cut)
        call, *others = self.read_parts(self.assemble())
        started = growing.part
        assert isinstance(started, Call)
        path = (self.reader.count, "item")
        self.report_new_fields(started.raw, self.block, self.spec, path)
        text = None
        if isinstance(call, Call):
            # A finished item without arguments leaves those of its deltas.
            is_known = not self.live or get(self.finished, (self._field,))
            text = call.args.text if is_known else None
            if (call.id, call.name) != (started.id, started.name):
                self.reader.trailing.append(Unsupported(path, VALUE_CHANGED))
        out = growing.close(text, path, cut=self.cut)
        for part in others:
            part = self.with_call_id(part, started) if isinstance(part, Result) else part
            out.append(PartComplete(part))
        return out


GROWING_ITEMS: dict[str, type[StreamItem]] = {
    "message": _MessageItem,
    "reasoning": _ReasoningItem,
    **dict.fromkeys(_ARGUMENT_FIELDS, _CallItem),
}
"""Items that are emitted while they grow."""
