"""Facts about a recorded stream: its events, and the fragments in which calls arrive.

`StreamFacts` also holds the facts about the message that the stream folds to, so that all other
rules can check that message. Paths of the rules about streams lead into the list of events, paths
of all other rules into the folded body. This module knows no rule and no wire.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from toolwire.codec import decode
from toolwire.conversation.json import JSON, JsonPath
from toolwire.conversation.model import BodySource, Conversation
from toolwire.conversation.parts import Call
from toolwire.errors import DecodeError, UsageError
from toolwire.lint.facts import Facts
from toolwire.lint.memo import lazy_property
from toolwire.profiles.table import Profile
from toolwire.streaming.events import (
    Chunk,
    Event,
    Finish,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
    StreamError,
)
from toolwire.streaming.stream_input import BYTES, EventInput, Item, resolve_stream
from toolwire.wires.engine.specs import read_id


class CallFragment(Struct, frozen=True):
    """A fragment of a call, in streams that identify calls by an index."""

    path: JsonPath
    choice: JSON
    index: JSON
    id: JSON
    name: JSON

    @property
    def call_id(self) -> str:
        """The id of the call; empty if the fragment has none."""
        return read_id(self.id)[0]

    @property
    def key(self) -> tuple[str, int] | None:
        """The choice and index that identify the call; None if there is no index."""
        number = isinstance(self.index, int) and not isinstance(self.index, bool)
        return (repr(self.choice), self.index) if number else None  # type: ignore[return-value]


class StreamedCall(Struct):
    """A call of the stream: the path of the event that starts it, and its continuation."""

    path: JsonPath
    call: Call
    text: str = ""
    """The text of the arguments."""
    alias: str | None = None
    """The id that the call gets only after its start."""
    cut: bool = False
    """True if the stream ends before the call does."""
    stop: str | None = None
    """The finish reason of the stream."""


class StreamFacts(Facts):
    """A recorded stream, and the facts about the message that it folds to."""

    def __init__(
        self,
        conversation: Conversation,
        profile: Profile,
        *,
        events: list[Chunk],
        parsed_events: list[tuple[int, Event]],
        indexed: bool,
    ) -> None:
        super().__init__(conversation, profile)
        self.events = events
        self.parsed_events = parsed_events
        """The neutral events, each with the index of the wire event that it was read from."""
        self.indexed = indexed
        """True if every fragment of a call has an index on this wire."""

    @lazy_property
    def fragments(self) -> list[CallFragment]:
        """The fragments of calls, in order."""
        return [
            fragment for n, event in enumerate(self.events) for fragment in _fragments(event, n)
        ]

    @lazy_property
    def calls_of_stream(self) -> list[StreamedCall]:
        """The calls that the client runs, in the order in which they start."""
        calls: list[StreamedCall] = []
        open_calls: dict[int, StreamedCall] = {}
        for n, event in self.parsed_events:
            match event:
                case PartStart(part=Call() as part) | PartComplete(part=Call() as part) if (
                    part.executor == "client"
                ):
                    calls.append(StreamedCall((n,), part, part.arguments))
                    if isinstance(event, PartStart):
                        open_calls[event.slot] = calls[-1]
                case PartDelta(slot=slot, text=text) if slot in open_calls:
                    open_calls[slot].text += text
                case PartEnd(slot=slot) if slot in open_calls:
                    call = open_calls.pop(slot)
                    call.text = call.text if event.whole is None else event.whole
                    call.alias, call.cut = event.alias, event.cut
                case Finish(stop=stop):
                    for call in calls:
                        call.stop = call.stop or stop
        return calls


def _fragments(event: JSON, event_index: int) -> Iterator[CallFragment]:
    choices = event.get("choices") if isinstance(event, dict) else None
    for n, choice in enumerate(choices if isinstance(choices, list) else ()):
        delta = choice.get("delta") if isinstance(choice, dict) else None
        calls = delta.get("tool_calls") if isinstance(delta, dict) else None
        for k, call in enumerate(calls if isinstance(calls, list) else ()):
            if isinstance(choice, dict) and isinstance(call, dict):
                function = call.get("function") or call.get("custom")
                yield CallFragment(
                    (event_index, "choices", n, "delta", "tool_calls", k),
                    choice=choice.get("index", n),
                    index=call.get("index"),
                    id=call.get("id"),
                    name=function.get("name") if isinstance(function, dict) else None,
                )


def stream_facts(stream: object, wire: str, profile: Profile) -> StreamFacts:
    """The facts about a recorded stream.

    Raises:
        DecodeError: The input is not a stream of this wire.
    """
    stream_wire, stream_codec = resolve_stream(wire)
    events, chunks = EventInput(stream_wire.name, stream_codec), list[Chunk]()
    reader = stream_codec.reader(keep=True)
    parsed_events: list[tuple[int, Event]] = []

    def read(new_chunks: Iterable[Chunk | StreamError]) -> None:
        for chunk in new_chunks:
            if isinstance(chunk, StreamError):
                raise DecodeError(chunk.message, wire=stream_wire.name, path=(len(chunks),))
            if not reader.over:
                parsed_events.extend((len(chunks), event) for event in reader.read(chunk))
            chunks.append(chunk)
            reader.count += 1

    for item in _items(stream, stream_wire.name):
        read(events.read(item))
    read(events.end())
    reader.done = events.done
    parsed_events += ((max(len(chunks) - 1, 0), event) for event in reader.end())
    indexed = any(
        id_spec.name == "index" and id_spec.required
        for spec in stream_wire.blocks
        if spec.forms == ("stream",)
        for id_spec in spec.ids
    )
    return StreamFacts(
        _decode_message(reader.body(), wire),
        profile,
        events=chunks,
        parsed_events=parsed_events,
        indexed=indexed,
    )


def _decode_message(body: JSON, wire: str) -> Conversation:
    """The message that a stream folds to; an empty conversation if it ended before any content."""
    try:
        return decode(body, wire, "response")
    except DecodeError:
        return Conversation((), wire=wire, kind="response", source=BodySource(body=body))


def _items(stream: object, wire: str) -> Iterable[Item]:
    """The items of a recorded stream: bytes, text or an event, or an iterable of them."""
    if isinstance(stream, (*BYTES, Mapping)):
        return (stream,)
    if isinstance(stream, Iterable):
        return stream
    raise UsageError(
        f"expected bytes, text or an iterable of them or of events, got {type(stream).__name__}",
        wire=wire,
    )
