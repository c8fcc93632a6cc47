"""Read the chunks of chat wires: deltas of message fields, and calls in pieces under an index.

The end of a call is known only at the end of the stream: pieces may come in any order, and some
servers go on after the finish reason. A `Chat` and a `ChatStreamSpec` hold the tables of a wire;
this module knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from msgspec import Struct

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Call, Part, Reasoning, Result, Source, Text
from toolwire.streaming.events import (
    Chunk,
    Event,
    Finish,
    MessageStart,
    Metadata,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
    StreamError,
    Unsupported,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingSpec, read_settings
from toolwire.wires.engine.specs import read_block
from toolwire.wires.engine.stream import STREAM_CUT, StreamReader, copy_json, merge
from toolwire.wires.families.chat.choice import ChoiceState
from toolwire.wires.families.chat.messages import PLAIN_TEXT, REASONING, REFUSAL, Chat
from toolwire.wires.families.chat.tool_call_deltas import (
    NOT_STARTED,
    CallState,
    CallTable,
    new_call,
    read_call_delta,
    read_word,
)

_CHOICE_FIELDS = frozenset({"index", "delta", "message", "finish_reason"})
_DELTA_FIELDS = frozenset({"role", "content", "refusal", "tool_calls", "function_call"})
_CALL_FIELDS = frozenset({"index", "id", "type", "function", "custom"})
_INNER_FIELDS = frozenset({"name", "arguments", "input"})
_NAME_JOINTS = ("_", "-", ".", "/", ":")
"""A name that ends with one of these is likely to go on in the next piece."""
_CUT_ERROR: Object = {"message": STREAM_CUT, "type": "stream_cut"}
_EMPTY_PARTS: dict[str, Part] = {
    "content": Text("", source=Source(spec=PLAIN_TEXT)),
    "refusal": Text("", True, source=Source(spec=REFUSAL)),
    "reasoning": Reasoning("", source=Source(spec=REASONING)),
}
"""The part that the text of each field starts."""


class ChatStreamSpec(Struct, frozen=True, eq=False):
    """How one chat wire streams."""

    settings: tuple[SettingSpec, ...]
    """The settings of a response."""
    finish_reasons: Mapping[str, str]
    """Finish reasons of the wire, and what they mean."""
    write: Callable[[Conversation, EncodeContext], JSON]
    """Writes a whole body."""
    reasoning_delta: Callable[[str], Object]
    """The delta of a piece of reasoning."""
    keeps_index: bool = False
    """True if a whole message keeps the index of each call."""
    empty_content: JSON = ""
    """The content of a message that has only calls."""
    whole_calls: bool = False
    """True if a call is written in one chunk: the types of some SDKs want its name in every one."""


class ChatReader(StreamReader):
    """Reads chunks."""

    def __init__(self, chat: Chat, spec: ChatStreamSpec, *, keep: bool = False) -> None:
        super().__init__(keep=keep)
        self.wire = chat.name
        self.chat = chat
        self.spec = spec
        self.started = False
        self.next_slot = 0
        self.choices: dict[int, ChoiceState] = {}
        self.waiting: list[CallState] = []
        """Calls that are not started: the next chunk may hold their id or the rest of their name.
        """
        self.envelope: Object = {}
        """All of the body but its choices."""
        self.error: JSON = None
        self.reported: set[str] = set()
        """Unknown fields that were reported."""
        self.known_fields = frozenset({*_DELTA_FIELDS, *chat.reasoning_fields})
        own_fields = (chat.legacy_call, chat.server_tools)
        self.assembled_fields = frozenset(
            {"tool_calls", *(spec.name for spec in own_fields if spec is not None)}
        )
        """Fields whose pieces are not joined as text."""

    # --- chunks ---

    def read(self, event: Chunk) -> list[Event]:
        choices = event.get("choices")
        has_envelope = not self.started or self.keep or event.get("usage") or "error" in event
        if (
            not has_envelope
            and isinstance(choices, list)
            and len(choices) == 1
            and not self.waiting
        ):
            delta = self.read_plain_delta(choices[0])
            if delta is not None:
                return [delta]
        out: list[Event] = []
        if has_envelope or not choices:
            out = self._read_envelope(event, choices)
            if self.error is not None:
                return out
        waiting = self.waiting
        if isinstance(choices, list):
            for position, choice in enumerate(choices):
                if isinstance(choice, dict):
                    out += self._read_choice(choice, position)
        if waiting:
            out += self._start_calls([call for call in waiting if call.slot == NOT_STARTED])
        return out

    def read_plain_delta(self, choice: JSON) -> Event | None:
        """Read what most chunks are: text or arguments of a part that is open, and nothing else.

        None, and nothing is changed, for any other chunk.
        """
        if not isinstance(choice, dict) or choice.get("finish_reason") or choice.get("logprobs"):
            return None
        delta, index = choice.get("delta"), choice.get("index")
        state = self.choices.get(index) if isinstance(index, int) else None
        if state is None or not isinstance(delta, dict) or len(delta) != 1:
            return None
        text = delta.get("content")
        if text.__class__ is str:
            return PartDelta(state.open_slot, text) if text and _in_content(state) else None
        calls = delta.get("tool_calls")
        entry = calls[0] if isinstance(calls, list) and len(calls) == 1 else None
        function = entry.get("function") if isinstance(entry, dict) and len(entry) == 2 else None
        if not isinstance(entry, dict) or not isinstance(function, dict) or len(function) != 1:
            return None
        call, text = state.calls.at_index(entry.get("index")), function.get("arguments")
        if call is None or call.slot == NOT_STARTED or text.__class__ is not str:
            return None
        if not call.arguments.extend(text):
            return None
        call.chunk = self.count
        state.calls.last = call
        return PartDelta(call.slot, text)

    def _read_envelope(self, event: Chunk, choices: JSON) -> list[Event]:
        """Read all but the choices. The first value of each field counts, and the last usage."""
        out: list[Event] = []
        for key, value in event.items():
            if key == "choices" or (key == "error" and value is None):
                continue
            if key == "usage":
                if value:
                    self.envelope[key] = value
                    usage = read_settings(self.spec.settings, {"usage": value}, frozenset())
                    out.append(Metadata(usage.values))
                continue
            previous = self.envelope.get(key)
            # An id that follows minted call ids is too late: they were made without it.
            too_late = key == "id" and self.called
            if key not in self.envelope or (value and not previous and not too_late):
                self.envelope[key] = value
            elif isinstance(value, dict) and isinstance(previous, dict):
                self.envelope[key] = {**value, **previous}
        if not self.started and (choices or self.envelope.get("id")):
            out = [*self._start_message(), *out]
        error = event.get("error")
        return out if error is None else [*out, *self._read_error(error)]

    def _start_message(self) -> list[Event]:
        self.started = True
        self.seed = str(self.envelope.get("id") or "")
        known = {key: value for key, value in self.envelope.items() if key != "usage"}
        settings = read_settings(self.spec.settings, known, frozenset({"object"}))
        return [
            MessageStart(settings.values),
            *(self._unsupported((self.count, *path)) for path in settings.unknown),
        ]

    def _read_error(self, error: JSON) -> list[Event]:
        self.error = error
        message, code = error, None
        if isinstance(error, dict):
            message, code = error.get("message"), error.get("type") or error.get("code")
        return [
            *self.close_parts(cut=True),
            StreamError(
                str(message or "the server reported an error"),
                str(code) if code is not None else None,
            ),
        ]

    def _read_choice(self, choice: Object, position: int) -> list[Event]:
        index = choice.get("index")
        index = index if isinstance(index, int) else position
        state = self.choices.get(index)
        if state is None:
            state = self.choices[index] = ChoiceState(index, CallTable(index))
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            # Some servers end with the whole message, or send nothing else.
            message = choice.get("message")
            delta = message if isinstance(message, dict) and not state.has_output else {}
        out: list[Event] = []
        calls = delta.get("tool_calls")
        only_calls = len(delta) == 1 and bool(calls) and isinstance(calls, list)
        if delta and not only_calls:
            out += self._read_fields(state, delta, position)
        if isinstance(calls, list):
            for entry in calls:
                if isinstance(entry, dict):
                    out += self.read_call_piece(state, entry)
        legacy = delta.get("function_call")
        if isinstance(legacy, dict) and self.chat.legacy_call is not None:
            out += self._read_legacy_call(state, legacy)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            state.finish_reason = reason
        if self.keep:
            for key, value in choice.items():
                if key == "finish_reason":
                    state.frame[key] = state.finish_reason
                elif key not in ("index", "delta", "message"):
                    state.frame[key] = merge(state.frame.get(key), value)
        for key, value in choice.items():
            if key not in _CHOICE_FIELDS and value is not None:
                out += self.report_unknown(key, (self.count, "choices", position, key))
        return out

    def report_unknown(self, key: str, path: JsonPath) -> list[Event]:
        """Report a field without a neutral form, once in a stream."""
        if key in self.reported:
            return []
        self.reported.add(key)
        return [self._unsupported(path)]

    def _unsupported(self, path: JsonPath) -> Event:
        return Unsupported(path, "no such field on this wire")

    # --- texts ---

    def _read_fields(self, state: ChoiceState, delta: Object, position: int) -> list[Event]:
        """Read all fields of a delta but its calls."""
        out: list[Event] = []
        for key in self.chat.reasoning_fields:
            reasoning = delta.get(key)
            if reasoning and isinstance(reasoning, str):
                out += self.emit_text(state, "reasoning", reasoning)
                break
        content = delta.get("content")
        if isinstance(content, str):
            if self.keep:
                state.content.append(content)
            if content:
                out += self.emit_text(state, "content", content)
        elif isinstance(content, list):
            out += self.read_blocks(state, content, position)
        refusal = delta.get("refusal")
        if refusal and isinstance(refusal, str):
            out += self.emit_text(state, "refusal", refusal)
        if not self.known_fields.issuperset(delta):
            out += self._read_other_fields(state, delta, position)
        if self.keep:
            self._keep_fields(state.message, delta)
        return out

    def _keep_fields(self, message: Object, delta: Object) -> None:
        """Add the fields of a delta to the whole message."""
        for key, value in delta.items():
            if key == "role":
                message[key] = message.get(key) or value
            elif key == "content":
                message.setdefault(key, None)
            elif key not in self.assembled_fields:
                message[key] = merge(message.get(key), value)

    def _read_other_fields(self, state: ChoiceState, delta: Object, position: int) -> list[Event]:
        spec = self.chat.server_tools
        out: list[Event] = []
        for key, value in delta.items():
            if key in self.known_fields or value is None or value == []:
                continue
            path: JsonPath = (self.count, "choices", position, "delta", key)
            if spec is not None and key == spec.name:
                out += self._read_server_tools(state, value, path)
            else:
                out += self.report_unknown(key, path)
        return out

    def read_blocks(self, state: ChoiceState, content: list[JSON], position: int) -> list[Event]:
        """Read content that is a list: text and reasoning grow, any other block is complete."""
        out: list[Event] = []
        path: JsonPath = (self.count, "choices", position, "delta", "content")
        for i, block in enumerate(content):
            if self.keep:
                state.content.append(copy_json(block))
            if isinstance(block, str):
                out += self.emit_text(state, "content", block)
                continue
            if not isinstance(block, dict):
                continue
            part = read_block(self.wire, self.chat.content, block, (*path, i))
            if isinstance(part, Text) and part.signature is None:
                text_field = "refusal" if part.refusal else "content"
                out += self.emit_text(state, text_field, part.text, listed=True)
            elif isinstance(part, Reasoning) and part.hidden is None and part.signature is None:
                out += self.emit_text(state, "reasoning", part.text, listed=True)
            else:
                out += [*self.close_text(state), PartComplete(part, state.index)]
        return out

    def emit_text(
        self, state: ChoiceState, field: str, text: str, *, listed: bool = False
    ) -> list[Event]:
        """Emit a piece of text of a field.

        A message has one text of each field, even if calls come in between; in a list of blocks
        (`listed`) it can have several.
        """
        if not text:
            return []
        if state.open_field == field:
            return [PartDelta(state.open_slot, text)]
        out = self.close_text(state)
        state.open_field, state.open_slot, state.has_output = field, self._take_slot(), True
        continued = field in state.seen_fields and not listed
        state.seen_fields.add(field)
        return [
            *out,
            PartStart(state.open_slot, _EMPTY_PARTS[field], state.index, continued),
            PartDelta(state.open_slot, text),
        ]

    def close_text(self, state: ChoiceState) -> list[Event]:
        """End the text that is open, if there is one."""
        if not state.open_field:
            return []
        state.open_field = ""
        return [PartEnd(state.open_slot)]

    def _take_slot(self) -> int:
        self.next_slot += 1
        return self.next_slot - 1

    # --- calls ---

    def read_call_piece(self, state: ChoiceState, entry: Object) -> list[Event]:
        """Read an entry of `tool_calls`. A call starts when its id and name are known."""
        delta = read_call_delta(entry)
        call = state.calls.find(delta, self.count)
        text = call.arguments.add(delta.arguments)
        out = self._read_unknown_call_fields(call, entry, entry.get(delta.family))
        started = call.slot != NOT_STARTED
        if text and (self.keep or not started):
            call.pieces.append(text)
        if started:
            return [*out, PartDelta(call.slot, text)] if text else out
        call.name_complete = (
            call.name_complete
            or call.arguments.started
            or (delta.arguments is not None and call.name[-1:] not in _NAME_JOINTS)
        )
        if call.name and call.id and call.name_complete:
            if self.waiting:  # calls start in the order of their first pieces
                calls = state.calls.calls
                earlier = calls[: calls.index(call)]
                out += self._start_calls(
                    [other for other in self.waiting if other in earlier], last=True
                )
            return [*out, *self.start_call(state, call)]
        if call not in self.waiting:
            self.waiting = [*self.waiting, call]
        return out

    def _read_unknown_call_fields(self, call: CallState, entry: Object, inner: JSON) -> list[Event]:
        """Report the unknown fields of a call, and keep them for the whole body."""
        levels: list[tuple[Object, frozenset[str], JsonPath]] = []
        if not _CALL_FIELDS.issuperset(entry):
            levels.append((entry, _CALL_FIELDS, ()))
        if isinstance(inner, dict) and not _INNER_FIELDS.issuperset(inner):
            levels.append((inner, _INNER_FIELDS, (call.family,)))
        out: list[Event] = []
        for fields, known, path in levels:
            for key, value in fields.items():
                if key in known or value is None:
                    continue
                if self.keep:
                    kept = call.unknown_fields
                    if path:
                        kept = kept.setdefault(call.family, {})  # type: ignore[assignment]
                    kept[key] = merge(kept.get(key), value)
                out += self.report_unknown(key, (self.count, "tool_calls", *path, key))
        return out

    def _read_legacy_call(self, state: ChoiceState, entry: Object) -> list[Event]:
        call = state.legacy_call
        if call is None:
            call = state.legacy_call = new_call(state.index, None, "function-legacy")
        name = read_word(entry.get("name"))
        if name and name != call.name:
            call.name += name
        text = call.arguments.add(entry.get("arguments"))
        started = call.slot != NOT_STARTED
        if text and (self.keep or not started):
            call.pieces.append(text)
        if started:
            return [PartDelta(call.slot, text)] if text else []
        return self.start_call(state, call) if call.name and call.arguments.started else []

    def _start_calls(self, calls: Iterable[CallState], *, last: bool = False) -> list[Event]:
        """Start calls that waited for a chunk that had neither their id nor more of their name.

        A call without a name goes on waiting, unless nothing more can come (`last`).
        """
        out: list[Event] = []
        for call in calls:
            name_may_grow = call.chunk == self.count and not call.name_complete
            if last or (call.name and not name_may_grow):
                out += self.start_call(self.choices[call.choice], call)
        return out

    def start_call(self, state: ChoiceState, call: CallState) -> list[Event]:
        """Start a call under its id, or under a minted one, with the arguments so far."""
        out = self.close_text(state)
        call.slot = self._take_slot()
        state.has_output = True
        self.waiting = [other for other in self.waiting if other is not call]
        call.minted = not call.id
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
        out.append(PartStart(call.slot, self.identified(part, ordinal), state.index))
        text = "".join(call.pieces)
        if not self.keep:
            call.pieces.clear()
        return [*out, PartDelta(call.slot, text)] if text else out

    def _read_server_tools(self, state: ChoiceState, entries: JSON, path: JsonPath) -> list[Event]:
        """Read calls that the provider ran; each is emitted when its result is there."""
        spec = self.chat.server_tools
        if spec is None or spec.read is None or spec.answer is None or spec.answer.read is None:
            return []
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
                PartComplete(self.identified(call), state.index),
                PartComplete(self.answered(result), state.index),
            ]
        return out

    def again(self, slot: int) -> Callable[[str], bool] | None:
        """A text takes any more text; a call, pieces that can only extend its arguments."""
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
        """Start the calls that still wait, and end all parts that are open."""
        out: list[Event] = []
        for state in self.choices.values():
            waiting = [call for call in self.waiting if call.choice == state.index]
            legacy = state.legacy_call
            if legacy is not None and legacy.slot == NOT_STARTED:
                waiting.append(legacy)
            out += [*self._start_calls(waiting, last=True), *self.close_text(state)]
            cut_short = cut or state.finish_reason == "length"
            for call in state.all_calls():
                rest, whole = call.arguments.finish()
                if rest:
                    out.append(PartDelta(call.slot, rest))
                    call.pieces.append(rest)
                if whole is not None:
                    call.pieces = [whole]
                out.append(
                    PartEnd(
                        call.slot,
                        whole,
                        cut=cut_short and not call.arguments.complete,
                        alias=call.id if call.minted and call.id else None,
                    )
                )
        return out

    def end(self) -> list[Event]:
        if self.error is not None:
            return []
        unfinished = any(state.finish_reason is None for state in self.choices.values())
        if not self.choices or (unfinished and not self.done):
            self.error = dict(_CUT_ERROR)
            return [*self.close_parts(cut=True), StreamError(STREAM_CUT, cut=True)]
        out = self.close_parts(cut=False)
        for index, state in self.choices.items():
            reason = state.finish_reason
            stop = self.spec.finish_reasons.get(reason, reason) if reason else None
            out.append(Finish(stop, index))
        return out

    def body(self) -> JSON:
        if not self.choices and self.error == _CUT_ERROR and not self.envelope:
            raise self.nothing()
        body: Object = {
            **self.envelope,
            "choices": [
                state.to_json(
                    self.chat,
                    empty_content=self.spec.empty_content,
                    keeps_index=self.spec.keeps_index,
                    failed=self.error is not None,
                )
                for _, state in sorted(self.choices.items())
            ],
        }
        if str(body.get("object", "")).endswith(".chunk"):
            body["object"] = str(body["object"]).removesuffix(".chunk")
        return body if self.error is None else {**body, "error": self.error}


def _in_content(state: ChoiceState) -> bool:
    return state.open_field == "content"
