"""The Events of an ADK run as they come.

- partial-is-a-hint: an Event with `partial: true` tells what a completed one will repeat. Its texts
  are passed on at once and skipped when they are repeated, and so are calls with ids that the model
  gave. Calls with ids of ADK's own making are only kept in mind: in some versions the completed
  Event has others. One that is answered and was never repeated (as before 1.22) is told when its
  answer comes.
- ids-are-taken-as-they-are: a call, its completed Event and its response share the id that ADK
  gave. Where there is none, one is made, once for each call, and reported; a response without an id
  answers the oldest such call of its name.
- who-runs-a-call: those named in `longRunningToolIds` are for whoever reads; the others the agent
  runs itself. Where an Event does not have the field, its calls wait for their answers, which tell.
- a-result-names-its-call-by-id: two calls of one tool keep their two results. A response to a call
  that never came (the run that goes on after leave was given begins with such) is told after a call
  without arguments, unless it is known to be there.
- a-note-is-no-result: what answers a call that is left to others, or one that waits for leave, only
  stands in for the result.
- no-end-mark: a stream is cut off if what a partial Event began was not completed.
- the-last-record-is-none: after a failure comes `{"error": ...}`, which is no Event.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Conversation, Usage
from toolwire.conversation.parts import Call, Message, Reasoning, Result, Source, Text
from toolwire.errors import RemoteError
from toolwire.streaming.accumulate import Accumulator
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
    TurnStart,
    Unsupported,
)
from toolwire.wires.adk.events import (
    ANSWER,
    FIELDS,
    NAME,
    PARTS,
    SETTINGS,
    added,
    extra,
    fragments,
    left_open,
    noted,
    read_event,
    trailing,
)
from toolwire.wires.adk.pending_calls import Runs
from toolwire.wires.adk.stream_writer import EventWriter
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import read_settings
from toolwire.wires.engine.stream import STREAM_CUT, StreamSpec, data_sse
from toolwire.wires.families.contents.settings import FINISH_REASON_FROM_WIRE, keys, pick
from toolwire.wires.families.contents.stream_parts import Growing, Growth

_ITS_OWN = "adk-"
"""How ids begin that ADK makes up."""
_MARKS = keys("author", "invocationId", "content")


class _Hints:
    """The calls of partial Events since the last completed one."""

    __slots__ = ("_growing", "_growth", "_said", "calls")

    def __init__(self) -> None:
        self.calls: dict[str, Call] = {}
        """Those that are whole, by the id they had there."""
        self._growing = Accumulator()
        self._growth = Growth(PARTS, Growing())
        self._said: list[Event] = []

    def take(self, block: JSON, path: JsonPath) -> None:
        """Keep a call in mind."""
        events = self._growth.take(block, path)
        self._said += events
        for event in events:
            if isinstance(event, PartStart):
                self._growing.start(event)
            elif isinstance(event, PartDelta):
                self._growing.delta(event)
            elif isinstance(event, PartEnd | PartComplete):
                part = event.part if isinstance(event, PartComplete) else self._growing.end(event)
                if isinstance(part, Call):
                    self.calls[part.id] = part

    def rest(self, reader: _Reader) -> list[Event]:
        """The calls that nobody completed, as far as they came."""
        events = self._said + self._growth.close(cut=True)
        base = reader.slots + 1
        out: list[Event] = []
        for event in events:
            if isinstance(event, PartComplete) and isinstance(event.part, Call):
                opened = PartStart(
                    base + len(events) + len(out),
                    replace(reader.identified(_bare(event.part)), args=LazyJson("")),
                )
                out += [
                    opened,
                    PartDelta(opened.slot, event.part.arguments),
                    PartEnd(opened.slot, signature=event.part.signature, cut=True),
                ]
            elif isinstance(event, PartStart) and isinstance(event.part, Call):
                out.append(PartStart(base + event.slot, reader.identified(_bare(event.part))))
            elif isinstance(event, PartDelta):
                out.append(PartDelta(base + event.slot, event.text))
            elif isinstance(event, PartEnd):
                out.append(PartEnd(base + event.slot, event.whole, event.signature, cut=True))
        return out


def _bare(call: Call) -> Call:
    """A call without the id that was made for it here."""
    return replace(call, id="") if call.origin == "minted" else call


class _Reader(Growing):
    wire = NAME

    def __init__(self, *, keep: bool = False) -> None:
        super().__init__(keep=keep)
        self.events: list[Object] = []
        self.mine = False
        self.begun = False
        self.event: Object = {}
        """The one that is being read."""
        self.role = "assistant"
        self.growth = Growth(PARTS, self)
        self.growth.keep = False
        self.told = {"text": 0, "thought": 0}
        """How many characters of each kind partial Events told since the last completed one."""
        self.hints = _Hints()
        self.shown: set[str] = set()
        """Ids of the calls that partial Events told since the last completed one."""
        self.pending: list[Object] = []
        """The partial Events that are not completed yet, if the body is wanted."""
        self.begins = False
        """Whether there are such."""
        self.open: list[Call] = []
        """Calls without an answer."""
        self.ids: set[str] = set()
        self.said: set[str] = set()
        """Settings that were told."""
        self.usage: Usage | None = None
        self.stop: str | None = None
        self.failed: StreamError | None = None
        self.error: JSON = None
        self.runs = Runs()

    def read(self, event: Chunk) -> list[Event]:
        if self.error is not None:
            return []
        return self._through(self._read(event))

    def _through(self, events: list[Event]) -> list[Event]:
        return self.runs.take(events)

    def _read(self, event: Chunk) -> list[Event]:
        if trailing(event):
            return self._error(event)
        self.mine = self.mine or not _MARKS.isdisjoint(event)
        fragment = event.get("partial") is True
        try:
            message = read_event(event, (self.count,))
        except RemoteError as error:  # one that nobody can read would spoil the others
            return [Unsupported(error.path, error.why)]
        if self.keep:
            self.events.append(event)
        if message.role == "user":
            return (
                [Unsupported(message.path, "an answer holds only what the assistant says")]
                if message.parts
                else []
            )
        out: list[Event] = []
        if not self.begun and message.role == "assistant":
            self.begun = True
            found = read_settings(
                FIELDS, {key: value for key, value in event.items() if key in SETTINGS}, frozenset()
            ).values
            self.seed = str(found.get("id", ""))
            self.said.update(found)
            out.append(MessageStart({key: value for key, value in found.items() if key != "usage"}))
        if message.parts and message.role != self.role:
            self.role = message.role
            out.append(TurnStart(message.role))
        self.event = event
        if fragment:
            return [*out, *self._hinted(event, message)]
        out += [
            Unsupported(path, "no such field on this wire")
            for path in extra(event, message.path, ANSWER)
        ]
        if message.role == "assistant":
            return [*out, *self._completed(event, message)]
        self.begins = False
        self.pending.clear()
        for part in message.parts:
            out += self._result(part) if isinstance(part, Result) else [PartComplete(part)]
        return out

    def again(self, slot: int) -> Callable[[str], bool] | None:
        kind = self.growth.kind

        def more(text: str) -> bool:
            self.told[kind] += len(text)
            return bool(text)

        return more if self.growth.speaks(slot) else None

    def _hinted(self, event: Object, message: Message) -> list[Event]:
        out: list[Event] = []
        for part in message.parts:
            if isinstance(part, Text | Reasoning):
                kind = "thought" if isinstance(part, Reasoning) else "text"
                if part.text:
                    self.begins = True
                    self.told[kind] += len(part.text)
                    out += self.growth.said(
                        part.text, kind, part.raw if isinstance(part.raw, dict) else {}, part.path
                    )
            elif isinstance(part, Call):
                self.begins = True
                block = part.raw if isinstance(part.raw, dict) else {}
                if self.growth.growing or (part.id and not part.id.startswith(_ITS_OWN)):
                    out += self._shown(self.growth.take(block, part.path))
                else:
                    self.hints.take(block, part.path)
        if self.keep and message.parts:
            self.pending.append(event)
        return out

    def _shown(self, events: list[Event]) -> list[Event]:
        """Calls of a partial Event that are told at once."""
        out: list[Event] = []
        for event in events:
            if isinstance(event, PartStart | PartComplete) and isinstance(event.part, Call):
                call = self._owned(event.part)
                self.shown.add(call.id)
                self.ids.add(call.id)
                self.open.append(call)
                event = replace(event, part=call)
            out.append(event)
        return out

    def _completed(self, event: Object, message: Message) -> list[Event]:
        out: list[Event] = []
        for part in message.parts:
            if isinstance(part, Text | Reasoning):
                out += self._repeated(part)
            elif isinstance(part, Call):
                self.hints = _Hints()
                out += self.growth.close()
                if part.id not in self.shown:
                    out += self._called(part)
            elif isinstance(part, Result):
                out += [*self.growth.close(), *self._result(part)]
            else:
                out += [*self.growth.close(), PartComplete(part)]
        if message.parts:
            out += self.growth.close()
            self.told = {"text": 0, "thought": 0}
            self.shown.clear()
            self.begins = False
            self.pending.clear()
        return [*out, *self._settings(event, message.path)]

    def _repeated(self, part: Text | Reasoning) -> list[Event]:
        """A text of a completed Event: what partial ones told of it is skipped."""
        kind = "thought" if isinstance(part, Reasoning) else "text"
        told = min(len(part.text), self.told[kind])
        if not told:
            return [*self.growth.close(), PartComplete(part)]
        self.told[kind] -= told
        raw = part.raw if isinstance(part.raw, dict) else {}
        out: list[Event] = []
        if part.spec is not None and not part.spec.clean(raw):
            out.append(Unsupported(part.path, "no such field on this wire"))
        if told < len(part.text):
            out += self.growth.said(part.text[told:], kind, raw, part.path)
        if self.growth.kind == kind:
            return [
                *out,
                *(self.growth.close(signature=part.signature) if not self.told[kind] else []),
            ]
        return (
            out
            if part.signature is None
            else [*out, Unsupported(part.path, "a signature that only its own provider can read")]
        )

    def _owned(self, call: Call) -> Call:
        """The call, and who runs it, as far as its Event says."""
        left = left_open(self.event, call)
        if left:
            self.runs.sure.add(call.id)
        else:
            self.runs.sure.discard(call.id)
        return replace(call, executor="provider") if left is False else call

    def _called(self, part: Call) -> list[Event]:
        call = self._owned(self.identified(part))
        self.open.append(call)
        self.ids.add(call.id)
        warned = (
            [Unsupported(part.path, "the call has no id; one was made for it")]
            if not part.id
            else []
        )
        return [*warned, PartComplete(call)]

    def _result(self, result: Result) -> list[Event]:
        if result.executor != "client":
            return [PartComplete(self.answered(result))]
        out: list[Event] = []
        path = self._asked(result)
        if path is not None:
            result = replace(result, call_id=self.open.pop(path).id)
        elif not result.call_id:
            result = self.answered(result)
        elif result.call_id in self.hints.calls:
            out += self._called(self.hints.calls.pop(result.call_id))
            self.open.pop()
        elif result.call_id not in self.ids:
            self.ids.add(result.call_id)
            out.append(PartComplete(self.identified(_unseen(result)), unseen=True))
        return [*out, PartComplete(noted(result) if result.call_id in self.runs.sure else result)]

    def _asked(self, result: Result) -> int | None:
        """Where the call that a result answers stands among the open ones: the newest of its id, or
        the oldest without one."""
        if result.call_id:
            return next(
                (i for i in range(len(self.open) - 1, -1, -1) if self.open[i].id == result.call_id),
                None,
            )
        named = (None, "")
        found = (
            i
            for i, one in enumerate(self.open)
            if one.origin == "minted" and (result.name in named or result.name == one.name)
        )
        return next(found, None)

    def _settings(self, event: Object, at: JsonPath) -> list[Event]:
        out: list[Event] = []
        found = read_settings(
            FIELDS, {key: value for key, value in event.items() if key in SETTINGS}, frozenset()
        )
        out += [Unsupported((*at, *path), "no such field on this wire") for path in found.unknown]
        late = {
            key: value
            for key, value in found.values.items()
            if key not in self.said and key != "usage"
        }
        self.said.update(late)
        out += [Metadata(late)] if late else []
        used = found.values.get("usage")
        if isinstance(used, Usage):
            self.usage = used if self.usage is None else added(self.usage, used)
            out.append(Metadata({"usage": self.usage}))
        reason = pick(event, "finishReason")
        self.stop = (
            FINISH_REASON_FROM_WIRE.get(reason, reason.lower())
            if isinstance(reason, str)
            else self.stop
        )
        code, said = pick(event, "errorCode"), pick(event, "errorMessage")
        if (
            isinstance(code, str)
            and code
            and code not in FINISH_REASON_FROM_WIRE
            and reason is None
        ):  # reasons to stop are told as errors too
            self.failed = StreamError(said if isinstance(said, str) and said else code, code)
        return out

    def _error(self, event: Object) -> list[Event]:
        error = event["error"]
        self.error = event
        said = error.get("message") if isinstance(error, dict) else error
        words = said if isinstance(said, str) and said else "the run failed"
        return [
            *self._rest(),
            StreamError(words, self.failed.code if self.failed is not None else None),
        ]

    def _rest(self) -> list[Event]:
        return [*self.growth.close(cut=True), *(self.hints.rest(self) if self.begins else [])]

    def end(self) -> list[Event]:
        if self.error is not None:
            return []
        if self.begins or not self.mine:
            self.error = {"error": STREAM_CUT}
            return self._through([*self._rest(), StreamError(STREAM_CUT, cut=True)])
        if self.failed is not None:
            self.error = {}
            return self._through([self.failed])
        return self._through([Finish(self.stop)])

    def body(self) -> JSON:
        if not self.mine:
            if self.error is None or self.error == {"error": STREAM_CUT}:
                raise self.nothing()
            return [self.error]
        dropped = fragments([read_event(event, (i,)) for i, event in enumerate(self.events)])
        whole: list[JSON] = [event for i, event in enumerate(self.events) if i not in dropped]
        if self.pending:
            whole.append(_joined(self.pending))
        return [*whole, self.error] if self.error else whole


def _unseen(result: Result) -> Call:
    """The call of a result, where none came."""
    return Call(
        result.call_id,
        result.name or "",
        LazyJson("{}"),
        executor="provider",
        source=Source(path=result.path),
    )


def _joined(events: list[Object]) -> JSON:
    """What partial Events began and none completed, as one Event."""
    growth = Growth(PARTS, Growing(keep=True))
    for event in events:
        blocks = get(event, ("content", "parts"))
        for block in blocks if isinstance(blocks, list) else []:
            growth.take(block, ())
    growth.close(cut=True)
    last = {key: value for key, value in events[-1].items() if key != "partial"}
    return {**last, "content": {"role": "model", "parts": growth.blocks}}


def stream(write: Callable[[Conversation, EncodeContext], JSON]) -> StreamSpec:
    """How this wire streams, by the way it writes its bodies."""
    return StreamSpec(_Reader, partial(EventWriter, write), data_sse)
