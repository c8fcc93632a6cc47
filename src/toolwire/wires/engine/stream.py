"""What a streaming wire provides: a reader, a writer, and the framing of events.

A reader turns events of the wire into neutral events; with `keep` it also assembles the body that
the stream represents. A writer turns neutral events into events of the wire. Both use the block
specs of the bodies. Knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.id_map import ApprovalDecision
from toolwire.conversation.ids import first_free, mint
from toolwire.conversation.json import JSON, JsonPath, Object, dump, text_of
from toolwire.conversation.model import BodySource, Conversation, Setting
from toolwire.conversation.parts import Call, Message, Part, Result, Source
from toolwire.errors import DecodeError
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
from toolwire.streaming.framing import aws, ndjson
from toolwire.wires.engine.encode_context import UNKNOWN_FIELD, EncodeContext
from toolwire.wires.engine.stream_calls import StreamCalls

DONE = b"data: [DONE]\n\n"
STREAM_CUT = "the stream ended before the response was complete"


class StreamReader:
    """Reads one stream of a wire. Memory does not grow with the stream unless `keep` is True."""

    wire = ""
    may_contain_results = False
    """True if a stream may contain results of its own calls."""
    error_is_last = True
    """True if no event that follows an error belongs to the answer."""

    def __init__(self, *, keep: bool = False) -> None:
        self.keep = keep
        """True if `body` will be called at the end."""
        self.count = 0
        """The index of the event that is read now: the first step of every pointer into the
        stream."""
        self.done = False
        """True if `[DONE]` was received."""
        self.over = False
        """True if the last event of the wire was received, so that no more events follow; an error
        is the last event, unless `error_is_last` is False."""
        self.seed = ""
        """The id of the response, from which missing call ids are minted."""
        self.calls = StreamCalls()
        self.slots = 0
        """The number of slots in use."""
        self.error: JSON = None
        """The error that ended the stream, as the body holds it."""
        self.cut = False
        """True if `error` stands for a stream that ended before the answer did."""
        self._reported: set[tuple[object, JsonPath]] = set()

    def read(self, event: Chunk) -> list[Event]:
        """Return the neutral events of one event of the wire."""
        raise NotImplementedError

    def end(self) -> list[Event]:
        """Return the remaining events when the input ends: the ends of open parts, and the finish
        reason or the error that the stream was cut off."""
        raise NotImplementedError

    def close_parts(self, *, cut: bool) -> list[Event]:
        """End all open parts. `cut`: the stream ended before they did."""
        raise NotImplementedError

    def body(self) -> JSON:
        """Return the assembled body.

        Raises:
            DecodeError: The stream had no event of this wire.
        """
        raise NotImplementedError

    def assign_call_id(self, call: Call, ordinal: int | None = None) -> Call:
        """Return the call with its id, or with the minted id that it will have in the body, too.

        `ordinal` is the position among all calls of the body, if it differs from the order in which
        the stream starts them.
        """
        if not call.id:
            position = len(self.calls) if ordinal is None else ordinal
            name = call.name
            call_id = first_free(
                lambda salt: mint(f"{self.seed}{salt}", position, name), self.calls.ids
            )
            call = replace(call, id=call_id, origin="minted")
        self.calls.add(call)
        return call

    def assign_result_id(self, result: Result) -> Result:
        """Return the result with the id of its call."""
        call = self.calls.answer(result)
        if call is not None:
            return replace(result, call_id=call.id)
        if result.call_id:
            return result
        call_id = mint(f"{self.seed} result", len(self.calls), result.name or "")
        return replace(result, call_id=call_id, origin="minted")

    def identify(self, part: Part) -> Part:
        """Return a complete part; a call or result with its id."""
        if isinstance(part, Call):
            return self.assign_call_id(part)
        return self.assign_result_id(part) if isinstance(part, Result) else part

    def next_slot(self) -> int:
        """Return the slot of a part that starts."""
        self.slots += 1
        return self.slots - 1

    def text_appender(self, slot: int) -> Callable[[str], bool] | None:
        """Return a function that appends text to an open part, or None if the part has no such
        shortcut.

        The function is called instead of `read` for an event that differs from the previous one
        only in its text. It returns False, and changes nothing, if the event has to be read after
        all.
        """
        return None

    def report_unknown(
        self, *path: str | int, scope: object = None, reason: str = UNKNOWN_FIELD
    ) -> list[Event]:
        """Report a field of this event that is not emitted, once per stream or per scope."""
        if (scope or reason, path) in self._reported:
            return []
        self._reported.add((scope or reason, path))
        return [Unsupported((self.count, *path), reason)]

    def fail(self, error: JSON, code: JSON = None, *, message: JSON = None) -> list[Event]:
        """End all parts, because the server reported an error.

        Args:
            error: The error as the body holds it.
            code: The server's code for it.
            message: Its text, if that is neither the field `message` of the error nor the error
                itself.
        """
        self.error = error
        self.over = self.over or self.error_is_last
        text = message or (error.get("message") if isinstance(error, dict) else error)
        if not isinstance(text, str) or not text:
            text = text_of(error) if error else "the server reported an error"
        event = StreamError(text, code if isinstance(code, str) else None)
        return [*self.close_parts(cut=True), event]

    def fail_cut(self, error: JSON) -> list[Event]:
        """End all parts, because the stream ended before the answer did. The body will hold
        `error`."""
        self.error, self.cut = error, True
        return [*self.close_parts(cut=True), StreamError(STREAM_CUT, cut=True)]

    def no_events_error(self) -> DecodeError:
        """Return the error for a stream without any event of this wire."""
        return DecodeError("there is no event of this wire in the stream", wire=self.wire)


class StreamWriter:
    """Writes one stream of a wire: each neutral event at once, if the wire allows it."""

    writes_one_call = False
    """True if the client reads only one call of the answer; the others are dropped."""
    supports_candidates = False
    """True if the wire can hold several candidates."""
    supports_results = False
    """True if a response of the wire can hold tool results, and so several turns."""
    open_calls_come_last = False
    """True if calls for the client have to follow all calls with results and their results."""
    requires_object_arguments = False
    """True if the argument deltas of a call must form a JSON object."""
    supports_custom_calls = False
    """True if the wire can hold custom calls, whose input is free text."""
    repeats_unknown_parts = False
    """True if parts of unknown type that were read from this wire are written verbatim."""

    def __init__(self, context: EncodeContext, version: int | None = None) -> None:
        self.context = context
        self.settings: dict[str, Setting] = {}
        self.version = version
        """The version of the wire to write, if the wire has several."""

    def must_know_executor(self) -> bool:
        """Return True if a call can be written only once its executor is known."""
        return self.open_calls_come_last or not self.supports_results

    def begin(self, event: MessageStart) -> list[Chunk]:
        """Start the response; always called first."""
        self.settings.update(event.settings)
        seed = self.settings.get("id")
        self.context.seed = seed if isinstance(seed, str) else ""
        return []

    def start_turn(self, event: TurnStart) -> list[Chunk]:
        """Start the next message; called only if `supports_results`."""
        return []

    def start(self, event: PartStart) -> list[Chunk]:
        raise NotImplementedError

    def delta(self, event: PartDelta) -> list[Chunk]:
        raise NotImplementedError

    def end(self, event: PartEnd) -> list[Chunk]:
        raise NotImplementedError

    def report_changed_arguments(self, event: PartEnd) -> None:
        """Report that the final arguments differ from the deltas that were already sent."""
        if event.whole is not None:
            self.context.report_loss(
                (), "the final arguments differ from the deltas that were sent; the deltas stay"
            )

    def complete(self, event: PartComplete) -> list[Chunk]:
        raise NotImplementedError

    def can_skip_call(self, call: Call, approval: ApprovalDecision) -> bool:
        """Return True if a call without arguments need not be written, because the client already
        has it.

        `approval` is the decision about the call that an earlier encoding recorded.
        """
        return False

    def text_appender(self, slot: int) -> Callable[[str], object] | None:
        """Return a function that writes a text delta of an open part; None if its events differ in
        more than their text."""
        return None

    def text_buffer(self, slot: int) -> Callable[[str], object] | None:
        """Return a function that keeps a text delta of an open part, if all its deltas are kept
        until another event arrives; None if they are written at once."""
        return None

    def metadata(self, event: Metadata) -> list[Chunk]:
        """Store usage and other settings for the last events."""
        self.settings.update(event.settings)
        return []

    def finish(self, event: Finish) -> list[Chunk]:
        raise NotImplementedError

    def error(self, event: StreamError) -> list[Chunk]:
        raise NotImplementedError

    def close(self) -> list[Chunk]:
        """Return the last events, after every candidate is finished; not called after an error."""
        return []

    def write_empty_body(
        self,
        write: Callable[[Conversation, EncodeContext], JSON],
        stop: str | None = None,
        message: Message | None = None,
    ) -> Object:
        """Write a response body without parts, from which the first and last events are built."""
        if message is None:
            message = Message("assistant", (), stop, source=_MADE_HERE)
        answer = Conversation((message,), (), self.settings, "", "response", _NOT_READ)
        body = write(answer, self.context)
        assert isinstance(body, dict)
        return body


_MADE_HERE, _NOT_READ = Source(), BodySource()
"""The sources of messages and conversations that no caller made, so that nothing is checked."""


class StreamSpec(Struct, frozen=True, eq=False):
    """How a wire streams."""

    reader: Callable[..., StreamReader]
    writer: Callable[..., StreamWriter]
    frame: Callable[[Chunk], bytes]
    trailer: bytes = b""
    """The bytes that follow the last event."""
    media: str = "text/event-stream"
    headers: Mapping[str, str] = {}
    """HTTP headers of a response with such a stream, beside its content type."""
    unwrap: Callable[[str, JSON], JSON] | None = None
    """Builds an event from the name and the payload of a frame, on wires whose payload does not
    hold the event type."""
    versions: tuple[int, ...] = ()
    """The versions that a writer supports; the first is the default."""
    adapt: Callable[[Chunk, int], Chunk | None] | None = None
    """Converts an event to a version of the wire; returns None if that version has no such
    event."""


def one_line(event: Chunk) -> bytes:
    """Encode an event as JSON on one line. Unicode line separators are escaped, because some
    clients split lines at them."""
    text = dump(event)
    if text.isascii():
        return text
    for raw, escape in LINE_SEPARATORS.items():
        if raw[0] in text:  # one byte is found much faster than several
            text = text.replace(raw, escape)
    return text


LINE_SEPARATORS = {
    b"\xe2\x80\xa8": b"\\u2028",
    b"\xe2\x80\xa9": b"\\u2029",
    b"\xc2\x85": b"\\u0085",
}
"""Line separators that JSON encoders leave unescaped, and their escapes."""


def data_sse(event: Chunk) -> bytes:
    """Encode a server-sent event without a name."""
    return b"data: " + one_line(event) + b"\n\n"


def event_sse(event: Chunk, field: str = "type") -> bytes:
    """Encode a server-sent event whose name is a field of its data."""
    name = event.get(field)
    start = _event_start(name) if isinstance(name, str) else b"data: "
    return start + one_line(event) + b"\n\n"


def named_sse(field: str) -> Callable[[Chunk], bytes]:
    """Return a function that encodes server-sent events whose name is a field of their data."""
    return partial(event_sse, field=field)


@lru_cache(maxsize=256)
def _event_start(name: str) -> bytes:
    """The bytes before the data of an event; a name with a line break is left out."""
    line = b"event: " + name.encode("utf-8", "replace") + b"\n" if name.isprintable() else b""
    return line + b"data: "


def ndjson_line(event: Chunk) -> bytes:
    """Encode an event as one line of newline-delimited JSON."""
    return ndjson.write(one_line(event))


def aws_message(event: Chunk) -> bytes:
    """Encode an AWS event-stream message. The only key of an event is its type; a type that ends in
    `Exception` makes it an exception."""
    name, payload = next(iter(event.items())) if len(event) == 1 else ("", event)
    return aws.write(
        dump(payload), name, kind="exception" if name.endswith("Exception") else "event"
    )


def unwrap_named_type(field: str) -> Callable[[str, JSON], JSON]:
    """Return a decoder that uses the payload as the event; the frame name becomes its `field` if it
    has none."""

    def unwrap(name: str, payload: JSON) -> JSON:
        if not name or not isinstance(payload, dict) or field in payload:
            return payload
        return {field: name, **payload}

    return unwrap


unwrap_typed = unwrap_named_type("type")
"""Uses the payload as the event; the frame name becomes its `type` if it has none."""


def unwrap_named(name: str, payload: JSON) -> JSON:
    """Return the payload under the frame name, as the AWS SDKs represent events."""
    return {name: payload} if name else payload


# --- assembling a body ---------------------------------------------------------------------------


def merge(old: JSON, new: JSON) -> JSON:
    """Merge a fragment into a value: texts and lists are concatenated, objects are merged, anything
    else is replaced.

    Lists and objects are changed in place, so `old` must belong to the body that is assembled.
    """
    if new is None:
        return old
    if isinstance(old, str) and isinstance(new, str):
        return old + new
    if isinstance(old, list) and isinstance(new, list):
        old.extend(new)
        return old
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in new.items():
            old[key] = merge(old.get(key), value)
        return old
    return copy_json(new)


def copy_json(value: JSON) -> JSON:
    """Copy a value, so that its containers may be changed."""
    if isinstance(value, dict):
        copy = value.copy()
        for key, item in value.items():
            if item.__class__ in _CONTAINERS:
                copy[key] = copy_json(item)
        return copy
    if isinstance(value, list):
        return [copy_json(item) if item.__class__ in _CONTAINERS else item for item in value]
    return value


_CONTAINERS = (dict, list)
