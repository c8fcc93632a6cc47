"""The events of a Cohere chat stream, version 2: reading them.

- fields-have-their-own-indexes: content and calls are counted each for itself; a delta names its
  own by event and index.
- plan-has-no-end: the plan grows by `tool-plan-delta` and is over when something else comes.
- empty-fields-first: `message-start` has every field of the message, empty; those that stay so are
  not in the whole body.
- citations-and-odds-beside: a citation comes whole in `citation-start`; a `content-delta` may have
  `logprobs` beside it.
- end-says-all: `message-end` has the reason, the tokens, and the error if there was one.
- error-has-no-type: a server that fails may send its error body, `{"message": ...}`, as an event.

Knows not how bodies are made: the wire brings its `Tables`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from toolwire.conversation.json import JSON, JsonPath, Object, get, put
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Call, Message, Part, Reasoning, Source
from toolwire.streaming.accumulate import streamed_text, without_text
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
from toolwire.wires.engine.specs import UNREADABLE, Block, opaque, read_block
from toolwire.wires.engine.stream import STREAM_CUT, StreamReader, copy_json, merge
from toolwire.wires.families.chat.messages import REASONING

NAME = "cohere"
_NO_FIELD = "no such field on this wire"
_OF_EVENTS = frozenset({"type", "index", "delta", "id", "logprobs"})
_GROWING = frozenset({"role", "content", "tool_plan", "tool_calls", "citations"})
"""Fields of the message that events of their own fill."""
_WHOLE = ("COMPLETE", "TOOL_CALL", "STOP_SEQUENCE")
"""Reasons to stop after which a block that was left open is whole all the same."""


class Tables:
    """The tables of the bodies."""

    def __init__(
        self,
        content: Mapping[str, Block],
        calls: Mapping[str, Block],
        response: tuple[SettingSpec, ...],
        means: Mapping[str, str],
        said: Callable[[Message, EncodeContext], Object],
        write: Callable[[Conversation, EncodeContext], JSON],
    ) -> None:
        self.rows = {"content": content, "tool_calls": calls}
        self.response = response
        self.means = means
        self.said = said
        self.write = write
        self.opens = {
            deltas[0][0]: spec
            for spec in content.values()
            if (deltas := list(spec.deltas.values()))
        }
        """What a field of a delta opens whose block was never opened."""


class _Block:
    """A content block or a call that is open."""

    __slots__ = ("block", "field", "path", "pieces", "slot", "spec")

    def __init__(self, block: Object, spec: Block | None) -> None:
        self.block = block
        self.spec = spec
        self.path: JsonPath = (
            tuple(next(iter(spec.deltas.values()))[1].split("."))
            if spec is not None and spec.deltas
            else ()
        )
        """Where its text stands."""
        self.field = str(self.path[-1]) if self.path else ""
        self.slot = -1
        """Under which it is told; none for a block that can only be told whole."""
        self.pieces: list[str] = []

    def whole(self) -> Object:
        """The block with all of its text."""
        if not self.pieces:
            return self.block
        before = get(self.block, self.path)
        return put(
            self.block,
            self.path,
            "".join([before if isinstance(before, str) else "", *self.pieces]),
        )  # type: ignore[return-value]


class CohereReader(StreamReader):
    wire = NAME

    def __init__(self, tables: Tables, *, keep: bool = False) -> None:
        super().__init__(keep=keep)
        self.tables = tables
        self.begun = False
        self.announced: Object = {}
        """The message as it began."""
        self.message: Object = {}
        self.fields: Object = {}
        """What stands around the message."""
        self.open: dict[tuple[str, JSON], _Block] = {}
        self.blocks: dict[str, list[_Block]] = {"content": [], "tool_calls": []}
        self.plan: list[str] = []
        self.planning = -1
        self.citations: list[JSON] = []
        self.logprobs: list[JSON] = []
        self.slots = 0
        self.error: JSON = None
        self.left: list[Event] = []
        self.reported: set[JsonPath] = set()

    def read(self, event: Chunk) -> list[Event]:
        kind = event.get("type")
        move = _MOVES.get(kind) if isinstance(kind, str) else None
        if move is None:
            said = event.get("message")
            if kind is None and isinstance(said, str):
                self.error = said
                return [*self._rest(cut=True), StreamError(said)]
            return [Unsupported((self.count,), f"an unknown event: {kind}")]
        self.begun = True
        out = self._planned() if self.planning >= 0 and kind != "tool-plan-delta" else []
        out += move(self, event)
        if self.left:
            out += self.left
            self.left = []
        return out

    def _inside(self, event: Chunk, name: str) -> JSON:
        """What an event has for a field of the message; anything else in it is kept where it
        belongs."""
        delta = event.get("delta")
        message = delta.get("message") if isinstance(delta, dict) else None
        if not isinstance(delta, dict) or not isinstance(message, dict):
            self._extra((), {"delta": delta} if delta else {}, self.fields)
            return None
        if len(event) > 3 or len(delta) > 1:
            beside = {key: value for key, value in event.items() if key not in _OF_EVENTS}
            self._extra((), beside, self.fields)
            self._extra(
                ("delta",),
                {key: value for key, value in delta.items() if key != "message"},
                self.fields,
            )
            self._logprobs(event.get("logprobs"))
        if len(message) > 1:
            self._extra(
                ("delta", "message"),
                {key: value for key, value in message.items() if key != name},
                self.message,
            )
        return message.get(name)

    def _extra(self, path: tuple[str, ...], fields: Object, into: Object) -> None:
        """Keep what nobody knows; said once for each field, for a report for every event would grow
        with the stream."""
        for key, value in fields.items():
            if value is None:
                continue
            if (
                self.keep
                and not (into is self.message and key in _GROWING)
                and into.get(key) != value
            ):
                into[key] = merge(into.get(key), value)
            self._report(*path, key)

    def _report(self, *path: str) -> None:
        if path not in self.reported:
            self.reported.add(path)
            self.left.append(Unsupported((self.count, *path), _NO_FIELD))

    def _logprobs(self, value: JSON) -> None:
        if value is not None:
            if self.keep:
                self.logprobs.append(value)
            self._report("logprobs")

    # --- the message ---

    def _message_start(self, event: Chunk) -> list[Event]:
        if self.announced:
            return []  # the first one counts
        given = event.get("id")
        if given is not None:
            self.fields["id"] = given
        self.seed = given if isinstance(given, str) else ""
        delta = event.get("delta")
        message = delta.get("message") if isinstance(delta, dict) else None
        self.announced = dict(message) if isinstance(message, dict) else {}
        self.announced.setdefault("role", "assistant")
        out: list[Event] = [
            MessageStart(read_settings(self.tables.response, {"id": given}, frozenset()).values)
        ]
        role = self.announced["role"]
        self.message = {"role": role} if isinstance(role, str) else {}
        beside = {key: value for key, value in event.items() if key not in _OF_EVENTS}
        self._extra((), beside, self.fields)
        more = {key: value for key, value in self.announced.items() if key not in _GROWING}
        self._extra(("delta", "message"), more, self.message)
        plan, citations = self.announced.get("tool_plan"), self.announced.get("citations")
        if isinstance(plan, str) and plan:
            out += [*self._planning(plan), *self._planned()]
        for name in ("content", "tool_calls"):
            blocks = self.announced.get(name)
            for i, block in enumerate(
                blocks if isinstance(blocks, list) else [blocks] if blocks else []
            ):
                out += [*self._opened(name, i, block), *self._ended(name, i)]
        for citation in citations if isinstance(citations, list) else []:
            self._cited(citation)
        return out

    def _plan_delta(self, event: Chunk) -> list[Event]:
        more = self._inside(event, "tool_plan")
        return self._planning(more) if isinstance(more, str) and more else []

    def _planning(self, text: str) -> list[Event]:
        if self.keep:
            self.plan.append(text)
        if self.planning >= 0:
            return [PartDelta(self.planning, text)]
        self.planning = self.slots
        self.slots += 1
        return [
            PartStart(self.planning, Reasoning("", source=Source("", (self.count,), REASONING))),
            PartDelta(self.planning, text),
        ]

    def _planned(self, *, cut: bool = False) -> list[Event]:
        slot, self.planning = self.planning, -1
        return [PartEnd(slot, cut=cut)] if slot >= 0 else []

    # --- blocks ---

    def _start(self, event: Chunk, name: str) -> list[Event]:
        return self._opened(name, event.get("index"), self._inside(event, name))

    def _opened(self, name: str, index: JSON, value: JSON) -> list[Event]:
        out = self._ended(name, index)  # an index that opens again closes what it held
        block: Object = {"type": "text", "text": value} if isinstance(value, str) else {}
        if isinstance(value, dict):
            block = copy_json(value)  # type: ignore[assignment]
        rows = self.tables.rows[name]
        kind = block.get("type") or ("function" if name == "tool_calls" else None)
        one = _Block(block, rows.get(kind) if isinstance(kind, str) else None)
        self.open[name, _index(index)] = one
        if self.keep:
            self.blocks[name].append(one)
        spec = one.spec
        if spec is None or not one.path or spec.read is None:
            return out
        try:
            part = spec.read(put(block, one.path, get(block, one.path) or ""), (self.count,), spec)  # type: ignore[arg-type]
        except UNREADABLE:
            return out
        given = streamed_text(part)
        part = without_text(part)
        if isinstance(part, Call):
            part = self.identified(part)
        one.slot = self.slots
        self.slots += 1
        return [*out, PartStart(one.slot, part), *([PartDelta(one.slot, given)] if given else [])]

    def _content_delta(self, event: Chunk) -> list[Event]:
        content = self._inside(event, "content")
        one = self.open.get(("content", _index(event.get("index"))))
        if one is not None and isinstance(content, dict) and len(content) == 1 and one.slot >= 0:
            more = content.get(one.field)
            if isinstance(more, str):  # nearly every event of a stream is one of these
                if self.keep:
                    one.pieces.append(more)
                return [PartDelta(one.slot, more)] if more else []
        if isinstance(content, str):
            content = {"text": content}
        out: list[Event] = []
        for field, more in content.items() if isinstance(content, dict) else ():
            if more is None or (field == "type" and isinstance(more, str)):
                continue
            one = self.open.get(("content", _index(event.get("index"))))
            spec = self.tables.opens.get(field)
            if spec is not None and (one is None or one.path != (field,)):
                out += self._opened("content", event.get("index"), {"type": spec.name, field: ""})
                one = self.open["content", _index(event.get("index"))]
            out += self._grown(one, (field,), more)
        return out

    def _call_delta(self, event: Chunk) -> list[Event]:
        given = self._inside(event, "tool_calls")
        function = given.get("function") if isinstance(given, dict) else None
        one = self.open.get(("tool_calls", _index(event.get("index"))))
        out: list[Event] = []
        if one is None:  # it was never opened, and has neither id nor name
            out = self._opened(
                "tool_calls", event.get("index"), {"type": "function", "function": {}}
            )
            one = self.open["tool_calls", _index(event.get("index"))]
        for key, more in given.items() if isinstance(given, dict) else ():
            if key != "function" and more is not None and more != one.block.get(key):
                out += self._grown(one, (key,), more)
        for key, more in function.items() if isinstance(function, dict) else ():
            if more is not None:
                out += self._grown(one, ("function", key), more)
        return out

    def _grown(self, one: _Block | None, path: JsonPath, more: JSON) -> list[Event]:
        if one is not None and path == one.path and isinstance(more, str):
            if self.keep or one.slot < 0:
                one.pieces.append(more)
            return [PartDelta(one.slot, more)] if more and one.slot >= 0 else []
        if one is not None and (self.keep or one.slot < 0):
            held = get(one.block, path)
            kept = merge(held, more) if isinstance(held, str | list | dict) else copy_json(more)
            one.block = put(one.block, path, kept)  # type: ignore[assignment]
        if one is None or one.slot >= 0:
            self._report("delta", "message", *(str(step) for step in path))
        return []

    def _end(self, event: Chunk, name: str) -> list[Event]:
        self._inside(event, name)
        return self._ended(name, event.get("index"))

    def _ended(self, name: str, index: JSON, *, cut: bool = False) -> list[Event]:
        one = self.open.pop((name, _index(index)), None)
        if one is None:
            return []
        if one.slot >= 0:
            return [PartEnd(one.slot, cut=cut)]
        block = one.whole()
        rows = self.tables.rows[name]
        part: Part = (
            read_block(NAME, rows, block, (self.count,))
            if one.spec
            else opaque(block.get("type"), block, (self.count,))
        )
        return [PartComplete(self.identified(part) if isinstance(part, Call) else part)]

    def again(self, slot: int) -> Callable[[str], bool] | None:
        return (
            bool
            if slot == self.planning or any(one.slot == slot for one in self.open.values())
            else None
        )

    # --- what stands beside, and the end ---

    def _citation_start(self, event: Chunk) -> list[Event]:
        self._cited(self._inside(event, "citations"))
        return []

    def _cited(self, citation: JSON) -> None:
        if citation is not None:
            if self.keep:
                self.citations += citation if isinstance(citation, list) else [citation]
            self._report("delta", "message", "citations")

    def _debug(self, event: Chunk) -> list[Event]:
        self._extra(
            (), {key: value for key, value in event.items() if key not in _OF_EVENTS}, self.fields
        )
        return []

    def _message_end(self, event: Chunk) -> list[Event]:
        self.over = True
        delta = event.get("delta")
        said = _given(delta) if isinstance(delta, dict) else {}
        if event.get("id") is not None:
            self.fields.setdefault("id", event["id"])
        self._extra(
            (), {key: value for key, value in event.items() if key not in _OF_EVENTS}, self.fields
        )
        message = said.pop("message", None)
        if isinstance(message, dict):
            self._extra(("delta", "message"), message, self.message)
        self.fields.update(said)
        self.error = said.get("error")
        settings = read_settings(self.tables.response, said, frozenset({"finish_reason", "error"}))
        out: list[Event] = [Metadata(settings.values)] if settings.values else []
        out += [Unsupported((self.count, "delta", *path), _NO_FIELD) for path in settings.unknown]
        if self.error is not None:
            text = self.error if isinstance(self.error, str) else "the server reported an error"
            reason = said.get("finish_reason")
            out += [
                *self._rest(cut=True),
                StreamError(text, reason if isinstance(reason, str) else None),
            ]
        return out

    def _rest(self, *, cut: bool) -> list[Event]:
        out = self._planned(cut=cut)
        for name, index in list(self.open):
            out += self._ended(name, index, cut=cut)
        return out

    def end(self) -> list[Event]:
        if self.error is not None:
            return []
        if self.over or self.done:
            reason = self.fields.get("finish_reason")
            stop = (
                self.tables.means.get(reason, reason)
                if isinstance(reason, str) and reason
                else None
            )
            return [*self._rest(cut=reason not in _WHOLE), Finish(stop)]
        self.error = STREAM_CUT
        return [*self._rest(cut=True), StreamError(STREAM_CUT, cut=True)]

    def body(self) -> JSON:
        if not self.begun:
            if self.error is None or self.error == STREAM_CUT:
                raise self.nothing()
            return {"message": self.error}
        message: Object = {"role": "assistant", **self.message}
        content: list[JSON] = [one.whole() for one in self.blocks["content"]]
        calls: list[JSON] = [one.whole() for one in self.blocks["tool_calls"]]
        if self.plan or (
            calls and not content and isinstance(self.announced.get("tool_plan"), str)
        ):
            message["tool_plan"] = "".join(self.plan)
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


def _given(fields: Object) -> Object:
    return {key: copy_json(value) for key, value in fields.items() if value is not None}


def _index(index: JSON) -> JSON:
    return index if isinstance(index, int) else 0


_MOVES: dict[str, Callable[[CohereReader, Chunk], list[Event]]] = {
    "content-delta": CohereReader._content_delta,
    "tool-call-delta": CohereReader._call_delta,
    "tool-plan-delta": CohereReader._plan_delta,
    "content-start": lambda reader, event: reader._start(event, "content"),
    "content-end": lambda reader, event: reader._end(event, "content"),
    "tool-call-start": lambda reader, event: reader._start(event, "tool_calls"),
    "tool-call-end": lambda reader, event: reader._end(event, "tool_calls"),
    "citation-start": CohereReader._citation_start,
    "citation-end": lambda reader, event: [],
    "message-start": CohereReader._message_start,
    "message-end": CohereReader._message_end,
    "debug": CohereReader._debug,
}
