"""The item shape in a stream: writing its events.

Every part is an item of its own, told while it grows: opened, its pieces, all of it again, done.
The last event holds the whole response, so all that was written is kept until then. Only two things
are held back: the opening of a text or thought that has nothing in it yet, because an answer has no
empty items, and a call of a kind whose item has no pieces. Items are made by the functions that
write bodies, so their ids are those of a body. Knows no wire by name.
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
from toolwire.wires.engine import stream as _stream
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.families.items import history as bodies
from toolwire.wires.families.items.bodies import Items

_CODES = frozenset(
    {"server_error", "rate_limit_exceeded", "invalid_prompt", "vector_store_timeout"}
)
"""What the type of a response's error allows, of what can happen to any answer."""


class _Form(Struct, frozen=True):
    """How an item grows on the wire."""

    stem: str
    """What the names of its events begin with."""
    field: str
    """Where its text stands: in the item, or in the part that is in it."""
    inside: str = ""
    """The list of parts in the item, if it has one."""
    part: str = ""
    """What the names of the events of a part begin with."""
    index: str = ""
    """What a place in that list is called."""
    frame: Object = {}
    """What each piece, and the whole text, must have beside it."""


_FORMS = {
    "output_text": _Form(
        "response.output_text",
        "text",
        "content",
        "response.content_part",
        "content_index",
        {"logprobs": []},
    ),
    "refusal": _Form(
        "response.refusal", "refusal", "content", "response.content_part", "content_index"
    ),
    "reasoning": _Form(
        "response.reasoning_summary_text",
        "text",
        "summary",
        "response.reasoning_summary_part",
        "summary_index",
    ),
    "function_call": _Form("response.function_call_arguments", "arguments"),
    "custom_tool_call": _Form("response.custom_tool_call_input", "input"),
}


def _form(item: Object) -> _Form | None:
    """The form of an item; None if it only comes whole."""
    kind = item.get("type")
    content = item.get("content")
    if kind == "message" and isinstance(content, list) and isinstance(content[0], dict):
        kind = content[0].get("type")
    return _FORMS.get(kind) if isinstance(kind, str) else None


class _Open:
    """An item that is open."""

    __slots__ = ("form", "id", "index", "part", "texts")

    def __init__(self, part: Part) -> None:
        self.part = part
        self.texts: list[str] = []
        self.index = -1
        """Its place in the output; none as long as nothing was told."""
        self.form: _Form | None = None
        self.id = ""


class Writer(_stream.StreamWriter):
    """Writes the events of a wire of this shape."""

    customs = True

    def __init__(self, items: Items, context: EncodeContext, version: int | None = None) -> None:
        super().__init__(context, version)
        self._items = items
        self._sent = 0
        self._out: list[JSON] = []
        """The output; null in the place of an item that is not done."""
        self._open: dict[int, _Open] = {}
        self._torn: list[_Open] = []
        """Items whose end never came."""
        self._stop: str | None = None

    def _event(self, kind: str, fields: Object) -> Chunk:
        self._sent += 1
        return {"type": kind, **fields, "sequence_number": self._sent - 1}

    def _item(self, part: Part, index: int) -> Object | None:
        """A part as a body would have it in this place; None if it would not."""
        writer = bodies.Writer(self._items.rows, self.context, self._items.read_message)
        writer.out = [None] * index
        made = writer.items((Message("assistant", (part,)),))[index:]
        return made[0] if made and isinstance(made[0], dict) else None

    # --- the answer ---

    def begin(self, event: MessageStart) -> list[Chunk]:
        super().begin(event)
        body: Object = {
            **self.envelope(self._items.write),
            "status": "in_progress",
            "incomplete_details": None,
        }
        return [
            self._event(kind, {"response": dict(body)})
            for kind in ("response.created", "response.in_progress")
        ]

    def finish(self, event: Finish) -> list[Chunk]:
        self._stop = event.stop
        return []

    def close(self) -> list[Chunk]:
        out: list[Chunk] = []
        for one in [*self._torn, *self._open.values()]:
            out += self._done(one)
        body = self._body()
        return [*out, self._event(f"response.{body['status']}", {"response": body})]

    def _body(self) -> Object:
        # Whether tools were called is seen from the items: there is no such reason on a wire of
        # this shape.
        body = self.envelope(self._items.write, "stop" if self._stop == "tool" else self._stop)
        return {**body, "output": [item for item in self._out if item is not None]}

    def fault(self, event: StreamError) -> list[Chunk]:
        code = event.code if event.code in _CODES else "server_error"
        for one in [*self._torn, *self._open.values()]:
            item = self._item(_full(one), one.index) if one.index >= 0 else None
            if item is not None:
                self._out[one.index] = {**item, "status": "incomplete"}
        body: Object = {
            **self._body(),
            "status": "failed",
            "error": {"code": code, "message": event.message},
        }
        said: Object = {"code": event.code, "message": event.message, "param": None}
        return [self._event("error", said), self._event("response.failed", {"response": body})]

    # --- items ---

    def start(self, event: PartStart) -> list[Chunk]:
        one = self._open[event.slot] = _Open(event.part)
        return self._opened(one) if isinstance(event.part, Call) else []

    def _opened(self, one: _Open) -> list[Chunk]:
        """Open the item, if it can be told in pieces."""
        one.index = len(self._out)
        self._out.append(None)
        item = self._item(one.part, one.index)
        form = _form(item) if item is not None else None
        if (
            item is None
            or form is None
            or (isinstance(one.part, Call) and self.context.notes_about(one.part))
        ):
            return []
        one.form, one.id = form, str(item.get("id"))
        bare: Object = {**item, form.inside: []} if form.inside else {**item, form.field: ""}
        if "status" in item:
            bare["status"] = "in_progress"
        out = [self._event("response.output_item.added", {"output_index": one.index, "item": bare})]
        if form.inside:
            part = _first(item, form)
            fields = {**self._place(one), "part": {**part, form.field: ""}}
            out.append(self._event(f"{form.part}.added", fields))
        return out

    def _place(self, one: _Open) -> Object:
        place: Object = {"item_id": one.id, "output_index": one.index}
        return {**place, one.form.index: 0} if one.form is not None and one.form.index else place

    def delta(self, event: PartDelta) -> list[Chunk]:
        one = self._open.get(event.slot)
        if one is None or not event.text:
            return []
        one.texts.append(event.text)
        out: list[Chunk] = []
        if one.index < 0:
            one.part = with_text(one.part, event.text)
            out = self._opened(one)
        return out if one.form is None else [*out, self._piece(one, one.form, event.text)]

    def _piece(self, one: _Open, form: _Form, text: str) -> Chunk:
        return self._event(f"{form.stem}.delta", {**self._place(one), "delta": text, **form.frame})

    def end(self, event: PartEnd) -> list[Chunk]:
        one = self._open.pop(event.slot, None)
        if one is None:
            return []
        if event.whole is not None:
            one.texts = [event.whole]
        if event.cut:
            self._torn.append(one)
            return []
        return self._done(one)

    def _done(self, one: _Open) -> list[Chunk]:
        part = _full(one)
        out: list[Chunk] = []
        if one.index < 0:
            if not one.texts:
                self._item(part, len(self._out))  # it says what stays behind
                return []
            one.part = part
            out = self._opened(one)
        item = self._out[one.index] = self._item(part, one.index)
        if item is None:
            return out
        form = one.form
        if form is None:
            return [*out, *self._at_once(one.index, item)]
        whole = _first(item, form) if form.inside else item
        text = whole.get(form.field)
        if not one.texts and isinstance(text, str) and text:
            out.append(self._piece(one, form, text))
        named: Object = (
            {"name": item["name"]} if form.stem == "response.function_call_arguments" else {}
        )
        said: Object = {**self._place(one), **named, form.field: text, **form.frame}
        out.append(self._event(f"{form.stem}.done", said))
        if form.inside:
            out.append(self._event(f"{form.part}.done", {**self._place(one), "part": whole}))
        return [
            *out,
            self._event("response.output_item.done", {"output_index": one.index, "item": item}),
        ]

    def whole(self, event: PartComplete) -> list[Chunk]:
        item = self._item(event.part, len(self._out))
        if item is None:
            return []
        self._out.append(item)
        return self._at_once(len(self._out) - 1, item)

    def _at_once(self, index: int, item: Object) -> list[Chunk]:
        kinds = ("response.output_item.added", "response.output_item.done")
        return [self._event(kind, {"output_index": index, "item": item}) for kind in kinds]


def _first(item: Object, form: _Form) -> Object:
    """The only part of an item."""
    parts = item[form.inside]
    assert isinstance(parts, list) and isinstance(parts[0], dict)
    return parts[0]


def _full(one: _Open) -> Part:
    return with_text(one.part, "".join(one.texts))
