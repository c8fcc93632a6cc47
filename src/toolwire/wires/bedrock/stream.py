"""The events of a Bedrock ConverseStream.

- events-by-name: an event is an object with one field: its name, with the payload as value; in a
  frame, the name is a header.
- text-opens-itself: calls, results and images have a `contentBlockStart`; any other block is
  opened by its first delta.
- blocks-by-index: deltas and stops name their block by `contentBlockIndex`; a stop may be missing.
- cited-text: text and citations under one index are one `citationsContent` block, in whichever
  order they arrive.
- result-texts-grow: the text of a result continues the text at the end of the previous delta.
- bytes-in-pieces: every piece of redacted reasoning or of an image is encoded separately in base64.
- padding: `p` pads a payload and has no meaning.
- stop-before-usage: `messageStop` has the stop reason, `metadata` the usage; `metadata` may be
  missing.
- exceptions-are-events: a stream that fails ends in an event whose name ends in `Exception`.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.parts import Call, Media, Part, Reasoning, Text
from toolwire.streaming.events import Chunk, Event, MessageStart, StreamError, Unsupported
from toolwire.wires.bedrock.blocks import ASSISTANT_BLOCKS, FOREIGN
from toolwire.wires.bedrock.bodies import write
from toolwire.wires.bedrock.settings import FINISH_REASON_FROM_WIRE, NAME, RESPONSE
from toolwire.wires.engine.specs import Block, keys, read_block_by_field
from toolwire.wires.engine.stream import StreamSpec, aws_message, copy_json, unwrap_named
from toolwire.wires.families.blocks.deltas import (
    Join,
    join_arguments,
    join_list,
    join_text,
    leaves,
    nest,
    openers,
)
from toolwire.wires.families.blocks.indexed_block_reader import BlockKey, IndexedBlockReader
from toolwire.wires.families.blocks.indexed_block_writer import IndexedBlockWriter, WrittenBlock

# --- how the deltas of a field become its value ---------------------------------------------------


def _join_bytes(opening: JSON, pieces: list[JSON]) -> JSON:
    """Join several base64 texts to one; pieces that are not base64 are concatenated."""
    texts = [piece for piece in (opening, *pieces) if isinstance(piece, str)]
    if len(texts) == 1:
        return texts[0]
    try:
        return b64encode(b"".join([b64decode(text, validate=True) for text in texts])).decode()
    except ValueError:
        return "".join(texts)


def _join_image_source(opening: JSON, pieces: list[JSON]) -> JSON:
    """The source of an image: its bytes are joined; for a location, the last one counts."""
    sources = [piece for piece in (opening, *pieces) if isinstance(piece, dict)]
    out: Object = {}
    for source in sources:
        out.update({key: value for key, value in source.items() if value is not None})
    data = [source["bytes"] for source in sources if isinstance(source.get("bytes"), str)]
    return {**out, "bytes": _join_bytes(None, data)} if data else out


def _join_result_content(opening: JSON, pieces: list[JSON]) -> JSON:
    """The content of a result: lists are joined, and a text continues the text before it."""
    out: list[JSON] = list(opening) if isinstance(opening, list) else []
    for piece in pieces:
        values = piece if isinstance(piece, list) else [piece]
        items: list[JSON] = [item if isinstance(item, dict) else {"json": item} for item in values]
        last, first = out[-1] if out else None, items[0] if items else None
        if (
            isinstance(last, dict)
            and isinstance(first, dict)
            and last.keys() == first.keys() == {"text"}
        ):
            out[-1] = {"text": join_text(last["text"], [first["text"]])}
            items = items[1:]
        out += items
    return out


def _last(opening: JSON, pieces: list[JSON]) -> JSON:
    return pieces[-1] if pieces else opening


_JOINS: dict[str, Join] = {
    "toolUse.input": join_arguments,
    "reasoningContent.redactedContent": _join_bytes,
    "citationsContent.content": lambda opening, pieces: [{"text": join_text(None, pieces)}],
    "citationsContent.citations": join_list,
    "toolResult.content": _join_result_content,
    "image.source": _join_image_source,
    "image.error": _last,
}
"""The functions that join the pieces of fields that are not text."""

# --- reading --------------------------------------------------------------------------------------

_PADDING = "p"
_BLOCK_EVENT_KEYS = keys("contentBlockIndex", "start", "delta", _PADDING)
_ROLES = ("user", "assistant", "system")


class BedrockReader(IndexedBlockReader):
    """Reads the events of a message."""

    wire = NAME
    openers = openers(ASSISTANT_BLOCKS.values())
    joins = _JOINS
    delta_path = ("contentBlockDelta", "delta")
    finish_reasons = FINISH_REASON_FROM_WIRE
    complete_reasons = keys("end_turn", "tool_use", "stop_sequence")

    def __init__(self, *, keep: bool = False) -> None:
        super().__init__(keep=keep)
        self.message: Object | None = None
        self.fields: Object = {}
        """The fields of the last events, which describe the whole answer."""
        self.recognized = False
        """True once an event of this wire arrived."""

    def read(self, event: Chunk) -> list[Event]:
        events: list[Event] = []
        for name, payload in event.items():
            handler = _HANDLERS.get(name)
            if handler is not None and isinstance(payload, dict):
                self.recognized = True
                events += handler(self, payload)
            elif name.endswith("Exception"):
                error = payload if isinstance(payload, dict) else {}
                message = error.get("Message") or error.get("originalMessage")
                events += self.fail({"type": name, **error}, name, message=message)
            else:
                events.append(Unsupported((self.count, name), f"an unknown event: {name}"))
        return events

    def _message_start(self, payload: Object) -> list[Event]:
        if self.message is not None:
            return []
        self.message = _without_padding(payload)
        events: list[Event] = [MessageStart({})]
        for key in self.message:
            if key != "role":
                events += self.report_unknown("messageStart", key)
        return events

    def _block_start(self, payload: Object) -> list[Event]:
        start, index = payload.get("start"), _index(payload)
        if not isinstance(start, dict) or not start:
            return self.close_block(index)  # a text may follow, which opens with its first delta
        specs = (ASSISTANT_BLOCKS.get(key) for key, value in start.items() if value is not None)
        spec = next((spec for spec in specs if spec is not None and spec.read is not None), None)
        events = self.start_block(index, copy_json(start), spec)  # type: ignore[arg-type]
        return events + self._keep_beside(index, payload, "contentBlockStart")

    def _block_delta(self, payload: Object) -> list[Event]:
        delta, index = payload.get("delta"), _index(payload)
        if not isinstance(delta, dict):
            return [Unsupported((self.count, "contentBlockDelta"), "a delta has no content")]
        if self._is_start(index, delta):
            return self._block_start({**payload, "start": delta})
        events = self.grow_nested(index, delta)
        if len(payload) > 2:
            events += self._keep_beside(index, payload, "contentBlockDelta")
        return events

    def _is_start(self, index: JSON, delta: Object) -> bool:
        """True if a delta has fields of a block that is not open and that no delta opens."""
        record = self.open.get(index)
        if record is not None and len(delta) == 1 and record.main_path[0] in delta:
            return False  # nearly every event of a stream
        unknown = [path for path, _ in leaves(delta, self.openers) if path not in self.openers]
        if record is None or not unknown:
            return bool(unknown)
        own = record.block if record.spec is None else {record.spec.name, *record.block}
        names = {path.partition(".")[0] for path in unknown}
        return any(name in ASSISTANT_BLOCKS and name not in own for name in names)

    def _keep_beside(self, index: JSON, payload: Object, name: str) -> list[Event]:
        """Keep the fields beside the start or delta of a block in the block."""
        record = self.open.get(index)
        beside = {
            key: value
            for key, value in payload.items()
            if key not in _BLOCK_EVENT_KEYS and value is not None
        }
        if record is None or not beside:
            return []
        if self.keep or record.slot < 0:
            # The name of a field is the type of its block, which these fields do not change.
            kept = {key: beside[key] for key in beside if key not in ASSISTANT_BLOCKS}
            record.block = {**kept, **record.block}
        if record.slot < 0:
            return []
        reports = (self.report_unknown(name, key, scope=record.slot) for key in beside)
        return [event for report in reports for event in report]

    def _block_stop(self, payload: Object) -> list[Event]:
        return self.close_block(_index(payload))

    def read_block(self, key: BlockKey, block: Object) -> Part:
        return read_block_by_field(NAME, ASSISTANT_BLOCKS, block, (self.count,))

    def _message_stop(self, payload: Object) -> list[Event]:
        self.finished = True
        reason = payload.get("stopReason")
        self.stop = reason if isinstance(reason, str) else self.stop
        return self._read_fields("messageStop", payload)

    def _metadata(self, payload: Object) -> list[Event]:
        self.over = self.over or self.finished
        return self._read_fields("metadata", payload)

    def _read_fields(self, name: str, payload: Object) -> list[Event]:
        fields = _without_padding(payload)
        self.fields.update(fields)
        return self.read_metadata(RESPONSE, fields, keys("stopReason"), path=(name,))

    def body(self) -> JSON:
        error: Object = {} if self.error is None else {"error": self.error}
        if not self.recognized:
            if self.error is None or self.cut:
                raise self.no_events_error()
            return error
        content: list[JSON] = [self.assemble(block) for block in self.blocks]
        message: Object = {"role": "assistant", **(self.message or {}), "content": content}
        if message["role"] not in _ROLES:
            message["role"] = "assistant"
        return {"output": {"message": message}, **self.fields, **error}


_HANDLERS: dict[str, Callable[[BedrockReader, Object], list[Event]]] = {
    "contentBlockDelta": BedrockReader._block_delta,
    "contentBlockStart": BedrockReader._block_start,
    "contentBlockStop": BedrockReader._block_stop,
    "messageStart": BedrockReader._message_start,
    "messageStop": BedrockReader._message_stop,
    "metadata": BedrockReader._metadata,
}


def _index(payload: Object) -> JSON:
    index = payload.get("contentBlockIndex")
    return index if isinstance(index, int) else 0


def _without_padding(payload: Object) -> Object:
    return {
        key: copy_json(value)
        for key, value in payload.items()
        if key != _PADDING and value is not None
    }


# --- writing --------------------------------------------------------------------------------------

_SPECS: dict[type[Part], Block] = {
    Text: ASSISTANT_BLOCKS["text"],
    Reasoning: ASSISTANT_BLOCKS["reasoningContent"],
    Call: ASSISTANT_BLOCKS["toolUse"],
    Media: ASSISTANT_BLOCKS["image"],
}
_EXCEPTIONS = keys(
    "internalServerException",
    "modelStreamErrorException",
    "validationException",
    "throttlingException",
    "serviceUnavailableException",
)


class BedrockWriter(IndexedBlockWriter):
    """Writes the events of a message."""

    requires_object_arguments = True
    specs = _SPECS
    writers = FOREIGN

    def begin(self, event: MessageStart) -> list[Chunk]:
        super().begin(event)
        return [{"messageStart": {"role": "assistant"}}]

    def write_start(self, block: WrittenBlock, content: Object) -> list[Chunk]:
        """The start of a call, without its arguments; other blocks open with their first delta."""
        use = content.get("toolUse")
        if not isinstance(use, dict):
            return []
        start = {key: value for key, value in use.items() if key != "input"}
        return [_start(block, {"toolUse": start})]

    def write_delta(self, block: WrittenBlock, text: str) -> Chunk:
        return _delta(block, nest(block.delta, text))

    def write_stop(self, block: WrittenBlock) -> Chunk:
        return {"contentBlockStop": {"contentBlockIndex": block.index}}

    def write_complete(self, block: WrittenBlock, part: Part, content: Object) -> list[Chunk]:
        ((name, value),) = content.items()
        stop = self.write_stop(block)
        if name == "image" and isinstance(value, dict):
            start = {key: item for key, item in value.items() if key != "source"}
            source: JSON = {"source": value["source"]}
            return [_start(block, {name: start}), _delta(block, {name: source}), stop]
        if name == "reasoningContent" and isinstance(value, dict) and "redactedContent" in value:
            return [_delta(block, content), stop]
        self.context.report_loss(
            part, f"streams have no {name} block; it is sent in a start that official clients skip"
        )
        return [_start(block, content), stop]

    def write_end(self) -> list[Chunk]:
        body = self.write_empty_body(write, self.stop)
        body.pop("output")
        stop: Object = {
            key: body.pop(key)
            for key in ("stopReason", "additionalModelResponseFields")
            if key in body
        }
        return [{"messageStop": stop}, {"metadata": body}]

    def write_error(self, event: StreamError) -> Chunk:
        name = event.code if event.code in _EXCEPTIONS else None
        return {name or "modelStreamErrorException": {"message": event.message}}


def _start(block: WrittenBlock, start: Object) -> Chunk:
    return {"contentBlockStart": {"start": start, "contentBlockIndex": block.index}}


def _delta(block: WrittenBlock, delta: Object) -> Chunk:
    return {"contentBlockDelta": {"delta": delta, "contentBlockIndex": block.index}}


STREAM = StreamSpec(
    reader=BedrockReader,
    writer=BedrockWriter,
    frame=aws_message,
    media="application/vnd.amazon.eventstream",
    unwrap=unwrap_named,
)
