"""The item shape: messages as items.

A wire's own items go back as they came, with the edits of their parts; an item is one thing, so as long as one of its parts is
still there it goes out whole. What comes from elsewhere gets no item id: that would name something on another server. Knows no
wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from msgspec import UNSET, UnsetType

from toolwire._json import JSON, At, Object
from toolwire.identity import digest
from toolwire.parts import Call, Media, Message, Opaque, Part, Reasoning, Result, Role, Text, label
from toolwire.wires._page import Page
from toolwire.wires._responses_content import Inside, write_inside
from toolwire.wires._responses_items import CUSTOM, FUNCTION
from toolwire.wires._wire import Row, call_id, keys, native, own

Reads: TypeAlias = "Callable[[Object, At], tuple[Role | None, tuple[Part, ...]]]"

_TEXTUAL = keys("function_call_output", "custom_tool_call_output", "local_shell_call_output", "apply_patch_call_output")
"""Results that can only be text, or blocks."""
_RETOLD = keys("shell_call", "tool_search_call")
"""Calls that need nothing but what a part knows. Others need ids or labels of the server they came from."""
_FLAGGED = keys("apply_patch_call_output")
"""Results that can say that they failed."""


class Writer:
    """The items of a history, under way."""

    def __init__(self, rows: Mapping[str, Row], page: Page, read: Reads) -> None:
        self.rows = rows
        self.page = page
        self.read = read
        self.out: list[JSON] = []
        self.content: list[JSON] = []
        """What a user or the system says, until its item is full."""
        self.role: Role = "user"
        self.families: dict[str, str] = {}
        """As what each call was written."""
        self.bare: set[str] = set()
        """Calls of this wire's own that have no call id on it: their results cannot name them either."""

    def items(self, messages: Iterable[Message]) -> list[JSON]:
        """All of them."""
        for message in messages:
            self.role = message.role
            self._message(message)
            self._flush()
        return self.out

    # --- this wire's own ---

    def _message(self, message: Message) -> None:
        home, parts = message.wire == self.page.wire, message.parts
        if home and isinstance(message.raw, dict):
            kept = own(message, self.page, self._again)
            if isinstance(kept, UnsetType) and all(isinstance(part, Text | Media | Opaque) for part in parts):
                said: list[JSON] = [block for block in (self._block(part) for part in parts) if block is not None]
                kept = {**message.raw, "content": said}
            if not isinstance(kept, UnsetType):
                self.out.append(kept)
                return
        i = 0
        while i < len(parts):
            item = _item_of(parts[i]) if home else None
            end = i + 1
            while item is not None and end < len(parts) and _item_of(parts[end]) is item and parts[end].at[:2] == parts[i].at[:2]:
                end += 1
            self._run(item, parts[i:end])
            i = end

    def _again(self, item: JSON, at: At) -> Message:
        role, parts = self.read(item, at) if isinstance(item, dict) else (None, ())
        return Message(role or "user", parts)

    def _run(self, item: Object | None, parts: tuple[Part, ...]) -> None:
        """The parts of one item, or one part that has none."""
        kept = UNSET if item is None else self._rebuilt(item, parts)
        if isinstance(kept, UnsetType):
            for part in parts:
                self._add(part)
            return
        self._flush()
        self.out.append(kept)
        for part in parts:
            if isinstance(part, Call) and part.origin != "wire" and item is not None and not call_id(item.get("call_id"))[0]:
                self.bare.add(part.id)

    def _rebuilt(self, item: Object, parts: tuple[Part, ...]) -> JSON | UnsetType:
        """An item with the edits of its parts; UNSET if one of them became something else."""
        if not isinstance(parts[0].row, Inside):
            now: JSON | UnsetType = item
            for part in parts:
                now = UNSET if isinstance(now, UnsetType) else native(part, self.page, now)
            return now
        content = item.get("content")
        blocks: list[JSON] = []
        for part in parts:
            block = UNSET if isinstance(part.raw, UnsetType) else native(part, self.page, part.raw)
            if isinstance(block, UnsetType):
                return UNSET
            blocks.append(block)
        if isinstance(content, str):
            return item if blocks[0] is content else {**item, "content": blocks[0]}
        return item if blocks == content else {**item, "content": blocks}

    def _block(self, part: Part) -> JSON:
        """A block of a message that gained or lost some."""
        kept = native(part, self.page, part.raw) if isinstance(part.raw, dict) else UNSET
        return write_inside(part, self.page) if isinstance(kept, UnsetType) else kept

    # --- what is new, or of another wire ---

    def _add(self, part: Part) -> None:
        if isinstance(part, Call):
            self._item(self._call(part))
        elif isinstance(part, Result):
            self._item(self._result(part))
        elif self.role != "assistant":
            block = write_inside(part, self.page)
            self.content += [block] if block is not None else []
        elif isinstance(part, Text):
            self._text(part)
        elif isinstance(part, Reasoning):
            self._reasoning(part)
        else:
            self.page.lose(part, f"a model's turn cannot hold this here: {label(part)[:80]}")

    def _item(self, item: JSON) -> None:
        self._flush()
        self.out.append(item)

    def _flush(self) -> None:
        if self.content:
            only = self.content[0]
            short = len(self.content) == 1 and isinstance(only, dict) and only.keys() == {"type", "text"}
            content: JSON = only["text"] if short else self.content  # type: ignore[index,call-overload]
            self.out.append({"role": "system" if self.role == "system" else "user", "content": content})
            self.content = []

    def _named(self, prefix: str) -> str:
        """An id for an item of an answer, where the type demands one."""
        return f"{prefix}_{digest(self.page.seed, len(self.out))}"

    def _text(self, part: Text) -> None:
        if not part.text:
            return
        if self.page.kind == "response":
            said: Object = {"type": "output_text", "text": part.text, "annotations": []}
            block: Object = {"type": "refusal", "refusal": part.text} if part.refusal else said
            self.out.append({"type": "message", "id": self._named("msg"), "status": "completed", "role": "assistant",
                             "content": [block]})  # fmt: skip
            return
        if part.refusal:
            self.page.lose(part, "a refusal is sent as plain text")
        self.out.append({"role": "assistant", "content": part.text})

    def _reasoning(self, part: Reasoning) -> None:
        """Reasoning can be shown in an answer; the provider takes nobody else's back."""
        if self.page.kind == "response" and part.text:
            told: list[JSON] = [{"type": "summary_text", "text": part.text}]
            self.out.append({"type": "reasoning", "id": self._named("rs"), "summary": told})
        else:
            self.page.lose(part, "only reasoning that this provider sealed is taken back")

    def _call(self, call: Call) -> JSON:
        custom = call.family == "custom" or self.page.home.forms.get(call.id) == "custom"
        row = CUSTOM if custom else self._own_row(call) or FUNCTION
        assert row.write is not None
        item = row.write(call, self.page)
        assert isinstance(item, dict)
        self.families[call.id] = row.family
        if row.ids[0].name == "id":
            return item
        item.pop("id", None)
        return {"type": item.pop("type"), **item, "call_id": self.page.call_id(call)}

    def _result(self, result: Result) -> JSON:
        told = result.call_id in self.families
        row = (None if told else self._own_row(result)) or self._answer_row(result)
        assert row.write is not None
        self.page.remember(result, flag=row.name in _FLAGGED, structure=row.name not in _TEXTUAL)
        if self.page.failed(result) and row.name not in _FLAGGED:
            self.page.lose(result, "a result has no error flag here; its text is kept")
        item = row.write(result, self.page)
        if result.call_id in self.bare and isinstance(item, dict) and item.pop("call_id", None) is not None:
            item["name"] = self.page.name(result.name or "")
        return item

    def _own_row(self, part: Call | Result) -> Row | None:
        """The row a part was read by on another wire of this shape, if its kind can be told anew: in an answer, where more is
        demanded of an item than its call, it cannot.
        """
        if self.page.kind == "response":
            return None
        row = part.row
        ours = isinstance(row, Row) and self.rows.get(row.name) is row and row.part is type(part)
        return row if isinstance(row, Row) and ours and (isinstance(part, Result) or row.name in _RETOLD) else None

    def _answer_row(self, result: Result) -> Row:
        """The kind of result that answers the kind of call it was made from."""
        family = self.families.get(result.call_id, result.family)
        for row in self.rows.values():
            if row.direction == "output" and row.family == family and row.executor == "client":
                return row
        return self.rows["function_call_output"]


def _item_of(part: Part) -> Object | None:
    """The item a part of this wire's own stands in."""
    held = part.row.item if isinstance(part.row, Inside) else part.raw
    return held if isinstance(held, dict) and isinstance(part.row, Row) else None
