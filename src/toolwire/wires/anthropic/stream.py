"""The events of an Anthropic stream.

- blocks-by-index: a block is opened, grows and is closed under its index; others may be open
  meanwhile.
- input-may-come-first: programmatic calls have their input in the opening event and no deltas.
- stop-comes-last: why the model stopped, and the tokens, stand in `message_delta`; a block may
  still be open then.
- an-error-may-come-first: a stream may consist of one `error` event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from msgspec.structs import replace

from toolwire.conversation.json import JSON, Object, text_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Call, Message, Part, Reasoning, Result, Text
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
from toolwire.wires.anthropic.settings import FINISH_REASON_FROM_WIRE, RESPONSE
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import read_settings
from toolwire.wires.engine.specs import UNREADABLE, Block, opaque, read_block
from toolwire.wires.engine.stream import (
    STREAM_CUT,
    StreamReader,
    StreamSpec,
    StreamWriter,
    copy_json,
    merge,
    named_sse,
    unwrap_typed,
)
from toolwire.wires.families.blocks.history import BlockHistory

NAME = "anthropic"
_KNOWN = frozenset({"type", "role", "content", "stop_reason", "usage", "stop_sequence"})


class _Block:
    """A block that is open."""

    __slots__ = ("block", "given", "grew", "signature", "slot", "spec", "texts")

    def __init__(self, block: Object, spec: Block | None) -> None:
        self.block = block
        self.spec = spec
        self.slot = -1
        """Under which it is told; none for a block that can only be told whole."""
        self.given = ""
        """Text that the opening event already had, told if nothing else comes."""
        self.grew = False
        self.signature: str | None = None
        self.texts: dict[str, list[JSON]] = {}


class _Reader(StreamReader):
    wire = NAME

    def __init__(self, rows: Mapping[str, Block], *, keep: bool = False) -> None:
        super().__init__(keep=keep)
        self.rows = rows
        self.message: Object = {}
        self.usage: Object = {}
        self.open: dict[JSON, _Block] = {}
        self.blocks: list[_Block] = []
        self.slots = 0
        self.stop: str | None = None
        self.error: JSON = None

    def read(self, event: Chunk) -> list[Event]:
        move = _MOVES.get(str(event.get("type")))
        return (
            move(self, event)
            if move is not None
            else [Unsupported((self.count,), f"an unknown event: {event.get('type')}")]
        )

    def _message_start(self, event: Chunk) -> list[Event]:
        message = event.get("message")
        if not isinstance(message, dict) or self.message:
            return []  # some servers begin twice; the first one counts
        self.message = copy_json(message)  # type: ignore[assignment]
        self.seed = str(message.get("id") or "")
        usage = message.get("usage")
        self.usage = dict(usage) if isinstance(usage, dict) else {}
        settings = read_settings(RESPONSE, message, _KNOWN)
        out: list[Event] = [MessageStart(settings.values)]
        out += [
            Unsupported((self.count, "message", *path), "no such field on this wire")
            for path in settings.unknown
        ]
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            one = self._opened(block)
            out += [*self._told(one), *self._closed(one, cut=False)]
        return out

    def _opened(self, block: JSON) -> _Block:
        given: Object = copy_json(block) if isinstance(block, dict) else {}  # type: ignore[assignment]
        kind = given.get("type")
        one = _Block(given, self.rows.get(kind) if isinstance(kind, str) else None)
        if self.keep:
            self.blocks.append(one)
        return one

    def _told(self, one: _Block) -> list[Event]:
        """The opening of a part that can grow; others wait until they are whole."""
        spec, block = one.spec, one.block
        if spec is None or not spec.deltas or spec.read is None:
            return []
        (_, field) = next(iter(spec.deltas.values()))
        held = block.get(field)
        one.given = held if isinstance(held, str) else text_of(held) if held else ""
        try:
            part = spec.read(
                {**block, field: None if spec.part is Call else ""},
                (self.count, "content_block"),
                spec,
            )
        except UNREADABLE:
            return []
        if isinstance(part, Call):
            part = self.identified(part)
        one.slot = self.slots
        self.slots += 1
        one.signature = part.signature or None
        return [
            PartStart(
                one.slot, replace(part, signature=None, source=replace(part.source, raw=block))
            )
        ]

    def _block_start(self, event: Chunk) -> list[Event]:
        before = self._block_stop(event)  # an index that opens again closes what it held
        one = self._opened(event.get("content_block"))
        self.open[_index(event)] = one
        return [*before, *self._told(one)]

    def _block_delta(self, event: Chunk) -> list[Event]:
        one = self.open.get(_index(event))
        delta = event.get("delta")
        if not isinstance(delta, dict):
            return []
        out: list[Event] = []
        kind = str(delta.get("type"))
        if one is None:
            opened = _OPENS.get(kind)
            if opened is None:
                return [Unsupported((self.count,), "a delta of a block that is not open")]
            out = self._block_start({"index": event.get("index"), "content_block": dict(opened)})
            one = self.open[_index(event)]
        grows = one.spec.deltas.get(kind) if one.spec is not None else None
        if grows is None:
            if one.slot >= 0:
                return [*out, Unsupported((self.count, "delta"), "no such field on this wire")]
            merge(
                one.block, {key: value for key, value in delta.items() if key != "type"}
            )  # it is told when it is whole
            return out
        source, field = grows
        more = delta.get(source)
        if self.keep:
            one.texts.setdefault(field, []).append(more)
        main = next(iter(one.spec.deltas.values()))[1]  # type: ignore[union-attr]
        if field == main and one.slot >= 0:
            if isinstance(more, str) and more:
                one.grew = True
                out.append(PartDelta(one.slot, more))
        elif field == "signature" and isinstance(more, str):
            one.signature = (one.signature or "") + more
        elif more is not None:
            out.append(Unsupported((self.count, "delta", source), "no such field on this wire"))
        return out

    def again(self, slot: int) -> Callable[[str], bool] | None:
        return bool if any(one.slot == slot for one in self.open.values()) else None

    def _block_stop(self, event: Chunk) -> list[Event]:
        one = self.open.pop(_index(event), None)
        return [] if one is None else self._closed(one, cut=False)

    def _closed(self, one: _Block, *, cut: bool) -> list[Event]:
        if one.slot >= 0:
            late: list[Event] = (
                [PartDelta(one.slot, one.given)] if one.given and not one.grew else []
            )
            return [*late, PartEnd(one.slot, signature=one.signature, cut=cut)]
        part: Part = opaque(one.block.get("type"), one.block, (self.count,))
        if one.spec is not None:
            part = read_block(NAME, self.rows, one.block, (self.count,))
        return [PartComplete(self.answered(part) if isinstance(part, Result) else part)]

    def _message_delta(self, event: Chunk) -> list[Event]:
        delta, usage = event.get("delta"), event.get("usage")
        if isinstance(usage, dict):
            self.usage.update({key: value for key, value in usage.items() if value is not None})
        if isinstance(delta, dict):
            reason = delta.get("stop_reason")
            self.stop = reason if isinstance(reason, str) else self.stop
            self.message.update(delta)
        self.message.update(
            {key: value for key, value in event.items() if key not in ("type", "delta", "usage")}
        )
        more = delta if isinstance(delta, dict) else {}
        late: Object = {
            **{key: value for key, value in event.items() if key not in ("type", "delta")},
            **more,
            "usage": self.usage,
        }
        told = read_settings(RESPONSE, late, frozenset({"stop_reason"}))
        return [
            Metadata(told.values),
            *(
                Unsupported((self.count, *path), "no such field on this wire")
                for path in told.unknown
            ),
        ]

    def _message_stop(self, event: Chunk) -> list[Event]:
        self.over = True
        return []

    def _error(self, event: Chunk) -> list[Event]:
        self.error = error = event.get("error")
        said = error.get("message") if isinstance(error, dict) else None
        kind = error.get("type") if isinstance(error, dict) else None
        return [
            *self._rest(cut=True),
            StreamError(
                str(said or "the server reported an error"), kind if isinstance(kind, str) else None
            ),
        ]

    def _rest(self, *, cut: bool) -> list[Event]:
        out = [event for one in self.open.values() for event in self._closed(one, cut=cut)]
        self.open.clear()
        return out

    def end(self) -> list[Event]:
        if self.error is not None:
            return []
        if self.over or self.stop is not None:
            return [
                *self._rest(cut=self.stop not in ("tool_use", "end_turn")),
                Finish(FINISH_REASON_FROM_WIRE.get(self.stop or "", self.stop)),
            ]
        self.error = {"type": "stream_cut", "message": STREAM_CUT}
        return [*self._rest(cut=True), StreamError(STREAM_CUT, cut=True)]

    def body(self) -> JSON:
        if not self.message:
            if self.error is None or self.error == {"type": "stream_cut", "message": STREAM_CUT}:
                raise self.nothing()
            return {"type": "error", "error": self.error}
        body = {**self.message, "content": [_assembled(one) for one in self.blocks]}
        if self.usage:
            body["usage"] = self.usage
        return body if self.error is None else {**body, "error": self.error}


def _index(event: Chunk) -> JSON:
    index = event.get("index")
    return index if isinstance(index, int) else 0


def _assembled(one: _Block) -> JSON:
    """A block with its deltas: texts are joined, input is parsed, anything else is listed."""
    block = dict(one.block)
    for field, pieces in one.texts.items():
        words = [piece for piece in pieces if isinstance(piece, str)]
        if one.spec is not None and one.spec.part is Call:
            text = "".join(words)
            if text or not block.get(field):
                held = LazyJson(text)
                nothing = held.value is None and not held.broken
                block[field] = (
                    {}
                    if nothing
                    else held.value
                    if isinstance(held.value, dict)
                    else {"_raw": text}
                )
        elif len(words) == len(pieces):
            before = block.get(field)
            block[field] = (before if isinstance(before, str) else "") + "".join(words)
        else:
            listed = block.get(field)
            block[field] = [*(listed if isinstance(listed, list) else []), *pieces]
    return block


_MOVES: dict[str, Callable[[_Reader, Chunk], list[Event]]] = {
    "content_block_delta": _Reader._block_delta,
    "content_block_start": _Reader._block_start,
    "content_block_stop": _Reader._block_stop,
    "message_start": _Reader._message_start,
    "message_delta": _Reader._message_delta,
    "message_stop": _Reader._message_stop,
    "error": _Reader._error,
    "ping": lambda reader, event: [],
}
_OPENS: dict[str, Object] = {
    "text_delta": {"type": "text", "text": ""},
    "thinking_delta": {"type": "thinking", "thinking": "", "signature": ""},
}
"""What a delta opens whose block was never opened."""


class _Writer(StreamWriter):
    objects = True

    def __init__(
        self,
        history: BlockHistory,
        write: Callable[[Conversation, EncodeContext], JSON],
        context: EncodeContext,
        version: int | None = None,
    ) -> None:
        super().__init__(context, version)
        self.history = history
        self.write = write
        self.places: dict[int, tuple[int, str, str]] = {}
        """Open blocks: index, type of their deltas, and the field the text goes to."""
        self.held: dict[int, Part] = {}
        """Texts that were opened and have nothing in them yet: the wire takes no empty text."""
        self.index = 0
        self.stop: str | None = None

    def begin(self, event: MessageStart) -> list[Chunk]:
        super().begin(event)
        return [{"type": "message_start", "message": self.envelope(self.write)}]

    def start(self, event: PartStart) -> list[Chunk]:
        part = event.part
        if isinstance(part, Call):
            return self._opened(event.slot, part)
        self.held[event.slot] = part
        return []

    def _opened(self, slot: int, part: Part) -> list[Chunk]:
        block = self.history.foreign[type(part)](part, self.context)
        if not isinstance(block, dict):
            return []
        if isinstance(part, Text | Reasoning):
            block = {**block, "thinking" if isinstance(part, Reasoning) else "text": ""}
        self.places[slot] = (self.index, *_DELTAS[type(part)])
        self.index += 1
        return [{"type": "content_block_start", "index": self.index - 1, "content_block": block}]

    def delta(self, event: PartDelta) -> list[Chunk]:
        out: list[Chunk] = []
        if event.slot in self.held:
            part = self.held.pop(event.slot)
            out = self._opened(event.slot, replace(part, text=event.text))
        place = self.places.get(event.slot)
        if place is None:
            return out
        index, kind, field = place
        out.append(
            {
                "type": "content_block_delta",
                "index": index,
                "delta": {"type": kind, field: event.text},
            }
        )
        return out

    def again(self, slot: int) -> Callable[[str], object] | None:
        return bool  # nothing is kept of a text

    def end(self, event: PartEnd) -> list[Chunk]:
        self.held.pop(event.slot, None)
        place = self.places.pop(event.slot, None)
        self.kept(event)
        return [] if place is None else [{"type": "content_block_stop", "index": place[0]}]

    def whole(self, event: PartComplete) -> list[Chunk]:
        out: list[Chunk] = []
        for block in self.history.blocks(Message("assistant", (event.part,)), self.context):
            out.append({"type": "content_block_start", "index": self.index, "content_block": block})
            out.append({"type": "content_block_stop", "index": self.index})
            self.index += 1
        return out

    def finish(self, event: Finish) -> list[Chunk]:
        self.stop = event.stop
        return []

    def close(self) -> list[Chunk]:
        body = self.envelope(self.write, self.stop)
        delta: Object = {
            "stop_reason": body["stop_reason"],
            "stop_sequence": body.get("stop_sequence"),
        }
        return [
            {"type": "message_delta", "delta": delta, "usage": body["usage"]},
            {"type": "message_stop"},
        ]

    def fault(self, event: StreamError) -> list[Chunk]:
        kind = event.code if event.code in _ERRORS else "api_error"
        return [{"type": "error", "error": {"type": kind, "message": event.message}}]


_DELTAS: dict[type[Part], tuple[str, str]] = {
    Text: ("text_delta", "text"),
    Reasoning: ("thinking_delta", "thinking"),
    Call: ("input_json_delta", "partial_json"),
}
_ERRORS = frozenset(
    {
        "invalid_request_error",
        "authentication_error",
        "billing_error",
        "permission_error",
        "not_found_error",
        "rate_limit_error",
        "timeout_error",
        "overloaded_error",
        "api_error",
    }
)


def stream(
    rows: Mapping[str, Block],
    history: BlockHistory,
    write: Callable[[Conversation, EncodeContext], JSON],
) -> StreamSpec:
    """How this wire streams, by the tables of its bodies."""
    return StreamSpec(
        partial(_Reader, rows), partial(_Writer, history, write), named_sse, lift=unwrap_typed
    )
