"""AI SDK: the chunks of a UI message stream, read into the message that a client makes of them.

What is kept is the message that `readUIMessageStream` of version 6 builds, but for these, where a
client loses something:

- an-id-twice-in-a-step: a second call under the id of one that is complete overwrites the first in
  a client; here it is a part of its own.
- one-call-one-part: `dynamic` that disagrees between start and input makes two parts of one call
  there, and one here.
- raw-input-is-not-guessed: of input that never ended a client guesses the rest; here only the text
  stays.
- an-output-without-its-call: it belongs to an earlier message, and stands under `unplaced`.
- why-the-model-stopped: it stands under `finishReason` where the parts do not say it; a client
  forgets it.

A call that is answered in the same stream ran on the server, so what a call is shows when its
output comes or the stream ends: till then the call waits, and so does what comes after it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import Call, Opaque, Part, Result
from toolwire.streaming.events import (
    Chunk,
    Event,
    Finish,
    MessageStart,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
    StreamError,
    Unsupported,
)
from toolwire.wires.ai_sdk.result_content import NAME
from toolwire.wires.ai_sdk.settings import FINISH_REASON_FROM_WIRE, PLAIN
from toolwire.wires.ai_sdk.stream_tool_parts import Tool, Tools, rest
from toolwire.wires.ai_sdk.ui_messages import BLOCKS, answer_of, is_tool, read_part, unread
from toolwire.wires.engine.specs import Block
from toolwire.wires.engine.stream import STREAM_CUT, StreamReader, copy_json

ABORTED = "the answer was aborted"
UNNAMED = "msg-0"
"""The id of a message that came without one: bodies without an id are written with the same."""
OWN = Block("chunk", Part)
"""The row of what only this wire has: its writer sends it as it came."""
_EXTRA = "no such field on this wire"


class _Said(Struct):
    """A text or reasoning that is open."""

    block: Object
    slot: int
    texts: list[str]


class ChunkReader(StreamReader):
    """Reads the chunks of one stream."""

    wire = NAME

    def __init__(self, *, keep: bool = False) -> None:
        super().__init__(keep=keep)
        self.seed = UNNAMED
        self.known = False
        """Whether a chunk of this wire came at all."""
        self.begun = False
        self.early: list[Event] = []
        """What came before the message had an id: servers send data first."""
        self.message: Object = {"id": UNNAMED, "role": "assistant"}
        self.parts: list[Object] = []
        self.texts: list[_Said] = []
        self.open: dict[tuple[str, JSON], _Said] = {}
        self.tools = Tools(self._entered)
        self.step = 0
        self.spoke = False
        """Whether something of this step was told already."""
        self.data: set[tuple[JSON, str | None]] = set()
        """Types and ids of data that came."""
        self.queue: deque[tuple[int, Event | Tool]] = deque()
        """What waits: the first is a call that nobody answered yet."""
        self.live: set[int] = set()
        self.slots = 0
        self.reason: str | None = None
        self.finished = False
        self.error: str | None = None
        self.unplaced: list[JSON] = []

    def read(self, event: Chunk) -> list[Event]:
        kind = event.get("type")
        move = _MOVES.get(kind) if isinstance(kind, str) else None
        if move is None:
            move = (
                ChunkReader._data
                if isinstance(kind, str) and kind.startswith("data-")
                else ChunkReader._other
            )
        self.known = self.known or move is not ChunkReader._other
        if self.begun or move is ChunkReader._start:
            return move(self, event)
        if move in _EARLY:
            self.early += move(self, event)
            return []
        return [*self._begin({}), *move(self, event)]

    def _begin(self, named: Object) -> list[Event]:
        self.begun = True
        self.message.update(named)
        self.seed = str(self.message["id"])
        early, self.early = self.early, []
        return [MessageStart({"id": self.seed}), *early]

    # --- what waits ---

    def _tell(self, *events: Event) -> list[Event]:
        """The events, as far as no call before them waits."""
        out: list[Event] = []
        for event in events:
            if self.queue and not (
                isinstance(event, PartDelta | PartEnd) and event.slot in self.live
            ):
                self.queue.append((self.step, event))
            else:
                out.append(self._said(event))
        return out

    def _said(self, event: Event) -> Event:
        self.spoke = True
        if event.__class__ is PartStart:
            self.live.add(event.slot)
        elif event.__class__ is PartEnd:
            self.live.discard(event.slot)
        return event

    def _released(self, *, all_of_it: bool = False) -> list[Event]:
        """What need not wait any longer."""
        out: list[Event] = []
        while self.queue:
            first = self.queue[0][1]
            if isinstance(first, Tool):
                if not (first.answered or all_of_it):
                    break
                out += map(self._said, self._called(first))
            else:
                out.append(self._said(first))
            self.queue.popleft()
        return out

    def _called(self, tool: Tool) -> list[Event]:
        """A call, and its result if it has one, as the whole message will be read."""
        tool.told = True
        block = tool.assembled()
        part, *answer = read_part(block, tool.path)
        if not self.keep:
            tool.forget()
        if not isinstance(part, Call):
            return [PartComplete(part)]
        if unread(block):
            answer = []
        done = any(isinstance(one, Result) and not one.preliminary for one in answer)
        call = self.identified(replace(part, executor="provider") if done else part)
        if block.get("state") == "input-streaming":
            slot = self._slot()
            grown: list[Event] = [PartDelta(slot, call.args.text)] if call.args.text else []
            said: list[Event] = [
                PartStart(slot, replace(call, args=LazyJson(""))),
                *grown,
                PartEnd(slot, cut=True),
            ]
        else:
            said = [PartComplete(call)]
        said += (
            PartComplete(replace(one, call_id=call.id, executor="provider"))
            for one in answer
            if isinstance(one, Result)
        )
        return said

    def _slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    # --- text and reasoning ---

    def _text_start(self, event: Chunk) -> list[Event]:
        kind = "text" if event["type"] == "text-start" else "reasoning"
        before = (
            self._text_end({"type": f"{kind}-end", "id": event.get("id")})
            if _key(kind, event) in self.open
            else []
        )
        one = _Said({"type": kind, "text": "", "state": "streaming"}, self._slot(), [])
        if kind == "reasoning":
            one.block["id"] = event.get("id")
        one.block.update(rest(event, "id"))
        self.open[_key(kind, event)] = one
        if self.keep:
            self.texts.append(one)
            self.parts.append(one.block)
        spec = BLOCKS[kind]
        assert spec.read is not None
        part = spec.read({"type": kind, "text": ""}, (self.count,), spec)
        return [
            *before,
            *self._tell(
                PartStart(one.slot, replace(part, source=replace(part.source, raw=one.block)))
            ),
        ]

    def _text_delta(self, event: Chunk) -> list[Event]:
        kind = "text" if event["type"] == "text-delta" else "reasoning"
        one = self.open.get(_key(kind, event))
        before: list[Event] = []
        if one is None:  # a client would refuse it
            before = self._text_start({"type": f"{kind}-start", "id": event.get("id")})
            one = self.open[_key(kind, event)]
        more = event.get("delta")
        late = self._late(one, event) if len(event) > 3 else []
        if not isinstance(more, str):
            return [*before, *late, Unsupported((self.count, "delta"), "not a text")]
        if self.keep:
            one.texts.append(more)
        if not more:
            return before + late
        grown = PartDelta(one.slot, more)
        return [*before, *late, *(self._tell(grown) if self.queue else (grown,))]

    def again(self, slot: int) -> Callable[[str], bool] | None:
        return bool if slot in self.live else None

    def _text_end(self, event: Chunk) -> list[Event]:
        kind = "text" if event["type"] == "text-end" else "reasoning"
        one = self.open.pop(_key(kind, event), None)
        if one is None:
            return [Unsupported((self.count,), "the end of a text that is not open")]
        one.block["state"] = "done"
        return [*self._late(one, event), *self._tell(PartEnd(one.slot))]

    def _late(self, one: _Said, event: Chunk) -> list[Event]:
        """What a later chunk says of an open text beside more of it."""
        extra = {
            key: value for key, value in rest(event, "id", "delta").items() if value is not None
        }
        one.block.update(extra)
        return [Unsupported((self.count, key), _EXTRA) for key in extra]

    # --- tools ---

    def _entered(self, tool: Tool) -> None:
        if self.keep:
            self.parts.append(tool.block)
        self.queue.append((self.step, tool))

    def _input(self, event: Chunk) -> list[Event]:
        found = self.tools.input(event, (self.count,))
        return [] if found is not None else self._lost(event)

    def _output(self, event: Chunk) -> list[Event]:
        tool = self.tools.find(event)
        if tool is None:
            return self._lost(event)
        if tool.told and not self.keep:
            return (
                []
                if tool.repeats(event)
                else [Unsupported((self.count,), "another output of a call that was answered")]
            )
        tool.output(event)
        return self._released()

    def _approval(self, event: Chunk) -> list[Event]:
        return [] if self.tools.approval(event) else self._lost(event)

    def _lost(self, event: Chunk) -> list[Event]:
        if self.keep:
            self.unplaced.append(copy_json(event))
        return [Unsupported((self.count,), f"it has no place in this stream: {event.get('type')}")]

    # --- what comes at once ---

    def _part(self, event: Chunk) -> list[Event]:
        block = copy_json({key: value for key, value in event.items() if value is not None})
        assert isinstance(block, dict)
        if self.keep:
            self.parts.append(block)
        (part,) = read_part(block, (self.count,))
        return self._tell(
            PartComplete(
                replace(part, source=replace(part.source, spec=OWN))
                if isinstance(part, Opaque)
                else part
            )
        )

    def _data(self, event: Chunk) -> list[Event]:
        if event.get("transient") is True:
            return [Unsupported((self.count,), "data that are not meant to stay")]
        one = event.get("id")
        if not isinstance(one, str) or (event["type"], one) not in self.data:
            self.data.add((event["type"], one if isinstance(one, str) else None))
            return self._part(event)
        for part in self.parts:
            if (part.get("type"), part.get("id")) == (event["type"], one):
                part["data"] = event.get("data")
                break
        return [Unsupported((self.count,), "data that take the place of earlier ones")]

    def _other(self, event: Chunk) -> list[Event]:
        """A type that nobody knows is kept as a part, unless it would pass for a tool's."""
        if not isinstance(event.get("type"), str) or is_tool(event):
            return self._lost(event)
        return self._part(event)

    # --- the message ---

    def _start(self, event: Chunk) -> list[Event]:
        named = event.get("messageId")
        extra = rest(event, "messageId", "messageMetadata")
        if self.begun:
            late = {
                key: value
                for key, value in (("messageId", named), *extra.items())
                if value is not None
            }
            again = [
                Unsupported((self.count, key), "an answer begins once")
                for key in late
                if named != self.message["id"]
            ]
            return [*again, *self._metadata(event)]
        began = self._begin({"id": named} if isinstance(named, str) and named else {})
        self.message.update(extra)
        return [
            *began,
            *(Unsupported((self.count, key), _EXTRA) for key in extra),
            *self._metadata(event),
        ]

    def _metadata(self, event: Chunk) -> list[Event]:
        given = event.get("messageMetadata")
        if given is None:
            return []
        if self.keep:
            self.message["metadata"] = _merged(self.message.get("metadata"), given)
        return (
            [Unsupported((self.count, "messageMetadata"), _EXTRA)] if given not in ([], {}) else []
        )

    def _start_step(self, event: Chunk) -> list[Event]:
        self.step = self.tools.step = self.step + 1
        self.spoke = False
        return self._plain(event)

    def _plain(self, event: Chunk) -> list[Event]:
        if self.keep:
            self.parts.append({**event, "type": "step-start"})
        return [Unsupported((self.count, key), _EXTRA) for key in rest(event)]

    def _finish_step(self, event: Chunk) -> list[Event]:
        """No output follows an input that was refused. Texts may go on: the newest version allows
        it."""
        for tool in (one for _, one in self.queue if isinstance(one, Tool)):
            tool.answered = tool.answered or (
                not tool.complete and tool.block.get("state") == "output-error"
            )
        return [*self._released(), *(Unsupported((self.count, key), _EXTRA) for key in rest(event))]

    def _reset_step(self, event: Chunk) -> list[Event]:
        told: list[Event] = (
            [Unsupported((self.count,), "a step was taken back that was told already")]
            if self.spoke
            else []
        )
        self.tools.forget()
        self.queue = deque(one for one in self.queue if one[0] != self.step)
        last = max(
            (i for i, part in enumerate(self.parts) if part.get("type") == "step-start"), default=-1
        )
        del self.parts[last + 1 :]
        self.texts = [one for one in self.texts if any(part is one.block for part in self.parts)]
        closed: list[Event] = [
            PartEnd(one.slot) for one in self.open.values() if one.slot in self.live
        ]
        self.open.clear()
        return [*map(self._said, closed), *self._released(), *told]

    def _finish(self, event: Chunk) -> list[Event]:
        self.finished = True
        reason = event.get("finishReason")
        self.reason = reason if isinstance(reason, str) else self.reason
        extra = rest(event, "finishReason", "messageMetadata")
        self.message.update(extra)
        return [*(Unsupported((self.count, key), _EXTRA) for key in extra), *self._metadata(event)]

    def _error(self, event: Chunk) -> list[Event]:
        said = event.get("errorText")
        return self._broken(
            StreamError(said if isinstance(said, str) and said else "the server reported an error")
        )

    def _abort(self, event: Chunk) -> list[Event]:
        said = event.get("reason")
        return self._broken(
            StreamError(said if isinstance(said, str) and said else ABORTED, "abort")
        )

    def _broken(self, fault: StreamError) -> list[Event]:
        self.error = fault.message
        return [*self._all(cut=True), fault]

    def _all(self, *, cut: bool) -> list[Event]:
        """Everything that waits or is open."""
        closed = [
            event for one in self.open.values() for event in self._tell(PartEnd(one.slot, cut=cut))
        ]
        self.open.clear()
        return [*closed, *self._released(all_of_it=True)]

    def end(self) -> list[Event]:
        if self.error is not None:
            return []
        first = [] if self.begun else self._begin({})
        if self.finished or self.done:
            stop = FINISH_REASON_FROM_WIRE.get(self.reason, self.reason) if self.reason else None
            return [*first, *self._all(cut=False), Finish("stop" if stop in PLAIN else stop)]
        return [*first, *self._broken(StreamError(STREAM_CUT, cut=True))]

    def body(self) -> JSON:
        if not self.known:
            raise self.nothing()
        for said in self.texts:
            said.block["text"] = "".join(said.texts)
        tools = self.tools.all()
        for tool in tools:
            tool.block.update(tool.assembled())
        body: Object = {**self.message, "parts": list(self.parts)}
        waits = any(
            _waits(tool.block) and tool.block.get("providerExecuted") is not True for tool in tools
        )
        waits = waits or any(unread(tool.block) for tool in tools)
        if self.reason is not None and self.reason not in ("stop", "tool-calls" if waits else None):
            body["finishReason"] = self.reason
        if self.unplaced:
            body["unplaced"] = self.unplaced
        return body if self.error is None else {**body, "error": self.error}


def _waits(block: Object) -> bool:
    """Whether a tool part has no output, or one that is not the last."""
    answer = answer_of(block)
    return answer is None or (answer == "given" and block.get("preliminary") is True)


def _key(kind: str, event: Chunk) -> tuple[str, JSON]:
    one = event.get("id")
    return kind, one if isinstance(one, str | int | float | bool) else None


def _merged(old: JSON, new: JSON) -> JSON:
    """Metadata with newer ones over them: objects are merged, anything else is replaced."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{key: _merged(old.get(key), value) for key, value in new.items()}}
    return copy_json(new)


_MOVES: dict[str, Callable[[ChunkReader, Chunk], list[Event]]] = {
    "text-delta": ChunkReader._text_delta,
    "text-start": ChunkReader._text_start,
    "text-end": ChunkReader._text_end,
    "reasoning-delta": ChunkReader._text_delta,
    "reasoning-start": ChunkReader._text_start,
    "reasoning-end": ChunkReader._text_end,
    "tool-input-delta": ChunkReader._input,
    "tool-input-start": ChunkReader._input,
    "tool-input-available": ChunkReader._input,
    "tool-input-error": ChunkReader._input,
    "tool-output-available": ChunkReader._output,
    "tool-output-error": ChunkReader._output,
    "tool-output-denied": ChunkReader._output,
    "tool-approval-request": ChunkReader._approval,
    "tool-approval-response": ChunkReader._approval,
    "file": ChunkReader._part,
    "reasoning-file": ChunkReader._part,
    "source-url": ChunkReader._part,
    "source-document": ChunkReader._part,
    "custom": ChunkReader._part,
    "steering-message": ChunkReader._part,
    "message-metadata": ChunkReader._metadata,
    "start": ChunkReader._start,
    "start-step": ChunkReader._start_step,
    "finish-step": ChunkReader._finish_step,
    "reset-step": ChunkReader._reset_step,
    "finish": ChunkReader._finish,
    "error": ChunkReader._error,
    "abort": ChunkReader._abort,
}
_EARLY = (ChunkReader._data, ChunkReader._metadata)
