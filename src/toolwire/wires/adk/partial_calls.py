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
    """The calls of partial Events since the last completed one with calls."""

    __slots__ = ("_accumulator", "_events", "_parts", "complete")

    def __init__(self) -> None:
        self.complete: dict[str, Call] = {}
        """The calls with all of their arguments, by id."""
        self._parts = PartStream(ContentReader(PARTS))
        self._accumulator = Accumulator()
        self._events: list[Event] = []

    def add(self, block: JSON, path: JsonPath) -> None:
        """Remember a call, or a part of one."""
        events = self._parts.read(block, path)
        self._events += events
        for event in events:
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
        """The events of all calls, for a stream that ended before a completed Event."""
        out: list[Event] = []
        slots: dict[int, int] = {}
        for event in [*self._events, *self._parts.close(cut=True)]:
            if isinstance(event, PartStart | PartComplete) and isinstance(event.part, Call):
                call = event.part
                reader.last_slot += 1
                slot = reader.last_slot
                if call.origin == "minted":
                    call = replace(call, id="")
                call = replace(reader.assign_call_id(call), args=LazyJson(""))
                out.append(PartStart(slot, call))
                if isinstance(event, PartStart):
                    slots[event.slot] = slot
                else:
                    out.append(PartDelta(slot, event.part.arguments))
                    out.append(PartEnd(slot, signature=event.part.signature, cut=True))
            elif isinstance(event, PartDelta):
                out.append(PartDelta(slots[event.slot], event.text))
            elif isinstance(event, PartEnd):
                out.append(PartEnd(slots[event.slot], event.whole, event.signature, cut=True))
        return out
