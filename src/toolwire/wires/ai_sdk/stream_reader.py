"""AI SDK: read the chunks of a UI message stream, and assemble the message that a client makes of
them.

The body is the message that `readUIMessageStream` of version 6 builds, except where a client loses
something:

- an-id-twice-in-a-step: in a client, a second call with the id of a complete one overwrites the
  first; here it is a separate part.
- one-call-one-part: if start and input disagree about `dynamic`, a client makes two parts of one
  call; here it is one.
- raw-input-is-not-guessed: a client guesses the rest of an input that never ended; here only its
  text is kept.
- an-output-without-its-call: it belongs to an earlier message and is kept under `unplaced`.
- why-the-model-stopped: the reason is kept under `finishReason` if the parts do not imply it; a
  client forgets it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import Call, Result
from toolwire.streaming.events import (
    Chunk,
    Event,
    Finish,
    MessageStart,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
    Unsupported,
)
from toolwire.wires.ai_sdk.blocks import NAME
from toolwire.wires.ai_sdk.bodies import mark_server_tools, reason_from_parts
from toolwire.wires.ai_sdk.settings import FINISH_REASON_FROM_WIRE, IMPLIED_REASONS
from toolwire.wires.ai_sdk.stream_queue import EventQueue
from toolwire.wires.ai_sdk.stream_tool_parts import StreamedToolPart, StreamedToolParts, other_keys
from toolwire.wires.ai_sdk.tool_parts import is_tool_part, reports_invalid_input
from toolwire.wires.ai_sdk.ui_messages import BLOCKS, read_part, read_response_message
from toolwire.wires.engine.encode_context import UNKNOWN_FIELD
from toolwire.wires.engine.stream import STREAM_CUT, StreamReader, copy_json

DEFAULT_MESSAGE_ID = "msg-0"
"""The id of a message without one, as in written bodies."""


class _TextBlock(Struct):
    """An open text or reasoning part."""

    block: Object
    slot: int
    deltas: list[str]


class ChunkReader(StreamReader):
    """Reads the chunks of one stream."""

    wire = NAME

    def __init__(self, *, keep: bool = False) -> None:
        super().__init__(keep=keep)
        self.seed = DEFAULT_MESSAGE_ID
        self.recognized = False
        """True after the first chunk of this wire."""
        self.started = False
        self.before_start: list[Event] = []
        """Events before the message has an id: servers send data chunks first."""
        self.message: Object = {"id": DEFAULT_MESSAGE_ID, "role": "assistant"}
        self.parts: list[Object] = []
        self.texts: list[_TextBlock] = []
        self.open_texts: dict[tuple[str, JSON], _TextBlock] = {}
        self.tools = StreamedToolParts(self._on_new_tool_part)
        self.queue = EventQueue(self._call_events)
        self.data_parts: set[tuple[JSON, str]] = set()
        """The type and id of each data part so far."""
        self.reason: str | None = None
        self.finished = False
        self.unplaced: list[JSON] = []

    def read(self, event: Chunk) -> list[Event]:
        kind = event.get("type")
        handler = _HANDLERS.get(kind) if isinstance(kind, str) else None
        if handler is None:
            is_data = isinstance(kind, str) and kind.startswith("data-")
            handler = ChunkReader._read_data if is_data else ChunkReader._read_unknown
        self.recognized = self.recognized or handler is not ChunkReader._read_unknown
        if self.started or handler is ChunkReader._read_start:
            return handler(self, event)
        if handler in _BEFORE_START:
            self.before_start += handler(self, event)
            return []
        return [*self._start_message(), *handler(self, event)]

    def _start_message(self, message_id: str | None = None) -> list[Event]:
        self.started = True
        if message_id:
            self.message["id"] = message_id
        self.seed = str(self.message["id"])
        events, self.before_start = self.before_start, []
        return [MessageStart({"id": self.seed}), *events]

    def _report(self, reason: str, *keys: str) -> Unsupported:
        return Unsupported((self.count, *keys), reason)

    def _unknown_fields(self, fields: Iterable[str]) -> list[Event]:
        return [self._report(UNKNOWN_FIELD, key) for key in fields]

    def _call_events(self, tool: StreamedToolPart) -> list[Event]:
        """The events for a call and its result, read as in the whole message."""
        tool.emitted = True
        block = tool.assemble()
        call, *results = read_part(block, tool.path)
        if not self.keep:
            tool.discard_content()
        if not isinstance(call, Call):
            return [PartComplete(call)]
        answers = [part for part in results if isinstance(part, Result)]
        if reports_invalid_input(block):
            answers = []
        if any(not result.preliminary for result in answers):
            call = replace(call, executor="provider")
        call = self.assign_call_id(call)
        events: list[Event] = [PartComplete(call)]
        if block.get("state") == "input-streaming":
            slot = self.next_slot()
            events = [PartStart(slot, replace(call, args=LazyJson("")))]
            if call.args.text:
                events.append(PartDelta(slot, call.args.text))
            events.append(PartEnd(slot, cut=True))
        for result in answers:
            events.append(PartComplete(replace(result, call_id=call.id, executor="provider")))
        return events

    # --- text and reasoning ---

    def _read_text_start(self, chunk: Chunk) -> list[Event]:
        kind, key = _text_key(chunk)
        out: list[Event] = []
        if (kind, key) in self.open_texts:
            out = self._read_text_end({"type": f"{kind}-end", "id": chunk.get("id")})
        text = _TextBlock({"type": kind, "text": "", "state": "streaming"}, self.next_slot(), [])
        if kind == "reasoning":
            text.block["id"] = chunk.get("id")
        text.block.update(other_keys(chunk, "id"))
        self.open_texts[kind, key] = text
        if self.keep:
            self.texts.append(text)
            self.parts.append(text.block)
        spec = BLOCKS[kind]
        assert spec.read is not None
        part = spec.read({"type": kind, "text": ""}, (self.count,), spec)
        part = replace(part, source=replace(part.source, raw=text.block))
        return [*out, *self.queue.emit(PartStart(text.slot, part))]

    def _read_text_delta(self, chunk: Chunk) -> list[Event]:
        kind, key = _text_key(chunk)
        text = self.open_texts.get((kind, key))
        out: list[Event] = []
        if text is None:  # a client rejects it
            out = self._read_text_start({"type": f"{kind}-start", "id": chunk.get("id")})
            text = self.open_texts[kind, key]
        if len(chunk) > 3:
            out += self._add_text_fields(text, chunk)
        delta = chunk.get("delta")
        if not isinstance(delta, str):
            return [*out, self._report("not a string", "delta")]
        if self.keep:
            text.deltas.append(delta)
        if delta:
            event = PartDelta(text.slot, delta)
            out += self.queue.emit(event) if self.queue.waiting else (event,)
        return out

    def text_appender(self, slot: int) -> Callable[[str], bool] | None:
        return bool if slot in self.queue.open_slots else None

    def _read_text_end(self, chunk: Chunk) -> list[Event]:
        text = self.open_texts.pop(_text_key(chunk), None)
        if text is None:
            return [self._report("the end of a text that is not open")]
        text.block["state"] = "done"
        return [*self._add_text_fields(text, chunk), *self.queue.emit(PartEnd(text.slot))]

    def _add_text_fields(self, text: _TextBlock, chunk: Chunk) -> list[Event]:
        """Add the other fields of a later chunk to an open text."""
        fields = other_keys(chunk, "id", "delta")
        fields = {key: value for key, value in fields.items() if value is not None}
        text.block.update(fields)
        return self._unknown_fields(fields)

    # --- tools ---

    def _on_new_tool_part(self, tool: StreamedToolPart) -> None:
        if self.keep:
            self.parts.append(tool.block)
        self.queue.add_call(tool)

    def _read_input(self, chunk: Chunk) -> list[Event]:
        found = self.tools.add_input(chunk, (self.count,))
        return [] if found else self._keep_unplaced(chunk)

    def _read_output(self, chunk: Chunk) -> list[Event]:
        tool = self.tools.find(chunk)
        if tool is None:
            return self._keep_unplaced(chunk)
        if tool.emitted and not self.keep:
            if tool.repeats_error(chunk):
                return []
            return [self._report("a second output of a call")]
        tool.add_output(chunk)
        return self.queue.release()

    def _read_approval(self, chunk: Chunk) -> list[Event]:
        return [] if self.tools.add_approval(chunk) else self._keep_unplaced(chunk)

    def _keep_unplaced(self, chunk: Chunk) -> list[Event]:
        if self.keep:
            self.unplaced.append(copy_json(chunk))
        return [self._report(f"its part is not in this stream: {chunk.get('type')}")]

    # --- parts in one chunk ---

    def _read_part(self, chunk: Chunk) -> list[Event]:
        block = copy_json({key: value for key, value in chunk.items() if value is not None})
        assert isinstance(block, dict)
        if self.keep:
            self.parts.append(block)
        (part,) = read_part(block, (self.count,))
        return self.queue.emit(PartComplete(part))

    def _read_data(self, chunk: Chunk) -> list[Event]:
        if chunk.get("transient") is True:
            return [self._report("transient data")]
        kind, data_id = chunk["type"], chunk.get("id")
        if not isinstance(data_id, str):
            return self._read_part(chunk)
        if (kind, data_id) not in self.data_parts:
            self.data_parts.add((kind, data_id))
            return self._read_part(chunk)
        for part in self.parts:
            if part.get("type") == kind and part.get("id") == data_id:
                part["data"] = chunk.get("data")
                break
        return [self._report("data that replace earlier data")]

    def _read_unknown(self, chunk: Chunk) -> list[Event]:
        """Keep a chunk of unknown type as a part, unless it would be read as a tool part."""
        if not isinstance(chunk.get("type"), str) or is_tool_part(chunk):
            return self._keep_unplaced(chunk)
        return self._read_part(chunk)

    # --- message and steps ---

    def _read_start(self, chunk: Chunk) -> list[Event]:
        message_id = chunk.get("messageId")
        fields = other_keys(chunk, "messageId", "messageMetadata")
        if not self.started:
            out = self._start_message(message_id if isinstance(message_id, str) else None)
            self.message.update(fields)
            return [*out, *self._unknown_fields(fields), *self._read_metadata(chunk)]
        repeated: list[Event] = []
        if message_id != self.message["id"]:
            repeated = [
                self._report("a second start of the message", key)
                for key, value in {"messageId": message_id, **fields}.items()
                if value is not None
            ]
        return [*repeated, *self._read_metadata(chunk)]

    def _read_metadata(self, chunk: Chunk) -> list[Event]:
        metadata = chunk.get("messageMetadata")
        if metadata is None:
            return []
        if self.keep:
            self.message["metadata"] = _merge_metadata(self.message.get("metadata"), metadata)
        return [] if metadata in ([], {}) else self._unknown_fields(("messageMetadata",))

    def _read_start_step(self, chunk: Chunk) -> list[Event]:
        self.queue.start_step()
        self.tools.step = self.queue.step
        if self.keep:
            self.parts.append({**chunk, "type": "step-start"})
        return self._unknown_fields(other_keys(chunk))

    def _read_finish_step(self, chunk: Chunk) -> list[Event]:
        """Release calls whose input was rejected: no output follows.

        Texts stay open, because version 7 lets them continue in the next step.
        """
        for tool in self.queue.waiting_calls():
            if not tool.input_complete and tool.block.get("state") == "output-error":
                tool.answered = True
        return [*self.queue.release(), *self._unknown_fields(other_keys(chunk))]

    def _read_reset_step(self, chunk: Chunk) -> list[Event]:
        """Discard the current step."""
        self.tools.discard_step()
        self.queue.discard_step()
        starts = [i for i, part in enumerate(self.parts) if part.get("type") == "step-start"]
        del self.parts[starts[-1] + 1 if starts else 0 :]
        self.texts = [text for text in self.texts if any(text.block is p for p in self.parts)]
        late: list[Event] = []
        if self.queue.step_emitted:
            late.append(self._report("a step was reset after some of it was sent"))
        slots = [text.slot for text in self.open_texts.values()]
        self.open_texts.clear()
        ends = [PartEnd(slot) for slot in slots if slot in self.queue.open_slots]
        return [*self.queue.emit(*ends), *self.queue.release(), *late]

    # --- end ---

    def _read_finish(self, chunk: Chunk) -> list[Event]:
        self.finished = True
        reason = chunk.get("finishReason")
        self.reason = reason if isinstance(reason, str) else self.reason
        fields = other_keys(chunk, "finishReason", "messageMetadata")
        self.message.update(fields)
        return [*self._unknown_fields(fields), *self._read_metadata(chunk)]

    def _read_error(self, chunk: Chunk) -> list[Event]:
        text = chunk.get("errorText")
        return self.fail(text if isinstance(text, str) and text else "the server reported an error")

    def _read_abort(self, chunk: Chunk) -> list[Event]:
        reason = chunk.get("reason")
        message = reason if isinstance(reason, str) and reason else "the response was aborted"
        return self.fail(message, "abort")

    def close_parts(self, *, cut: bool) -> list[Event]:
        ends = [PartEnd(text.slot, cut=cut) for text in self.open_texts.values()]
        self.open_texts.clear()
        return [*self.queue.emit(*ends), *self.queue.release(all_of_it=True)]

    def end(self) -> list[Event]:
        if self.error is not None:
            return []
        start = [] if self.started else self._start_message()
        if not (self.finished or self.done):
            return [*start, *self.fail_cut(STREAM_CUT)]
        stop = FINISH_REASON_FROM_WIRE.get(self.reason, self.reason) if self.reason else None
        finish = Finish("stop" if stop in IMPLIED_REASONS else stop)
        return [*start, *self.close_parts(cut=False), finish]

    def body(self) -> JSON:
        if not self.recognized:
            raise self.no_events_error()
        for text in self.texts:
            text.block["text"] = "".join(text.deltas)
        for tool in self.tools.all():
            tool.block.update(tool.assemble())
        body: Object = {**self.message, "parts": list(self.parts)}
        if self.reason not in (None, "stop") and not self._implies_reason(body):
            body["finishReason"] = self.reason
        if self.unplaced:
            body["unplaced"] = self.unplaced
        if self.error is not None:
            body["error"] = self.error
        return body

    def _implies_reason(self, body: Object) -> bool:
        """True if the parts of the message imply the finish reason."""
        if self.reason != "tool-calls":
            return False
        (message,) = read_response_message(body, ())
        return reason_from_parts(mark_server_tools(message.parts)) == "tool"


def _text_key(chunk: Chunk) -> tuple[str, JSON]:
    """The kind and id of the text that a chunk belongs to."""
    kind = "text" if str(chunk["type"]).startswith("text-") else "reasoning"
    text_id = chunk.get("id")
    return kind, text_id if isinstance(text_id, str | int | float | bool) else None


def _merge_metadata(old: JSON, new: JSON) -> JSON:
    """Merge objects; anything else is replaced."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{key: _merge_metadata(old.get(key), value) for key, value in new.items()}}
    return copy_json(new)


_HANDLERS: dict[str, Callable[[ChunkReader, Chunk], list[Event]]] = {
    kind: handler
    for handler, kinds in (
        (ChunkReader._read_start, ("start",)),
        (ChunkReader._read_start_step, ("start-step",)),
        (ChunkReader._read_text_start, ("text-start", "reasoning-start")),
        (ChunkReader._read_text_delta, ("text-delta", "reasoning-delta")),
        (ChunkReader._read_text_end, ("text-end", "reasoning-end")),
        (ChunkReader._read_input, ("tool-input-start", "tool-input-delta")),
        (ChunkReader._read_input, ("tool-input-available", "tool-input-error")),
        (ChunkReader._read_output, ("tool-output-available", "tool-output-error")),
        (ChunkReader._read_output, ("tool-output-denied",)),
        (ChunkReader._read_approval, ("tool-approval-request", "tool-approval-response")),
        (ChunkReader._read_part, ("file", "reasoning-file", "source-url", "source-document")),
        (ChunkReader._read_part, ("custom", "steering-message")),
        (ChunkReader._read_metadata, ("message-metadata",)),
        (ChunkReader._read_finish_step, ("finish-step",)),
        (ChunkReader._read_reset_step, ("reset-step",)),
        (ChunkReader._read_finish, ("finish",)),
        (ChunkReader._read_error, ("error",)),
        (ChunkReader._read_abort, ("abort",)),
    )
    for kind in kinds
}
_BEFORE_START = (ChunkReader._read_data, ChunkReader._read_metadata)
