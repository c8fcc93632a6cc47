"""The events of an Anthropic stream.

- blocks-by-index: a block opens, grows and closes under its index. The API sends one block after
  the other and clients append deltas to the newest block, so the writer does the same; the reader
  accepts several open blocks.
- input-may-come-first: programmatic calls have their input in the opening event and no deltas.
- stop-comes-last: `message_delta` has the stop reason and the usage; a block may still be open.
- an-error-may-come-first: a stream may consist of one `error` event.
"""

from __future__ import annotations

from collections.abc import Callable

from toolwire.conversation.json import JSON, Object, get, put
from toolwire.conversation.parts import Call, Opaque, Part, Reasoning, Text
from toolwire.streaming.events import Chunk, Event, MessageStart, StreamError, Unsupported
from toolwire.wires.anthropic.blocks import BLOCKS, FOREIGN
from toolwire.wires.anthropic.bodies import write
from toolwire.wires.anthropic.settings import FINISH_REASON_FROM_WIRE, NAME, RESPONSE, STOP_FIELDS
from toolwire.wires.engine.answers import seed_from
from toolwire.wires.engine.encode_context import UNKNOWN_FIELD
from toolwire.wires.engine.settings import read_settings
from toolwire.wires.engine.specs import OPAQUE, Block, keys, read_block
from toolwire.wires.engine.stream import StreamSpec, copy_json, event_sse, unwrap_typed
from toolwire.wires.families.blocks.deltas import Join, join_arguments, join_list, openers
from toolwire.wires.families.blocks.indexed_block_reader import BlockKey, IndexedBlockReader
from toolwire.wires.families.blocks.indexed_block_writer import IndexedBlockWriter, WrittenBlock

_MESSAGE_KEYS = keys("type", "role", "content", "stop_reason", "usage", "stop_sequence")
_DELTA_FIELDS = {
    delta: field for spec in BLOCKS.values() for delta, (field, _) in spec.deltas.items()
}
_JOINS: dict[str, Join] = {"input": join_arguments, "citations": join_list}
_NEW_BLOCKS: dict[str, Object] = {
    "text": {"type": "text", "text": ""},
    "thinking": {"type": "thinking", "thinking": "", "signature": ""},
}
_SPECS: dict[type[Part], Block] = {
    Text: BLOCKS["text"],
    Reasoning: BLOCKS["thinking"],
    Call: BLOCKS["tool_use"],
    Opaque: OPAQUE,
}


class AnthropicReader(IndexedBlockReader):
    """Reads the events of a message."""

    wire = NAME
    openers = openers((BLOCKS["text"], BLOCKS["thinking"]))
    joins = _JOINS
    block_path = ("content_block",)
    finish_reasons = FINISH_REASON_FROM_WIRE
    complete_reasons = keys("tool_use", "end_turn")

    def __init__(self, *, keep: bool = False) -> None:
        super().__init__(keep=keep)
        self.message: Object = {}
        self.usage: Object = {}

    def read(self, event: Chunk) -> list[Event]:
        event_type = str(event.get("type"))
        handler = _HANDLERS.get(event_type)
        if handler is None:
            return [Unsupported((self.count,), f"an unknown event: {event_type}")]
        return handler(self, event)

    def _message_start(self, event: Chunk) -> list[Event]:
        message = event.get("message")
        if not isinstance(message, dict) or self.message:
            return []  # some servers send `message_start` twice; the first one counts
        self.message = copy_json(message)  # type: ignore[assignment]
        self.seed = seed_from(message.get("id"))
        usage, content = message.get("usage"), message.get("content")
        self.usage = dict(usage) if isinstance(usage, dict) else {}
        settings = read_settings(RESPONSE, message, _MESSAGE_KEYS)
        events: list[Event] = [MessageStart(settings.values)]
        events += [
            Unsupported((self.count, "message", *path), UNKNOWN_FIELD) for path in settings.unknown
        ]
        for block in content if isinstance(content, list) else []:
            events += [*self._start_block(0, block), *self.close_block(0)]
        return events

    def _start_block(self, index: JSON, block: JSON) -> list[Event]:
        content: Object = copy_json(block) if isinstance(block, dict) else {}  # type: ignore[assignment]
        block_type = content.get("type")
        spec = BLOCKS.get(block_type) if isinstance(block_type, str) else None
        return self.start_block(index, content, spec)

    def _block_start(self, event: Chunk) -> list[Event]:
        return self._start_block(_index(event), event.get("content_block"))

    def _block_delta(self, event: Chunk) -> list[Event]:
        delta, index = event.get("delta"), _index(event)
        if not isinstance(delta, dict):
            return []
        delta_type = str(delta.get("type"))
        field = _DELTA_FIELDS.get(delta_type)
        if field is not None:
            return self.grow(index, delta_type, delta.get(field), (field,))
        events: list[Event] = []
        for name, value in delta.items():
            if name != "type":
                events += self.keep_unknown(index, (name,), value)
        return events

    def _block_stop(self, event: Chunk) -> list[Event]:
        return self.close_block(_index(event))

    def read_block(self, key: BlockKey, block: Object) -> Part:
        return read_block(NAME, BLOCKS, block, (self.count,))

    def new_block(self, spec: Block) -> Object:
        return dict(_NEW_BLOCKS[spec.name])

    def _message_delta(self, event: Chunk) -> list[Event]:
        delta, usage = event.get("delta"), event.get("usage")
        if not isinstance(delta, dict):
            delta = {}
        if isinstance(usage, dict):
            self.usage.update({key: value for key, value in usage.items() if value is not None})
        reason = delta.get("stop_reason")
        if isinstance(reason, str):
            self.stop = reason
            self.finished = True
        beside = {key: value for key, value in event.items() if key not in ("type", "delta")}
        self.message.update(delta)
        self.message.update({key: value for key, value in beside.items() if key != "usage"})
        fields: Object = {**beside, **delta, "usage": self.usage}
        return self.read_metadata(RESPONSE, fields, keys("stop_reason"), path=())

    def _message_stop(self, event: Chunk) -> list[Event]:
        self.over = self.finished = True
        return []

    def _error(self, event: Chunk) -> list[Event]:
        error = event.get("error")
        return self.fail(error, get(error, ("type",)) or None)

    def body(self) -> JSON:
        if not self.message:
            if self.error is None or self.cut:
                raise self.no_events_error()
            return {"type": "error", "error": self.error}
        content: list[JSON] = [self.assemble(block) for block in self.blocks]
        body: Object = {**self.message, "content": content}
        if self.usage:
            body["usage"] = self.usage
        return body if self.error is None else {**body, "error": self.error}


def _index(event: Chunk) -> JSON:
    index = event.get("index")
    return index if isinstance(index, int) else 0


_HANDLERS: dict[str, Callable[[AnthropicReader, Chunk], list[Event]]] = {
    "content_block_delta": AnthropicReader._block_delta,
    "content_block_start": AnthropicReader._block_start,
    "content_block_stop": AnthropicReader._block_stop,
    "message_start": AnthropicReader._message_start,
    "message_delta": AnthropicReader._message_delta,
    "message_stop": AnthropicReader._message_stop,
    "error": AnthropicReader._error,
    "ping": lambda reader, event: [],
}
_ERROR_TYPES = keys(
    "invalid_request_error",
    "authentication_error",
    "billing_error",
    "permission_error",
    "not_found_error",
    "rate_limit_error",
    "timeout_error",
    "overloaded_error",
    "api_error",
)


class AnthropicWriter(IndexedBlockWriter):
    """Writes the events of a message."""

    requires_object_arguments = True
    repeats_deltas = True
    repeats_unknown_parts = True
    specs = _SPECS
    writers = FOREIGN

    def begin(self, event: MessageStart) -> list[Chunk]:
        super().begin(event)
        return [{"type": "message_start", "message": self.write_empty_body(write)}]

    def write_start(self, block: WrittenBlock, content: Object) -> list[Chunk]:
        if block.field in content and block.spec.part not in (Call, Opaque):
            content = put(content, (block.field,), "")  # type: ignore[assignment]
        return [{"type": "content_block_start", "index": block.index, "content_block": content}]

    def write_delta(self, block: WrittenBlock, text: str) -> Chunk:
        delta: Object = {"type": block.delta, block.field: text}
        return {"type": "content_block_delta", "index": block.index, "delta": delta}

    def write_stop(self, block: WrittenBlock) -> Chunk:
        return {"type": "content_block_stop", "index": block.index}

    def write_end(self) -> list[Chunk]:
        body = self.write_empty_body(write, self.stop)
        delta: Object = {key: body[key] for key in STOP_FIELDS}
        return [
            {"type": "message_delta", "delta": delta, "usage": body["usage"]},
            {"type": "message_stop"},
        ]

    def write_error(self, event: StreamError) -> Chunk:
        error_type = event.code if event.code in _ERROR_TYPES else "api_error"
        return {"type": "error", "error": {"type": error_type, "message": event.message}}


STREAM = StreamSpec(
    reader=AnthropicReader, writer=AnthropicWriter, frame=event_sse, unwrap=unwrap_typed
)
