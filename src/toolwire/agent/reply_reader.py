"""Read the stream of a model: neutral events as they arrive, then the whole message."""

from __future__ import annotations

from toolwire.agent.events import ModelReply
from toolwire.agent.tool_results import with_late_id
from toolwire.codec import decode
from toolwire.conversation.model import Usage
from toolwire.conversation.parts import Call, Message, Part
from toolwire.errors import InputError
from toolwire.streaming.accumulate import Accumulator
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
from toolwire.streaming.stream_input import EventInput, resolve_stream


class ReplyReader:
    """One stream of a wire."""

    def __init__(self, wire: str) -> None:
        found, spec = resolve_stream(wire)
        self._wire = found.name
        self._input = EventInput(found.name, spec)
        self._reader = spec.reader(keep=True)
        self._open = Accumulator()
        self._parts: list[Part] = []
        self._cut = False
        self.calls = 0
        """The number of complete calls."""
        self.error: StreamError | None = None
        self.stop: str | None = None
        """Why the model stopped, if the stream contains a reason."""

    @property
    def over(self) -> bool:
        """True if the stream is complete."""
        return self._input.done or self._reader.over or self.error is not None

    def feed(self, data: bytes) -> list[Event]:
        """Return the events in the next bytes of the stream."""
        try:
            chunks = self._input.read(data)
        except InputError as error:
            chunks = [StreamError(str(error))]
        events: list[Event] = []
        for chunk in chunks:
            events += self._read(chunk)
        return self._collect(events)

    def end(self) -> list[Event]:
        """Return the remaining events of a stream that has ended or broken off."""
        events: list[Event] = []
        for chunk in self._input.end():
            events += self._read(chunk)
        self._reader.done = self._input.done
        if self.error is None:
            events += self._reader.end()
        return self._collect(events)

    def _read(self, chunk: Chunk | StreamError) -> list[Event]:
        """Return the events of a chunk; none if it follows the last one, however bytes are cut."""
        if self._reader.over:
            return []
        if isinstance(chunk, StreamError):
            return [chunk]
        events = self._reader.read(chunk)
        self._reader.count += 1
        return events

    def _collect(self, events: list[Event]) -> list[Event]:
        for event in events:
            part: Part | None = None
            match event:
                case PartStart(choice=0):
                    self._open.start(event)
                case PartEnd(slot=slot, cut=cut) if slot in self._open:
                    whole = with_late_id(self._open.end(event), event)
                    self._cut = self._cut or cut
                    part = None if cut and isinstance(whole, Call) else whole
                case PartComplete(part=part, choice=0):
                    pass
                case StreamError():
                    self.error = self.error or event
                case Finish(stop=stop, choice=0):
                    self.stop = stop
                case PartDelta(slot=slot) if slot in self._open:
                    self._open.delta(event)
            if part is not None:
                self._parts.append(part)
                self.calls += isinstance(part, Call) and part.executor == "client"
        return events

    def reply(self) -> ModelReply:
        """Return the message; of a stream that broke off, its complete parts."""
        usage: Usage | None = None
        try:
            read = decode(self._reader.body(), self._wire, "response")
            found = read.settings.get("usage")
            usage = found if isinstance(found, Usage) else None
        except InputError:
            read = None
        if self._cut or self.error is not None or read is None or not read.messages:
            message = Message("assistant", tuple(self._parts), self.stop or "error")
            return ModelReply(message, usage, cut=True)
        return ModelReply(read.messages[0], usage)
