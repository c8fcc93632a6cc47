"""Streams of one wire as streams of another, live; and a recorded stream as the body it stands for.

The work is done by a pipe, one for each stream; here it meets iterators, async or not. Knows wires only through their tables.
"""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
)
from typing import Generic, Literal, TypeAlias, TypeVar, overload

from toolwire._json import JSON
from toolwire.errors import LocalError, RemoteError
from toolwire.events import Chunk, Fault
from toolwire.hosted import Hosted
from toolwire.identity import IdMap
from toolwire.model import Loss
from toolwire.pipe import Events, Item, Pipe, streaming
from toolwire.translate import Ids
from toolwire.wires._stream import Reader

Source: TypeAlias = "Item | Iterable[Item] | AsyncIterable[Item]"
Out = TypeVar("Out")


# --- fold --------------------------------------------------------------------------------------------------------


def fold(stream: Source, wire: str) -> JSON:
    """A recorded stream as the whole response body of its wire.

    An answer that broke off has what came, and an `error`. Raises RemoteError if it is no stream of this wire.
    """
    spoken, how = streaming(wire)
    events = Events(spoken.name, how)
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


class Restreamed(Generic[Out]):
    """A stream on its way to another wire: an iterator, or an async one if the source is.

    `losses` and `ids` say what happened so far; `headers` are those of an HTTP answer with this stream.
    """

    def __init__(self, pipe: Pipe[Out], source: Source, tail: Callable[[], list[Out]]) -> None:
        self._pipe = pipe
        self._tail = tail
        self._source = source
        self._slow: AsyncGenerator[Out, None] | None = None
        self._quick: Generator[Out, None, None] | None = None
        # One of these is an iterator of both kinds, and is taken as what its own source is.
        slow = source._slow is not None if isinstance(source, Restreamed) else isinstance(source, AsyncIterable)
        if slow:
            assert isinstance(source, AsyncIterable)
            self._slow = self._wait(source)
        else:
            self._quick = self._run(_items(source, ""))

    @property
    def losses(self) -> list[Loss]:
        """What could not be carried so far."""
        return self._pipe.losses

    @property
    def ids(self) -> IdMap:
        """The map home so far, for `ids=` of what goes back."""
        return self._pipe.ids

    @property
    def fault(self) -> str | None:
        """What went wrong in the source, if anything did: an error it reported, or that it broke off."""
        fault = self._pipe.fault
        return None if fault is None else fault.message

    @property
    def headers(self) -> dict[str, str]:
        """The header fields of an HTTP answer that holds this stream."""
        return {"content-type": self._pipe.to.media, **self._pipe.to.headers}

    def _run(self, source: Iterable[Item]) -> Generator[Out, None, None]:
        pipe = self._pipe
        for item in source:
            yield from pipe.feed(item)
            if pipe.over:
                break
        yield from pipe.end()
        yield from self._tail()
        self._shut()

    async def _wait(self, source: AsyncIterable[Item]) -> AsyncGenerator[Out, None]:
        pipe = self._pipe
        async for item in source:
            for out in pipe.feed(item):
                yield out
            if pipe.over:
                break
        for out in (*pipe.end(), *self._tail()):
            yield out
        await self._ashut()

    def __iter__(self) -> Iterator[Out]:
        if self._quick is None:
            raise LocalError("", (), "the source is asynchronous: use `async for`")
        return self._quick

    def __next__(self) -> Out:
        return next(iter(self))

    def __aiter__(self) -> AsyncIterator[Out]:
        if self._slow is None:
            raise LocalError("", (), "the source is not asynchronous: use `for`")
        return self._slow

    async def __anext__(self) -> Out:
        return await anext(aiter(self))

    def close(self) -> None:
        """Give up: the source is closed too, if it can be."""
        if self._quick is not None:
            self._quick.close()
            self._shut()

    async def aclose(self) -> None:
        """Give up: the source is closed too, if it can be."""
        if self._slow is not None:
            await self._slow.aclose()
            await self._ashut()
        self.close()

    def _shut(self) -> None:
        close = getattr(self._source, "close", None)
        if callable(close):
            close()

    async def _ashut(self) -> None:
        """Close an asynchronous source, whatever it calls that."""
        close = getattr(self._source, "aclose", None) or getattr(self._source, "close", None)
        if callable(close):
            done = close()
            if isinstance(done, Awaitable):
                await done


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
    if not framed:
        return Restreamed(Pipe(source, target, _as_is, ids=ids, hosted=hosted, version=version), stream, list)
    pipe: Pipe[bytes] = Pipe(source, target, ids=ids, hosted=hosted, version=version)
    return Restreamed(pipe, stream, lambda: [pipe.tail] if pipe.tail else [])


def _as_is(event: Chunk) -> Chunk:
    return event
