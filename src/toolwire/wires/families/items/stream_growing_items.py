"""Stream items that are emitted while they grow: messages, reasoning, and calls."""

from __future__ import annotations

from itertools import chain

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, text_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import Call, Reasoning, Result, Source
from toolwire.streaming.events import Chunk, Event, PartComplete, PartStart, Unsupported
from toolwire.wires.engine.encode_context import UNKNOWN_FIELD, VALUE_CHANGED
from toolwire.wires.engine.json_types import correct_content
from toolwire.wires.engine.specs import UNREADABLE, Block, text_or_none
from toolwire.wires.engine.text_digest import TextDigest
from toolwire.wires.families.items.content import CONTENT, read_block
from toolwire.wires.families.items.deltas import PART_ENDS, Change, list_index
from toolwire.wires.families.items.stream_items import GrowingPart, ItemStreamBase, StreamItem
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
        content = block.get("content")
        self._initial: list[JSON] = list(content) if isinstance(content, list) else []
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
        part, value = self._parts.get(n), change.read_value(event)
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
        spec = CONTENT.get(str(block.get("type"))) if isinstance(block, dict) else None
        field = _TEXT_FIELDS.get(spec.name) if spec is not None else None
        if field is None or spec is None or spec.read is None or not isinstance(block, dict):
            return []
        part = spec.read({**block, field: ""}, (self.reader.count, "part"), spec)
        growing = self._parts[n] = GrowingPart(self.reader.next_slot(), part, block.get(field))
        self.live = True
        return [PartStart(growing.slot, replace(part, source=replace(part.source, raw=block)))]

    def _emit_whole(self, n: int, block: JSON) -> list[Event]:
        self._parts[n] = None
        return [PartComplete(read_block(block, (self.reader.count, "part")))]

    def _end_part(self, growing: GrowingPart, block: JSON, path: JsonPath) -> list[Event]:
        part = growing.part
        if not isinstance(block, dict) or not isinstance(part.spec, Block):
            return growing.close(None, path, cut=self.cut)
        known: Object = dict(part.raw) if isinstance(part.raw, dict) else {}
        if growing.prefixed:  # its annotations have been reported
            known["annotations"] = True
        self.report_new_fields(known, block, part.spec, path)
        if _has_other_type(block, growing):
            self.reader.trailing.append(Unsupported(path, VALUE_CHANGED))
        return growing.close(text_or_none(_text_of(block)), path, cut=self.cut)

    def emit_end(self) -> list[Event]:
        if not self._parts:
            return super().emit_end()
        out: list[Event] = []
        block, path = self.assemble(), (self.reader.count, "item")
        is_complete = self.final or self.reader.keep
        if is_complete:
            self.report_new_fields({}, block, MESSAGE, path)
            if block.get("status") not in (None, "completed"):
                self.reader.trailing.append(Unsupported((*path, "status"), UNKNOWN_FIELD))
        content = correct_content(block.get("content"))
        if isinstance(content, str):
            content = [{"type": "output_text", "text": content}]
        entries = content if isinstance(content, list) else []
        for n, (index, entry) in enumerate(zip(self._indexes(len(entries)), entries, strict=True)):
            part, part_path = self._parts.get(index), (*path, "content", n)
            if index not in self._parts:
                out.append(PartComplete(read_block(entry, part_path)))
            elif part is not None and is_complete:
                out += self._compare_part(part, entry, part_path)
        for part in self._parts.values():
            if part is not None and not part.closed:
                out += part.close(None, (self.reader.count,), cut=self.cut)
        return out

    def _compare_part(self, part: GrowingPart, block: JSON, path: JsonPath) -> list[Event]:
        """End a part with its finished block; report the block if other text was emitted."""
        text = _text_of(block)
        if not isinstance(block, dict) or not isinstance(text, str | None):
            return [Unsupported(path, VALUE_CHANGED)]
        if not part.closed:
            return self._end_part(part, block, path)
        if _has_other_type(block, part) or not part.was_emitted(text):
            return [Unsupported(path, VALUE_CHANGED)]
        return []

    def _indexes(self, size: int) -> list[int]:
        """The indexes in the events of the entries of the finished content. If an event had an
        index past its end, the started parts are its first entries."""
        known = sorted(self._parts)
        if not known or known[-1] < size:
            return list(range(size))
        return [*known[:size], *range(known[-1] + 1, known[-1] + 1 + size - len(known))]


def _has_other_type(block: JSON, growing: GrowingPart) -> bool:
    """True if a finished block is no text although a text was started, or no refusal."""
    spec = growing.part.spec
    if not isinstance(block, dict) or not isinstance(spec, Block):
        return False
    return _TEXT_FIELDS.get(str(block.get("type"))) != _TEXT_FIELDS.get(spec.name)


def _text_of(block: JSON) -> JSON:
    """The text or refusal of a block; None if it has none."""
    return (block.get("text") or block.get("refusal") or None) if isinstance(block, dict) else None


class _ReasoningItem(StreamItem):
    """Reasoning: one text, which is its content or its summary."""

    __slots__ = ("_entries", "_field", "_initial", "_n", "_part")

    def __init__(self, reader: ItemStreamBase, output_index: JSON, block: Object) -> None:
        super().__init__(reader, output_index, block)
        self._part: GrowingPart | None = None
        self._field = ""
        self._n = 0
        self._entries: dict[int, TextDigest] = {}
        """The emitted texts by index."""
        self._initial: dict[tuple[str, int], str] = {}
        """The texts of opening events, which are emitted if no other text follows."""

    def emit(self, event: Chunk, change: Change) -> list[Event]:
        field, is_append = change.path[0], change.action == "append"
        n, text = list_index(event.get(f"{field}_index")), change.read_text(event)
        if change.action == "set":
            part = event.get(change.field)
            text = (text_or_none(part.get("text")) if isinstance(part, dict) else None) or ""
            if event["type"] not in PART_ENDS:
                self._initial[field, n] = text
                return []
        if not text:
            return []
        if self._part is not None and field != self._field:  # of the two, a body reads the content
            return self.reader.report_unknown(change.field, scope=self, reason=VALUE_CHANGED)
        if not is_append and n in self._entries:
            return self._complete_entry(n, text)
        return self._append(field, n, text)

    def _append(self, field: str, n: int, text: str) -> list[Event]:
        """Emit more text of an entry, which is a paragraph of the reasoning."""
        out: list[Event] = []
        if self._part is None:
            self._field, self._n = field, n
            raw = {**self.block, "summary": [], "content": []}
            spec = self.reader.items.blocks["reasoning"]
            part = Reasoning("", source=Source(raw, (self.reader.count,), spec))
            self._part = GrowingPart(self.reader.next_slot(), part, None)
            self.live = True
            out.append(PartStart(self._part.slot, part))
        if n != self._n:
            self._n = n
            out.append(self._part.append("\n\n"))
        self._entries.setdefault(n, TextDigest()).append(text)
        return [*out, self._part.append(text)]

    def _complete_entry(self, n: int, text: str) -> list[Event]:
        """Emit the missing end of a text. A text that differs from the emitted one is reported,
        here or by `close`."""
        assert self._part is not None
        if len(self._entries) == 1:
            return self._part.catch_up(text)
        digest = self._entries[n]
        if not digest.is_start_of(text) or (n != self._n and len(text) > digest.length):
            return self.reader.report_unknown("text", scope=self, reason=VALUE_CHANGED)
        rest = text[digest.length :]
        return self._append(self._field, n, rest) if rest else []

    def emit_end(self) -> list[Event]:
        growing = self._part
        if growing is None:
            return super().emit_end()
        if not self.final and not self.reader.keep:
            out: list[Event] = []
            for (field, n), text in self._initial.items():
                if text and field == self._field and n not in self._entries:
                    out += self._append(field, n, text)
                elif text and field == "content" != self._field:
                    out += self.reader.report_unknown(field, scope=self, reason=VALUE_CHANGED)
            return out + growing.close(None, (self.reader.count,), cut=self.cut)
        part = self.read_parts(self.assemble())[0]
        spec = self.reader.items.blocks["reasoning"]
        path = (self.reader.count, "item")
        self.report_new_fields(growing.part.raw, self.block, spec, path)
        whole = part.text or None if isinstance(part, Reasoning) else None
        if whole is None:  # the finished item has a text that cannot be read
            self.reader.trailing.append(Unsupported(path, VALUE_CHANGED))
        signature = text_or_none(self.block.get("encrypted_content"))
        return growing.close(whole, path, signature=signature, cut=self.cut)


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
        if not isinstance(part, Call) or not part.id or not part.name:
            return []
        if part.origin != "wire" and part.executor == "client":
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
        if not self.final and not self.reader.keep and self.live:
            return growing.close(None, (self.reader.count,), cut=self.cut)
        call, *others = self.read_parts(self.assemble())
        started = growing.part
        assert isinstance(started, Call)
        path = (self.reader.count, "item")
        self.report_new_fields(started.raw, self.block, self.spec, path)
        text = None
        if isinstance(call, Call):
            # Where the finished item has no arguments, those of its deltas count.
            text = call.args.text if self.block.get(self._field) or self._is_inside else None
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
