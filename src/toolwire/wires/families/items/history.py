"""The item shape: messages as items.

A wire's own items go back as they came, with the edits of their parts; an item is one thing, so as
long as one of its parts is still there it goes out whole. What comes from elsewhere gets no item
id, as that would name something on another server; where a type demands one, it is made. Knows no
wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TypeAlias

from msgspec import UNSET, Struct, UnsetType

from toolwire.conversation.ids import digest
from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.parts import (
    Call,
    Media,
    Message,
    Opaque,
    Output,
    Part,
    Reasoning,
    Result,
    Role,
    Text,
    describe,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import Block, keys, patch_block, patch_message, read_id
from toolwire.wires.families.items.content import Inside, write_inside
from toolwire.wires.families.items.item_blocks import BORROWED, CUSTOM, FUNCTION, listed, screen
from toolwire.wires.families.items.namespaces import naming
from toolwire.wires.families.items.settings import Added

Reads: TypeAlias = "Callable[[Object, JsonPath], tuple[Role | None, tuple[Part, ...]]]"

_TEXTUAL = keys(
    "function_call_output",
    "custom_tool_call_output",
    "local_shell_call_output",
    "apply_patch_call_output",
)
"""Results that can only be text, or blocks."""


class _Retold(Struct, frozen=True):
    """What a kind of call has to say when it is told anew, beyond what a part knows."""

    prefix: str
    """How the ids of such items begin. An answer must have one."""
    named: bool = False
    """Whether a request must have one too."""
    frame: Mapping[str, JSON] = {}
    holds: Callable[[Output], bool] = lambda output: True
    """Whether an output can be one of its results. If one of them cannot, the call is told as a
    function's."""


def _rows_of(output: Output) -> bool:
    rows = listed(output)
    return rows is not None and all(isinstance(spec, dict) for spec in rows)


_RETOLD = {
    "computer_call": _Retold(
        "cu", True, {"pending_safety_checks": []}, lambda output: screen(output) is not None
    ),
    "apply_patch_call": _Retold("apc"),
    "shell_call": _Retold("sh", holds=_rows_of),
    "local_shell_call": _Retold("lsh", True),
    "tool_search_call": _Retold("tsc", frame={"execution": "client"}, holds=_rows_of),
}
"""Calls that can be told anew. Any other needs a label of the server it came from."""
_PLAIN = {"function_call": _Retold("fc"), "custom_tool_call": _Retold("ctc")}
"""Calls of any tool. Clients of a stream find the pieces of a call by the id of its item, so in an
answer it has one."""
_FLAGGED = keys("apply_patch_call_output")
"""Results that can say that they failed."""


class Writer:
    """The items of a history, under way."""

    def __init__(self, rows: Mapping[str, Block], context: EncodeContext, read: Reads) -> None:
        self.rows = rows
        self.context = context
        self.read = read
        self.out: list[JSON] = []
        self.content: list[JSON] = []
        """What a user or the system says, until its item is full."""
        self.role: Role = "user"
        self.families: dict[str, str] = {}
        """As what each call was written."""
        self.bare: set[str] = set()
        """Calls of this wire's own that have no call id on it: their results cannot name them
        either."""
        self.offers: dict[JsonPath, JSON] = {}
        """The items still to come that offer tools, by their places."""
        self.answers: dict[str, list[Result]] | None = None
        """The results of each call; not known before somebody asks."""

    def items(self, messages: Iterable[Message]) -> list[JSON]:
        """All of them."""
        messages = tuple(messages)
        native = (message for message in messages if message.wire == self.context.wire)
        self.offers = {
            message.path: message.spec.item for message in native if isinstance(message.spec, Added)
        }
        for message in messages:
            self.role = message.role
            self._message(message)
            self._flush()
        return self.out

    # --- this wire's own ---

    def _message(self, message: Message) -> None:
        home, parts = message.wire == self.context.wire, message.parts
        if home and isinstance(message.spec, Added):
            self._offers(message.path)
        elif home and isinstance(message.raw, dict):
            kept = patch_message(message, self.context, self._again)
            if isinstance(kept, UnsetType) and all(
                isinstance(part, Text | Media | Opaque) for part in parts
            ):
                said: list[JSON] = [
                    block for block in (self._block(part) for part in parts) if block is not None
                ]
                kept = {**message.raw, "content": said}
            if not isinstance(kept, UnsetType):
                self.out.append(kept)
                return
        i = 0
        while i < len(parts):
            item = _item_of(parts[i]) if home else None
            end = i + 1
            while (
                item is not None
                and end < len(parts)
                and _item_of(parts[end]) is item
                and parts[end].path[:2] == parts[i].path[:2]
            ):
                end += 1
            if self.offers and home:
                self._offers(parts[i].path[:2])
            self._run(item, parts[i:end])
            i = end

    def _offers(self, path: JsonPath) -> None:
        """The items up to a place that offer tools: such a one may stand in the middle of
        a turn.
        """
        for place in [place for place in self.offers if place[:1] == path[:1] and place <= path]:
            self._item(self.offers.pop(place))

    def _again(self, item: JSON, path: JsonPath) -> Message:
        role, parts = self.read(item, path) if isinstance(item, dict) else (None, ())
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
            if (
                isinstance(part, Call)
                and part.origin != "wire"
                and item is not None
                and not read_id(item.get("call_id"))[0]
            ):
                self.bare.add(part.id)

    def _rebuilt(self, item: Object, parts: tuple[Part, ...]) -> JSON | UnsetType:
        """An item with the edits of its parts; UNSET if one of them became something else."""
        if not isinstance(parts[0].spec, Inside):
            now: JSON | UnsetType = item
            for part in parts:
                now = UNSET if isinstance(now, UnsetType) else patch_block(part, self.context, now)
            return now
        content = item.get("content")
        blocks: list[JSON] = []
        for part in parts:
            block = (
                UNSET
                if isinstance(part.raw, UnsetType)
                else patch_block(part, self.context, part.raw)
            )
            if isinstance(block, UnsetType):
                return UNSET
            blocks.append(block)
        if isinstance(content, str):
            return item if blocks[0] is content else {**item, "content": blocks[0]}
        return item if blocks == content else {**item, "content": blocks}

    def _block(self, part: Part) -> JSON:
        """A block of a message that gained or lost some."""
        kept = patch_block(part, self.context, part.raw) if isinstance(part.raw, dict) else UNSET
        return write_inside(part, self.context) if isinstance(kept, UnsetType) else kept

    # --- what is new, or of another wire ---

    def _add(self, part: Part) -> None:
        if isinstance(part, Call):
            self._item(self._call(part))
        elif isinstance(part, Result):
            self._item(self._result(part))
        elif self.role != "assistant":
            block = write_inside(part, self.context)
            self.content += [block] if block is not None else []
        elif isinstance(part, Text):
            self._text(part)
        elif isinstance(part, Reasoning):
            self._reasoning(part)
        else:
            self.context.report_loss(
                part, f"a model's turn cannot hold this here: {describe(part)[:80]}"
            )

    def _item(self, item: JSON) -> None:
        self._flush()
        self.out.append(item)

    def _flush(self) -> None:
        if self.content:
            only = self.content[0]
            short = (
                len(self.content) == 1
                and isinstance(only, dict)
                and only.keys() == {"type", "text"}
            )
            content: JSON = only["text"] if short else self.content  # type: ignore[index,call-overload]
            self.out.append(
                {"role": "system" if self.role == "system" else "user", "content": content}
            )
            self.content = []

    def _named(self, prefix: str) -> str:
        """An id for an item of an answer, where the type demands one."""
        return f"{prefix}_{digest(self.context.seed, len(self.out))}"

    def _text(self, part: Text) -> None:
        if not part.text:
            return
        if self.context.kind == "response":
            said: Object = {"type": "output_text", "text": part.text, "annotations": []}
            block: Object = {"type": "refusal", "refusal": part.text} if part.refusal else said
            self.out.append(
                {
                    "type": "message",
                    "id": self._named("msg"),
                    "status": "completed",
                    "role": "assistant",
                    "content": [block],
                }
            )
            return
        if part.refusal:
            self.context.report_loss(part, "a refusal is sent as plain text")
        self.out.append({"role": "assistant", "content": part.text})

    def _reasoning(self, part: Reasoning) -> None:
        """Reasoning can be shown in an answer; the provider takes nobody else's back."""
        if self.context.kind == "response" and part.text:
            told: list[JSON] = [{"type": "summary_text", "text": part.text}]
            self.out.append({"type": "reasoning", "id": self._named("rs"), "summary": told})
        else:
            self.context.report_loss(part, "only reasoning that this provider sealed is taken back")

    def _call(self, call: Call) -> JSON:
        custom = call.family == "custom" or "custom" in self.context.notes_about(call)
        spec = CUSTOM if custom else self._kind_of(call) or FUNCTION
        assert spec.write is not None
        item = spec.write(call, self.context)
        assert isinstance(item, dict)
        item.pop("id", None)
        told = item.pop("type")
        self.families[call.id] = spec.family if told == spec.name else FUNCTION.family
        more = _RETOLD.get(spec.name) if told == spec.name else None
        sent, answer = self.context.call_id(call), self.context.kind == "response"
        if more is None and not answer:
            return {"type": told, **item, "call_id": sent}
        more = more or _PLAIN[str(told)]
        lent: Object = {}
        if more.named or answer:
            lent["id"] = f"{more.prefix}_{digest(self.context.seed, len(self.out), sent)}"
        return {"type": told, **lent, **item, "call_id": sent, **more.frame, "status": "completed"}

    def _kind_of(self, call: Call) -> Block | None:
        """The kind a call has on a wire of this shape, or had before it went over another."""
        spec = self._own_row(call) or self._before(_RETOLD, self.context.notes_about(call))
        if spec is None:
            return None
        if self.answers is None:
            self.answers = {}
            for result in self.context.results:
                self.answers.setdefault(result.call_id, []).append(result)
        fit = all(
            _RETOLD[spec.name].holds(result.output) for result in self.answers.get(call.id, ())
        )
        return spec if fit else None

    def _before(self, names: Iterable[str], families: Collection[str]) -> Block | None:
        """The row among some whose family is one of those."""
        return (
            next((self.rows[name] for name in names if self.rows[name].family in families), None)
            if families
            else None
        )

    def _result(self, result: Result) -> JSON:
        told = result.call_id in self.families
        spec = (None if told else self._own_row(result)) or self._answer_row(result)
        assert spec.write is not None
        self.context.note_result_form(
            result, flag=spec.name in _FLAGGED, structure=spec.name not in _TEXTUAL
        )
        if self.context.is_error(result) and spec.name not in _FLAGGED:
            self.context.report_loss(result, "a result has no error flag here; its text is kept")
        item = spec.write(result, self.context)
        if spec.ids is BORROWED and isinstance(item, dict):
            item["id"] = self.context.result_id(
                result
            )  # an id lent by an item of another server names nothing here
        if (
            result.call_id in self.bare
            and isinstance(item, dict)
            and item.pop("call_id", None) is not None
        ):
            item.update(naming(self.context.name(result.name or "")))
        return item

    def _own_row(self, part: Call | Result) -> Block | None:
        """The row a part was read by on another wire of this shape, if its kind can be
        told anew.
        """
        spec = part.spec
        ours = (
            isinstance(spec, Block) and self.rows.get(spec.name) is spec and spec.part is type(part)
        )
        return (
            spec
            if isinstance(spec, Block)
            and ours
            and (isinstance(part, Result) or spec.name in _RETOLD)
            else None
        )

    def _answer_row(self, result: Result) -> Block:
        """The kind of result that answers the kind of call it was made from, or was before it went
        over another wire."""
        told = self.families.get(result.call_id)
        kept = None if told else self._before(_RETOLD, self.context.notes_about(result))
        if kept is not None and _RETOLD[kept.name].holds(result.output):
            told = kept.family
        known = (
            spec.name
            for spec in self.rows.values()
            if spec.direction == "output" and spec.executor == "client"
        )
        return self._before(known, (told or result.family,)) or self.rows["function_call_output"]


def _item_of(part: Part) -> Object | None:
    """The item a part of this wire's own stands in."""
    held = part.spec.item if isinstance(part.spec, Inside) else part.raw
    return held if isinstance(held, dict) and isinstance(part.spec, Block) else None
