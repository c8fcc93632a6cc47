"""Write a stream of items.

Every part becomes an item: added, its deltas, its complete text, done; then the next one. The last
event holds the whole response, so all written items are kept until then. A call whose type has no
deltas is written when it is complete. Items are written as in a body, so their ids are those of a
body.
"""

from __future__ import annotations

from msgspec import Struct

from toolwire.conversation.id_map import PLAIN_CALL
from toolwire.conversation.json import JSON, Object
from toolwire.conversation.parts import Call, Part
from toolwire.streaming.accumulate import with_text
from toolwire.streaming.events import Chunk, MessageStart, PartEnd, StreamError
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.sequential_writer import QueuedPart, SequentialWriter
from toolwire.wires.families.items.bodies import ItemBodies
from toolwire.wires.families.items.deltas import CHANGES
from toolwire.wires.families.items.item_writer import ItemWriter

_ERROR_CODES = frozenset(
    {"server_error", "rate_limit_exceeded", "invalid_prompt", "vector_store_timeout"}
)
"""Those error codes of the type of a response that can apply to any answer."""


class _Growth(Struct, frozen=True, eq=False):
    """The events that make an item grow."""

    events: str
    """The prefix of its event names."""
    field: str
    """The field of the text: in the item, or in the only part inside it."""
    parts: str
    """The field of the item that lists its parts, if it has parts."""
    index: str
    """The field of an event that holds the index of a part."""
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
    """How an item grows; None if it is sent only whole."""
    kind, content = item.get("type"), item.get("content")
    if kind == "message" and isinstance(content, list) and isinstance(content[0], dict):
        kind = content[0].get("type")
    return _GROWTH.get(kind) if isinstance(kind, str) else None


class _OpenItem(Struct, eq=False):
    """The item that is being written."""

    growth: _Growth
    id: str
    index: int
    """The index of the item in the output."""
    texts: list[str] = []

    def location(self) -> Object:
        """The fields of an event that identify the item and the part in it."""
        out: Object = {"item_id": self.id, "output_index": self.index}
        return {**out, self.growth.index: 0} if self.growth.index else out


class ItemStreamWriter(SequentialWriter):
    """Writes the events of a wire of this shape."""

    supports_custom_calls = True

    def __init__(
        self, bodies: ItemBodies, context: EncodeContext, version: int | None = None
    ) -> None:
        super().__init__(context, version)
        self._bodies = bodies
        self._specs = ItemWriter(bodies, context)
        """Finds the specs of calls."""
        self._sent = 0
        """The number of events sent."""
        self._output: list[JSON] = []
        """The finished items of the response."""
        self._open: _OpenItem | None = None
        self._cut: list[PartEnd] = []
        """The ends of parts that were cut off with the source: an error may follow."""

    def _event(self, kind: str, fields: Object) -> Chunk:
        self._sent += 1
        return {"type": kind, **fields, "sequence_number": self._sent - 1}

    def _item(self, part: Part) -> Object | None:
        """A part as the next item of the output; None if a body has no item for it."""
        writer = ItemWriter(self._bodies, self.context, first_index=len(self._output))
        items = writer.write_new_part(part)
        return items[0] if items and isinstance(items[0], dict) else None

    # --- the response ---

    def begin(self, event: MessageStart) -> list[Chunk]:
        super().begin(event)
        body = {**self.write_empty_body(self._bodies.write), "status": "in_progress"}
        body |= {"incomplete_details": None, "completed_at": None}
        return [
            self._event(kind, {"response": dict(body)})
            for kind in ("response.created", "response.in_progress")
        ]

    def close(self) -> list[Chunk]:
        out = [chunk for event in self._cut for chunk in super(ItemStreamWriter, self).end(event)]
        out += self.close_unfinished()
        body = self._body()
        return [*out, self._event(f"response.{body['status']}", {"response": body})]

    def _body(self) -> Object:
        # This shape has no finish reason for tool calls; the items show them.
        body = self.write_empty_body(
            self._bodies.write, "stop" if self.stop == "tool" else self.stop
        )
        return {**body, "output": self._output}

    def error(self, event: StreamError) -> list[Chunk]:
        out: list[Chunk] = []
        cut = {self._by_slot[end.slot]: end for end in self._cut}
        for queued in self.parts_in_queue():
            texts = self._open.texts if queued.opened and self._open is not None else queued.texts
            end = cut.get(queued, queued.end)
            whole = None if end is None else end.whole
            item = self._item(with_text(queued.part, "".join(texts) if whole is None else whole))
            if item is None:
                continue
            item["status"] = "incomplete"
            if queued.opened and self._open is not None and whole is not None:
                out.append(self._text_done(self._open, item))
            if not queued.opened:  # a client reads no items after the error; it runs finished ones
                out.append(self._item_event("added", item))
            self._output.append(item)
        code = event.code if event.code in _ERROR_CODES else "server_error"
        error: Object = {"code": code, "message": event.message}
        body: Object = {**self._body(), "status": "failed", "error": error}
        fields: Object = {"code": event.code, "message": event.message, "param": None}
        failed: Object = {"response": body}
        return [*out, self._event("error", fields), self._event("response.failed", failed)]

    # --- items ---

    def waits_for_end(self, part: Part) -> bool:
        """True for a call whose type has no deltas, or is known only from an earlier encoding."""
        if not isinstance(part, Call):
            return False
        if self.context.call_form(part) != PLAIN_CALL:
            return True
        return self._specs.call_spec(part).name not in _GROWTH and self._is_whole(part)

    def _is_whole(self, part: Part) -> bool:
        item = self._item(part)
        return item is None or _growth_of(item) is None

    def open_part(self, queued: QueuedPart, text: str) -> list[Chunk]:
        part = queued.part if isinstance(queued.part, Call) else with_text(queued.part, text)
        item = self._item(part)
        growth = _growth_of(item) if item is not None else None
        self._open = None
        if item is None or growth is None:
            return []
        opened = self._open = _OpenItem(growth, str(item.get("id")), len(self._output))
        added: Object = {**item, growth.parts: []} if growth.parts else {**item, growth.field: ""}
        if "status" in item:
            added["status"] = "in_progress"
        out = [self._item_event("added", added)]
        if growth.parts:
            empty = {**_only_part(item, growth), growth.field: ""}
            fields: Object = {**opened.location(), "part": empty}
            out.append(self._event(f"{_PART_EVENTS[growth.parts]}.added", fields))
        return out + self.grow_part(queued, text) if text else out

    def _item_event(self, kind: str, item: Object) -> Chunk:
        fields: Object = {"output_index": len(self._output), "item": item}
        return self._event(f"response.output_item.{kind}", fields)

    def grow_part(self, queued: QueuedPart, text: str) -> list[Chunk]:
        opened = self._open
        if opened is None or not text:
            return []
        opened.texts.append(text)
        fields = {**opened.location(), "delta": text, **opened.growth.required}
        return [self._event(f"{opened.growth.events}.delta", fields)]

    def end(self, event: PartEnd) -> list[Chunk]:
        if not event.cut:
            return super().end(event)
        self._cut.append(event)
        return []

    def close_part(self, queued: QueuedPart, event: PartEnd) -> list[Chunk]:
        opened = self._open
        if opened is None:
            return []
        growth = opened.growth
        text = "".join(opened.texts) if event.whole is None else event.whole
        item = self._item(with_text(queued.part, text))
        assert item is not None
        inner = _only_part(item, growth) if growth.parts else item
        final = inner.get(growth.field)
        out: list[Chunk] = []
        if not opened.texts and isinstance(final, str):  # a call without arguments
            out = self.grow_part(queued, final)
        out.append(self._text_done(opened, item))
        if growth.parts:
            fields = {**opened.location(), "part": inner}
            out.append(self._event(f"{_PART_EVENTS[growth.parts]}.done", fields))
        out.append(self._item_event("done", item))
        self._output.append(item)
        return out

    def _text_done(self, opened: _OpenItem, item: Object) -> Chunk:
        """The event with the complete text of the open item."""
        growth, fields = opened.growth, opened.location()
        if growth is _GROWTH["function_call"]:
            fields["name"] = item["name"]
        inner = _only_part(item, growth) if growth.parts else item
        fields = {**fields, growth.field: inner.get(growth.field), **growth.required}
        return self._event(f"{growth.events}.done", fields)

    def write_part(self, part: Part, choice: int) -> list[Chunk]:
        item = self._item(part)
        if item is None:
            return []
        out = [self._item_event("added", item), self._item_event("done", item)]
        self._output.append(item)
        return out


def _only_part(item: Object, growth: _Growth) -> Object:
    """The one part of an item."""
    parts = item[growth.parts]
    assert isinstance(parts, list) and isinstance(parts[0], dict)
    return parts[0]
