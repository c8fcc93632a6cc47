"""A run of an agent as one stream of a wire, for a front end.

All turns are one response: the text of the model, its calls, and the results as they arrive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from msgspec.structs import replace

from toolwire.agent.events import AgentEvent, ModelRequest, Retry, RunResult, ToolFinished
from toolwire.agent.phases import Phase
from toolwire.conversation.parts import Call, Part
from toolwire.streaming import events
from toolwire.streaming.accumulate import without_text
from toolwire.streaming.event_translator import EventTranslator
from toolwire.streaming.events import Chunk, Event

Out = TypeVar("Out")


class AgentStream(Generic[Out]):
    """Translates the events of one run. `feed` each event, then `end`; `trailer` comes last.

    Args:
        target: The wire of the front end.
        shape: Makes an output of a chunk; by default, framed bytes.
        version: The version of the wire, where it has several.
    """

    def __init__(
        self,
        target: str,
        shape: Callable[[Chunk], Out] | None = None,
        *,
        version: int | None = None,
    ) -> None:
        self._translator: EventTranslator[Out] = EventTranslator(
            target, shape, server_tools="text", version=version
        )
        self._first_slot = 0
        """The first slot of this turn."""
        self._next_slot = 0
        self._open: dict[int, bool] = {}
        """By slot of an open part: True if the part is text."""
        self._muted: set[int] = set()
        """Slots of parts that are not written."""
        self._call_ids: set[str] = set()
        """The calls of this turn that were written."""
        self._waiting: list[Event] = []
        """Results that wait for the end of an open text."""

    @property
    def headers(self) -> dict[str, str]:
        """The header fields of an HTTP response with this stream."""
        spec = self._translator.target_spec
        return {"content-type": spec.media, **spec.headers}

    @property
    def trailer(self) -> bytes:
        """The last bytes of a framed stream."""
        return self._translator.trailer

    def feed(self, event: AgentEvent) -> list[Out]:
        """Return the output for an event."""
        found = self._translate(event)
        starts_anew = isinstance(event, ModelRequest | RunResult)
        if self._waiting and (starts_anew or not any(self._open.values())):
            waiting, self._waiting = self._waiting, []
            found = [*waiting, *found] if starts_anew else [*found, *waiting]
        return self._translator.emit(found)

    def end(self) -> list[Out]:
        """Return the output that ends the stream."""
        return self._translator.close()

    def _translate(self, event: AgentEvent) -> list[Event]:
        match event:
            case ModelRequest(turn=turn):
                self._first_slot = self._next_slot
                self._call_ids.clear()
                return [events.TurnStart("assistant")] if turn > 1 else []
            case Retry():
                closing: list[Event] = [
                    events.PartEnd(slot, cut=True) for slot in sorted(self._open)
                ]
                self._open.clear()
                self._first_slot = self._next_slot
                return closing
            case ToolFinished(call=call, result=result):
                found: list[Event] = [*self._write_call(call), events.PartComplete(result)]
                if self._translator.writes_results_as_text and any(self._open.values()):
                    self._waiting += found
                    return []
                return found
            case RunResult(phase=Phase.FAILED, stop=why):
                return [events.StreamError(why or "the model gave no response")]
            case RunResult(usage=usage):
                return [events.Metadata({"usage": usage})]
        return self._translate_model_event(event)

    def _translate_model_event(self, event: AgentEvent) -> list[Event]:
        match event:
            case events.PartStart(slot=slot, part=part):
                return self._start(event, self._shift(slot), part)
            case events.PartDelta(slot=slot):
                shifted = self._shift(slot)
                return [] if shifted in self._muted else [replace(event, slot=shifted)]
            case events.PartEnd(slot=slot, alias=alias):
                shifted = self._shift(slot)
                self._open.pop(shifted, None)
                self._call_ids |= {alias} if alias is not None else set()
                if shifted in self._muted:
                    return []
                return [replace(event, slot=shifted, signature=None)]
            case events.MessageStart(settings) | events.Metadata(settings):
                # the usage of all turns together follows at the end
                kept = {key: value for key, value in settings.items() if key != "usage"}
                return [replace(event, settings=kept)]
            case events.PartComplete(part=Call(executor="client") as call):
                return self._write_call(call)
            case events.PartComplete() | events.Finish():
                return [event]
        return []

    def _start(self, event: events.PartStart, slot: int, part: Part) -> list[Event]:
        if isinstance(part, Call) and part.executor == "client":
            if part.id in self._call_ids:  # runs under another id; written when it starts
                self._muted.add(slot)
                return []
            self._call_ids.add(part.id)
        self._open[slot] = not isinstance(part, Call)
        new = part if isinstance(part, Call) else replace(part, signature=None)
        return [replace(event, slot=slot, part=new)]

    def _write_call(self, call: Call) -> list[Event]:
        """Write a call that was not written when it arrived: it was part of a text, precedes this
        stream, or had the id of another call."""
        if call.id in self._call_ids:
            return []
        self._call_ids.add(call.id)
        slot = self._next_slot
        self._next_slot += 1
        return [
            events.PartStart(slot, without_text(call)),
            events.PartDelta(slot, call.arguments or "{}"),
            events.PartEnd(slot),
        ]

    def _shift(self, slot: int) -> int:
        """Return the slot in the whole stream of a slot in this turn."""
        self._next_slot = max(self._next_slot, self._first_slot + slot + 1)
        return self._first_slot + slot
