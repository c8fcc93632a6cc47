"""Translate a stream of one wire into a stream of another, event by event.

The bytes or events of the source are read into neutral events, which `EventTranslator` writes in
the target wire. Events that differ from an earlier one only in their text take the shorter way
through the `DeltaCache`. Knows wires only through their specs.
"""

from __future__ import annotations

from collections.abc import Callable

from toolwire.codec import IdMapInput
from toolwire.conversation.ids import digest
from toolwire.conversation.json import dump
from toolwire.errors import DecodeError
from toolwire.streaming.delta_cache import DeltaCache
from toolwire.streaming.event_translator import EventTranslator, Out
from toolwire.streaming.events import Chunk, Event, Finish, MessageStart, PartDelta, StreamError
from toolwire.streaming.stream_edits import StreamEdits
from toolwire.streaming.stream_input import BYTES, EventInput, Item, resolve_stream
from toolwire.wires.engine.encode_context import NO_REQUEST, RequestInfo
from toolwire.wires.engine.server_tools import ServerToolPolicy
from toolwire.wires.engine.stream import StreamReader

_EVENT_END = b"\n\n"
"""The end of an event in most streams. The cache gets each event with this end, so that an item
that is one whole event need not be cut."""


class StreamTranslator(EventTranslator[Out]):
    """Takes the items of a source stream and returns the events of the target stream."""

    def __init__(
        self,
        source: str,
        target: str,
        encode_chunk: Callable[[Chunk], Out] | None = None,
        *,
        ids: IdMapInput = None,
        server_tools: ServerToolPolicy = "text",
        version: int | None = None,
        edits: StreamEdits | None = None,
        request: RequestInfo = NO_REQUEST,
    ) -> None:
        """Prepare source and target; the arguments are those of `EventTranslator`.

        Raises:
            UsageError: A wire does not stream, or the value of an option does not exist.
        """
        source_wire, source_spec = resolve_stream(source)
        self._reader: StreamReader = source_spec.reader(keep=False)
        super().__init__(
            target,
            encode_chunk,
            source=source_wire,
            source_has_results=self._reader.may_contain_results,
            ids=ids,
            server_tools=server_tools,
            version=version,
            edits=edits,
            request=request,
        )
        target_wire = self._target.wire
        self._input = EventInput(source_wire.name, source_spec)
        self._version = version
        self.passthrough = (
            source_wire is target_wire
            and ids is None
            and (version is None or self.target_spec.adapt is not None)
        )
        """True if source and target are the same wire and nothing has to be fitted: events are sent
        unchanged, or reduced to the fields of the requested version."""
        self.source_ended = False
        """True if the source has sent its last event; it may still be open."""
        self._delta_cache = DeltaCache()
        self._use_cache = encode_chunk is None and not self.passthrough
        """True if output items are bytes that the cache can reproduce."""
        self._at_event_start = False
        """True if the next bytes start an event that may be in the cache."""
        self._last_events: list[Event] = []
        """The neutral events of the last source event."""
        self._needs_opening = not request.id and not self.passthrough
        """True if the first events of the source distinguish its answer from others."""
        self._start: MessageStart | None = None
        """The start of an answer without an id, until its first content."""

    def feed(self, item: Item) -> list[Out]:
        """Translate one item of the source: bytes, text or an event.

        Any other item causes an error event in the target, not an exception.
        """
        cache = self._delta_cache
        if self._at_event_start and item.__class__ is bytes:
            output = cache.translate(item)
            if output is not None:
                self._reader.count += 1
                return [output] if output else []  # type: ignore[list-item]
        if self.fault is not None:
            return []
        if not isinstance(item, BYTES):
            out = self._encode(self._translate_source(self._input.read_value(item)))
            self.source_ended = self._reader.over or self.fault is not None
            return out
        try:
            out = self._translate_pieces(self._input.cut(item), cache)
        except DecodeError as error:
            out = self._encode(self._translate_source(StreamError(error.why)))
        self.source_ended = self._input.done or self._reader.over or self.fault is not None
        self._at_event_start = (
            not cache.empty and self._input.at_event_start and not self.source_ended
        )
        return out

    def end(self) -> list[Out]:
        """Translate the buffered rest and end the target, after the source has ended."""
        out = [chunk for event in self._input.end() for chunk in self._translate_source(event)]
        if not self.passthrough:
            if self.fault is None:
                self._reader.done = self._input.done
                out += self._translate([*self._take_start(), *self._reader.end()])
            if self.fault is None:
                # The last chunks are edited separately, after all others.
                encoded = self._encode([*out, *self._release_calls()])
                return [*encoded, *self._encode(self._finish())]
        return self._encode(out)

    def report_source_failure(self, error: Exception) -> list[Out]:
        """Write an error event because reading the source raised an exception.

        The event contains only the type of the exception, because its message may hold secrets.
        """
        return self.fail(f"the source failed: {type(error).__name__}")

    def fail(self, message: str) -> list[Out]:
        """Write an error event because the stream cannot continue, unless one was written."""
        if self.fault is not None:
            return []
        return self._encode(self._translate_source(StreamError(message)))

    @property
    def trailer(self) -> bytes:
        """The bytes after the last event of a framed stream: none if the source was cut off."""
        if self.passthrough:
            complete = self._input.done or not self._input.framed
            return self.target_spec.trailer if complete else b""
        return super().trailer

    def _position(self) -> int:
        return self._reader.count

    def _translate_pieces(self, pieces: list[bytes], cache: DeltaCache) -> list[Out]:
        out: list[Out] = []
        for piece in pieces:
            output = cache.translate(piece + _EVENT_END)
            if output is not None:
                self._reader.count += 1
                if output:
                    out.append(output)  # type: ignore[arg-type]
                continue
            try:
                event = self._input.read_piece(piece)
            except DecodeError as error:
                event = StreamError(error.why)
            if event is not None:
                encoded = self._encode(self._translate_source(event))
                if self._use_cache and not self._input.has_checksums:
                    self._cache_delta(piece, encoded)
                out += encoded
        return out

    def _cache_delta(self, piece: bytes, encoded: list[Out]) -> None:
        """Cache a source event that is one delta and became one event, or none because the writer
        keeps its text for later. Any other event may clear the cache."""
        cache, events = self._delta_cache, self._last_events
        if len(events) != 1 or events[0].__class__ is not PartDelta or len(encoded) > 1:
            cache.clear()
            return
        slot = events[0].slot
        on_read = self._reader.text_appender(slot)
        if on_read is None:
            cache.clear()
            return
        output = encoded[0] if encoded else None
        write = self._writer.text_appender if encoded else self._writer.text_buffer
        on_write = write(slot)
        if on_write is None and not encoded:
            cache.clear()
            return
        part = self._parts.get(slot)
        if cache.full or (part is not None and part.mode != "pass"):
            return
        if on_write is not None and isinstance(output, bytes | None):
            source = piece + _EVENT_END
            cache.add(source, events[0].text, output, on_read=on_read, on_write=on_write)

    def _translate_source(self, event: Chunk | StreamError) -> list[Chunk]:
        """Translate one event of the source, or an error in its place."""
        reader = self._reader
        if reader.over:  # what follows the last event has no meaning, however the bytes are cut
            self._last_events = []
            return []
        if isinstance(event, StreamError):
            self._last_events = [event]
            if self.passthrough:
                return self._write_error(event)
            if self.fault is not None:
                return []
            last = [end for end in reader.end() if not isinstance(end, Finish | StreamError)]
            return self._translate([*self._take_start(), *last, event])
        if self.passthrough:
            return [event] if self._version is None else self._adapt(event, self._version)
        if self.fault is not None:
            return []
        self._last_events = events = reader.read(event)
        if not self._begun and self._needs_opening:
            events = self._open(event, events)
        out = self._translate(events)
        reader.count += 1
        return out

    def _open(self, event: Chunk, events: list[Event]) -> list[Event]:
        """Record the first events, which distinguish this stream from others if neither the source
        nor the request has an id.

        The start waits for the first content, because some wires start every answer with the same
        event.
        """
        start = events[0] if events else None
        answer_id = start.settings.get("id") if isinstance(start, MessageStart) else None
        if isinstance(answer_id, str) and answer_id:
            return events
        self._context.opening = digest(self._context.opening, dump(event).decode())
        if isinstance(start, MessageStart) and not answer_id and len(events) == 1:
            self._start = start
            return []
        return [*self._take_start(), *events]

    def _take_start(self) -> list[Event]:
        """Return the start of the answer, if it waits for the first content."""
        start, self._start = self._start, None
        return [] if start is None else [start]

    def _adapt(self, event: Chunk, version: int) -> list[Chunk]:
        """Reduce an event of this wire to the fields of a version, and report the others."""
        assert self.target_spec.adapt is not None
        index, adapted = self._reader.count, self.target_spec.adapt(event, version)
        self._reader.count += 1
        if adapted is None:
            self._context.report_loss(
                (index,), f"version {version} of this wire has no such event: {event.get('type')}"
            )
            return []
        for key in event:
            if key not in adapted:
                self._context.report_loss(
                    (index, key), f"version {version} of this wire has no such field"
                )
        return [adapted]
