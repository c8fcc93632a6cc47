"""Read the Events of a run: partial Events, and the completed ones that repeat them."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import SIGNATURE_LOST, Usage
from toolwire.conversation.parts import Call, Message, Part, Reasoning, Result, Source, Text
from toolwire.errors import DecodeError
from toolwire.streaming.events import (
    Chunk,
    Event,
    Finish,
    MessageStart,
    Metadata,
    PartComplete,
    PartDelta,
    PartStart,
    StreamError,
    TurnStart,
    Unsupported,
)
from toolwire.wires.adk.events import (
    PARTS,
    RUN_FIELDS,
    add_usage,
    as_progress,
    fragments,
    is_error_record,
    is_for_client,
    read_event,
    read_event_settings,
    unknown_fields,
    with_executor,
)
from toolwire.wires.adk.partial_calls import PartialCalls
from toolwire.wires.adk.pending_calls import PendingCalls
from toolwire.wires.engine.encode_context import UNKNOWN_FIELD, VALUE_CHANGED
from toolwire.wires.engine.stream import STREAM_CUT
from toolwire.wires.engine.text_digest import TextDigest
from toolwire.wires.families.contents.settings import FINISH_REASON_FROM_WIRE, read_finish_reason
from toolwire.wires.families.contents.spelling import get_field, spellings
from toolwire.wires.families.contents.stream_reader import ContentReader, PartStream

_CLIENT_CALLS = spellings("longRunningToolIds")
_ADK_ID = "adk-"
"""The prefix of ids that ADK makes."""
_RECOGNIZED_BY = spellings("author", "invocationId", "content")
_CUT_ERROR: Object = {"error": STREAM_CUT}


class EventReader(ContentReader):
    """Reads the Events of one run."""

    def __init__(self, *, keep: bool = False) -> None:
        super().__init__(PARTS, keep=keep)
        self.events: list[Object] = []
        """All Events, if the body is kept."""
        self.uncompleted: list[Object] = []
        """The partial Events that are not completed yet, if the body is kept."""
        self.in_progress = False
        """True if there are partial Events that are not completed yet."""
        self.event: Object = {}
        """The current Event."""
        self.role = "assistant"
        self.turn = PartStream(self, keep=False)
        self.emitted_chars = {"text": 0, "thought": 0}
        """The length of the texts that partial Events emitted since the last completed one, as far
        as it did not repeat them."""
        self.digests = {"text": TextDigest(), "thought": TextDigest()}
        """The texts that partial Events emitted since the last completed one."""
        self.emitted_calls: list[tuple[Call, list[str]]] = []
        """The calls that partial Events emitted since the last completed one, and their
        arguments."""
        self.emitted_pieces: dict[int, list[str]] = {}
        """The arguments of these calls by slot."""
        self.partial_parts: list[Part] = []
        """Other parts of partial Events since the last completed one."""
        self.partial_calls = PartialCalls()
        self.pending = PendingCalls()
        self.open_calls: list[Call] = []
        """The calls without a result."""
        self.emitted_settings: set[str] = set()
        self.usage: Usage | None = None
        self.stop: str | None = None
        self.failure: StreamError | None = None

    def read(self, event: Chunk) -> list[Event]:
        return self.pending.add(self._read(event))

    def _read(self, event: Chunk) -> list[Event]:
        if is_error_record(event):
            return self._read_error(event)
        self.recognized = self.recognized or not _RECOGNIZED_BY.isdisjoint(event)
        try:
            message = read_event(event, (self.count,))
        except DecodeError as error:  # the other Events are still readable
            return [Unsupported(error.path, error.why)]
        if self.keep:
            self.events.append(event)
        if message.role == "user":
            if not message.parts:
                return []
            return [Unsupported(message.path, "a response contains only assistant content")]
        out: list[Event] = []
        if not self.started and message.role == "assistant":
            self.started = True
            values = read_event_settings(event).values
            self.seed = str(values.get("id", ""))
            self.emitted_settings.update(values)
            values.pop("usage", None)
            out.append(MessageStart(values))
        if message.parts and message.role != self.role:
            self.role = message.role
            out.append(TurnStart(message.role))
        self.event = event
        if event.get("partial") is True:
            return [*out, *self._read_partial(message)]
        out += [
            Unsupported(path, UNKNOWN_FIELD)
            for path in unknown_fields(event, message.path, RUN_FIELDS)
        ]
        if message.role == "assistant":
            return [*out, *self._read_completed(message), *self._read_settings(message.path)]
        self._complete()
        if self.emitted_calls:  # no completed Event has them
            self.emitted_calls.clear()
            out += self.report_unknown("content", "parts", reason=VALUE_CHANGED)
        for part in message.parts:
            out += self._read_result(part) if isinstance(part, Result) else [PartComplete(part)]
        return out

    def _complete(self) -> None:
        self.in_progress = False
        self.uncompleted.clear()
        self.partial_parts.clear()

    def text_appender(self, slot: int) -> Callable[[str], bool] | None:
        if self.turn.open is None or self.turn.open.slot != slot:
            return None
        kind = self.turn.open_kind

        def count(text: str) -> bool:
            self.emitted_chars[kind] += len(text)
            self.digests[kind].append(text)
            return bool(text)

        return count

    # --- partial Events ---

    def _read_partial(self, message: Message) -> list[Event]:
        out: list[Event] = []
        for part in message.parts:
            block = _block(part)
            if isinstance(part, Text | Reasoning) and part.text:
                self.in_progress = True
                kind = _kind(part)
                self.emitted_chars[kind] += len(part.text)
                self.digests[kind].append(part.text)
                out += self.turn.read_text(part.text, kind, block=block, path=part.path)
            elif isinstance(part, Call):
                self.in_progress = True
                if self.turn.open_kind == "functionCall" or not _may_change(part.id):
                    out += map(self._register, self.turn.read(block, part.path))
                else:
                    self.partial_calls.add(block, part.path)
            elif not isinstance(part, Text | Reasoning):
                self.in_progress = True
                self.partial_parts.append(part)
        if self.keep and message.parts:
            self.uncompleted.append(self.event)
        return out

    def _register(self, event: Event) -> Event:
        """Record a call of a partial Event that is emitted at once, and its arguments."""
        if isinstance(event, PartDelta):
            self.emitted_pieces.setdefault(event.slot, []).append(event.text)
            return event
        if not isinstance(event, PartStart | PartComplete) or not isinstance(event.part, Call):
            return event
        call = self._record_executor(event.part)
        pieces = [call.args.text]
        if isinstance(event, PartStart):
            pieces = self.emitted_pieces.setdefault(event.slot, [])
        self.emitted_calls.append((call, pieces))
        self.open_calls.append(call)
        return replace(event, part=call)

    # --- completed Events ---

    def _read_completed(self, message: Message) -> list[Event]:
        out: list[Event] = []
        changed_texts = self._changed_texts(message.parts)
        self.emitted_chars.update(changed_texts)  # nothing more of such a text is emitted
        if changed_texts or (message.parts and self._changes_calls(message.parts)):
            out += self.report_unknown("content", "parts", reason=VALUE_CHANGED)
        for part in message.parts:
            if isinstance(part, Text | Reasoning):
                out += self._read_repeated_text(part)
                continue
            out += self.turn.close()
            if isinstance(part, Call):
                self.partial_calls = PartialCalls()
                if all(part.id != call.id for call, _ in self.emitted_calls):
                    out += self._emit_call(part)
                else:
                    self._record_executor(part)
            elif isinstance(part, Result):
                out += self._read_result(part)
            else:
                out.append(PartComplete(part))
        if message.parts:
            out += self.turn.close()
            self.emitted_chars = {"text": 0, "thought": 0}
            self.digests = {"text": TextDigest(), "thought": TextDigest()}
            self.emitted_calls.clear()
            self.emitted_pieces.clear()
            self._complete()
        return out

    def _changed_texts(self, parts: tuple[Part, ...]) -> dict[str, int]:
        """The lengths of the texts of a completed Event that differ from those of the partial ones,
        by kind."""
        if not parts:
            return {}
        texts = {"text": "", "thought": ""}
        for part in parts:
            if isinstance(part, Text | Reasoning):
                texts[_kind(part)] += part.text
        return {
            kind: len(texts[kind])
            for kind, digest in self.digests.items()
            if not digest.is_start_of(texts[kind])
        }

    def _changes_calls(self, parts: tuple[Part, ...]) -> bool:
        """True if a completed Event lacks a call of the partial ones."""
        calls = [with_executor(part, self.event) for part in parts if isinstance(part, Call)]
        for emitted, pieces in self.emitted_calls:
            same = [call for call in calls if _is_same(emitted, "".join(pieces), call)]
            if not same:
                return True
            calls.remove(same[0])
        return False

    def _read_repeated_text(self, part: Text | Reasoning) -> list[Event]:
        """The events for a text, without the characters that partial Events have emitted."""
        kind = _kind(part)
        emitted = min(len(part.text), self.emitted_chars[kind])
        if not emitted:
            return [*self.turn.close(), PartComplete(part)]
        self.emitted_chars[kind] -= emitted
        out: list[Event] = []
        block = _block(part)
        if part.spec is not None and not part.spec.clean(block):
            out.append(Unsupported(part.path, UNKNOWN_FIELD))
        if emitted < len(part.text):
            rest = part.text[emitted:]
            out += self.turn.read_text(rest, kind, block=block, path=part.path)
        if self.turn.open_kind == kind:
            if not self.emitted_chars[kind]:
                out += self.turn.close(signature=part.signature)
        elif part.signature is not None:
            reason = SIGNATURE_LOST
            out.append(Unsupported(part.path, reason))
        return out

    def _record_executor(self, call: Call) -> Call:
        """Record whether the Event leaves a call to the client; return the call with its
        executor."""
        if is_for_client(self.event, call):
            self.pending.for_client.add(call.id)
        else:
            self.pending.for_client.discard(call.id)
        return with_executor(call, self.event)

    def _emit_call(self, part: Call) -> list[Event]:
        call = self._record_executor(self.assign_call_id(part))
        self.open_calls.append(call)
        if part.id:
            return [PartComplete(call)]
        return [Unsupported(part.path, "the call has no id; one was minted"), PartComplete(call)]

    # --- results ---

    def _read_result(self, result: Result) -> list[Event]:
        if result.executor != "client":
            return [PartComplete(self.assign_result_id(result))]
        out: list[Event] = []
        call_id = result.call_id
        index = self._find_open_call(result)
        if index is not None:
            result = replace(result, call_id=self.open_calls.pop(index).id)
        elif not call_id:
            result = self.assign_result_id(result)
        elif call_id in self.partial_calls.complete:
            out += self._emit_call(self.partial_calls.complete.pop(call_id))
            self.open_calls.pop()
        elif call_id not in self.calls.ids:
            out.append(PartComplete(self.assign_call_id(_call_before_stream(result)), unseen=True))
        if result.call_id in self.pending.for_client:
            result = as_progress(result)
        return [*out, PartComplete(result)]

    def _find_open_call(self, result: Result) -> int | None:
        """The index of the call of a result: the newest with its id; for a result without an id,
        the oldest call of its name without one."""
        calls = self.open_calls
        if result.call_id:
            newest_first = range(len(calls) - 1, -1, -1)
            return next((i for i in newest_first if calls[i].id == result.call_id), None)
        for i, call in enumerate(calls):
            if call.origin == "minted" and (not result.name or result.name == call.name):
                return i
        return None

    # --- settings and the end ---

    def _read_settings(self, path: JsonPath) -> list[Event]:
        settings = read_event_settings(self.event)
        out: list[Event] = [
            Unsupported((*path, *field), UNKNOWN_FIELD) for field in settings.unknown
        ]
        usage = settings.values.pop("usage", None)
        late = {
            name: value
            for name, value in settings.values.items()
            if name not in self.emitted_settings
        }
        self.emitted_settings.update(late)
        if late:
            out.append(Metadata(late))
        if isinstance(usage, Usage):
            self.usage = usage if self.usage is None else add_usage(self.usage, usage)
            out.append(Metadata({"usage": self.usage}))
        reason = get_field(self.event, "finishReason")
        self.stop = read_finish_reason(reason) or self.stop
        code = get_field(self.event, "errorCode")
        # Finish reasons are repeated as error codes.
        is_error = reason is None and code not in FINISH_REASON_FROM_WIRE
        if is_error and isinstance(code, str) and code:
            message = get_field(self.event, "errorMessage")
            text = message if isinstance(message, str) and message else code
            self.failure = StreamError(text, code)
        return out

    def _read_error(self, record: Object) -> list[Event]:
        code = self.failure.code if self.failure is not None else None
        error = record["error"]
        message = error.get("message") if isinstance(error, dict) else error
        return self.fail(record, code, message=message or "the run failed")

    def close_parts(self, *, cut: bool) -> list[Event]:
        out = self.turn.close(cut=cut)
        if not self.in_progress:
            return out
        out += [PartComplete(self.identify(part)) for part in self.partial_parts]
        return [*out, *self.partial_calls.cut(self)]

    def end(self) -> list[Event]:
        if self.error is not None:
            return []
        if self.in_progress or not self.recognized:
            return self.pending.add(self.fail_cut(_CUT_ERROR))
        if self.failure is not None:
            self.error = {}
            return self.pending.add([self.failure])
        return self.pending.add([Finish(self.stop)])

    def body(self) -> JSON:
        if not self.recognized:
            if self.error is None or self.cut:
                raise self.no_events_error()
            return [self.error]
        repeated = fragments([read_event(event, (i,)) for i, event in enumerate(self.events)])
        body: list[JSON] = [event for i, event in enumerate(self.events) if i not in repeated]
        if self.uncompleted:
            body.append(_merge_partial_events(self.uncompleted))
        return [*body, self.error] if self.error else body


def _kind(part: Text | Reasoning) -> str:
    return "thought" if isinstance(part, Reasoning) else "text"


def _block(part: Part) -> Object:
    return part.raw if isinstance(part.raw, dict) else {}


def _is_same(emitted: Call, arguments: str, call: Call) -> bool:
    """True if a completed call has the id, name, executor and arguments of an emitted one."""
    if (emitted.id, emitted.name, emitted.executor) != (call.id, call.name, call.executor):
        return False
    return (LazyJson(arguments).value or {}) == (call.input or {})


def _may_change(call_id: str) -> bool:
    """True if the completed Event may have another id, because ADK made this one or it is
    absent."""
    return not call_id or call_id.startswith(_ADK_ID)


def _call_before_stream(result: Result) -> Call:
    """A call for a result whose call is not in the stream."""
    return Call(
        result.call_id,
        result.name or "",
        LazyJson("{}"),
        executor="provider",
        source=Source(path=result.path),
    )


def _merge_partial_events(events: list[Object]) -> JSON:
    """The partial Events that were never completed, as one Event."""
    parts = PartStream(ContentReader(PARTS, keep=True))
    for event in events:
        blocks = get(event, ("content", "parts"))
        for block in blocks if isinstance(blocks, list) else []:
            parts.read(block, ())
    parts.close(cut=True)
    dropped = {"partial", *_CLIENT_CALLS}
    last = {key: value for key, value in events[-1].items() if key not in dropped}
    return {
        **last,
        **_join_client_calls(events),
        "content": {"role": "model", "parts": parts.blocks},
    }


def _join_client_calls(events: list[Object]) -> Object:
    """The field that lists the calls of these Events that are left to the client; absent if an
    Event with calls does not have it."""
    joined: list[JSON] = []
    found = False
    for n, event in enumerate(events):
        ids = get_field(event, "longRunningToolIds")
        if isinstance(ids, list):
            found = True
            joined += [call_id for call_id in ids if call_id not in joined]
        elif any(isinstance(part, Call) for part in read_event(event, (n,)).parts):
            return {}
    return {"longRunningToolIds": joined} if found else {}
