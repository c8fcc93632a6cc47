"""Emit the parts of streamed chat responses: texts, and calls that are sent in pieces.

A `Chat` and a `ChatStreamSpec` hold the tables of a wire; this module knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import Call, Part, Reasoning, Result, Source, Text
from toolwire.streaming.events import Event, PartComplete, PartDelta, PartEnd, PartStart
from toolwire.wires.engine.encode_context import VALUE_CHANGED
from toolwire.wires.engine.specs import Block
from toolwire.wires.engine.stream import StreamReader, merge
from toolwire.wires.families.chat.blocks import PLAIN_TEXT, REASONING, REFUSAL, TEXT_FIELDS
from toolwire.wires.families.chat.choice import ChatStreamSpec, ChoiceState
from toolwire.wires.families.chat.tool_call_deltas import (
    NOT_STARTED,
    CallState,
    CallTable,
    add_name,
    new_call,
    read_call_delta,
    read_word,
)

_DELTA_FIELDS = frozenset({"role", "content", "refusal", "tool_calls", "function_call"})
_CALL_FIELDS = frozenset({"index", "id", "type", "function", "custom"})
_INNER_FIELDS = frozenset({"name", "arguments", "input"})
_NAME_JOINTS = ("_", "-", ".", "/", ":")
"""A name that ends with one of these is likely to continue in the next piece."""
_EMPTY_PARTS: dict[str, Part] = {
    "content": Text("", source=Source(spec=PLAIN_TEXT)),
    "refusal": Text("", True, source=Source(spec=REFUSAL)),
    "reasoning": Reasoning("", source=Source(spec=REASONING)),
}
"""The empty part with which the text of each field starts."""


class ChatPartReader(StreamReader):
    """The state of a stream that is read, and the events for its parts."""

    def __init__(self, spec: ChatStreamSpec, *, keep: bool = False) -> None:
        super().__init__(keep=keep)
        self.spec = spec
        self.bodies = spec.bodies
        self.chat = chat = spec.bodies.chat
        self.wire = chat.name
        self.started = False
        self.choices: dict[int, ChoiceState] = {}
        self.waiting: list[CallState] = []
        """Calls that have not started: the next chunk may hold their id or the rest of their
        name."""
        self.envelope: Object = {}
        """The body without its choices."""
        self.known_fields = frozenset({*_DELTA_FIELDS, *chat.reasoning_fields})
        own_fields = (chat.legacy_call, chat.server_tools)
        self.assembled_fields = frozenset(
            {"tool_calls", *(block.name for block in own_fields if block is not None)}
        )
        """Fields whose pieces are not joined as text."""

    # --- texts ---

    def emit_text(
        self, state: ChoiceState, field: str, text: str, *, listed: bool = False
    ) -> list[Event]:
        """Emit a piece of text for a field.

        A message has one text for each field, even if calls come in between; in a list of blocks
        (`listed`) it can have several.
        """
        if not text:
            return []
        if state.open_field == field:
            return [PartDelta(state.open_slot, text)]
        out = self.close_text(state)
        state.open_field, state.open_slot, state.has_output = field, self.next_slot(), True
        continued = field in state.seen_fields and not listed
        state.seen_fields.add(field)
        return [
            *out,
            PartStart(state.open_slot, _EMPTY_PARTS[field], state.index, continued),
            PartDelta(state.open_slot, text),
        ]

    def close_text(self, state: ChoiceState) -> list[Event]:
        """End the open text, if any."""
        if not state.open_field:
            return []
        state.open_field = ""
        return [PartEnd(state.open_slot)]

    # --- calls ---

    def read_call_piece(self, state: ChoiceState, entry: Object, path: JsonPath) -> list[Event]:
        """Read an entry of `tool_calls`. The call starts when its id and name are known."""
        delta = read_call_delta(entry, self.chat.calls)
        call = state.calls.find(delta, self.count)
        out = self._grow_call(call, delta.arguments)
        out += self._read_unknown_fields(call, entry, path)
        if call.slot != NOT_STARTED:
            if call.name != call.started_name:
                out += self.report_unknown(*path[1:], reason=VALUE_CHANGED)
            return out
        call.name_complete = (
            call.name_complete
            or call.arguments.started
            or (delta.arguments is not None and call.name[-1:] not in _NAME_JOINTS)
        )
        if call.name and call.id and call.name_complete:
            if self.waiting:  # calls start in the order of their first pieces
                calls = state.calls.calls
                earlier = calls[: calls.index(call)]
                out += self.start_calls(
                    [other for other in self.waiting if other in earlier], last=True
                )
            return [*out, *self.start_call(state, call)]
        if call not in self.waiting:
            self.waiting = [*self.waiting, call]
        return out

    def _grow_call(self, call: CallState, arguments: JSON) -> list[Event]:
        """Add a piece of arguments. If the call has not started, the piece is kept until it
        does."""
        text = call.arguments.add(arguments)
        started = call.slot != NOT_STARTED
        if text and (self.keep or not started):
            call.pieces.append(text)
        return [PartDelta(call.slot, text)] if text and started and not call.ended else []

    def _read_unknown_fields(self, call: CallState, entry: Object, path: JsonPath) -> list[Event]:
        """Report the unknown fields of a call, and keep them for the body."""
        out: list[Event] = []
        if not _CALL_FIELDS.issuperset(entry):
            out += self._keep_unknown(entry, _CALL_FIELDS, call.unknown_fields, path)
        for family in TEXT_FIELDS:
            inner = entry.get(family)
            if isinstance(inner, dict) and not _INNER_FIELDS.issuperset(inner):
                target = call.unknown_fields.setdefault(call.family, {})
                assert isinstance(target, dict)
                out += self._keep_unknown(inner, _INNER_FIELDS, target, (*path, family))
        return out

    def _keep_unknown(
        self, fields: Object, known: frozenset[str], target: Object, path: JsonPath
    ) -> list[Event]:
        out: list[Event] = []
        for key, value in fields.items():
            if key not in known and value is not None:
                if self.keep:
                    target[key] = merge(target.get(key), value)
                out += self.report_unknown(*path[1:], key)
        return out

    def read_legacy_call(self, state: ChoiceState, entry: Object) -> list[Event]:
        """Read a piece of the legacy call, which has no id."""
        call = state.legacy_call
        if call is None:
            call = state.legacy_call = new_call(state.index, None, "function-legacy")
        name = read_word(entry.get("name"))
        if name:
            add_name(call, name)
        out = self._grow_call(call, entry.get("arguments"))
        if call.slot == NOT_STARTED and call.name and call.arguments.started:
            out += self.start_call(state, call)
        return out

    def start_calls(self, calls: Iterable[CallState], *, last: bool = False) -> list[Event]:
        """Start waiting calls, except those whose name this chunk extended.

        A call without a name keeps waiting, unless nothing more can come (`last`).
        """
        out: list[Event] = []
        for call in calls:
            name_may_grow = call.chunk == self.count and not call.name_complete
            if last or (call.name and not name_may_grow):
                out += self.start_call(self.choices[call.choice], call)
        return out

    def start_call(self, state: ChoiceState, call: CallState) -> list[Event]:
        """Start a call under its id or a minted one, with the arguments so far."""
        out = [*self.close_text(state), *self._end_complete_calls(state)]
        call.slot = self.next_slot()
        state.has_output = True
        self.waiting = [other for other in self.waiting if other is not call]
        call.minted = not call.id
        call.name = call.started_name = call.name or call.placeholder
        ordinal = 0
        if call.minted:
            calls = state.calls.calls
            ordinal = len(state.server_tools) + (calls.index(call) if call in calls else 0)
        part = Call(
            call.id,
            call.name,
            LazyJson(""),
            "minted" if call.minted else "wire",
            call.family,
            source=Source(path=(self.count,)),
        )
        out.append(PartStart(call.slot, self.assign_call_id(part, ordinal), state.index))
        text = "".join(call.pieces)
        if not self.keep:
            call.pieces.clear()
        return [*out, PartDelta(call.slot, text)] if text else out

    def _end_complete_calls(self, state: ChoiceState) -> list[Event]:
        """End the calls whose arguments are complete, because another call starts.

        No event marks the end of a call, but servers send one call after the other. A call with a
        minted id stays open, because its own id may still come.
        """
        out: list[Event] = []
        for call in state.calls.calls:
            if call.slot == NOT_STARTED or call.ended or call.minted:
                continue
            if call.arguments.final and call.possible_start is None:
                out += self._end_call(call, cut=False)
        return out

    def _end_call(self, call: CallState, *, cut: bool) -> list[Event]:
        rest, whole = call.arguments.finish()
        out: list[Event] = []
        if call.ended:
            if whole is None:
                return out
            call.pieces = [whole]
            return self.report_unknown(
                "choices", call.choice, "delta", "tool_calls", reason=VALUE_CHANGED
            )
        call.ended = True
        if rest:
            out.append(PartDelta(call.slot, rest))
            call.pieces.append(rest)
        if whole is not None:
            call.pieces = [whole]
        alias = call.id if call.minted and call.id else None
        cut = cut and not call.arguments.complete
        return [*out, PartEnd(call.slot, whole, cut=cut, alias=alias)]

    def read_server_tools(
        self, state: ChoiceState, spec: Block, entries: JSON, path: JsonPath
    ) -> list[Event]:
        """Read calls that the provider ran; each is emitted with its result."""
        assert spec.read is not None and spec.answer is not None and spec.answer.read is not None
        out: list[Event] = []
        for i, entry in enumerate(entries if isinstance(entries, list) else []):
            if not isinstance(entry, dict):
                continue
            index = entry.get("index")
            key = index if isinstance(index, int) else len(state.server_tools)
            tool = state.server_tools.setdefault(key, {})
            was_complete = "output" in tool
            tool.update(entry)
            if was_complete or "output" not in tool:
                continue
            call = spec.read(tool, (*path, i), spec)
            result = spec.answer.read(tool, (*path, i), spec.answer)
            assert isinstance(call, Call)
            assert isinstance(result, Result)
            out += [
                *self.close_text(state),
                PartComplete(self.assign_call_id(call), state.index),
                PartComplete(self.assign_result_id(result), state.index),
            ]
        return out

    def text_appender(self, slot: int) -> Callable[[str], bool] | None:
        """Return the appender of an open text or call. A call accepts only pieces that can only
        extend its arguments."""
        for state in self.choices.values():
            if state.open_field and state.open_slot == slot:
                return bool
            for call in state.calls.calls:
                if call.slot == slot:
                    return partial(self._extend_arguments, state.calls, call)
        return None

    def _extend_arguments(self, calls: CallTable, call: CallState, text: str) -> bool:
        call.chunk = self.count
        calls.last = call
        return call.arguments.extend(text)

    # --- the end ---

    def close_parts(self, *, cut: bool) -> list[Event]:
        """Start the calls that still wait, and end all open parts."""
        out: list[Event] = []
        for state in self.choices.values():
            waiting = [call for call in self.waiting if call.choice == state.index]
            legacy = state.legacy_call
            if legacy is not None and legacy.slot == NOT_STARTED and not legacy.is_empty:
                waiting.append(legacy)
            out += [*self.start_calls(waiting, last=True), *self.close_text(state)]
            cut_short = cut or state.finish_reason == "length"
            for call in state.all_calls():
                if call.slot != NOT_STARTED:
                    out += self._end_call(call, cut=cut_short)
        return out
