"""One look at a recorded stream for the rules about streams: its events, what they say, and the
pieces that calls came in.

It is also a view of the answer that the stream folds to, so that every other rule sees the answer.
Places of the rules about streams lead into the list of events; those of the others into the folded
body. Knows no rule and no wire.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from msgspec import Struct

from toolwire.codec import decode
from toolwire.conversation.json import JSON, JsonPath
from toolwire.conversation.model import BodySource, Conversation
from toolwire.conversation.parts import Call
from toolwire.errors import LocalError, RemoteError
from toolwire.lint.facts import Facts
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
    """A piece of a call, in streams where pieces are told apart by an index."""

    path: JsonPath
    choice: JSON
    index: JSON
    id: JSON
    name: JSON

    @property
    def known(self) -> str:
        """Its id, if it has one."""
        return read_id(self.id)[0]

    @property
    def key(self) -> tuple[str, int] | None:
        """Which call it belongs to; None if it does not say."""
        number = isinstance(self.index, int) and not isinstance(self.index, bool)
        return (repr(self.choice), self.index) if number else None  # type: ignore[return-value]


class StreamedCall(Struct):
    """A call of the stream: where it was opened, and what came of it."""

    path: JsonPath
    call: Call
    text: str = ""
    alias: str | None = None
    cut: bool = False
    stop: str | None = None


class StreamFacts(Facts):
    """A recorded stream, and the answer it stands for."""

    def __init__(
        self,
        conversation: Conversation,
        profile: Profile,
        events: list[Chunk],
        said: list[tuple[int, Event]],
        *,
        indexed: bool,
    ) -> None:
        super().__init__(conversation, profile)
        self.events = events
        self.said = said
        """What the events say, each with the number of the event."""
        self.indexed = indexed
        """Whether every piece of a call has an index on this wire."""

    @cached_property
    def pieces(self) -> list[CallFragment]:
        """The pieces of calls, in the order in which they came."""
        return [piece for n, event in enumerate(self.events) for piece in _pieces(event, n)]

    @cached_property
    def told(self) -> list[StreamedCall]:
        """The calls for a client, in the order in which they were opened."""
        found: list[StreamedCall] = []
        slots: dict[int, StreamedCall] = {}
        for n, event in self.said:
            match event:
                case PartStart(part=Call() as call) | PartComplete(part=Call() as call) if (
                    call.executor == "client"
                ):
                    found.append(StreamedCall((n,), call, call.arguments))
                    if isinstance(event, PartStart):
                        slots[event.slot] = found[-1]
                case PartDelta(slot=slot, text=text) if slot in slots:
                    slots[slot].text += text
                case PartEnd(slot=slot) if slot in slots:
                    one = slots.pop(slot)
                    one.text = one.text if event.whole is None else event.whole
                    one.alias, one.cut = event.alias, event.cut
                case Finish(stop=stop):
                    for one in found:
                        one.stop = one.stop or stop
        return found


def _pieces(event: JSON, n: int) -> Iterator[CallFragment]:
    choices = event.get("choices") if isinstance(event, dict) else None
    for i, choice in enumerate(choices if isinstance(choices, list) else ()):
        delta = choice.get("delta") if isinstance(choice, dict) else None
        calls = delta.get("tool_calls") if isinstance(delta, dict) else None
        for k, call in enumerate(calls if isinstance(calls, list) else ()):
            if isinstance(choice, dict) and isinstance(call, dict):
                inner = call.get("function") or call.get("custom")
                name = inner.get("name") if isinstance(inner, dict) else None
                at = (n, "choices", i, "delta", "tool_calls", k)
                yield CallFragment(
                    at, choice.get("index", i), call.get("index"), call.get("id"), name
                )


def stream_facts(stream: object, wire: str, profile: Profile) -> StreamFacts:
    """The view of a recorded stream.

    Raises RemoteError if it is no stream of this wire.
    """
    spoken, how = resolve_stream(wire)
    events, kept = EventInput(spoken.name, how), list[Chunk]()
    reader = how.reader(keep=True)
    said: list[tuple[int, Event]] = []

    def take(chunks: Iterable[Chunk | StreamError]) -> None:
        for chunk in chunks:
            if isinstance(chunk, StreamError):
                raise RemoteError(spoken.name, (len(kept),), chunk.message)
            said.extend((len(kept), event) for event in reader.read(chunk))
            kept.append(chunk)
            reader.count += 1

    for item in _items(stream, spoken.name):
        take(events.read(item))
    take(events.end())
    reader.done = events.done
    said += ((max(len(kept) - 1, 0), event) for event in reader.end())
    indexed = any(
        one.name == "index" and one.required
        for row in spoken.rows
        if row.forms == ("stream",)
        for one in row.ids
    )
    return StreamFacts(_folded(reader.body(), wire), profile, kept, said, indexed=indexed)


def _folded(body: JSON, wire: str) -> Conversation:
    """The answer that a stream stands for; of one that broke off before there was any, nothing."""
    try:
        return decode(body, wire, "response")
    except RemoteError:
        return Conversation((), wire=wire, kind="response", source=BodySource(body=body))


def _items(stream: object, wire: str) -> Iterable[Item]:
    """What a recorded stream is given as: bytes or text, an event, or several of either."""
    if isinstance(stream, (*BYTES, Mapping)):
        return (stream,)
    if isinstance(stream, Iterable):
        return stream
    raise LocalError(
        wire,
        (),
        f"expected bytes, text or an iterable of them or of events, got {type(stream).__name__}",
    )
