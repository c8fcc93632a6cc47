"""Streams of one wire as streams of another, live; and a recorded stream as the body it stands for.

The work is done by a pipe, one for each stream; here it meets iterators, async or not. Knows wires
only through their tables.
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

from toolwire.codec import IdMapInput
from toolwire.conversation.id_map import IdMap
from toolwire.conversation.json import JSON
from toolwire.conversation.model import Loss
from toolwire.errors import LocalError, RemoteError
from toolwire.streaming.events import Chunk, StreamError
from toolwire.streaming.stream_input import EventInput, Item, resolve_stream
from toolwire.streaming.stream_translator import StreamTranslator
from toolwire.wires.engine.server_tools import ServerToolPolicy
from toolwire.wires.engine.stream import StreamReader

Source: TypeAlias = "Item | Iterable[Item] | AsyncIterable[Item]"
Out = TypeVar("Out")


# --- fold -----------------------------------------------------------------------------------------


def fold(stream: Source, wire: str) -> JSON:
    """A recorded stream as the whole response body of its wire.

    An answer that broke off has what came, and an `error`. Raises RemoteError if it is no stream of
    this wire.
    """
    spoken, how = resolve_stream(wire)
    events = EventInput(spoken.name, how)
    reader = how.reader(keep=True)
    for item in _items(stream, spoken.name):
        _keep(events.take(item), reader, spoken.name)
    _keep(events.rest(), reader, spoken.name)
    reader.done = events.done
    reader.end()
    return reader.body()


def _keep(events: Iterable[Chunk | StreamError], reader: StreamReader, wire: str) -> None:
    for event in events:
        if isinstance(event, StreamError):
            raise RemoteError(wire, (reader.count,), event.message)
        reader.read(event)
        reader.count += 1


def _items(stream: Source, wire: str) -> Iterable[Item]:
    """The pieces of a stream that need not be waited for."""
    if isinstance(stream, bytes | bytearray | memoryview | str | Mapping):
        return (stream,)
    if isinstance(stream, Iterable):
        return stream
    raise LocalError(
        wire,
        (),
        f"expected bytes, text or an iterable of them or of events, got {type(stream).__name__}",
    )


# --- restream -------------------------------------------------------------------------------------


class _Under(Generic[Out]):
    """A stream on its way to another wire.

    `losses`, `ids` and `fault` say what happened so far; `headers` are those of an HTTP answer with
    this stream.
    """

    def __init__(
        self, pipe: StreamTranslator[Out], source: Source, tail: Callable[[], list[Out]]
    ) -> None:
        self._pipe = pipe
        self._source = source
        self._tail = tail

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
        """What went wrong in the source, if anything did: an error it reported, or that it broke
        off."""
        fault = self._pipe.fault
        return None if fault is None else fault.message

    @property
    def headers(self) -> dict[str, str]:
        """The header fields of an HTTP answer that holds this stream."""
        return {"content-type": self._pipe.to.media, **self._pipe.to.headers}


class TranslatedStream(_Under[Out], Iterator[Out]):
    """A stream on its way to another wire: an iterator.

    `losses`, `ids` and `fault` say what happened so far; `headers` are those of an HTTP answer with
    this stream.
    """

    def __init__(
        self, pipe: StreamTranslator[Out], source: Source, tail: Callable[[], list[Out]]
    ) -> None:
        super().__init__(pipe, source, tail)
        self._run = self._running(_items(source, ""))

    def _running(self, source: Iterable[Item]) -> Generator[Out, None, None]:
        pipe = self._pipe
        try:
            for item in source:
                yield from pipe.feed(item)
                if pipe.over:
                    break
        except Exception as broken:
            yield from pipe.broke(broken)
            raise
        yield from pipe.end()
        yield from self._tail()
        self._shut()

    def __iter__(self) -> Iterator[Out]:
        return self._run

    def __next__(self) -> Out:
        return next(self._run)

    def close(self) -> None:
        """Give up: the source is closed too, if it can be."""
        self._run.close()
        self._shut()

    def _shut(self) -> None:
        close = getattr(self._source, "close", None)
        if callable(close):
            close()


class AsyncTranslatedStream(_Under[Out], AsyncIterator[Out]):
    """A stream on its way to another wire: an asynchronous iterator, since its source is one.

    `losses`, `ids` and `fault` say what happened so far; `headers` are those of an HTTP answer with
    this stream.
    """

    def __init__(
        self,
        pipe: StreamTranslator[Out],
        source: AsyncIterable[Item],
        tail: Callable[[], list[Out]],
    ) -> None:
        super().__init__(pipe, source, tail)
        self._run = self._running(source)

    async def _running(self, source: AsyncIterable[Item]) -> AsyncGenerator[Out, None]:
        pipe = self._pipe
        try:
            async for item in source:
                for out in pipe.feed(item):
                    yield out
                if pipe.over:
                    break
        except Exception as broken:
            for out in pipe.broke(broken):
                yield out
            raise
        for out in (*pipe.end(), *self._tail()):
            yield out
        await self._shut()

    def __aiter__(self) -> AsyncIterator[Out]:
        return self._run

    async def __anext__(self) -> Out:
        return await anext(self._run)

    async def aclose(self) -> None:
        """Give up: the source is closed too, if it can be."""
        await self._run.aclose()
        await self._shut()

    async def _shut(self) -> None:
        """Close the source, whatever it calls that."""
        close = getattr(self._source, "aclose", None) or getattr(self._source, "close", None)
        if callable(close):
            done = close()
            if isinstance(done, Awaitable):
                await done


@overload
def restream(  # type: ignore[overload-overlap]
    stream: AsyncIterable[Item],
    source: str,
    target: str,
    *,
    framed: Literal[True] = True,
    ids: IdMapInput = None,
    server_tools: ServerToolPolicy = "text",
    version: int | None = None,
) -> AsyncTranslatedStream[bytes]: ...
@overload
def restream(  # type: ignore[overload-overlap]
    stream: AsyncIterable[Item],
    source: str,
    target: str,
    *,
    framed: Literal[False],
    ids: IdMapInput = None,
    server_tools: ServerToolPolicy = "text",
    version: int | None = None,
) -> AsyncTranslatedStream[Chunk]: ...
@overload
def restream(
    stream: Item | Iterable[Item],
    source: str,
    target: str,
    *,
    framed: Literal[True] = True,
    ids: IdMapInput = None,
    server_tools: ServerToolPolicy = "text",
    version: int | None = None,
) -> TranslatedStream[bytes]: ...
@overload
def restream(
    stream: Item | Iterable[Item],
    source: str,
    target: str,
    *,
    framed: Literal[False],
    ids: IdMapInput = None,
    server_tools: ServerToolPolicy = "text",
    version: int | None = None,
) -> TranslatedStream[Chunk]: ...
def restream(
    stream: Source,
    source: str,
    target: str,
    *,
    framed: bool = True,
    ids: IdMapInput = None,
    server_tools: ServerToolPolicy = "text",
    version: int | None = None,
) -> (
    TranslatedStream[bytes]
    | TranslatedStream[Chunk]
    | AsyncTranslatedStream[bytes]
    | AsyncTranslatedStream[Chunk]
):
    """A stream of one wire as a stream of another, live: what one event says comes out before the
    next is asked for.

    `framed=False` gives events instead of bytes. `ids` is the map of an earlier translation, for
    the way home. `version` is that of a target that has several. Whatever the source sends, nothing
    is raised: a fault becomes an error event. What the source itself raises reaches the caller,
    after the target was told.
    """
    if not framed:
        events: StreamTranslator[Chunk] = StreamTranslator(
            source, target, _as_is, ids=ids, server_tools=server_tools, version=version
        )
        return (
            AsyncTranslatedStream(events, stream, list)
            if isinstance(stream, AsyncIterable)
            else TranslatedStream(events, stream, list)
        )
    pipe: StreamTranslator[bytes] = StreamTranslator(
        source, target, ids=ids, server_tools=server_tools, version=version
    )

    def tail() -> list[bytes]:
        return [pipe.tail] if pipe.tail else []

    return (
        AsyncTranslatedStream(pipe, stream, tail)
        if isinstance(stream, AsyncIterable)
        else TranslatedStream(pipe, stream, tail)
    )


def _as_is(event: Chunk) -> Chunk:
    return event
