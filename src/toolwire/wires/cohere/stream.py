"""The events of a Cohere chat stream, version 2.

- lists-have-their-own-indexes: content and calls are counted separately; a delta names its block
  by event and index.
- plan-has-no-end: the plan grows by `tool-plan-delta` and ends when any other event arrives.
- empty-fields-first: `message-start` has every field of the message, empty; fields that stay empty
  are not in the whole body.
- citations-and-logprobs-beside: a citation arrives whole in `citation-start`; a `content-delta` may
  have `logprobs` beside it.
- end-has-the-rest: `message-end` has the finish reason, the usage, and the error if there was one.
- error-has-no-type: a server that fails may send its error body, `{"message": ...}`, as an event.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from toolwire.conversation.json import JSON, JsonPath, Object, put
from toolwire.conversation.parts import Call, Part, Reasoning, Text
from toolwire.streaming.events import Chunk, Event, MessageStart, StreamError, Unsupported
from toolwire.wires.cohere.blocks import CALLS, CONTENT, NAME, STREAMED_PLAN
from toolwire.wires.cohere.bodies import BODIES
from toolwire.wires.cohere.settings import FINISH_REASON_FROM_WIRE, RESPONSE
from toolwire.wires.engine.answers import seed_from
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import read_settings
from toolwire.wires.engine.specs import Block, keys, read_block
from toolwire.wires.engine.stream import DONE, STREAM_CUT, StreamSpec, copy_json, event_sse, merge
from toolwire.wires.families.blocks.deltas import nest, openers
from toolwire.wires.families.blocks.indexed_block_reader import BlockKey, IndexedBlockReader
from toolwire.wires.families.blocks.indexed_block_writer import IndexedBlockWriter, WrittenBlock

_PLAN = "tool_plan"
ListKey: TypeAlias = "tuple[str, JSON]"
"""The field of the message that holds a block, and the index of the block."""
_PLAN_KEY: ListKey = (_PLAN, 0)
_CITATION_KEY: ListKey = ("citations", 0)
_EVENT_KEYS = keys("type", "index", "delta", "id", "logprobs")
_GROWING = keys("role", "content", _PLAN, "tool_calls", "citations")
"""Fields of the message that have their own events."""
_LISTS = {"content": CONTENT, "tool_calls": CALLS}


def _without(fields: Object, names: frozenset[str]) -> Object:
    return {key: value for key, value in fields.items() if key not in names}


class CohereReader(IndexedBlockReader):
    """Reads the events of a message."""

    wire = NAME
    openers = openers((*CONTENT.values(), *CALLS.values(), STREAMED_PLAN))
    list_depth = 1
    cut_error = STREAM_CUT
    finish_reasons = FINISH_REASON_FROM_WIRE
    complete_reasons = keys("COMPLETE", "TOOL_CALL", "STOP_SEQUENCE")

    def __init__(self, *, keep: bool = False) -> None:
        super().__init__(keep=keep)
        self.recognized = False
        """True once an event of this wire arrived."""
        self.announced: Object = {}
        """The message in `message-start`."""
        self.message: Object = {}
        self.fields: Object = {}
        """The fields of the body beside the message."""
        self.citations: list[JSON] = []
        self.logprobs: list[JSON] = []

    def read(self, event: Chunk) -> list[Event]:
        event_type = event.get("type")
        if not isinstance(event_type, str) or event_type not in _EVENTS:
            message = event.get("message")
            if event_type is None and isinstance(message, str):
                return self.fail(message)
            return [Unsupported((self.count,), f"an unknown event: {event_type}")]
        self.recognized = True
        out: list[Event] = []
        if event_type != "tool-plan-delta" and _PLAN_KEY in self.open:
            out = self.close_block(_PLAN_KEY)
        field = _FIELD_EVENTS.get(event_type)
        if field is None:
            return [*out, *_MESSAGE_EVENTS[event_type](self, event)]
        name, handle = field
        value, others = self._message_field(event, name)
        index = event.get("index")
        key = (name, index if isinstance(index, int) else 0)
        return [*out, *others, *handle(self, key, value)]

    # --- the message ---

    def _message_start(self, event: Chunk) -> list[Event]:
        if self.announced:
            return []  # the first one counts
        response_id, delta = event.get("id"), event.get("delta")
        if response_id is not None:
            self.fields["id"] = response_id
        self.seed = seed_from(response_id)
        message = delta.get("message") if isinstance(delta, dict) else None
        announced: Object = {"role": "assistant", **(message if isinstance(message, dict) else {})}
        self.announced = announced
        self.message = {"role": announced["role"]} if isinstance(announced["role"], str) else {}
        settings = read_settings(RESPONSE, {"id": response_id}, frozenset())
        events: list[Event] = [MessageStart(settings.values)]
        events += self._keep((), _without(event, _EVENT_KEYS), self.fields)
        events += self._keep(("delta", "message"), _without(announced, _GROWING), self.message)
        plan = announced.get(_PLAN)
        if plan:
            events += [*self._grow_plan(_PLAN_KEY, plan), *self.close_block(_PLAN_KEY)]
        for name in _LISTS:
            content = announced.get(name) or []
            for block in content if isinstance(content, list) else [content]:
                events += [*self._start_block((name, 0), block), *self.close_block((name, 0))]
        citations = announced.get("citations")
        for citation in citations if isinstance(citations, list) else []:
            events += self._keep_citation(_CITATION_KEY, citation)
        return events

    def _message_field(self, event: Chunk, name: str) -> tuple[JSON, list[Event]]:
        """The field of the message that an event is about, and the reports of its other fields."""
        delta = event.get("delta")
        message = delta.get("message") if isinstance(delta, dict) else None
        if not isinstance(delta, dict) or not isinstance(message, dict):
            return None, self._keep((), {"delta": delta} if delta else {}, self.fields)
        events: list[Event] = []
        if len(event) > 3 or len(delta) > 1:
            events += self._keep((), _without(event, _EVENT_KEYS), self.fields)
            events += self._keep(("delta",), _without(delta, keys("message")), self.fields)
            events += self._keep_logprobs(event.get("logprobs"))
        if len(message) > 1:
            others = _without(message, frozenset({name}))
            events += self._keep(("delta", "message"), others, self.message)
        return message.get(name), events

    def _keep(self, path: JsonPath, fields: Object, target: Object) -> list[Event]:
        """Keep unknown fields of an event for the body, and report them."""
        events: list[Event] = []
        for key, value in fields.items():
            if value is None:
                continue
            grows = target is self.message and key in _GROWING
            if self.keep and not grows and target.get(key) != value:
                target[key] = merge(target.get(key), value)
            events += self.report_unknown(*path, key)
        return events

    def _keep_logprobs(self, value: JSON) -> list[Event]:
        if value is None:
            return []
        if self.keep:
            self.logprobs.append(value)
        return self.report_unknown("logprobs")

    def _keep_citation(self, key: ListKey, citation: JSON) -> list[Event]:
        if citation is None:
            return []
        if self.keep:
            self.citations += citation if isinstance(citation, list) else [citation]
        return self.report_unknown("delta", "message", "citations")

    def _debug(self, event: Chunk) -> list[Event]:
        return self._keep((), _without(event, _EVENT_KEYS), self.fields)

    # --- blocks ---

    def _start_block(self, key: ListKey, value: JSON) -> list[Event]:
        name, _ = key
        block: Object = {"type": "text", "text": value} if isinstance(value, str) else {}
        if isinstance(value, dict):
            block = copy_json(value)  # type: ignore[assignment]
        block_type = block.get("type")
        if block_type is None and name == "tool_calls":
            block_type = "function"  # as in a body
        spec = _LISTS[name].get(block_type) if isinstance(block_type, str) else None
        return self.start_block(key, block, spec)

    def new_block(self, spec: Block) -> Object:
        return {} if spec is STREAMED_PLAN else {"type": spec.name}

    def _grow_block(self, key: ListKey, value: JSON) -> list[Event]:
        name, _ = key
        events: list[Event] = []
        if name == "content" and isinstance(value, str):
            value = {"text": value}
        if name == "tool_calls" and key not in self.open:  # it has neither id nor name
            events += self.start_block(key, self.new_block(CALLS["function"]), CALLS["function"])
        return events + self.grow_nested(key, {name: value}) if isinstance(value, dict) else events

    def _grow_plan(self, key: ListKey, text: JSON) -> list[Event]:
        return self.grow(_PLAN_KEY, _PLAN, text, (_PLAN,)) if isinstance(text, str) and text else []

    def _end_block(self, key: ListKey, value: JSON) -> list[Event]:
        return self.close_block(key)

    def keep_unknown(self, key: BlockKey, path: JsonPath, piece: JSON) -> list[Event]:
        record = self.open.get(key)
        if path == ("type",) and isinstance(piece, str):
            return []
        if record is not None and path == ("id",) and record.block.get("id") == piece:
            return []  # deltas may repeat the type and the id
        return super().keep_unknown(key, path, piece)

    def read_block(self, key: BlockKey, block: Object) -> Part:
        specs = _LISTS["tool_calls" if _list_name(key) == "tool_calls" else "content"]
        return read_block(NAME, specs, block, (self.count,))

    def pointer(self, key: BlockKey, path: JsonPath) -> JsonPath:
        return ("delta", "message", _list_name(key), *path)

    # --- the end ---

    def _message_end(self, event: Chunk) -> list[Event]:
        self.over = True
        delta = event.get("delta")
        fields: Object = {}
        if isinstance(delta, dict):
            fields = {key: copy_json(value) for key, value in delta.items() if value is not None}
        if event.get("id") is not None:
            self.fields.setdefault("id", event["id"])
        events = self._keep((), _without(event, _EVENT_KEYS), self.fields)
        message = fields.pop("message", None)
        if isinstance(message, dict):
            events += self._keep(("delta", "message"), message, self.message)
        self.fields.update(fields)
        reason = fields.get("finish_reason")
        self.stop = reason if isinstance(reason, str) and reason else None
        known = keys("finish_reason", "error")
        events += self.read_metadata(RESPONSE, fields, known, path=("delta",))
        error = fields.get("error")
        return events if error is None else events + self.fail(error, reason)

    def end(self) -> list[Event]:
        self.finished = self.over or self.done
        return super().end()

    def body(self) -> JSON:
        if not self.recognized:
            if self.error is None or self.cut:
                raise self.no_events_error()
            return {"message": self.error}
        message: Object = {"role": "assistant", **self.message}
        plans = self._assemble_list(_PLAN)
        content, calls = self._assemble_list("content"), self._assemble_list("tool_calls")
        has_empty_plan = isinstance(self.announced.get(_PLAN), str) and calls and not content
        if plans or has_empty_plan:
            texts = (plan[_PLAN] for plan in plans if isinstance(plan, dict))
            message[_PLAN] = "".join(text for text in texts if isinstance(text, str))
        if content or not calls:
            message["content"] = content
        if calls:
            message["tool_calls"] = calls
        if self.citations:
            message["citations"] = self.citations
        body: Object = {**self.fields, "message": message}
        if self.logprobs:
            body["logprobs"] = self.logprobs
        return body if self.error is None else {**body, "error": self.error}

    def _assemble_list(self, name: str) -> list[JSON]:
        return [self.assemble(block) for block in self.blocks if _list_name(block.key) == name]


def _list_name(key: BlockKey) -> str:
    return key[0] if isinstance(key, tuple) else ""


_FIELD_EVENTS: dict[str, tuple[str, Callable[[CohereReader, ListKey, JSON], list[Event]]]] = {
    "content-start": ("content", CohereReader._start_block),
    "content-delta": ("content", CohereReader._grow_block),
    "content-end": ("content", CohereReader._end_block),
    "tool-call-start": ("tool_calls", CohereReader._start_block),
    "tool-call-delta": ("tool_calls", CohereReader._grow_block),
    "tool-call-end": ("tool_calls", CohereReader._end_block),
    "tool-plan-delta": (_PLAN, CohereReader._grow_plan),
    "citation-start": ("citations", CohereReader._keep_citation),
}
"""Events about one field of the message: the field, and the method that reads its value."""
_MESSAGE_EVENTS: dict[str, Callable[[CohereReader, Chunk], list[Event]]] = {
    "message-start": CohereReader._message_start,
    "message-end": CohereReader._message_end,
    "citation-end": lambda reader, event: [],
    "debug": CohereReader._debug,
}
_EVENTS = _FIELD_EVENTS.keys() | _MESSAGE_EVENTS.keys()

_EVENT_NAMES = {"content": "content", "tool_calls": "tool-call"}
_EMPTY_MESSAGE: Object = {"content": [], _PLAN: "", "tool_calls": [], "citations": []}
_SPECS: dict[type[Part], Block] = {
    Text: CONTENT["text"],
    Reasoning: CONTENT["thinking"],
    Call: CALLS["function"],
}
_WRITERS = {part: spec.write for part, spec in _SPECS.items() if spec.write is not None}


class CohereWriter(IndexedBlockWriter):
    """Writes the events of a message."""

    repeats_deltas = True
    specs = _SPECS
    writers = _WRITERS
    empty_arguments = "{}"

    def __init__(self, context: EncodeContext, version: int | None = None) -> None:
        super().__init__(context, version)
        self.counts = dict.fromkeys(_LISTS, 0)

    def next_index(self, spec: Block) -> int:
        name = "tool_calls" if spec.part is Call else "content"
        self.counts[name] += 1
        return self.counts[name] - 1

    def begin(self, event: MessageStart) -> list[Chunk]:
        super().begin(event)
        message: Object = {"role": "assistant", **_EMPTY_MESSAGE}
        response_id = self.write_empty_body(BODIES.write)["id"]
        return [{"type": "message-start", "id": response_id, "delta": {"message": message}}]

    def write_start(self, block: WrittenBlock, content: Object) -> list[Chunk]:
        path = tuple(block.spec.deltas[block.delta][1].split("."))
        name, _, _ = block.delta.partition(".")
        return [self._event(block, "start", {name: put(content, path, "")})]

    def write_delta(self, block: WrittenBlock, text: str) -> Chunk:
        return self._event(block, "delta", nest(block.delta, text))

    def write_stop(self, block: WrittenBlock) -> Chunk:
        return {"type": f"{_event_name(block)}-end", "index": block.index}

    def _event(self, block: WrittenBlock, verb: str, message: Object) -> Chunk:
        return {
            "type": f"{_event_name(block)}-{verb}",
            "index": block.index,
            "delta": {"message": message},
        }

    def write_end(self) -> list[Chunk]:
        body = self.write_empty_body(BODIES.write, self.stop)
        return [{"type": "message-end", "delta": _without(body, keys("id", "message"))}]

    def write_error(self, event: StreamError) -> Chunk:
        return {"type": "message-end", "delta": {"finish_reason": "ERROR", "error": event.message}}


def _event_name(block: WrittenBlock) -> str:
    return _EVENT_NAMES[block.delta.partition(".")[0]]


STREAM = StreamSpec(reader=CohereReader, writer=CohereWriter, frame=event_sse, trailer=DONE)
