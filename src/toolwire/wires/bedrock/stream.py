"""The events of a Bedrock ConverseStream.

- events-by-name: an event is one field, its name, with its payload; on the wire the name is a
  header of the frame.
- text-opens-itself: calls, results and pictures have a `contentBlockStart`; any other block is
  opened by its first delta.
- blocks-by-index: deltas and stops name their block by `contentBlockIndex`; a stop may never come.
- cited-text: text and citations under one index are one `citationsContent` block, in whichever
  order they come.
- result-texts-grow: a text of a result goes on from the text that the delta before ended with.
- bytes-in-pieces: every piece of redacted reasoning or of a picture is base64 for itself.
- padding: `p` fills a payload up and says nothing.
- stop-before-usage: `messageStop` says why, `metadata` counts; the second may be missing.
- exceptions-are-events: a stream that fails ends in an event whose name ends in `Exception`.

The writer holds back nothing but texts that are still empty, which the wire does not take.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from msgspec import UnsetType
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, get, put
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Call, Media, Part, Reasoning, Result, Text
from toolwire.errors import RemoteError
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
from toolwire.wires.bedrock.merge import assembled, grows
from toolwire.wires.bedrock.settings import FINISH_REASON_FROM_WIRE, RESPONSE
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import read_settings
from toolwire.wires.engine.specs import UNREADABLE, Block, opaque
from toolwire.wires.engine.stream import (
    STREAM_CUT,
    StreamReader,
    StreamSpec,
    StreamWriter,
    aws_message,
    copy_json,
    merge,
    unwrap_named,
)

NAME = "bedrock"
ReadPart = Callable[[JSON, JsonPath, Mapping[str, Block]], Part]
_PADDING = "p"
_OF_BLOCKS = frozenset({"contentBlockIndex", "start", "delta", _PADDING})
_FINISHED = ("end_turn", "tool_use", "stop_sequence")
"""Reasons to stop after which a block that was left open is whole all the same."""
_ROLES = ("user", "assistant", "system")
_NO_FIELD = "no such field on this wire"


# --- reading --------------------------------------------------------------------------------------


class _Block:
    """A block that is open."""

    __slots__ = (
        "block",
        "given",
        "grew",
        "inner",
        "main",
        "outer",
        "pieces",
        "signature",
        "slot",
        "spec",
        "told",
    )

    def __init__(self, block: Object, spec: Block | None) -> None:
        self.block = block
        self.spec = spec
        self.slot = -1
        """Under which it is told; none for a block that can only be told whole."""
        self.main = self.outer = self.inner = ""
        """The delta that is told while it comes: its type, and the two steps of it."""
        self.given = ""
        """Arguments that the opening event already had, told if nothing else comes."""
        self.grew = False
        self.told = False
        """Whether it was said that it has more than others can be told."""
        self.signature: str | None = None
        self.pieces: dict[str, list[JSON]] = {}


class _Reader(StreamReader):
    wire = NAME

    def __init__(
        self,
        rows: Mapping[str, Block],
        table: Mapping[str, tuple[Block, ...]],
        read_part: ReadPart,
        *,
        keep: bool = False,
    ) -> None:
        super().__init__(keep=keep)
        self.rows = rows
        self.grows = table
        self.read_part = read_part
        self.message: Object | None = None
        self.fields: Object = {}
        """What the last events say of the whole answer."""
        self.open: dict[JSON, _Block] = {}
        self.blocks: list[_Block] = []
        self.slots = 0
        self.seen = False
        self.stopped = False
        self.error: Object | None = None

    def read(self, event: Chunk) -> list[Event]:
        out: list[Event] = []
        for name, payload in event.items():
            move = _MOVES.get(name)
            if move is not None and payload.__class__ is dict:
                self.seen = True
                out += move(self, payload)
            elif name.endswith("Exception"):
                out += self._exception(name, payload)
            else:
                out.append(Unsupported((self.count, name), f"an unknown event: {name}"))
        return out

    def _message_start(self, payload: Object) -> list[Event]:
        if self.message is not None:
            return []
        self.message = _unpadded(payload)
        return [
            MessageStart({}),
            *(
                Unsupported((self.count, "messageStart", key), _NO_FIELD)
                for key in self.message
                if key != "role"
            ),
        ]

    # --- blocks ---

    def _start(self, payload: Object) -> list[Event]:
        out = self._stop(payload)  # an index that opens again closes what it held
        start = payload.get("start")
        if not isinstance(start, dict) or not start:
            return out  # a text may be announced so: it opens with its words
        spec = next(
            (
                spec
                for key in start
                if (spec := self.rows.get(key)) is not None and spec.read is not None
            ),
            None,
        )
        one = self._opened(_index(payload), copy_json(start), spec)  # type: ignore[arg-type]
        if spec is not None and spec.part is not Media:
            one.pieces[
                next(iter(grows(spec)), "")
            ] = []  # one that never grows is empty, not absent
        if spec is not None and spec.part is Call:
            out += self._told(one)
        return [*out, *self._beside(one, payload)]

    def _opened(self, index: JSON, block: Object, spec: Block | None) -> _Block:
        one = _Block(block, spec)
        self.open[index] = one
        if self.keep:
            self.blocks.append(one)
        return one

    def _told(self, one: _Block) -> list[Event]:
        """The opening of a part that can grow; others wait until they are whole."""
        spec = one.spec
        assert spec is not None and spec.read is not None
        main = next(iter(grows(spec)))
        block = assembled(one.block, spec, {main: [""]})
        try:
            part = spec.read(block, (self.count,), spec)
        except UNREADABLE:
            return []
        given = streamed_text(part)
        if given is None:
            return []
        part = without_text(part)
        if isinstance(part, Call):
            part = self.identified(part)
            one.given, given = (given if given != "{}" else ""), ""
        one.slot = self.slots
        one.main = main
        one.outer, _, one.inner = main.rpartition(".")
        self.slots += 1
        out: list[Event] = [PartStart(one.slot, part)]
        if given:
            out.append(PartDelta(one.slot, given))
        for key in one.pieces:
            if key != main:
                out += self._kept(one, key)
        if not self.keep:
            one.pieces = {key: [] for key in one.pieces}
        return out

    def _delta(self, payload: Object) -> list[Event]:
        delta = payload.get("delta")
        if delta.__class__ is not dict:
            return [Unsupported((self.count, "contentBlockDelta"), "a delta without content")]
        index = _index(payload)
        one = self.open.get(index)
        if one is not None and one.slot >= 0 and len(delta) == 1 and _OF_BLOCKS.issuperset(payload):
            held = delta.get(one.outer) if one.outer else delta
            if held.__class__ is dict and len(held) == 1:
                piece = held.get(one.inner)
                if isinstance(piece, str):  # nearly every event of a stream is one of these
                    if self.keep:
                        one.pieces[one.main].append(piece)
                    if not piece:
                        return []
                    one.grew = True
                    return [PartDelta(one.slot, piece)]
        out: list[Event] = []
        for name, value in delta.items():
            if name in self.grows:
                out += self._grown(index, name, value)
            elif value.__class__ is dict:
                for field, more in value.items():
                    out += self._grown(index, f"{name}.{field}", more)
            elif value is not None:
                out += self._grown(index, name, value)
        one = self.open.get(index)
        if len(payload) > 2 and one is not None:
            out += self._beside(one, payload)
        return out

    def _grown(self, index: JSON, key: str, piece: JSON) -> list[Event]:
        one = self.open.get(index)
        out: list[Event] = []
        rows = self.grows.get(key)
        if rows is None:
            return self._strange(index, key, piece)
        if one is None or one.spec is None or key not in grows(one.spec):
            # What has both kinds of deltas is one block; where there is no such block, another one
            # begins.
            spec = next(
                (
                    spec
                    for spec in rows
                    if one is not None and one.pieces.keys() <= grows(spec).keys()
                ),
                None,
            )
            if one is not None and spec is not None:
                one.spec = spec
            else:
                out = self._stop({"contentBlockIndex": index})
                one = self._opened(index, {}, rows[0])
        spec = one.spec
        assert spec is not None
        growing = grows(spec)
        main = next(iter(growing))
        if one.slot < 0 and key == main and spec.part in _TOLD:
            out += self._told(one)
        pieces = one.pieces.get(key)
        if pieces is None:
            pieces = one.pieces[key] = []
        if self.keep or one.slot < 0:
            pieces.append(piece)
        if one.slot < 0:
            return out
        if key != main and growing[key][0] != "signature":
            out += self._kept(one, key)
        elif not isinstance(piece, str):
            out.append(
                Unsupported((self.count, "contentBlockDelta", "delta"), "a piece that is no text")
            )
        elif key != main:
            one.signature = (one.signature or "") + piece
        elif piece:
            one.grew = True
            out.append(PartDelta(one.slot, piece))
        return out

    def _strange(self, index: JSON, key: str, piece: JSON) -> list[Event]:
        """Keep in its block a delta that nobody knows."""
        one = self.open.get(index) or self._opened(index, {}, None)
        path = tuple(key.split("."))
        if self.keep or one.slot < 0:
            held = get(one.block, path)
            one.block = put(
                one.block, path, merge(None if isinstance(held, UnsetType) else held, piece)
            )  # type: ignore[assignment]
        return self._kept(one, key) if one.slot >= 0 else []

    def _beside(self, one: _Block, payload: Object) -> list[Event]:
        """Keep in the block what stands beside its start or delta."""
        more = {
            key: value
            for key, value in payload.items()
            if key not in _OF_BLOCKS and value is not None
        }
        if not more:
            return []
        if self.keep or one.slot < 0:
            one.block = {**more, **one.block}
        return self._kept(one, next(iter(more))) if one.slot >= 0 else []

    def _kept(self, one: _Block, key: str) -> list[Event]:
        """Said once for a block: a report for every piece would grow with the stream."""
        if one.told:
            return []
        one.told = True
        return [Unsupported((self.count, *key.split(".")), _NO_FIELD)]

    def _stop(self, payload: Object) -> list[Event]:
        one = self.open.pop(_index(payload), None)
        return [] if one is None else self._closed(one, cut=False)

    def _closed(self, one: _Block, *, cut: bool) -> list[Event]:
        if one.slot >= 0:
            late: list[Event] = (
                [PartDelta(one.slot, one.given)] if one.given and not one.grew else []
            )
            return [*late, PartEnd(one.slot, signature=one.signature, cut=cut)]
        block = assembled(one.block, one.spec, one.pieces)
        try:
            part = self.read_part(block, (self.count,), self.rows)
        except RemoteError:  # a body with such a block is refused; a stream has begun to be told
            part = opaque(next(iter(block), ""), block, (self.count,))
        if isinstance(part, Call):
            part = self.identified(part)
        return [PartComplete(self.answered(part) if isinstance(part, Result) else part)]

    # --- the end ---

    def _message_stop(self, payload: Object) -> list[Event]:
        self.stopped = True
        return self._said("messageStop", payload)

    def _metadata(self, payload: Object) -> list[Event]:
        self.over = self.stopped
        return self._said("metadata", payload)

    def _said(self, name: str, payload: Object) -> list[Event]:
        fields = _unpadded(payload)
        self.fields.update(fields)
        settings = read_settings(RESPONSE, fields, frozenset({"stopReason"}))
        out: list[Event] = [Metadata(settings.values)] if settings.values else []
        return [
            *out,
            *(Unsupported((self.count, name, *path), _NO_FIELD) for path in settings.unknown),
        ]

    def _exception(self, name: str, payload: JSON) -> list[Event]:
        given = payload if isinstance(payload, dict) else {}
        said = given.get("message") or given.get("Message") or given.get("originalMessage")
        self.error = {"type": name, **given}
        return [
            *self._rest(cut=True),
            StreamError(said if isinstance(said, str) else "the server reported an error", name),
        ]

    def _rest(self, *, cut: bool) -> list[Event]:
        out = [event for one in self.open.values() for event in self._closed(one, cut=cut)]
        self.open.clear()
        return out

    def end(self) -> list[Event]:
        if self.error is not None:
            return []
        if self.stopped:
            reason = self.fields.get("stopReason")
            stop = FINISH_REASON_FROM_WIRE.get(reason, reason) if isinstance(reason, str) else None
            return [*self._rest(cut=reason not in _FINISHED), Finish(stop)]
        self.error = {"type": "stream_cut", "message": STREAM_CUT}
        return [*self._rest(cut=True), StreamError(STREAM_CUT, cut=True)]

    def body(self) -> JSON:
        broken: Object = {} if self.error is None else {"error": self.error}
        if not self.seen:
            if self.error is None or self.error["type"] == "stream_cut":
                raise self.nothing()
            return broken
        content: list[JSON] = [assembled(one.block, one.spec, one.pieces) for one in self.blocks]
        message: Object = {"role": "assistant", **(self.message or {}), "content": content}
        if message["role"] not in _ROLES:
            message["role"] = "assistant"
        return {"output": {"message": message}, **self.fields, **broken}


_MOVES: dict[str, Callable[[_Reader, Object], list[Event]]] = {
    "contentBlockDelta": _Reader._delta,
    "contentBlockStart": _Reader._start,
    "contentBlockStop": _Reader._stop,
    "messageStart": _Reader._message_start,
    "messageStop": _Reader._message_stop,
    "metadata": _Reader._metadata,
}
_TOLD = (Text, Reasoning, Call)
"""What is told while it grows."""


def _index(payload: Object) -> JSON:
    index = payload.get("contentBlockIndex")
    return index if isinstance(index, int) else 0


def _unpadded(payload: Object) -> Object:
    return {
        key: copy_json(value)
        for key, value in payload.items()
        if key != _PADDING and value is not None
    }


# --- writing --------------------------------------------------------------------------------------


class _Writer(StreamWriter):
    objects = True

    def __init__(
        self,
        foreign: Mapping[type[Part], Callable[..., JSON]],
        write: Callable[[Conversation, EncodeContext], JSON],
        context: EncodeContext,
        version: int | None = None,
    ) -> None:
        super().__init__(context, version)
        self.foreign = foreign
        self.write = write
        self.places: dict[int, tuple[int, Callable[[str], Object]]] = {}
        """Open blocks: their index, and how a piece of text is said in them."""
        self.held: dict[int, Part] = {}
        """Texts that were opened and have nothing in them yet."""
        self.index = 0
        self.stop: str | None = None

    def begin(self, event: MessageStart) -> list[Chunk]:
        super().begin(event)
        return [{"messageStart": {"role": "assistant"}}]

    def start(self, event: PartStart) -> list[Chunk]:
        if not isinstance(event.part, Call):
            self.held[event.slot] = event.part
            return []
        block = self.foreign[Call](event.part, self.context)
        index = self._placed(event.slot, Call)
        use = block["toolUse"] if isinstance(block, dict) else None
        assert isinstance(use, dict)
        return [
            _started(index, "toolUse", {key: value for key, value in use.items() if key != "input"})
        ]

    def _placed(self, slot: int, kind: type[Part]) -> int:
        self.places[slot] = (self.index, _SAID[kind])
        self.index += 1
        return self.index - 1

    def delta(self, event: PartDelta) -> list[Chunk]:
        if event.slot in self.held:
            part = self.held.pop(event.slot)
            if self.foreign[type(part)](replace(part, text=event.text), self.context) is None:
                return []
            self._placed(event.slot, type(part))
        place = self.places.get(event.slot)
        return [] if place is None else [_grew(place[0], place[1](event.text))]

    def end(self, event: PartEnd) -> list[Chunk]:
        self.kept(event)
        held = self.held.pop(event.slot, None)
        if held is not None:
            self.foreign[type(held)](held, self.context)  # it says what is lost with it
        place = self.places.pop(event.slot, None)
        return [] if place is None else [_stopped(place[0])]

    def whole(self, event: PartComplete) -> list[Chunk]:
        block = self.foreign[type(event.part)](event.part, self.context)
        if not isinstance(block, dict):
            return []
        index = self.index
        self.index += 1
        ((name, held),) = block.items()
        if name == "text":
            return [_grew(index, block), _stopped(index)]
        if name == "image" and isinstance(held, dict):
            announced: Object = {key: value for key, value in held.items() if key != "source"}
            return [
                _started(index, name, announced),
                _grew(index, {name: {"source": held["source"]}}),
                _stopped(index),
            ]
        self.context.report_loss(
            event.part,
            f"a stream has no {name} that grows; it opens whole, which the official client does not"
            " know",
        )
        return [_started(index, name, held), _stopped(index)]

    def finish(self, event: Finish) -> list[Chunk]:
        self.stop = event.stop
        return []

    def close(self) -> list[Chunk]:
        body = self.envelope(self.write, self.stop)
        body.pop("output")
        stop: Object = {
            key: body.pop(key)
            for key in ("stopReason", "additionalModelResponseFields")
            if key in body
        }
        return [{"messageStop": stop}, {"metadata": body}]

    def fault(self, event: StreamError) -> list[Chunk]:
        name = event.code if event.code in _EXCEPTIONS else "modelStreamErrorException"
        return [{name: {"message": event.message}}]


def _started(index: int, name: str, held: JSON) -> Chunk:
    return {"contentBlockStart": {"start": {name: held}, "contentBlockIndex": index}}


def _grew(index: int, delta: Object) -> Chunk:
    return {"contentBlockDelta": {"delta": delta, "contentBlockIndex": index}}


def _stopped(index: int) -> Chunk:
    return {"contentBlockStop": {"contentBlockIndex": index}}


_SAID: dict[type[Part], Callable[[str], Object]] = {
    Text: lambda text: {"text": text},
    Reasoning: lambda text: {"reasoningContent": {"text": text}},
    Call: lambda text: {"toolUse": {"input": text}},
}
_EXCEPTIONS = frozenset(
    {
        "internalServerException",
        "modelStreamErrorException",
        "validationException",
        "throttlingException",
        "serviceUnavailableException",
    }
)


def stream(
    rows: Mapping[str, Block],
    foreign: Mapping[type[Part], Callable[..., JSON]],
    read_part: ReadPart,
    write: Callable[[Conversation, EncodeContext], JSON],
) -> StreamSpec:
    """How this wire streams, by the tables of its bodies."""
    table: dict[str, tuple[Block, ...]] = {}
    for spec in rows.values():
        for key in grows(spec) if spec.read is not None else ():
            table[key] = (*table.get(key, ()), spec)
    return StreamSpec(
        partial(_Reader, rows, table, read_part),
        partial(_Writer, foreign, write),
        aws_message,
        media="application/vnd.amazon.eventstream",
        lift=unwrap_named,
    )
