"""Calls of partial Events that are not emitted, because the completed Event may have other ids."""

from __future__ import annotations

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import Call, Part
from toolwire.streaming.accumulate import Accumulator
from toolwire.streaming.events import Event, PartComplete, PartDelta, PartEnd, PartStart
from toolwire.wires.adk.events import PARTS
from toolwire.wires.families.contents.stream_reader import ContentReader, PartStream


class PartialCalls:
    """The calls of partial Events since the last completed Event with calls."""

    __slots__ = ("_accumulator", "_blocks", "_parts", "complete")

    def __init__(self) -> None:
        self.complete: dict[str, Call] = {}
        """The calls with complete arguments, by id."""
        self._parts = PartStream(ContentReader(PARTS))
        self._accumulator = Accumulator()
        self._blocks: list[tuple[JSON, JsonPath]] = []

    def add(self, block: JSON, path: JsonPath) -> None:
        """Store a call, or a piece of one."""
        self._blocks.append((block, path))
        for event in self._parts.read(block, path):
            if isinstance(event, PartStart):
                self._accumulator.start(event)
            elif isinstance(event, PartDelta):
                self._accumulator.delta(event)
            elif isinstance(event, PartEnd):
                self._complete(self._accumulator.end(event))
            elif isinstance(event, PartComplete):
                self._complete(event.part)

    def _complete(self, part: Part) -> None:
        if isinstance(part, Call):
            self.complete[part.id] = part

    def cut(self, reader: ContentReader) -> list[Event]:
        """The events for all calls, if the stream ended before a completed Event."""
        parts = PartStream(reader, keep=False)
        events = [event for block, path in self._blocks for event in parts.read(block, path)]
        out: list[Event] = []
        for event in [*events, *parts.close(cut=True)]:
            if isinstance(event, PartComplete) and isinstance(event.part, Call):
                slot, call = reader.next_slot(), event.part
                out.append(PartStart(slot, replace(call, args=LazyJson(""))))
                out.append(PartDelta(slot, call.arguments))
                out.append(PartEnd(slot, signature=call.signature, cut=True))
            else:
                out.append(replace(event, cut=True) if isinstance(event, PartEnd) else event)
        return out
