"""Write the chunks of chat wires.

Everything is written at once, except on wires that write whole calls. A `Chat` and a
`ChatStreamSpec` hold the tables of a wire; this module knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec import Struct, field

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.parts import Call, Message, Part, Reasoning, Text
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
from toolwire.wires.engine.part_lowering import REASONING_JOINED
from toolwire.wires.engine.stream import DONE, StreamSpec, StreamWriter, data_sse
from toolwire.wires.families.chat.blocks import TEXT_FIELDS
from toolwire.wires.families.chat.call_buffer import CallBuffer
from toolwire.wires.families.chat.choice import ChatStreamSpec
from toolwire.wires.families.chat.stream_reader import ChatReader


class WrittenChoice(Struct, eq=False):
    """The state of one choice while its chunks are written."""

    index: int
    started_calls: int = 0
    written_calls: int = 0
    """The number of calls that were written whole."""
    buffer: CallBuffer = field(default_factory=CallBuffer)
    """Calls that are written whole, in the order in which they started."""
    has_reasoning: bool = False
    has_output: bool = False


class _PartState(Struct, eq=False):
    """A part that has started and not ended."""

    choice: WrittenChoice
    delta: Callable[[str], Object]
    """Makes the delta for a piece of its text."""
    family: str = ""
    """The kind of a call; empty for a text."""
    empty: bool = True
    """True until some of its text is written."""


class ChatWriter(StreamWriter):
    """Writes the chunks of a chat stream."""

    supports_candidates = True

    def __init__(
        self, spec: ChatStreamSpec, context: EncodeContext, version: int | None = None
    ) -> None:
        super().__init__(context, version)
        self.spec = spec
        self.bodies = spec.bodies
        self.chat = spec.bodies.chat
        self.supports_custom_calls = "custom" in self.chat.calls
        context.legacy_calls = self.writes_one_call = self.chat.answers_legacy(context)
        self.frame: Object = {}
        """The fields of every chunk beside its choices."""
        self.choices: dict[int, WrittenChoice] = {}
        self._open: dict[int, _PartState] = {}
        self._last: list[Chunk] = []
        """The last chunk, which waits for the usage."""

    def begin(self, event: MessageStart) -> list[Chunk]:
        super().begin(event)
        body = self.write_empty_body(self.bodies.write)
        self.frame = {key: value for key, value in body.items() if key not in ("choices", "usage")}
        self.frame["object"] = f"{body.get('object', 'chat.completion')}.chunk"
        content = None if self.spec.empty_content is None else ""
        return [self._first_chunk(0, {"role": "assistant", "content": content})]

    def _first_chunk(self, choice: int, delta: Object) -> Chunk:
        """The first chunk of a choice, with the fields that every choice and message has."""
        delta = {**delta, **self.chat.message.required}
        fields: Object = {"index": choice, "delta": delta, **self.bodies.choice}
        return {**self.frame, "choices": [{**fields, "finish_reason": None}]}

    def chunk(self, choice: int, delta: JSON, reason: JSON = None) -> Chunk:
        """A chunk of one choice."""
        return {
            **self.frame,
            "choices": [{"index": choice, "delta": delta, "finish_reason": reason}],
        }

    def start_choice(self, index: int) -> list[Chunk]:
        """The first chunk of a choice, unless it has started. `begin` has written that of choice
        0."""
        if index in self.choices:
            return []
        self.choices[index] = WrittenChoice(index)
        return [self._first_chunk(index, {"role": "assistant"})] if index else []

    def start(self, event: PartStart) -> list[Chunk]:
        out = self.start_choice(event.choice)
        choice, part = self.choices[event.choice], event.part
        if isinstance(part, Call):
            return out + self._start_call(event, choice, part)
        if isinstance(part, Reasoning):
            if choice.has_reasoning and not event.more:
                self.context.report_loss(part, REASONING_JOINED)
            choice.has_reasoning = True
            delta = self.reasoning_delta
        else:
            text_field = "refusal" if isinstance(part, Text) and part.refusal else "content"
            delta = partial(_text_delta, text_field)
        self._open[event.slot] = _PartState(choice, delta)
        return out

    def reasoning_delta(self, text: str) -> Object:
        """The delta for a piece of reasoning."""
        if self.chat.reasoning_block is not None:
            return {"content": [self.chat.reasoning_block(text)]}
        return {self.chat.reasoning_fields[0]: text}

    def _start_legacy_call(
        self, event: PartStart, choice: WrittenChoice, call: Call
    ) -> list[Chunk]:
        """Start the only call that the legacy field can hold."""
        assert self.chat.legacy_call is not None
        field = self.chat.legacy_call.name
        self._open[event.slot] = _PartState(choice, partial(_legacy_delta, field), "function")
        choice.started_calls += 1
        choice.has_output = True
        block = {**self.chat.write_legacy_call(call, self.context), "arguments": ""}
        return [self.chunk(choice.index, {field: block})]

    def _start_call(self, event: PartStart, choice: WrittenChoice, call: Call) -> list[Chunk]:
        if self.writes_one_call:
            return self._start_legacy_call(event, choice, call)
        family = call.family if call.family in self.chat.calls else "function"
        index = choice.started_calls
        choice.started_calls += 1
        choice.has_output = True
        delta = partial(_argument_delta, index, family)
        self._open[event.slot] = _PartState(choice, delta, family)
        if self.spec.whole_calls:
            choice.buffer.start(event)
            return []
        block = self.chat.write_call(call, self.context)
        inner = block[family]
        assert isinstance(inner, dict)
        empty: Object = {**inner, TEXT_FIELDS[family]: ""}
        entry: Object = {"index": index, **block, family: empty}
        return [self.chunk(choice.index, {"tool_calls": [entry]})]

    def delta(self, event: PartDelta) -> list[Chunk]:
        part = self._open[event.slot]
        choice = part.choice
        choice.has_output = True
        part.empty = False
        if part.family and self.spec.whole_calls:
            choice.buffer.delta(event)
            return []
        return [self.chunk(choice.index, part.delta(event.text))]

    def text_appender(self, slot: int) -> Callable[[str], object] | None:
        part = self._open.get(slot)
        buffered = self.spec.whole_calls and part is not None and part.family
        return None if buffered else bool  # written text is not kept

    def end(self, event: PartEnd) -> list[Chunk]:
        part = self._open.pop(event.slot, None)
        if part is None or not part.family:
            return []
        choice = part.choice
        if self.spec.whole_calls:
            return [
                chunk
                for call in choice.buffer.end(event)
                for chunk in self.write_whole_call(choice, call)
            ]
        self.report_changed_arguments(event)
        if not part.empty or event.cut or part.family != "function":
            return []
        return [self.chunk(choice.index, part.delta("{}"))]

    def write_whole_call(self, choice: WrittenChoice, call: Part) -> list[Chunk]:
        """Write a complete call."""
        assert isinstance(call, Call)
        entry = {**self.chat.write_call(call, self.context), "index": choice.written_calls}
        choice.written_calls += 1
        return [self.chunk(choice.index, {"tool_calls": [entry]})]

    def complete(self, event: PartComplete) -> list[Chunk]:
        """Write nothing: lowering leaves only parts that are written in pieces."""
        return []

    def finish(self, event: Finish) -> list[Chunk]:
        choice, stop = self.choices.get(event.choice), event.stop
        if stop == "tool" and choice is not None and choice.started_calls:
            stop = self.bodies.stop_after_calls
        message = Message("assistant", (), stop)
        reason = self.bodies.finish_reason(message, self.context)
        has_output = choice is not None and choice.has_output
        delta: Object = {} if has_output or self.spec.empty_content == "" else {"content": ""}
        if not self.spec.usage_in_last_choice:
            return [self.chunk(event.choice, delta, reason)]
        before, self._last = self._last, [self.chunk(event.choice, {"content": ""}, reason)]
        return before

    def close(self) -> list[Chunk]:
        usage = self.write_empty_body(self.bodies.write).get("usage")
        if usage is None:
            return self._last
        return [
            {**(self._last[0] if self._last else {**self.frame, "choices": []}), "usage": usage}
        ]

    def error(self, event: StreamError) -> list[Chunk]:
        error: Object = {
            "message": event.message,
            "type": event.code or "server_error",
            "code": None,
        }
        return [{"error": error}]


def _text_delta(text_field: str, text: str) -> Object:
    return {text_field: text}


def _legacy_delta(legacy_field: str, text: str) -> Object:
    return {legacy_field: {"arguments": text}}


def _argument_delta(index: int, family: str, text: str) -> Object:
    return {"tool_calls": [{"index": index, family: {TEXT_FIELDS[family]: text}}]}


def chat_stream(spec: ChatStreamSpec) -> StreamSpec:
    """How a chat wire streams."""
    return StreamSpec(partial(ChatReader, spec), partial(ChatWriter, spec), data_sse, DONE)
