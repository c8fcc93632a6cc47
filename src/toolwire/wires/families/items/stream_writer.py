"""Writing a stream of items.

Every part is an item of its own: added, its deltas, its complete text, done. The last event has the
whole response, so everything written is kept until then. Two things are deferred: the opening of a
text or reasoning that is still empty, because an answer has no empty items, and a call whose type
has no deltas. Items are written as in a body, so their ids are those of a body.
"""

from __future__ import annotations

from msgspec import Struct

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.parts import Call, Message, Part
from toolwire.streaming.accumulate import with_text
from toolwire.streaming.events import (
    Chunk,
    Finish,
    MessageStart,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
    StreamError,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.stream import StreamWriter
from toolwire.wires.families.items.bodies import ItemBodies
from toolwire.wires.families.items.deltas import CHANGES
from toolwire.wires.families.items.item_writer import ItemWriter

_ERROR_CODES = frozenset(
    {"server_error", "rate_limit_exceeded", "invalid_prompt", "vector_store_timeout"}
)
"""Codes that the type of a response's error allows, of those that any answer can have."""


class _Growth(Struct, frozen=True, eq=False):
    """The events with which an item grows."""

    events: str
    """The prefix of its event names."""
    field: str
    """The field of its text: in the item, or in the one part inside it."""
    parts: str
    """The field of the item that lists its parts, if it has any."""
    index: str
    """The field of an event for the index of a part."""
    required: Object
    """Required fields of each delta and of the complete text."""


_PART_EVENTS = {"content": "response.content_part", "summary": "response.reasoning_summary_part"}


def _growth(name: str, required: Object | None = None) -> _Growth:
    path = CHANGES[f"response.{name}.delta"].path
    parts, index = (path[0], path[1][1:]) if len(path) > 1 else ("", "")
    return _Growth(f"response.{name}", path[-1], parts, index, required or {})


_GROWTH = {
    "output_text": _growth("output_text", {"logprobs": []}),
    "refusal": _growth("refusal"),
    "reasoning": _growth("reasoning_summary_text"),
    "function_call": _growth("function_call_arguments"),
    "custom_tool_call": _growth("custom_tool_call_input"),
}


def _growth_of(item: Object) -> _Growth | None:
    """How an item grows; None if it is only sent whole."""
    kind, content = item.get("type"), item.get("content")
    if kind == "message" and isinstance(content, list) and isinstance(content[0], dict):
        kind = content[0].get("type")
    return _GROWTH.get(kind) if isinstance(kind, str) else None


class _OpenItem:
    """A part whose item is not done."""

    __slots__ = ("growth", "id", "index", "part", "texts")

    def __init__(self, part: Part) -> None:
        self.part = part
        self.texts: list[str] = []
        self.index = -1
        """Its index in the output; -1 until it is reserved."""
        self.growth: _Growth | None = None
        """None if it is not sent in deltas."""
        self.id = ""

    def complete_part(self) -> Part:
        """The part with all of its text."""
        return with_text(self.part, "".join(self.texts))

    def location(self) -> Object:
        """The fields of an event that name the item, and the part in it."""
        out: Object = {"item_id": self.id, "output_index": self.index}
        if self.growth is not None and self.growth.index:
            out[self.growth.index] = 0
        return out


class ItemStreamWriter(StreamWriter):
    """Writes the events of a wire of this shape."""

    supports_custom_calls = True

    def __init__(
        self, bodies: ItemBodies, context: EncodeContext, version: int | None = None
    ) -> None:
        super().__init__(context, version)
        self._bodies = bodies
        self._sent = 0
        """The number of events sent."""
        self._output: list[JSON] = []
        """The items of the response; None for one that is not done."""
        self._open: dict[int, _OpenItem] = {}
        self._cut: list[_OpenItem] = []
        """Items that ended because the source did."""
        self._finish_reason: str | None = None

    def _event(self, kind: str, fields: Object) -> Chunk:
        self._sent += 1
        return {"type": kind, **fields, "sequence_number": self._sent - 1}

    def _item(self, part: Part, index: int) -> Object | None:
        """A part as the item that a body has at an index; None if it has none."""
        writer = ItemWriter(self._bodies, self.context, first_index=index)
        items = writer.write_items((Message("assistant", (part,)),))
        return items[0] if items and isinstance(items[0], dict) else None

    # --- the response ---

    def begin(self, event: MessageStart) -> list[Chunk]:
        super().begin(event)
        body = {**self.write_empty_body(self._bodies.write), "status": "in_progress"}
        body["incomplete_details"] = None
        return [
            self._event(kind, {"response": dict(body)})
            for kind in ("response.created", "response.in_progress")
        ]

    def finish(self, event: Finish) -> list[Chunk]:
        self._finish_reason = event.stop
        return []

    def close(self) -> list[Chunk]:
        out: list[Chunk] = []
        for item in [*self._cut, *self._open.values()]:
            out += self._end_item(item)
        body = self._body()
        return [*out, self._event(f"response.{body['status']}", {"response": body})]

    def _body(self) -> Object:
        # This shape has no finish reason for tool calls: the items show them.
        reason = "stop" if self._finish_reason == "tool" else self._finish_reason
        body = self.write_empty_body(self._bodies.write, reason)
        return {**body, "output": [item for item in self._output if item is not None]}

    def error(self, event: StreamError) -> list[Chunk]:
        for open_item in [*self._cut, *self._open.values()]:
            index = open_item.index
            item = self._item(open_item.complete_part(), index) if index >= 0 else None
            if item is not None:
                self._output[index] = {**item, "status": "incomplete"}
        code = event.code if event.code in _ERROR_CODES else "server_error"
        error: Object = {"code": code, "message": event.message}
        body: Object = {**self._body(), "status": "failed", "error": error}
        fields: Object = {"code": event.code, "message": event.message, "param": None}
        return [self._event("error", fields), self._event("response.failed", {"response": body})]

    # --- items ---

    def start(self, event: PartStart) -> list[Chunk]:
        item = self._open[event.slot] = _OpenItem(event.part)
        return self._start_item(item) if isinstance(event.part, Call) else []

    def _start_item(self, open_item: _OpenItem) -> list[Chunk]:
        """Reserve an index, and add the item if it can be sent in deltas."""
        open_item.index = len(self._output)
        self._output.append(None)
        part = open_item.part
        item = self._item(part, open_item.index)
        growth = _growth_of(item) if item is not None else None
        if item is None or growth is None:
            return []
        if isinstance(part, Call) and self.context.recorded_forms(part):
            return []
        open_item.growth, open_item.id = growth, str(item.get("id"))
        added: Object = {**item, growth.parts: []} if growth.parts else {**item, growth.field: ""}
        if "status" in item:
            added["status"] = "in_progress"
        fields: Object = {"output_index": open_item.index, "item": added}
        out = [self._event("response.output_item.added", fields)]
        if growth.parts:
            empty = {**_only_part(item, growth), growth.field: ""}
            fields = {**open_item.location(), "part": empty}
            out.append(self._event(f"{_PART_EVENTS[growth.parts]}.added", fields))
        return out

    def delta(self, event: PartDelta) -> list[Chunk]:
        item = self._open.get(event.slot)
        if item is None or not event.text:
            return []
        item.texts.append(event.text)
        out: list[Chunk] = []
        if item.index < 0:
            item.part = with_text(item.part, event.text)
            out = self._start_item(item)
        if item.growth is not None:
            out.append(self._delta_event(item, item.growth, event.text))
        return out

    def _delta_event(self, item: _OpenItem, growth: _Growth, text: str) -> Chunk:
        fields = {**item.location(), "delta": text, **growth.required}
        return self._event(f"{growth.events}.delta", fields)

    def end(self, event: PartEnd) -> list[Chunk]:
        item = self._open.pop(event.slot, None)
        if item is None:
            return []
        if event.whole is not None:
            item.texts = [event.whole]
        if event.cut:
            self._cut.append(item)
            return []
        return self._end_item(item)

    def _end_item(self, open_item: _OpenItem) -> list[Chunk]:
        part = open_item.complete_part()
        out: list[Chunk] = []
        if open_item.index < 0:
            if not open_item.texts:
                return []
            open_item.part = part
            out = self._start_item(open_item)
        index, growth = open_item.index, open_item.growth
        item = self._output[index] = self._item(part, index)
        if item is None:
            return out
        if growth is None:
            fields: Object = {"output_index": index, "item": item}
            kinds = ("response.output_item.added", "response.output_item.done")
            return [*out, *(self._event(kind, fields) for kind in kinds)]
        inner = _only_part(item, growth) if growth.parts else item
        text = inner.get(growth.field)
        if not open_item.texts and isinstance(text, str) and text:
            out.append(self._delta_event(open_item, growth, text))
        fields = open_item.location()
        if growth is _GROWTH["function_call"]:
            fields["name"] = item["name"]
        fields = {**fields, growth.field: text, **growth.required}
        out.append(self._event(f"{growth.events}.done", fields))
        if growth.parts:
            fields = {**open_item.location(), "part": inner}
            out.append(self._event(f"{_PART_EVENTS[growth.parts]}.done", fields))
        fields = {"output_index": index, "item": item}
        return [*out, self._event("response.output_item.done", fields)]

    def complete(self, event: PartComplete) -> list[Chunk]:
        return []  # lowering leaves nothing that is not sent in deltas


def _only_part(item: Object, growth: _Growth) -> Object:
    """The one part of an item."""
    parts = item[growth.parts]
    assert isinstance(parts, list) and isinstance(parts[0], dict)
    return parts[0]
