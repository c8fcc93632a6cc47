"""The chunks of a Gemini stream: each is a response of its own, and together they are one.

- no-end-mark: a stream is over when every candidate has its `finishReason`, or the prompt was
  blocked.
- what-repeats-is-replaced: tokens and ratings are told anew in each chunk; lists of other kinds go
  on from chunk to chunk.
- an-error-is-an-element: `{"error": {...}}` stands where a response should.
- no-chunk-says-nothing: where parts came before, the chunk that gives the reason has an empty text,
  as the service sends it. The official client drops a turn from its history if one chunk of it has
  no part.
- calls-come-whole: but for arguments by path, which are only read. The writer holds a call until
  its arguments are whole, and what was opened after an open part until that is closed: nothing on
  this wire says which part a piece belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Call, Part, Reasoning
from toolwire.streaming.accumulate import with_text
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
from toolwire.wires.engine.sequential_parts import Piece, SequentialEmitter
from toolwire.wires.engine.settings import read_settings
from toolwire.wires.engine.specs import count_at
from toolwire.wires.engine.stream import STREAM_CUT, StreamSpec, StreamWriter, copy_json, data_sse
from toolwire.wires.families.contents.parts import Parts
from toolwire.wires.families.contents.settings import (
    FINISH_REASON_FROM_WIRE,
    RESPONSE,
    USAGE,
    keys,
    pick,
)
from toolwire.wires.families.contents.stream_parts import Growing, Growth

NAME = "gemini"
_CANDIDATES = keys("candidates", "usageMetadata")
_FRAME = keys("content", "finishReason", "index")
_REPEATED = keys("safetyRatings")
"""Lists that each chunk tells anew."""
_FIRST = keys("responseId", "modelVersion")
"""What does not change while an answer is being given."""
_MARKS = keys("candidates", "promptFeedback", "usageMetadata")


_USAGE = (USAGE,)


class _Candidate:
    """What is known of one candidate."""

    __slots__ = ("content", "frame", "growth", "reason")

    def __init__(self, growth: Growth) -> None:
        self.growth = growth
        self.frame: Object = {}
        self.content: Object | None = None
        self.reason: str | None = None


class _Reader(Growing):
    wire = NAME

    def __init__(self, parts: Parts, *, keep: bool = False) -> None:
        super().__init__(keep=keep)
        self.parts = parts
        self.candidates: dict[int, _Candidate] = {}
        self.head: Object = {}
        self.usage: Object = {}
        self.spelling = "usageMetadata"
        self.begun = False
        self.blocked = False
        self.mine = False
        self.left: set[str] = set()
        """Fields that were reported."""
        self.error: JSON = None

    def read(self, event: Chunk) -> list[Event]:
        if self.error is not None:
            return []
        if event.get("error") is not None:
            return self._error(event["error"])
        out: list[Event] = []
        if not self.begun:
            self.begun = True
            settings = read_settings(RESPONSE, event, _CANDIDATES)
            self.seed = str(settings.values.get("id", ""))
            out.append(MessageStart(settings.values))
        self.mine = self.mine or not _MARKS.isdisjoint(event)
        candidates = event.get("candidates")
        if isinstance(candidates, list):
            for i, candidate in enumerate(candidates):
                if isinstance(candidate, dict):
                    self._candidate(candidate, i, out)
                else:
                    out.append(Unsupported((self.count, "candidates", i), "not a candidate"))
        for key, value in event.items():
            if key == "candidates" or value is None:
                continue
            if key in ("usageMetadata", "usage_metadata"):
                if isinstance(value, dict):
                    self.usage.update(value)
                    self.spelling = key
                continue
            if key not in _FIRST:
                self._reported(key, (key,), out)
                self.blocked = self.blocked or (
                    key in _FEEDBACK
                    and isinstance(value, dict)
                    and bool(pick(value, "blockReason"))
                )
            if self.keep and not (key in _FIRST and key in self.head):
                self.head[key] = joined(self.head.get(key), value)
        return out

    def again(self, slot: int) -> Callable[[str], bool] | None:
        return bool if any(held.growth.speaks(slot) for held in self.candidates.values()) else None

    def _reported(self, name: str, path: tuple[str | int, ...], out: list[Event]) -> None:
        if name not in self.left:
            self.left.add(name)
            out.append(Unsupported((self.count, *path), "no such field on this wire"))

    def _candidate(self, candidate: Object, place: int, out: list[Event]) -> None:
        index = count_at(candidate, "index")
        index = place if index is None or isinstance(candidate["index"], bool) else index
        held = self.candidates.get(index)
        if held is None:
            held = self.candidates[index] = _Candidate(Growth(self.parts, self, index))
        content = candidate.get("content")
        if content.__class__ is dict:
            blocks = content.get("parts")
            if blocks.__class__ is list:
                path = (self.count, "candidates", place, "content", "parts")
                take = held.growth.take
                for j, block in enumerate(blocks):
                    out += take(block, (*path, j))
            if self.keep:
                rest = {
                    key: value
                    for key, value in content.items()
                    if key != "parts" and value is not None
                }
                held.content = {**(held.content or {}), **rest}
        reason = pick(candidate, "finishReason")
        if isinstance(reason, str):
            held.reason = reason
        if len(candidate) > 1 or self.keep:
            for key, value in candidate.items():
                if value is None or key == "content":
                    continue
                if key not in _FRAME:
                    self._reported(f"candidate {key}", ("candidates", place, key), out)
                if self.keep:
                    held.frame[key] = (
                        copy_json(value) if key in _REPEATED else joined(held.frame.get(key), value)
                    )

    def _error(self, error: JSON) -> list[Event]:
        self.error = copy_json(error)
        said = error.get("message") if isinstance(error, dict) else error
        status = error.get("status") if isinstance(error, dict) else None
        words = said if isinstance(said, str) and said else "the server reported an error"
        return [
            *self._closed(cut=True),
            StreamError(words, status if isinstance(status, str) else None),
        ]

    def _closed(self, *, cut: bool) -> list[Event]:
        return [event for held in self.candidates.values() for event in held.growth.close(cut=cut)]

    def end(self) -> list[Event]:
        if self.error is not None:
            return []
        late: list[Event] = []
        if self.usage:
            read = read_settings(_USAGE, {USAGE.path[0]: self.usage}, frozenset())
            late.append(Metadata(read.values))
            late += [
                Unsupported((self.count - 1, *path), "no such field on this wire")
                for path in read.unknown
            ]
        reasons = [held.reason for held in self.candidates.values()]
        if None in reasons or not (reasons or self.blocked):
            self.error = {"status": "stream_cut", "message": STREAM_CUT}
            return [*late, *self._closed(cut=True), StreamError(STREAM_CUT, cut=True)]
        # A call that is still open was never closed, whatever the reason says: the model was
        # stopped in its midst.
        open_calls = [
            event
            for held in self.candidates.values()
            if held.growth.growing
            for event in held.growth.close(cut=True)
        ]
        out = [*open_calls, *self._closed(cut=False), *late]
        if not self.candidates:
            out.append(Finish("filter"))  # the prompt was refused
        for index, held in sorted(self.candidates.items()):
            reason = held.reason or ""
            out.append(Finish(FINISH_REASON_FROM_WIRE.get(reason, reason.lower()), index))
        return out

    def body(self) -> JSON:
        if not self.mine:
            if self.error is None or self.error == {"status": "stream_cut", "message": STREAM_CUT}:
                raise self.nothing()
            return {"candidates": [], "error": self.error}
        body = dict(self.head)
        if self.candidates or not (self.usage or self.blocked):
            body["candidates"] = [_whole(held) for _, held in sorted(self.candidates.items())]
        if self.usage:
            body[self.spelling] = self.usage
        return body if self.error is None else {**body, "error": self.error}


_FEEDBACK = keys("promptFeedback")


def _whole(held: _Candidate) -> JSON:
    if held.content is None:
        return held.frame
    return {**held.frame, "content": {**held.content, "parts": held.growth.blocks}}


def joined(old: JSON, new: JSON) -> JSON:
    """A field with what the next chunk says of it: objects are joined, lists go on unless they are
    told anew."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{key: joined(old.get(key), value) for key, value in new.items()}}
    if isinstance(old, list) and isinstance(new, list):
        return copy_json(new) if new[: len(old)] == old else [*old, *new]
    return copy_json(new)


# --- writing --------------------------------------------------------------------------------------


class _Writer(StreamWriter):
    many = True

    def __init__(
        self,
        parts: Parts,
        write: Callable[[Conversation, EncodeContext], JSON],
        context: EncodeContext,
        version: int | None = None,
    ) -> None:
        super().__init__(context, version)
        self.foreign: Mapping[type[Part], Callable[..., JSON]] = parts.foreign
        self.write = write
        self.head: Object = {}
        self.lines: dict[int, SequentialEmitter] = {}
        self.choices: dict[int, int] = {}
        """Which candidate an open part belongs to."""
        self.last: dict[int, str] = {}
        """The kind of text each candidate wrote last: the next one of its kind must be parted from
        it."""
        self.called: set[int] = set()
        self.stops: dict[int, str | None] = {}

    def begin(self, event: MessageStart) -> list[Chunk]:
        super().begin(event)
        body = self.envelope(self.write)
        self.head = {
            key: value for key, value in body.items() if key not in ("candidates", "usageMetadata")
        }
        return []

    def _line(self, choice: int) -> SequentialEmitter:
        if choice not in self.lines:
            self.lines[choice] = SequentialEmitter()
        return self.lines[choice]

    def start(self, event: PartStart) -> list[Chunk]:
        self.choices[event.slot] = event.choice
        self._line(event.choice).start(event)
        return []

    def delta(self, event: PartDelta) -> list[Chunk]:
        choice = self.choices[event.slot]
        return self._said(self.lines[choice].delta(event), choice)

    def again(self, slot: int) -> Callable[[str], object] | None:
        return bool  # nothing is kept of a text that may speak

    def end(self, event: PartEnd) -> list[Chunk]:
        choice = self.choices.pop(event.slot)
        return self._said(self.lines[choice].end(event), choice)

    def whole(self, event: PartComplete) -> list[Chunk]:
        return self._said(self._line(event.choice).whole(event), event.choice)

    def _said(self, said: Iterator[tuple[Piece, str]], choice: int) -> list[Chunk]:
        out: list[Chunk] = []
        for piece, text in said:
            part = piece.part
            if not text:
                if isinstance(part, Call):
                    self.called.add(choice)
                out += self._chunk(self.foreign[type(part)](part, self.context), choice, "")
                continue
            kind = "thought" if isinstance(part, Reasoning) else "text"
            block: JSON = {"text": text, "thought": True} if kind == "thought" else {"text": text}
            if piece.fresh:
                piece.fresh = False
                block = self.foreign[type(part)](with_text(part, text), self.context)
                if self.last.get(choice) == kind and not piece.more:
                    out += self._chunk(
                        {"text": "", "thought": True} if kind == "thought" else {"text": ""},
                        choice,
                        kind,
                    )
            out += self._chunk(block, choice, kind)
        return out

    def _chunk(self, block: JSON, choice: int, kind: str) -> list[Chunk]:
        if block is None:
            return []
        self.last[choice] = kind
        candidate: Object = {"content": {"role": "model", "parts": [block]}, "index": choice}
        return [{**self.head, "candidates": [candidate]}]

    def finish(self, event: Finish) -> list[Chunk]:
        self.stops[event.choice] = event.stop
        return []

    def close(self) -> list[Chunk]:
        candidates: list[JSON] = []
        body: Object = {}
        for choice, stop in sorted(self.stops.items()):
            body = self.envelope(
                self.write, "stop" if stop == "tool" and choice in self.called else stop
            )
            frame = get(body, ("candidates", 0))
            assert isinstance(frame, dict)
            frame["index"] = choice
            if choice in self.last:
                frame["content"] = {"role": "model", "parts": [{"text": ""}]}
            candidates.append(frame)
        return [{**body, "candidates": candidates}]

    def fault(self, event: StreamError) -> list[Chunk]:
        status = event.code if event.code in _CODES else "INTERNAL"
        return [{"error": {"code": _CODES[status], "message": event.message, "status": status}}]


_CODES = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "RESOURCE_EXHAUSTED": 429,
    "CANCELLED": 499,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}


def stream(parts: Parts, write: Callable[[Conversation, EncodeContext], JSON]) -> StreamSpec:
    """How this wire streams, by the tables of its bodies."""
    return StreamSpec(partial(_Reader, parts), partial(_Writer, parts, write), data_sse)
