"""Translate a live stream (`restream`), and join a recorded stream into a body (`fold`).

The iterators here, synchronous and asynchronous, feed one `StreamTranslator` each. Knows wires only
through their specs.
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
from toolwire.conversation.json import JSON, join_surrogates
from toolwire.conversation.model import Loss
from toolwire.errors import DecodeError, UsageError
from toolwire.streaming.events import Chunk, StreamError
from toolwire.streaming.stream_input import BYTES, EventInput, Item, resolve_stream
from toolwire.streaming.stream_translator import StreamTranslator
from toolwire.wires.engine.encode_context import NO_REQUEST, RequestInfo
from toolwire.wires.engine.server_tools import ServerToolPolicy
from toolwire.wires.engine.stream import StreamReader

StreamSource: TypeAlias = "Item | Iterable[Item] | AsyncIterable[Item]"
Out = TypeVar("Out")


# --- fold -----------------------------------------------------------------------------------------


def fold(stream: StreamSource, wire: str) -> JSON:
    """Join a recorded stream into the whole response body of its wire.

    Args:
        stream: Bytes, text or an event, or an iterable of them.
        wire: The name of the stream's wire, profile or provider.

    Returns:
        The body. If the stream was cut off, it has everything that arrived, and an `error`.

    Raises:
        DecodeError: The stream is not a stream of the wire.
        UsageError: The wire does not exist or does not stream, or `stream` has another type.
    """
    stream_wire, spec = resolve_stream(wire)
    name = stream_wire.name
    events = EventInput(name, spec)
    reader = spec.reader(keep=True)
    for item in _items(stream, name):
        _read(events.read(item), reader, name)
    _read(events.end(), reader, name)
    reader.done = events.done
    reader.end()
    return join_surrogates(reader.body())


def _read(events: Iterable[Chunk | StreamError], reader: StreamReader, wire: str) -> None:
    for event in events:
        if reader.over:
            return
        if isinstance(event, StreamError):
            raise DecodeError(event.message, wire=wire, path=(reader.count,))
        try:
            reader.read(event)
        except RecursionError:
            raise DecodeError("nested too deeply", wire=wire, path=(reader.count,)) from None
        reader.count += 1


def _items(stream: StreamSource, wire: str) -> Iterable[Item]:
    """The items of a synchronous stream."""
    if isinstance(stream, (*BYTES, Mapping)):
        return (stream,)
    if isinstance(stream, Iterable):
        return stream
    raise UsageError(
        f"expected bytes, text or an iterable of them or of events, got {type(stream).__name__}",
        wire=wire,
    )


# --- restream -------------------------------------------------------------------------------------


class _StreamReport(Generic[Out]):
    """The reports of a translated stream, beside its items."""

    def __init__(
        self,
        translator: StreamTranslator[Out],
        source: StreamSource,
        trailer: Callable[[], list[Out]],
    ) -> None:
        self._translator = translator
        self._source = source
        self._trailer = trailer

    @property
    def losses(self) -> list[Loss]:
        """The losses so far."""
        return self._translator.losses

    @property
    def ids(self) -> IdMap:
        """The id map so far. Passed as `ids=` to a translation back, it restores every id."""
        return self._translator.ids

    @property
    def fault(self) -> str | None:
        """The error that the source reported or ended with; None if there is none so far."""
        fault = self._translator.fault
        return None if fault is None else fault.message

    @property
    def headers(self) -> dict[str, str]:
        """The HTTP headers of a response with this stream."""
        spec = self._translator.target_spec
        return {"content-type": spec.media, **spec.headers}


class TranslatedStream(_StreamReport[Out], Iterator[Out]):
    """An iterator over a stream in the target wire.

    `losses`, `ids` and `fault` report what happened so far; `headers` are the HTTP headers of a
    response with this stream.
    """

    def __init__(
        self,
        translator: StreamTranslator[Out],
        source: StreamSource,
        trailer: Callable[[], list[Out]],
    ) -> None:
        super().__init__(translator, source, trailer)
        self._output = self._run(_items(source, ""))

    def _run(self, source: Iterable[Item]) -> Generator[Out, None, None]:
        translator = self._translator
        try:
            for item in source:
                yield from translator.feed(item)
                if translator.source_ended:
                    break
        except Exception as error:
            yield from translator.report_source_failure(error)
            raise
        yield from translator.end()
        yield from self._trailer()
        self._close_source()

    def __iter__(self) -> Iterator[Out]:
        return self._output

    def __next__(self) -> Out:
        return next(self._output)

    def close(self) -> None:
        """Stop, and close the source if it has a method `close`."""
        self._output.close()
        self._close_source()

    def _close_source(self) -> None:
        close = getattr(self._source, "close", None)
        if callable(close):
            close()


class AsyncTranslatedStream(_StreamReport[Out], AsyncIterator[Out]):
    """An asynchronous iterator over a stream in the target wire, for an asynchronous source.

    `losses`, `ids` and `fault` report what happened so far; `headers` are the HTTP headers of a
    response with this stream.
    """

    def __init__(
        self,
        translator: StreamTranslator[Out],
        source: AsyncIterable[Item],
        trailer: Callable[[], list[Out]],
    ) -> None:
        super().__init__(translator, source, trailer)
        self._output = self._run(source)

    async def _run(self, source: AsyncIterable[Item]) -> AsyncGenerator[Out, None]:
        translator = self._translator
        try:
            async for item in source:
                for out in translator.feed(item):
                    yield out
                if translator.source_ended:
                    break
        except Exception as error:
            for out in translator.report_source_failure(error):
                yield out
            raise
        for out in (*translator.end(), *self._trailer()):
            yield out
        await self._close_source()

    def __aiter__(self) -> AsyncIterator[Out]:
        return self._output

    async def __anext__(self) -> Out:
        return await anext(self._output)

    async def aclose(self) -> None:
        """Stop, and close the source if it has a method `aclose` or `close`."""
        await self._output.aclose()
        await self._close_source()

    async def _close_source(self) -> None:
        close = getattr(self._source, "aclose", None) or getattr(self._source, "close", None)
        if callable(close):
            closing = close()
            if isinstance(closing, Awaitable):
                await closing


@overload
def restream(  # type: ignore[overload-overlap]
    stream: AsyncIterable[Item],
    source: str,
    target: str,
    *,
    framed: Literal[True] = True,
    ids: IdMapInput = None,
    server_tools: ServerToolPolicy = "auto",
    version: int | None = None,
    request: RequestInfo = NO_REQUEST,
) -> AsyncTranslatedStream[bytes]: ...
@overload
def restream(  # type: ignore[overload-overlap]
    stream: AsyncIterable[Item],
    source: str,
    target: str,
    *,
    framed: Literal[False],
    ids: IdMapInput = None,
    server_tools: ServerToolPolicy = "auto",
    version: int | None = None,
    request: RequestInfo = NO_REQUEST,
) -> AsyncTranslatedStream[Chunk]: ...
@overload
def restream(
    stream: Item | Iterable[Item],
    source: str,
    target: str,
    *,
    framed: Literal[True] = True,
    ids: IdMapInput = None,
    server_tools: ServerToolPolicy = "auto",
    version: int | None = None,
    request: RequestInfo = NO_REQUEST,
) -> TranslatedStream[bytes]: ...
@overload
def restream(
    stream: Item | Iterable[Item],
    source: str,
    target: str,
    *,
    framed: Literal[False],
    ids: IdMapInput = None,
    server_tools: ServerToolPolicy = "auto",
    version: int | None = None,
    request: RequestInfo = NO_REQUEST,
) -> TranslatedStream[Chunk]: ...
def restream(
    stream: StreamSource,
    source: str,
    target: str,
    *,
    framed: bool = True,
    ids: IdMapInput = None,
    server_tools: ServerToolPolicy = "auto",
    version: int | None = None,
    request: RequestInfo = NO_REQUEST,
) -> (
    TranslatedStream[bytes]
    | TranslatedStream[Chunk]
    | AsyncTranslatedStream[bytes]
    | AsyncTranslatedStream[Chunk]
):
    """Translate a live stream of one wire into a stream of another.

    The output of an event is available before the next item of the source is requested.

    Args:
        stream: The source: bytes, text, events as dicts or official SDK objects, or an iterable or
            asynchronous iterable of them. Bytes may be cut anywhere; the framing is detected.
        source: The wire, profile or provider of `stream`.
        target: The wire, profile or provider to translate to.
        framed: True for bytes in the framing of the target, False for events as dicts.
        ids: The id map of an earlier translation, to restore the original ids and names.
        server_tools: How to write calls of provider-executed tools that the target does not have:
            as `text`, or not at all (`drop`). A stream cannot contain them as a call of the
            client, so `call` means `text`.
        version: The version of the target wire, for wires that have several.
        request: Facts about the request: its body in the target wire, and the time. They fill the
            fields that every response of the target has and the source lacks.

    Returns:
        An iterator, asynchronous if `stream` is, with the reports `losses`, `ids` and `fault`, and
        the `headers` of an HTTP response.

    Raises:
        UsageError: A wire does not exist or does not stream, or the value of an option does not
            exist.

    Iterating raises only exceptions of the source itself, after an error event for the target. An
    invalid event, or an error that the source reports, becomes an error event.
    """
    if not framed:
        events: StreamTranslator[Chunk] = StreamTranslator(
            source,
            target,
            _return_chunk,
            ids=ids,
            server_tools=server_tools,
            version=version,
            request=request,
        )
        if isinstance(stream, AsyncIterable):
            return AsyncTranslatedStream(events, stream, list)
        return TranslatedStream(events, stream, list)
    translator: StreamTranslator[bytes] = StreamTranslator(
        source, target, ids=ids, server_tools=server_tools, version=version, request=request
    )

    def trailer() -> list[bytes]:
        return [translator.trailer] if translator.trailer else []

    if isinstance(stream, AsyncIterable):
        return AsyncTranslatedStream(translator, stream, trailer)
    return TranslatedStream(translator, stream, trailer)


def _return_chunk(chunk: Chunk) -> Chunk:
    return chunk
