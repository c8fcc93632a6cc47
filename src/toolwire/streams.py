"""Streams of one wire as streams of another, event by event; and a recorded stream as the body it stands for.

Between the source's reader and the target's writer stands what `translate` does for bodies: ids and names are fitted, tools
that a provider ran are told in a form that the target has, what stays behind is reported. Nothing is held back that the target
could already be told. Knows wires only through their tables.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Generator, Iterable, Iterator, Mapping
from typing import Literal, TypeAlias, TypeVar, overload

from msgspec.structs import replace

from toolwire._json import JSON, load, parse, text_of
from toolwire.errors import LocalError, RemoteError
from toolwire.events import Begin, Chunk, Delta, End, Event, Fault, Finish, Left, Note, Start, Turn, Whole
from toolwire.fold import Gather, emptied, text_in
from toolwire.framing import Frame
from toolwire.framing.sniff import Sniffed
from toolwire.hosted import POLICIES, Hosted, told
from toolwire.identity import Fitting, IdMap, IdRule
from toolwire.model import Loss
from toolwire.parts import Call, Part, Result
from toolwire.profiles import PROFILES
from toolwire.translate import Ids, resolve
from toolwire.wires._page import Page
from toolwire.wires._stream import Reader, Stream, Writer
from toolwire.wires._wire import Wire

Item: TypeAlias = "bytes | bytearray | memoryview | str | Mapping[str, JSON] | object"
Source: TypeAlias = "Item | Iterable[Item] | AsyncIterable[Item]"
Out = TypeVar("Out")


def _streaming(name: str) -> tuple[Wire, Stream]:
    spoken, _ = resolve(name)
    if spoken.stream is None:
        raise LocalError(spoken.name, (), "this wire does not stream")
    return spoken, spoken.stream


class _Events:
    """What comes in, in whatever form, as the events of a wire."""

    def __init__(self, wire: str, stream: Stream) -> None:
        self._wire = wire
        self._lift = stream.lift
        self._frames = Sniffed()
        self.framed = False
        """Whether bytes or text came, and not events."""
        self.done = False
        """Whether the end was marked."""

    def take(self, item: Item) -> list[Chunk | Fault]:
        """The events that an item completes."""
        if isinstance(item, str):
            item = item.encode("utf-8", "surrogatepass")
        if isinstance(item, bytes | bytearray | memoryview):
            self.framed = True
            return [event for frame in self._frames.feed(bytes(item)) if (event := self._event(frame)) is not None]
        value, _ = load(item, self._wire)
        return [value if isinstance(value, dict) else Fault(f"not an event: {text_of(value)[:200]}")]

    def rest(self) -> list[Chunk | Fault]:
        """What stands at the end without its mark; an event that was cut in two is none."""
        found = [self._event(frame) for frame in self._frames.end()]
        return [event for event in found if event is not None and not isinstance(event, Fault)]

    def _event(self, frame: Frame) -> Chunk | Fault | None:
        try:
            value = parse(frame.data)
        except ValueError:
            if frame.data.strip() == b"[DONE]":
                self.done = True
                return None
            try:
                value, _ = load(frame.data, self._wire)  # it says why, and takes what is only oddly spelled
            except RemoteError:
                return Fault(f"not an event: {frame.data[:200].decode('utf-8', 'replace')}")
        if self._lift is not None:
            value = self._lift(frame.event, value)
        return value if isinstance(value, dict) else Fault(f"not an event: {text_of(value)[:200]}")


# --- fold --------------------------------------------------------------------------------------------------------


def fold(stream: Source, wire: str) -> JSON:
    """A recorded stream as the whole response body of its wire.

    An answer that broke off has what came, and an `error`. Raises RemoteError if it is no stream of this wire.
    """
    spoken, how = _streaming(wire)
    events = _Events(spoken.name, how)
    reader = how.reader(keep=True)
    for item in _items(stream, spoken.name):
        _keep(events.take(item), reader, spoken.name)
    _keep(events.rest(), reader, spoken.name)
    reader.done = events.done
    reader.end()
    return reader.body()


def _keep(events: Iterable[Chunk | Fault], reader: Reader, wire: str) -> None:
    for event in events:
        if isinstance(event, Fault):
            raise RemoteError(wire, (reader.count,), event.message)
        reader.read(event)
        reader.count += 1


def _items(stream: Source, wire: str) -> Iterable[Item]:
    """The pieces of a stream that need not be waited for."""
    if isinstance(stream, bytes | bytearray | memoryview | str | Mapping):
        return (stream,)
    if isinstance(stream, Iterable):
        return stream
    raise LocalError(wire, (), f"expected bytes, text or an iterable of them or of events, got {type(stream).__name__}")


# --- restream ----------------------------------------------------------------------------------------------------


class Pipe:
    """One stream on its way: fed what comes of the source, it gives the events of the target."""

    def __init__(self, source: str, target: str, *, ids: Ids = None, hosted: Hosted = "text", version: int | None = None) -> None:
        came, self._from = _streaming(source)
        goes, self.to = _streaming(target)
        if hosted not in POLICIES:
            raise LocalError(target, (), f"hosted is one of {', '.join(POLICIES)}, not {hosted!r}")
        if version is not None and version not in self.to.versions:
            known = ", ".join(map(str, self.to.versions)) or "none"
            raise LocalError(target, (), f"no such version of this wire: {version}; there are {known}")
        _, rules = resolve(target)
        self._home = IdMap.of(ids)
        self._hosted: Hosted = hosted
        odd = PROFILES.get(came.name)
        self._fit = Fitting(rules.ids, rules.names, unique=rules.unique, home=self._home, came=odd.ids if odd else IdRule())
        self.events = _Events(came.name, self._from)
        self.same = came is goes and ids is None and rules.name == goes.name and version is None
        """Whether it goes to the wire it came from: its events stay as they are."""
        self._page = Page(goes.name, "response", ids=None, names={}, home=self._home)
        self._reader: Reader = self._from.reader(keep=False)
        self._writer: Writer = self.to.writer(self._page, version)
        self._begun = False
        self._broken = False
        self._told = Gather()
        """Calls of a provider that are told in text when they are whole."""
        self._custom: set[int] = set()
        self._muted: set[int] = set()
        self._parts: dict[int, Part] = {}
        self._called: set[int] = set()
        """Candidates that asked for tools."""
        self._finished: list[Finish] = []
        self._slots = -1

    @property
    def losses(self) -> list[Loss]:
        """What could not be carried so far."""
        return list(dict.fromkeys(self._page.losses))

    @property
    def ids(self) -> IdMap:
        """The map home so far."""
        return IdMap({**self._fit.sent, **self._page.sent}, dict(self._fit.names), dict(self._page.forms))

    def feed(self, item: Item) -> list[Chunk]:
        """What an item of the source becomes."""
        return self._through(self.events.take(item))

    @property
    def over(self) -> bool:
        """Whether the source has said all it has to say, though it may not have closed."""
        return self.events.done or self._reader.over or self._broken

    def end(self) -> list[Chunk]:
        """What is left when no more comes."""
        out = self._through(self.events.rest())
        if self.same:
            return out
        if not self._broken:
            self._reader.done = self.events.done
            out += self._say(self._reader.end())
        if not self._broken:
            for finish in self._finished or [Finish(None)]:
                out += self._writer.finish(self._derived(finish))
            out += self._writer.close()
        return out

    @property
    def tail(self) -> bytes:
        """What a framed stream ends with: nothing if it broke off."""
        if self.same:
            return self.to.tail if self.events.done or not self.events.framed else b""
        return b"" if self._broken else self.to.tail

    def _through(self, events: list[Chunk | Fault]) -> list[Chunk]:
        out: list[Chunk] = []
        for event in events:
            if event.__class__ is dict:
                if self.same:
                    out.append(event)
                elif not self._broken:
                    reader = self._reader
                    out += self._say(reader.read(event))
                    reader.count += 1
            elif isinstance(event, Fault) and not self._broken:
                if self.same:
                    raise RemoteError(self._page.wire, (self._reader.count,), event.message)
                closing = [one for one in self._reader.end() if isinstance(one, Delta | End)]
                out += self._say([*closing, event])
        return out

    def _say(self, events: list[Event]) -> list[Chunk]:
        out: list[Chunk] = []
        for event in events:
            if event.__class__ is Delta:
                slot = event.slot
                if slot in self._muted:
                    continue
                if slot in self._told:
                    self._told.delta(event)
                elif slot in self._custom:
                    out += self._writer.delta(Delta(slot, text_of(event.text)[1:-1]))
                else:
                    out += self._writer.delta(event)
            else:
                out += _MOVES[event.__class__](self, event)
        return out

    def _begin(self, event: Begin) -> list[Chunk]:
        if self._begun:
            self._writer.note(Note(event.settings))
            return []
        self._begun = True
        return self._writer.begin(event)

    def _first(self) -> list[Chunk]:
        return [] if self._begun else self._begin(Begin({}))

    def _turn(self, event: Turn) -> list[Chunk]:
        return [*self._first(), *self._writer.turn(event)] if self._writer.results else []

    def _start(self, event: Start) -> list[Chunk]:
        part, writer = event.part, self._writer
        if event.choice and not writer.many:
            self._muted.add(event.slot)
            self._page.lose(("choices", event.choice), "an answer here is one message; the other candidates stay behind")
            return []
        out = self._first()
        if isinstance(part, Call):
            if part.executor == "provider" and not writer.hosts:
                self._told.start(event)
                self._parts[event.slot] = part
                return out
            self._reported(part)
            part = self._fit.call(part)
            if part.executor == "client":
                self._called.add(event.choice)
            if part.family == "custom" and not writer.customs:
                self._page.lose(part, "a custom call is sent as a function call with one field, `input`")
                self._page.forms[part.id] = "custom"
                self._custom.add(event.slot)
                opened = Start(event.slot, replace(part, family="function"), event.choice)
                return [*out, *writer.start(opened), *writer.delta(Delta(event.slot, '{"input":"'))]
            event = Start(event.slot, part, event.choice)
        else:
            self._reported(part)
        return out + writer.start(event)

    def _reported(self, part: Part) -> None:
        if part.seal is not None or not (part.row is None or part.row.clean(part.raw)):
            self._page.leftovers(part)

    def _end(self, event: End) -> list[Chunk]:
        slot = event.slot
        if slot in self._muted:
            self._muted.discard(slot)
            return []
        if event.seal is not None:
            self._page.lose((self._reader.count,), "a signature that only its own provider can read")
        if slot in self._told:
            del self._parts[slot]
            return self._hosted_part(self._told.end(event))
        if slot in self._custom:
            self._custom.discard(slot)
            closed = [] if event.cut else self._writer.delta(Delta(slot, '"}'))
            return [*closed, *self._writer.end(End(slot, cut=event.cut))]
        return self._writer.end(event)

    def _hosted_part(self, part: Part, choice: int = 0) -> list[Chunk]:
        losses: list[Loss] = []
        text = told(part, self._hosted, losses)
        self._page.losses += losses
        return [] if text is None else self._whole(Whole(text, choice))

    def _whole(self, event: Whole) -> list[Chunk]:
        part, writer = event.part, self._writer
        text = text_in(part)
        if text is not None:
            slot = self._slots
            self._slots -= 1
            grows: list[Event] = [Delta(slot, text)] if text else []
            return self._say([Start(slot, emptied(part), event.choice), *grows, End(slot, seal=part.seal)])
        if event.choice and not writer.many:
            self._page.lose(part, "an answer here is one message; the other candidates stay behind")
            return []
        out = self._first()
        if isinstance(part, Result):
            if part.executor == "provider" and not writer.hosts:
                return out + self._hosted_part(part, event.choice)
            if part.executor == "client" and not writer.results:
                self._page.lose(part, "an answer holds only what the assistant says")
                return out
            self._reported(part)
            return out + writer.whole(Whole(self._fit.result(part), event.choice))
        self._reported(part)
        return out + writer.whole(event)

    def _note(self, event: Note) -> list[Chunk]:
        return [*self._first(), *self._writer.note(event)]

    def _finish(self, event: Finish) -> list[Chunk]:
        """Kept until no more comes: some servers go on after they gave the reason."""
        if not event.choice or self._writer.many:
            self._finished = [*(one for one in self._finished if one.choice != event.choice), event]
        return self._first()

    def _derived(self, event: Finish) -> Finish:
        """Whether tools were called is told by the calls, not by the reason."""
        if event.choice in self._called and event.stop in (None, "stop"):
            return Finish("tool", event.choice)
        return Finish(event.stop or "stop", event.choice)

    def _fault(self, event: Fault) -> list[Chunk]:
        self._broken = True
        return [*self._first(), *self._writer.fault(event)]

    def _left(self, event: Left) -> list[Chunk]:
        self._page.lose(event.at, event.reason)
        return []


_MOVES: dict[type, Callable[..., list[Chunk]]] = {
    Begin: Pipe._begin, Turn: Pipe._turn, Start: Pipe._start, End: Pipe._end, Whole: Pipe._whole, Note: Pipe._note,
    Finish: Pipe._finish, Fault: Pipe._fault, Left: Pipe._left,
}  # fmt: skip


class Restreamed(Iterator[Out], AsyncIterator[Out]):
    """A stream on its way to another wire: an iterator, or an async one if the source is.

    `losses` and `ids` say what happened so far; `headers` are those of an HTTP answer with this stream.
    """

    def __init__(self, pipe: Pipe, source: Source, shape: Callable[[Chunk], Out], tail: Callable[[], list[Out]]) -> None:
        self._pipe = pipe
        self._shape = shape
        self._tail = tail
        self._ready: deque[Out] = deque()
        self._over = False
        self._slow: AsyncIterator[Item] | None = None
        self._quick: Iterator[Item] | None = None
        if isinstance(source, AsyncIterable):
            self._slow = aiter(source)
        else:
            self._quick = iter(_items(source, ""))

    @property
    def losses(self) -> list[Loss]:
        """What could not be carried so far."""
        return self._pipe.losses

    @property
    def ids(self) -> IdMap:
        """The map home so far, for `ids=` of what goes back."""
        return self._pipe.ids

    @property
    def headers(self) -> dict[str, str]:
        """The header fields of an HTTP answer that holds this stream."""
        return {"content-type": self._pipe.to.media, **self._pipe.to.headers}

    def _feed(self, item: Item) -> None:
        self._ready.extend(map(self._shape, self._pipe.feed(item)))
        if self._pipe.over:
            self._finish()

    def _finish(self) -> None:
        self._over = True
        self._ready.extend(map(self._shape, self._pipe.end()))
        self._ready.extend(self._tail())

    def __iter__(self) -> Restreamed[Out]:
        if self._quick is None:
            raise LocalError("", (), "the source is asynchronous: use `async for`")
        return self

    def __next__(self) -> Out:
        while not self._ready:
            if self._over or self._quick is None:
                raise StopIteration
            try:
                item = next(self._quick)
            except StopIteration:
                self._finish()
            else:
                self._feed(item)
        return self._ready.popleft()

    def __aiter__(self) -> Restreamed[Out]:
        return self

    async def __anext__(self) -> Out:
        while not self._ready:
            if self._over:
                raise StopAsyncIteration
            try:
                item = next(self._quick) if self._quick is not None else await anext(self._slow)  # type: ignore[arg-type]
            except (StopIteration, StopAsyncIteration):
                self._finish()
            else:
                self._feed(item)
        return self._ready.popleft()

    def close(self) -> None:
        """Give up: the source is closed too, if it can be."""
        self._over = True
        self._ready.clear()
        if isinstance(self._quick, Generator):
            self._quick.close()

    async def aclose(self) -> None:
        """Give up: the source is closed too, if it can be."""
        self.close()
        if isinstance(self._slow, AsyncGenerator):
            await self._slow.aclose()


@overload
def restream(stream: Source, source: str, target: str, *, framed: Literal[True] = True, ids: Ids = None,
             hosted: Hosted = "text", version: int | None = None) -> Restreamed[bytes]: ...  # fmt: skip
@overload
def restream(stream: Source, source: str, target: str, *, framed: Literal[False], ids: Ids = None,
             hosted: Hosted = "text", version: int | None = None) -> Restreamed[Chunk]: ...  # fmt: skip
def restream(
    stream: Source,
    source: str,
    target: str,
    *,
    framed: bool = True,
    ids: Ids = None,
    hosted: Hosted = "text",
    version: int | None = None,
) -> Restreamed[bytes] | Restreamed[Chunk]:
    """A stream of one wire as a stream of another, live: what one event says comes out before the next is asked for.

    `framed=False` gives events instead of bytes. `ids` is the map of an earlier translation, for the way home. `version` is
    that of a target that has several. Whatever the source sends, nothing is raised: a fault becomes an error event.
    """
    pipe = Pipe(source, target, ids=ids, hosted=hosted, version=version)
    if not framed:
        return Restreamed(pipe, stream, _as_is, list)
    return Restreamed(pipe, stream, pipe.to.frame, lambda: [pipe.tail] if pipe.tail else [])


def _as_is(event: Chunk) -> Chunk:
    return event
