"""Read the chunks of chat wires: deltas of message fields, and calls in pieces under an index.

No event marks the end of a call: pieces may come in any order, and some servers continue after the
finish reason. A call ends when its arguments are complete and another call starts, or at the end. A
`Chat` and a `ChatStreamSpec` hold the tables of a wire; this module knows no wire by name.
"""

from __future__ import annotations

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.parts import Reasoning, Text
from toolwire.streaming.events import (
    Chunk,
    Event,
    Finish,
    MessageStart,
    Metadata,
    PartComplete,
    PartDelta,
)
from toolwire.wires.engine.answers import seed_from
from toolwire.wires.engine.json_types import correct_blocks
from toolwire.wires.engine.settings import read_settings
from toolwire.wires.engine.specs import read_block
from toolwire.wires.engine.stream import STREAM_CUT, copy_json, merge
from toolwire.wires.families.chat.choice import ChoiceState
from toolwire.wires.families.chat.stream_parts import ChatPartReader
from toolwire.wires.families.chat.tool_call_deltas import NOT_STARTED, CallTable

_NOT_SETTINGS = frozenset({"object"})
_PER_CHUNK = frozenset({"choices", "usage"})
_CHOICE_FIELDS = frozenset({"index", "delta", "message", "finish_reason"})
_CUT_ERROR: Object = {"message": STREAM_CUT, "type": "stream_cut"}


class ChatReader(ChatPartReader):
    """Reads the chunks of a chat stream."""

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
        if has_envelope or not choices or not (event.keys() - _PER_CHUNK <= self.envelope.keys()):
            out = self._read_envelope(event, choices)
            if self.error is not None:
                return out
        waiting = self.waiting
        if isinstance(choices, list):
            for position, choice in enumerate(choices):
                if isinstance(choice, dict):
                    out += self._read_choice(choice, position)
        if waiting:
            out += self.start_calls([call for call in waiting if call.slot == NOT_STARTED])
        return out

    def read_plain_delta(self, choice: JSON) -> Event | None:
        """Read a chunk that holds only more text or arguments for an open part, as most chunks do.

        Returns None, and changes nothing, for any other chunk.
        """
        if not isinstance(choice, dict) or choice.get("finish_reason") or choice.get("logprobs"):
            return None
        delta, index = choice.get("delta"), choice.get("index")
        state = self.choices.get(index) if isinstance(index, int) else None
        if state is None or not isinstance(delta, dict) or len(delta) != 1:
            return None
        text = delta.get("content")
        if text.__class__ is str:
            is_open = state.open_field == "content"
            return PartDelta(state.open_slot, text) if text and is_open else None
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
        """Read everything but the choices. The first value of each field counts, and the last
        usage."""
        out: list[Event] = []
        for key, value in event.items():
            if key == "choices" or (key == "error" and value is None):
                continue
            if key == "usage":
                if value:
                    self.envelope[key] = value
                    usage = read_settings(self.bodies.response, {"usage": value}, frozenset())
                    out.append(Metadata(usage.values))
                continue
            previous = self.envelope.get(key)
            # An id that arrives after calls have started is too late: minted ids were made without
            # it.
            too_late = key == "id" and self.calls
            if self.started and key not in self.envelope:
                late = read_settings(self.bodies.response, {key: value}, _NOT_SETTINGS)
                for path in late.unknown:
                    out += self.report_unknown(*path)
            if key not in self.envelope or (value and not previous and not too_late):
                self.envelope[key] = value
            elif isinstance(value, dict) and isinstance(previous, dict):
                self.envelope[key] = {**value, **previous}
        if not self.started and (choices or self.envelope.get("id")):
            out = [*self._start_message(), *out]
        error = event.get("error")
        if error is None:
            return out
        code: JSON = None
        if isinstance(error, dict):
            code = error.get("type") or error.get("code")
        return [*out, *self.fail(error, code if code is None else str(code))]

    def _start_message(self) -> list[Event]:
        self.started = True
        self.seed = seed_from(self.envelope.get("id"))
        known = {key: value for key, value in self.envelope.items() if key != "usage"}
        settings = read_settings(self.bodies.response, known, _NOT_SETTINGS)
        out: list[Event] = [MessageStart(settings.values)]
        for path in settings.unknown:
            out += self.report_unknown(*path)
        return out

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
            path: JsonPath = (self.count, "choices", position, "delta", "tool_calls")
            for i, entry in enumerate(calls):
                if isinstance(entry, dict):
                    out += self.read_call_piece(state, entry, (*path, i))
        legacy = delta.get("function_call")
        if isinstance(legacy, dict) and self.chat.legacy_call is not None:
            out += self.read_legacy_call(state, legacy)
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
                out += self.report_unknown("choices", position, key)
        return out

    # --- texts ---

    def _read_fields(self, state: ChoiceState, delta: Object, position: int) -> list[Event]:
        """Read all fields of a delta except its calls."""
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
            out += self.read_blocks(state, correct_blocks(content), position)
        refusal = delta.get("refusal")
        if refusal and isinstance(refusal, str):
            out += self.emit_text(state, "refusal", refusal)
        if not self.known_fields.issuperset(delta):
            out += self._read_other_fields(state, delta, position)
        if self.keep:
            self._keep_fields(state.message, delta)
        return out

    def _keep_fields(self, message: Object, delta: Object) -> None:
        """Add the fields of a delta to the message of the body."""
        for key, value in delta.items():
            old = message.get(key)
            if key == "role":
                message[key] = old or value
            elif key == "content":
                message.setdefault(key, None)
            elif key in self.known_fields and isinstance(old, str) and not isinstance(value, str):
                continue  # only text continues a text
            elif key not in self.assembled_fields:
                message[key] = merge(old, value)

    def _read_other_fields(self, state: ChoiceState, delta: Object, position: int) -> list[Event]:
        spec = self.chat.server_tools
        out: list[Event] = []
        for key, value in delta.items():
            if key in self.known_fields or value is None or value == []:
                continue
            path: JsonPath = (self.count, "choices", position, "delta", key)
            if spec is not None and key == spec.name:
                out += self.read_server_tools(state, spec, value, path)
            else:
                out += self.report_unknown(*path[1:])
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
            elif isinstance(block, dict):
                out += self._read_block(state, block, (*path, i))
        return out

    def _read_block(self, state: ChoiceState, block: Object, path: JsonPath) -> list[Event]:
        part = read_block(self.wire, self.chat.content, block, path)
        if isinstance(part, Text) and part.signature is None:
            text_field = "refusal" if part.refusal else "content"
            return self.emit_text(state, text_field, part.text, listed=True)
        if isinstance(part, Reasoning) and part.hidden is None and part.signature is None:
            return self.emit_text(state, "reasoning", part.text, listed=True)
        return [*self.close_text(state), PartComplete(part, state.index)]

    # --- the end ---

    def end(self) -> list[Event]:
        if self.error is not None:
            return []
        unfinished = any(state.finish_reason is None for state in self.choices.values())
        if not self.choices or (unfinished and not self.done):
            return self.fail_cut(_CUT_ERROR)
        out = self.close_parts(cut=False)
        for index, state in self.choices.items():
            reason = state.finish_reason
            stop = self.bodies.finish_from_wire.get(reason, reason) if reason else None
            out.append(Finish(stop, index))
        return out

    def body(self) -> JSON:
        if not self.choices and self.cut and not self.envelope:
            raise self.no_events_error()
        body: Object = {
            **self.envelope,
            "choices": [
                state.to_json(self.spec, failed=self.error is not None)
                for _, state in sorted(self.choices.items())
            ],
        }
        if str(body.get("object", "")).endswith(".chunk"):
            body["object"] = str(body["object"]).removesuffix(".chunk")
        return body if self.error is None else {**body, "error": self.error}
