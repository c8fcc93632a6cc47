"""Token usage and finish reason of a response that passes unchanged, read from its parsed JSON."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from msgspec import Struct

from toolwire.codec import decode, resolve
from toolwire.conversation.json import Object, load, parse
from toolwire.conversation.model import Conversation, Usage
from toolwire.errors import DecodeError, InputError
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
)
from toolwire.streaming.framing.aws import AwsEvents
from toolwire.streaming.stream_input import EventInput, resolve_stream
from toolwire.wires.engine.specs import Outcome
from toolwire.wires.engine.stream import StreamSpec

_FIRST_EVENT_BYTES = 16 * 1024
_TAIL_BYTES = 64 * 1024
_MAX_TAIL_BYTES = 8 * 1024 * 1024
_LAST_EVENTS = 8
"""The outcome is in the last events of a stream: a finish reason, the usage, an end mark."""

_END_MARK = b"[DONE]"
_CONTENT = (PartStart, PartDelta, PartComplete)
"""The events of a stream that are an answer."""


def usage_of(response: Conversation) -> Usage | None:
    """The token usage of a response."""
    usage = response.settings.get("usage")
    return usage if isinstance(usage, Usage) else None


def parse_response(data: bytes, wire: str) -> Object | None:
    """The JSON of a whole response; None if it is no object."""
    try:
        body, _ = load(data, wire)
    except InputError:
        return None
    return body if isinstance(body, dict) else None


def outcome_of(body: Object | None, wire: str) -> Outcome:
    """The outcome of a whole response; empty if the response cannot be read."""
    if body is None:
        return None, None
    read_fields = resolve(wire)[0].read_outcome
    outcome = None if read_fields is None else read_fields(body)
    if outcome is not None:
        return outcome
    try:
        response = decode(body, wire, "response")
    except InputError:
        return None, None
    return usage_of(response), response.messages[0].stop if response.messages else None


def read_outcome(data: bytes, wire: str) -> Outcome:
    """The outcome of a whole response as bytes."""
    return outcome_of(parse_response(data, wire), wire)


def read_input_tokens(data: bytes) -> Usage | None:
    """The input tokens of a response that is no message; None if it does not report them."""
    try:
        body, _ = load(data, "")
    except InputError:
        return None
    usage = body.get("usage") if isinstance(body, dict) else None
    if not isinstance(usage, dict):
        return None
    tokens = usage.get("prompt_tokens", usage.get("input_tokens"))
    return Usage(input=tokens) if isinstance(tokens, int) else None


def find_fault(data: bytes, wire: str, *, complete: bool) -> StreamError | None:
    """The error that a stream reports before its first content, if it does.

    Args:
        data: complete events or lines.
        wire: the wire of the stream.
        complete: True if the stream has ended.
    """
    _, spec = resolve_stream(wire)
    source, reader = EventInput(wire, spec), spec.reader(keep=False)
    try:
        for piece in source.cut(data):
            item = source.read_piece(piece)
            if isinstance(item, StreamError):
                return item
            for event in () if item is None or reader.over else reader.read(item):
                if isinstance(event, StreamError):
                    return event
                if isinstance(event, _CONTENT):
                    return None
    except DecodeError as error:
        return StreamError(error.why)
    if not complete:
        return None
    events: list[Event] = []
    for item in source.end():
        if isinstance(item, StreamError):
            return item
        events += reader.read(item)
    reader.done = source.done
    events += reader.end()
    return next((event for event in events if isinstance(event, StreamError)), None)


class StreamEnd(Struct, frozen=True):
    """How a stream ended, according to its first and last events."""

    usage: Usage | None = None
    finish_reason: str | None = None
    cut: bool = False
    """True if the last event is neither the end of a response nor an error."""


class StreamTail:
    """Keeps the first event and the last events of a stream of bytes, to read its outcome at the
    end. Events are separated by a blank line (SSE) or by a line break (JSON lines)."""

    def __init__(self, wire: str) -> None:
        self._wire = wire
        self._first = b""
        self._has_first = False
        self._pieces: list[bytes] = []
        self._size = 0
        self._lost_end = False
        """True if an event was too large to be kept."""
        self._neutral: list[Event] | None = None
        """The events, once they were asked for at the end of the stream."""

    def add(self, data: bytes) -> None:
        """Add a piece of the stream."""
        if not self._has_first:
            self._first += data
            self._has_first = b"\n\n" in self._first or len(self._first) > _FIRST_EVENT_BYTES
        self._pieces.append(data)
        self._size += len(data)
        if self._size > 2 * _TAIL_BYTES:
            self._cut()

    def _cut(self) -> None:
        """Drop whole events from the front; an event may be larger than the usual tail."""
        joined = b"".join(self._pieces)
        end = joined.rfind(b"\n", 0, len(joined) - _TAIL_BYTES)
        if end < 0 and len(joined) > _MAX_TAIL_BYTES:
            end = len(joined)
            self._lost_end = True
        self._pieces = [joined[end + 1 :]] if end >= 0 else [joined]
        self._size = len(self._pieces[0])

    def content(self) -> bytes:
        """The kept bytes: the whole stream if it is not longer than the tail."""
        return b"".join(self._pieces)

    def read_end(self) -> StreamEnd:
        """How the stream ended. Call this once, when it has ended."""
        usage: Usage | None = None
        finish_reason: str | None = None
        error: StreamError | None = None
        for event in self._events():
            if isinstance(event, MessageStart | Metadata):
                found = event.settings.get("usage")
                usage = found if isinstance(found, Usage) else usage
            elif isinstance(event, Finish) and event.choice == 0:
                finish_reason = event.stop or finish_reason
            elif isinstance(event, StreamError):
                error = error or event
        cut = error is not None and error.cut and not self._lost_end
        return StreamEnd(usage, finish_reason, cut)

    def _events(self) -> list[Event]:
        """The neutral events of what was kept, and those that the end of the stream means."""
        if self._neutral is not None:
            return self._neutral
        _, spec = resolve_stream(self._wire)
        reader = spec.reader(keep=False)
        events: list[Event] = []
        for value in self._read_events(spec):
            events += reader.read(value)
        reader.done = self._has_end_mark()
        self._neutral = [*events, *reader.end()]
        return self._neutral

    def _has_end_mark(self) -> bool:
        """True if the stream ended with its end mark, an event without a JSON object."""
        return b"".join(self._pieces[-2:]).rstrip().endswith(_END_MARK)

    def _read_events(self, spec: StreamSpec) -> Iterator[Chunk]:
        """The events that were kept."""
        for line in (*_first_object(self._first), *_last_objects(b"".join(self._pieces))):
            try:
                value = parse(line)
            except ValueError:
                continue
            if isinstance(value, dict):
                yield value


class BinaryStreamTail(StreamTail):
    """Keeps the last messages of an AWS event stream."""

    def __init__(self, wire: str) -> None:
        super().__init__(wire)
        self._decoder = AwsEvents()
        self._messages: deque[bytes] = deque(maxlen=_LAST_EVENTS)

    def add(self, data: bytes) -> None:
        try:
            self._messages += self._decoder.cut(data)
        except DecodeError:  # the client reports it
            self._decoder.end()

    def _read_events(self, spec: StreamSpec) -> Iterator[Chunk]:
        events = EventInput(self._wire, spec)
        for message in self._messages:
            yield from (event for event in events.read(message) if isinstance(event, dict))


def _first_object(data: bytes) -> list[bytes]:
    """The first line of a stream that may be a JSON object."""
    for line in data.split(b"\n"):
        payload = line.removeprefix(b"data:").lstrip()
        if payload.startswith(b"{"):
            return [payload]
    return []


def _last_objects(data: bytes) -> list[bytes]:
    """The last lines of a stream that may be JSON objects, in their order."""
    found: list[bytes] = []
    end = len(data)
    while end >= 0 and len(found) < _LAST_EVENTS:
        start = data.rfind(b"\n", 0, end)
        payload = data[start + 1 : end].removeprefix(b"data:").lstrip()
        if payload.startswith(b"{"):
            found.append(payload)
        end = start
    return found[::-1]
