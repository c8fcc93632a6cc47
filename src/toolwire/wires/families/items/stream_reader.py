"""Read a stream of items.

The driver of indexed blocks does not fit here. A block is the sum of its deltas, grows in one text
and is closed by its index; an item holds several texts with indexes of their own, is found by id or
by index, and its last event replaces its deltas.

An item is added, grows and is done under its index in the output; several may be open at once. The
finished item is authoritative, and after it the finished response; neither repeats the deltas.
Deltas refer to their item by its id or index, never by a call id, which only the item has.
`sequence_number` is not used: some servers always send the same.

Parts are emitted in the order of their items: what follows an item that can only be emitted whole
is deferred until that item is finished.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from toolwire.conversation.json import JSON, Object
from toolwire.streaming.events import Chunk, Event, Finish, MessageStart, Metadata, Unsupported
from toolwire.wires.engine.answers import seed_from
from toolwire.wires.engine.encode_context import UNKNOWN_FIELD, VALUE_CHANGED
from toolwire.wires.engine.settings import read_settings
from toolwire.wires.engine.specs import keys, read_id
from toolwire.wires.engine.stream import STREAM_CUT, StreamSpec, copy_json, event_sse
from toolwire.wires.families.items.bodies import ItemBodies
from toolwire.wires.families.items.deltas import CHANGES, Change, content_digests, list_index
from toolwire.wires.families.items.settings import RESPONSE, RESPONSE_FIELDS, read_finish_reason
from toolwire.wires.families.items.stream_growing_items import GROWING_ITEMS
from toolwire.wires.families.items.stream_items import (
    ImmediateItem,
    ItemStreamBase,
    OpenItems,
    StreamItem,
)
from toolwire.wires.families.items.stream_writer import ItemStreamWriter
from toolwire.wires.families.items.turns import ROLES

_RESPONSE_FIELDS = RESPONSE_FIELDS | keys("error")


class ItemStreamReader(ItemStreamBase):
    """Reads the events of a wire of this shape."""

    error_is_last = False  # the finished response follows

    def __init__(self, items: ItemBodies, immediate: frozenset[str], *, keep: bool = False) -> None:
        super().__init__(items, keep=keep)
        self.item_types = {**GROWING_ITEMS, **dict.fromkeys(immediate, ImmediateItem)}
        self.response: Object = {}
        self.started = False
        self.received: list[StreamItem] = []
        """Every item. Unless the body is kept, an emitted item has only its ids."""
        self.pending: list[StreamItem] = []
        """Items that are not emitted completely, in order."""
        self.open = OpenItems()
        self.final_output: list[Object] = []
        """The output of the finished response."""

    def read(self, event: Chunk) -> list[Event]:
        kind = event.get("type")
        if not isinstance(kind, str):
            return [Unsupported((self.count,), "an event has no type")]
        if self.error is not None and kind not in _LAST_EVENTS:
            return []
        change = CHANGES.get(kind)
        if change is not None:
            return self._read_change(event, change)
        handler = _HANDLERS.get(kind)
        if handler is not None:
            return handler(self, event)
        return self._read_status(event, kind)

    # --- events of items ---

    def _read_change(self, event: Chunk, change: Change) -> list[Event]:
        item = self.open.find(event)
        out: list[Event] = []
        if item is None:
            if change.action == "complete":
                return []
            if self.open.is_closed(event):
                return [Unsupported((self.count,), "an event for an item that has ended")]
            item, out = self._open_item(event, _item_of_change(event, change))
        if not item.continues(event, change):
            if str(item.type) in self.item_types and not change.fits(str(item.type)):
                return [Unsupported((self.count,), "an event for another type of item")]
            if not item.accepts(event, change):
                return self._report_delta(change)
        if self.keep or not item.live:
            item.store(event, change)
        if item.deferred is None:
            return out + item.emit(event, change)
        item.deferred.append((self.count, partial(item.emit, event, change)))
        return out

    def _report_delta(self, change: Change) -> list[Event]:
        """Report text that belongs to no part; any other event only repeats what is known."""
        if change.action != "append":
            return []
        return [Unsupported((self.count,), "a delta for a part that has ended or is no text")]

    def _read_status(self, event: Chunk, kind: str) -> list[Event]:
        """Read the progress of an item, or an unknown event."""
        item = self.open.find(event)
        prefix, _, status = kind.rpartition(".")
        if item is None or prefix != f"response.{item.type}":
            return [Unsupported((self.count,), f"an unknown event: {kind}")]
        if self.keep or not item.live:
            item.block["status"] = status
        return []

    def _read_added(self, event: Chunk) -> list[Event]:
        block = event.get("item")
        if not isinstance(block, dict):
            return [Unsupported((self.count,), "an event names an item that has not started")]
        item = self.open.find_same(block, event)
        if item is not None and item.id == read_id(block.get("id"))[0]:
            return []  # added twice
        return self._open_item(event, _copy(block))[1]

    def _read_done(self, event: Chunk) -> list[Event]:
        block = event.get("item")
        if not isinstance(block, dict):
            item = self.open.find(event)
            if item is None:
                return [Unsupported((self.count,), "an event names an item that has not started")]
            return []  # the finished response has it
        item = self.open.find_same(block, event)
        out: list[Event] = []
        if item is None:
            if self.open.is_closed({"item_id": read_id(block.get("id"))[0]}):
                return []  # done twice
            item, out = self._open_item(event, _copy(block))
        item.finish(_copy(block))
        if not item.live and item.is_unidentified():
            self.open.close(item)
            return out
        return out + self._end_item(item, None)

    # --- opening, ending and deferring items ---

    def _open_item(self, event: Chunk, block: Object) -> tuple[StreamItem, list[Event]]:
        kind, index = block.get("type"), event.get("output_index")
        item_type = self.item_types.get(kind) if isinstance(kind, str) else None
        if kind == "message" and (
            str(block.get("role")) not in ROLES or not isinstance(block.get("content", []), list)
        ):
            item_type = None
        item = (item_type or StreamItem)(self, index, block)
        if any(not other.live for other in self.pending):
            item.deferred = []
        self.received.append(item)
        self.pending.append(item)
        self.open.add(item)
        return item, self._emit_or_defer(item, item.emit_start)

    def _emit_or_defer(self, item: StreamItem, emit: Callable[[], list[Event]]) -> list[Event]:
        if item.deferred is None:
            return emit()
        item.deferred.append((self.count, emit))
        return []

    def _end_item(
        self, item: StreamItem, block: Object | None, *, cut: bool = False
    ) -> list[Event]:
        if block is not None:
            item.finish(_copy(block))
        known = item.finished if item.live else item.assemble()
        item.digests = None if known is None else content_digests(known)
        item.cut, item.ended = cut, True
        self.open.close(item)
        if item.deferred is not None:
            return self._emit_or_defer(item, partial(self._emit_end, item))
        return self._emit_end(item) + self._emit_deferred()

    def _emit_end(self, item: StreamItem) -> list[Event]:
        out = item.emit_end()
        item.emitted = True
        if not self.keep:
            item.keep_ids_only()
        out += self.trailing
        self.trailing = []
        return out

    def _emit_deferred(self) -> list[Event]:
        """Emit the events that no longer have to wait."""
        out: list[Event] = []
        current = self.count
        for item in self.pending:
            deferred, item.deferred = item.deferred, None
            for self.count, emit in deferred or ():  # paths point into the deferred event
                out += emit()
            self.count = current
            if not item.emitted and not item.live:
                break
        self.pending = [item for item in self.pending if not item.emitted]
        return out

    # --- events of the response ---

    def _read_start(self, event: Chunk) -> list[Event]:
        response = event.get("response")
        if not isinstance(response, dict):
            return []
        self.response = {**self.response, **response}
        return self._start()

    def _start(self) -> list[Event]:
        if self.started:
            return []
        self.started = True
        self.seed = seed_from(self.response.get("id"))
        settings = read_settings(RESPONSE, self.response, _RESPONSE_FIELDS).values
        return [MessageStart({key: value for key, value in settings.items() if key != "usage"})]

    def _read_end(self, event: Chunk) -> list[Event]:
        if self.over:
            return []  # ended twice
        status, value = str(event.get("type")).removeprefix("response."), event.get("response")
        response: Object = value if isinstance(value, dict) else {}
        output = response.get("output")
        if isinstance(output, list) and self.error is None:
            self.response = response
            self.final_output = [item for item in output if isinstance(item, dict)]
        else:  # an error ends the answer, so items that follow it are not part of it
            self.response = {**self.response, "status": status, **response}
        out = self._start()
        self.over = True
        out += self._end_open_items(cut=status != "completed")
        settings = read_settings(RESPONSE, self.response, _RESPONSE_FIELDS)
        out += [
            Unsupported((self.count, "response", *path), UNKNOWN_FIELD) for path in settings.unknown
        ]
        out.append(Metadata(settings.values))
        if self.error is not None:
            return out
        error = self.response.get("error")
        if status == "failed" or error is not None:
            return [*out, *self.fail(error, _error_code(error))]
        finished: Object = {"status": status, **self.response}
        return [*out, Finish(read_finish_reason(finished, has_calls=False))]

    def _end_open_items(self, *, cut: bool) -> list[Event]:
        """End all open items, and emit items that only the finished response has."""
        final = self.final_output
        matched = self._match_final_items()
        out = self._report_changed_items()
        for item in [item for item in self.received if not item.ended]:
            block = None if item.final_index is None else final[item.final_index]
            out += self._end_item(item, block, cut=cut and block is None)
        for n, block in enumerate(final):
            if n not in matched:
                item, started = self._open_item({"type": ""}, _copy(block))
                item.final_index = n
                out += [*started, *self._end_item(item, block)]
        return out

    def _report_changed_items(self) -> list[Event]:
        """Report items that the finished response has with another content than when they ended."""
        out: list[Event] = []
        for item in self.received:
            n = item.final_index
            if n is None or item.digests is None:
                continue
            if not content_digests(self.final_output[n]).items() <= item.digests.items():
                out += self.report_unknown("response", "output", n, reason=VALUE_CHANGED)
        return out

    def _match_final_items(self) -> set[int]:
        """Find each received item in the finished response, by its ids and then by its index."""
        final = self.final_output
        by_id = {key: n for n, block in reversed(list(enumerate(final))) for key in _ids(block)}
        matched: set[int] = set()
        for use_ids in (True, False):
            for item in self.received:
                if item.final_index is not None:
                    continue
                if use_ids:
                    indexes: list[JSON] = [by_id.get(key) for key in _ids(item.block)]
                else:
                    indexes = [item.output_index]
                for n in indexes:
                    if not isinstance(n, int) or not 0 <= n < len(final) or n in matched:
                        continue
                    if item.is_item(final[n]):
                        item.final_index = n
                        matched.add(n)
                        break
        return matched

    def _read_error(self, event: Chunk) -> list[Event]:
        error = event.get("error")
        if not isinstance(error, dict):
            known = ("type", "sequence_number", "error")
            fields: Object = {key: field for key, field in event.items() if key not in known}
            error = {"message": error, **fields} if isinstance(error, str) else fields
        return self.fail(error, _error_code(error))

    def close_parts(self, *, cut: bool) -> list[Event]:
        out: list[Event] = []
        for item in [item for item in self.received if not item.ended]:
            out += self._end_item(item, None, cut=cut)
        return out

    def end(self) -> list[Event]:
        if self.over or self.error is not None:
            return []
        if self.done and self.received and not self.open:
            return [*self.close_parts(cut=False), Finish(None)]
        unknown = read_settings(RESPONSE, self.response, _RESPONSE_FIELDS).unknown
        out: list[Event] = [Unsupported((0, "response", *path), UNKNOWN_FIELD) for path in unknown]
        return out + self.fail_cut({"code": "stream_cut", "message": STREAM_CUT})

    # --- the whole body ---

    def body(self) -> JSON:
        error = self.error
        if not self.response and not self.received:
            if error is None or self.cut:
                raise self.no_events_error()
            return {"object": "response", "status": "failed", "error": error, "output": []}
        frame: Object = {} if self.response else {"object": "response"}
        body: Object = {**frame, **self.response, "output": self._output()}
        if error is None or self.response.get("error") is not None:
            return body
        return {**body, "error": error}

    def _output(self) -> list[JSON]:
        """The items of the finished response, and between them received items that it lacks."""
        received = self.received
        indexes = {item.output_index for item in received if isinstance(item.output_index, int)}
        if len(indexes) == len(received):
            received = sorted(received, key=lambda item: list_index(item.output_index))
        final: list[JSON] = [*self.final_output]
        for item in received:
            if item.final_index is not None:
                item.finish(self.final_output[item.final_index])
                final[item.final_index] = item.assemble()
        out: list[JSON] = []
        start = 0
        for item in received:
            n = item.final_index
            if n is None:
                out.append(item.assemble())
            elif n >= start:
                out += final[start : n + 1]
                start = n + 1
        return [*out, *final[start:]]


def _copy(block: Object) -> Object:
    return copy_json(block)  # type: ignore[return-value]


def _item_of_change(event: Chunk, change: Change) -> Object:
    """A new item for an event whose item was never added."""
    block: Object = {"type": change.item, "id": event.get("item_id")}
    return {**block, "role": "assistant", "content": []} if change.item == "message" else block


def _ids(block: Object) -> list[tuple[str, str]]:
    """The ids that distinguish an item from others: its item id and its call id."""
    return [(key, found) for key in ("id", "call_id") if (found := read_id(block.get(key))[0])]


def _error_code(error: JSON) -> JSON:
    return error.get("code") or error.get("type") if isinstance(error, dict) else None


_LAST_EVENTS = frozenset(
    f"response.{status}" for status in ("completed", "incomplete", "cancelled", "failed")
)
_HANDLERS: dict[str, Callable[[ItemStreamReader, Chunk], list[Event]]] = {
    "response.output_item.added": ItemStreamReader._read_added,
    "response.output_item.done": ItemStreamReader._read_done,
    "response.created": ItemStreamReader._read_start,
    "response.queued": ItemStreamReader._read_start,
    "response.in_progress": ItemStreamReader._read_start,
    **dict.fromkeys(_LAST_EVENTS, ItemStreamReader._read_end),
    "error": ItemStreamReader._read_error,
    "keepalive": lambda reader, event: [],
    "ping": lambda reader, event: [],
}


def item_stream(items: ItemBodies, immediate: frozenset[str] = frozenset()) -> StreamSpec:
    """The stream spec of a wire of this shape; `immediate` are the types of items that are complete
    when they are added."""
    return StreamSpec(
        partial(ItemStreamReader, items, immediate),
        partial(ItemStreamWriter, items),
        frame=event_sse,
    )
