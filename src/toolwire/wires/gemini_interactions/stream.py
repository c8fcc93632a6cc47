"""The events of a streamed Gemini interaction.

- stream-text: `step.start` opens a step under an index, `step.delta` lets it grow, `step.stop`
  closes it. The last event, `interaction.completed`, has the status and the usage, but no steps.
- stream-interleaved-calls: the arguments of a call are pieces of JSON text; several calls may grow
  at once. The API sends one step after the other, and the writer does the same.
- stream-thoughts-and-signatures: a summary grows by content blocks, whose texts are one text.
- stream-media-between-texts: a step with content grows by texts and by whole media.
- stream-server-tools: a delta of a server tool replaces the fields of its step.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from toolwire.conversation.json import JSON, Object, text_of
from toolwire.conversation.parts import Call, Media, Part, Reasoning, Text
from toolwire.streaming.events import Chunk, Event, Finish, MessageStart, StreamError, Unsupported
from toolwire.wires.engine.answers import seed_from
from toolwire.wires.engine.encode_context import UNKNOWN_FIELD
from toolwire.wires.engine.settings import read_settings
from toolwire.wires.engine.specs import Block, keys, opaque, read_block
from toolwire.wires.engine.stream import (
    STREAM_CUT,
    StreamSpec,
    copy_json,
    named_sse,
    unwrap_named_type,
)
from toolwire.wires.families.blocks.deltas import Join, join_arguments, join_list
from toolwire.wires.families.blocks.indexed_block_reader import (
    BlockKey,
    IndexedBlockReader,
    OpenBlock,
)
from toolwire.wires.families.blocks.indexed_block_writer import IndexedBlockWriter, WrittenBlock
from toolwire.wires.gemini_interactions.bodies import write
from toolwire.wires.gemini_interactions.content import (
    CONTENT,
    NAME,
    TEXT,
    TYPE_FROM_KIND,
    write_content_block,
)
from toolwire.wires.gemini_interactions.settings import (
    FINISH_REASON_FROM_WIRE,
    RESPONSE,
    RESPONSE_FIELDS,
)
from toolwire.wires.gemini_interactions.steps import (
    FUNCTION_CALL,
    ROLE_FROM_TYPE,
    STEPS,
    THOUGHT,
    write_function_call,
    write_thought,
)


def _join_summary(opening: JSON, pieces: list[JSON]) -> JSON:
    """The content blocks of a summary; adjacent pieces of text are one block."""
    summary: list[JSON] = list(opening) if isinstance(opening, list) else []
    texts: list[str] = []
    for piece in [*pieces, None]:
        if isinstance(piece, str):
            texts.append(piece)
            continue
        if texts:
            summary.append({"type": "text", "text": "".join(texts)})
            texts = []
        if piece is not None:
            summary.append(piece)
    return summary


_JOINS: dict[str, Join] = {
    "arguments": join_arguments,
    "annotations": join_list,
    "summary": _join_summary,
}
_STEP_OF_DELTA = {
    "text": "model_output",
    "text_annotation_delta": "model_output",
    **dict.fromkeys(TYPE_FROM_KIND.values(), "model_output"),
    "thought_summary": "thought",
    "thought_signature": "thought",
    "arguments_delta": "function_call",
}
"""The type of the step that a delta opens implicitly."""
_STATUS_FIELDS = keys("event_type", "event_id", "interaction_id", "status")
_CUT_ERROR: JSON = {"code": "stream_cut", "message": STREAM_CUT}


class _OpenStep(Struct, eq=False):
    """A step of a stream that is being read."""

    step: Object
    """The step in its opening event, without content."""
    has_content: bool = False
    blocks: list[OpenBlock] = []
    """Its content blocks, or the step itself as a block, if the body is kept."""

    @property
    def is_answer(self) -> bool:
        """False for content that the model did not write, such as a repeated question."""
        return ROLE_FROM_TYPE.get(str(self.step.get("type"))) == "assistant"


class InteractionReader(IndexedBlockReader):
    """Reads the events of an interaction."""

    wire = NAME
    joins = _JOINS
    block_path = ("step",)
    cut_error = _CUT_ERROR
    finish_reasons = FINISH_REASON_FROM_WIRE
    complete_reasons = keys("completed", "requires_action")

    def __init__(self, *, keep: bool = False) -> None:
        super().__init__(keep=keep)
        self.interaction: Object = {}
        self.steps: list[_OpenStep] = []
        """Every step, if the body is kept."""
        self.open_steps: dict[JSON, _OpenStep] = {}
        self.has_steps = False

    def read(self, event: Chunk) -> list[Event]:
        event_type = str(event.get("event_type"))
        handler = _HANDLERS.get(event_type)
        if handler is None:
            return [Unsupported((self.count,), f"an unknown event: {event_type}")]
        return handler(self, event)

    # --- the interaction ---

    def _created(self, event: Chunk) -> list[Event]:
        interaction = event.get("interaction")
        if not isinstance(interaction, dict) or self.interaction:
            return []
        self.interaction = copy_json(interaction)  # type: ignore[assignment]
        self.seed = seed_from(interaction.get("id"))
        settings = read_settings(RESPONSE, interaction, RESPONSE_FIELDS)
        events: list[Event] = [MessageStart(settings.values)]
        return events + [
            Unsupported((self.count, "interaction", *path), UNKNOWN_FIELD)
            for path in settings.unknown
        ]

    def _status_update(self, event: Chunk) -> list[Event]:
        fields = {key: value for key, value in event.items() if key not in _STATUS_FIELDS}
        status = event.get("status")
        if isinstance(status, str):
            self.interaction["status"] = status
            if status in FINISH_REASON_FROM_WIRE:
                self.stop, self.finished = status, True
        self.interaction.update(fields)
        return self.read_metadata(RESPONSE, fields, frozenset(), path=())

    def _completed(self, event: Chunk) -> list[Event]:
        self.over = self.finished = True
        interaction = event.get("interaction")
        if not isinstance(interaction, dict):
            return []
        fields = {key: copy_json(value) for key, value in interaction.items() if key != "steps"}
        known = {key: value for key, value in fields.items() if value != self.interaction.get(key)}
        self.interaction.update(fields)
        status, steps = fields.get("status"), interaction.get("steps")
        self.stop = status if isinstance(status, str) else self.stop
        events: list[Event] = []
        if isinstance(steps, list) and not self.has_steps:
            for i, step in enumerate(steps):
                events += [*self._start_step(i, step), *self._stop_step(i)]
        return events + self.read_metadata(RESPONSE, known, RESPONSE_FIELDS, path=("interaction",))

    def _error(self, event: Chunk) -> list[Event]:
        error = event.get("error")
        return self.fail(error, error.get("code") if isinstance(error, dict) else None)

    # --- steps ---

    def _step_start(self, event: Chunk) -> list[Event]:
        return self._start_step(_index(event), event.get("step"))

    def _start_step(self, index: JSON, step: JSON) -> list[Event]:
        events = self._stop_step(index)
        self.has_steps = True
        fields: Object = copy_json(step) if isinstance(step, dict) else {}  # type: ignore[assignment]
        kind = str(fields.get("type"))
        record = self.open_steps[index] = _OpenStep(fields, kind in ROLE_FROM_TYPE)
        if self.keep:
            self.steps.append(record)
        if not record.has_content:
            events += self.start_block(index, fields, STEPS.get(kind))
            record.blocks.append(self.open[index])
            return events
        content = fields.pop("content", None)
        for block in content if isinstance(content, list) else []:
            events += self._start_content(index, block)
        return events

    def _start_content(self, index: JSON, block: JSON) -> list[Event]:
        """Open a content block of a step, and close the open one."""
        fields: Object = copy_json(block) if isinstance(block, dict) else {}  # type: ignore[assignment]
        key, step = _content_key(index), self.open_steps[index]
        spec = CONTENT.get(str(fields.get("type"))) if step.is_answer else None
        events = self.start_block(key, fields, spec)
        if self.keep:
            step.blocks.append(self.open[key])
        return events

    def _step_delta(self, event: Chunk) -> list[Event]:
        delta, index = event.get("delta"), _index(event)
        if not isinstance(delta, dict):
            return []
        kind = str(delta.get("type"))
        events: list[Event] = []
        if index not in self.open_steps:
            events = self._start_step(index, {"type": _STEP_OF_DELTA.get(kind, kind)})
        if self.open_steps[index].has_content:
            return events + self._grow_content(index, kind, delta)
        return events + self._grow_step(index, kind, delta)

    def _grow_content(self, index: JSON, kind: str, delta: Object) -> list[Event]:
        """Add a delta to a step with content: text grows, anything else is a block."""
        key = _content_key(index)
        if kind not in TEXT.deltas:
            return [*self._start_content(index, delta), *self.close_block(key)]
        events: list[Event] = []
        if key not in self.open:
            events = self._start_content(index, {"type": "text", "text": ""})
        if kind == "text":
            return events + self.grow(key, kind, delta.get("text"), ("text",))
        annotations = delta.get("annotations")
        for annotation in annotations if isinstance(annotations, list) else []:
            events += self.grow(key, kind, annotation, ("annotations",))
        return events

    def _grow_step(self, index: JSON, kind: str, delta: Object) -> list[Event]:
        """Add a delta to a step. A delta of an unknown type may hold fields of known ones."""
        record = self.open[index]
        deltas = {} if record.spec is None else record.spec.deltas
        if kind in deltas:
            return self._grow_field(index, kind, delta.get(deltas[kind][0]))
        fields = {key: copy_json(value) for key, value in delta.items() if key != "type"}
        if record.slot < 0:
            record.block = {**record.block, **fields}
            return []
        kinds = {names[0]: name for name, names in deltas.items()}
        events: list[Event] = []
        for key, value in fields.items():
            if key in kinds:
                events += self._grow_field(index, kinds[key], value)
            else:
                events += self.keep_unknown(index, (key,), value)
        return events

    def _grow_field(self, index: JSON, kind: str, piece: JSON) -> list[Event]:
        spec = self.open[index].spec
        if isinstance(piece, dict):
            if kind == "thought_summary" and _is_plain_text(piece):
                piece = piece.get("text") or ""
            elif spec is FUNCTION_CALL:  # whole arguments instead of a piece of their text
                piece = text_of(piece)
        field = kind if spec is None else spec.deltas[kind][0]
        return self.grow(index, kind, piece, (field,))

    def _step_stop(self, event: Chunk) -> list[Event]:
        return self._stop_step(_index(event))

    def _stop_step(self, index: JSON) -> list[Event]:
        events = [*self.close_block(index), *self.close_block(_content_key(index))]
        self.open_steps.pop(index, None)
        return events

    def read_block(self, key: BlockKey, block: Object) -> Part:
        if not isinstance(key, tuple):
            return read_block(NAME, STEPS, block, (self.count,))
        step = self.open_steps[key[1]]
        if not step.is_answer:
            return opaque(step.step.get("type"), {**step.step, "content": [block]}, (self.count,))
        return read_block(NAME, CONTENT, block, (self.count,))

    def assemble(self, record: OpenBlock) -> Object:
        block = super().assemble(record)
        if record.spec is THOUGHT and block.get("summary") == []:
            return {key: value for key, value in block.items() if key != "summary"}
        return block

    # --- the end ---

    def end(self) -> list[Event]:
        events = super().end()
        calls_client = any(call.runs_on_client for call in self.calls)
        return [
            Finish("tool") if calls_client and event == Finish("stop") else event
            for event in events
        ]

    def body(self) -> JSON:
        if not self.interaction and not self.has_steps:
            if self.error is None or self.cut:
                raise self.no_events_error()
            return {"error": self.error}
        body: Object = {**self.interaction, "steps": [self._step(step) for step in self.steps]}
        return body if self.error is None else {**body, "error": self.error}

    def _step(self, step: _OpenStep) -> JSON:
        blocks: list[JSON] = [self.assemble(block) for block in step.blocks]
        if not step.has_content:
            return blocks[0]
        return {**step.step, "content": blocks} if blocks else step.step


def _index(event: Chunk) -> JSON:
    index = event.get("index")
    return index if isinstance(index, int) else 0


def _content_key(index: JSON) -> tuple[str, JSON]:
    return ("content", index)


def _is_plain_text(block: Object) -> bool:
    """True if a block has only a text. Null fields do not count; some serializers write them."""
    given = {key: value for key, value in block.items() if value is not None}
    return given.keys() <= {"type", "text"} and isinstance(given.get("text", ""), str)


_HANDLERS: dict[str, Callable[[InteractionReader, Chunk], list[Event]]] = {
    "step.delta": InteractionReader._step_delta,
    "step.start": InteractionReader._step_start,
    "step.stop": InteractionReader._step_stop,
    "interaction.created": InteractionReader._created,
    "interaction.status_update": InteractionReader._status_update,
    "interaction.completed": InteractionReader._completed,
    "error": InteractionReader._error,
}


# --- writing --------------------------------------------------------------------------------------

_MEDIA = CONTENT["image"]
_SPECS: dict[type[Part], Block] = {
    Text: TEXT,
    Media: _MEDIA,
    Reasoning: THOUGHT,
    Call: FUNCTION_CALL,
}
_WRITERS: dict[type[Part], Callable[..., JSON]] = {
    Text: write_content_block,
    Media: write_content_block,
    Reasoning: write_thought,
    Call: write_function_call,
}
_COMPLETED_FIELDS = ("id", "status", "usage", "created", "updated", "object", "model")
_CREATED_FIELDS = ("id", "object", "model", "created", "updated")


class InteractionWriter(IndexedBlockWriter):
    """Writes the events of an interaction."""

    requires_object_arguments = True
    repeats_deltas = True
    specs = _SPECS
    writers = _WRITERS

    def begin(self, event: MessageStart) -> list[Chunk]:
        super().begin(event)
        body = self.write_empty_body(write)
        head: Object = {key: body[key] for key in _CREATED_FIELDS}
        status: Object = {"status": "in_progress"}
        return [
            _event("interaction.created", {"interaction": {**head, **status}}),
            _event("interaction.status_update", {"interaction_id": head["id"], **status}),
        ]

    def write_start(self, block: WrittenBlock, content: Object) -> list[Chunk]:
        step: Object = {"type": "thought"}
        if block.spec is FUNCTION_CALL:
            step = {**content, "arguments": {}}
        elif block.spec is not THOUGHT:
            step = {"type": "model_output"}
        return [_event("step.start", {"index": block.index, "step": step})]

    def write_delta(self, block: WrittenBlock, text: str) -> Chunk:
        piece: JSON = text
        if block.delta == "thought_summary":
            piece = {"type": "text", "text": text}
        return self._delta(block, {"type": block.delta, block.field: piece})

    def _delta(self, block: WrittenBlock, delta: Object) -> Chunk:
        return _event("step.delta", {"index": block.index, "delta": delta})

    def write_stop(self, block: WrittenBlock) -> Chunk:
        return _event("step.stop", {"index": block.index})

    def write_complete(self, block: WrittenBlock, part: Part, content: Object) -> list[Chunk]:
        start, stop = self.write_start(block, content), self.write_stop(block)
        if isinstance(part, Media):
            return [*start, self._delta(block, content), stop]
        if isinstance(part, Call):
            return [*start, self.write_delta(block, self.context.arguments_text(part)), stop]
        text = part.text if isinstance(part, Text | Reasoning) else ""
        return [*start, self.write_delta(block, text), stop] if text else [*start, stop]

    def write_end(self) -> list[Chunk]:
        body = self.write_empty_body(write, self.stop)
        interaction: Object = {key: body[key] for key in _COMPLETED_FIELDS if key in body}
        return [_event("interaction.completed", {"interaction": interaction})]

    def write_error(self, event: StreamError) -> Chunk:
        return _event(
            "error", {"error": {"code": event.code or "internal", "message": event.message}}
        )


def _event(kind: str, fields: Object) -> Chunk:
    return {**fields, "event_type": kind}


STREAM = StreamSpec(
    reader=InteractionReader,
    writer=InteractionWriter,
    frame=named_sse("event_type"),
    trailer=b"event: done\ndata: [DONE]\n\n",
    unwrap=unwrap_named_type("event_type"),
)
