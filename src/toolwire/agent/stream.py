"""What happens in a loop as a stream of some wire, so that a front end can follow it live.

All turns are one answer: what the model says, its calls, and the results as they come. Knows no
wire.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from msgspec.structs import replace

from toolwire.agent.events import ModelRequest, Retry, RunResult, Seen, ToolFinished
from toolwire.agent.machine import Phase
from toolwire.conversation.parts import Call, Part
from toolwire.streaming import events
from toolwire.streaming.accumulate import without_text
from toolwire.streaming.event_translator import EventTranslator
from toolwire.streaming.events import Chunk, Event

Out = TypeVar("Out")


class AgentStream(Generic[Out]):
    """One run of a loop as a stream."""

    def __init__(
        self,
        target: str,
        shape: Callable[[Chunk], Out] | None = None,
        *,
        version: int | None = None,
    ) -> None:
        self._pipe: EventTranslator[Out] = EventTranslator(target, shape, version=version)
        self._base = 0
        """The slots of this turn begin here."""
        self._next = 0
        self._open: dict[int, bool] = {}
        """Parts that grow, and whether they are words."""
        self._muted: set[int] = set()
        self._known: set[str] = set()
        """The calls of this turn that were told."""
        self._held: list[Event] = []
        """Results that wait until the words before them are over."""

    @property
    def headers(self) -> dict[str, str]:
        """The header fields of an HTTP answer that holds this stream."""
        return {"content-type": self._pipe.target_spec.media, **self._pipe.target_spec.headers}

    @property
    def tail(self) -> bytes:
        """What a framed stream ends with."""
        return self._pipe.trailer

    def take(self, seen: Seen) -> list[Out]:
        """What somebody who watches is told."""
        found = self._events(seen)
        if self._held and (
            not any(self._open.values()) or isinstance(seen, ModelRequest | RunResult)
        ):
            held, self._held = self._held, []
            found = (
                [*found, *held]
                if not isinstance(seen, ModelRequest | RunResult)
                else [*held, *found]
            )
        return self._pipe.emit(found)

    def end(self) -> list[Out]:
        """What the stream ends with."""
        return self._pipe.close()

    def _events(self, seen: Seen) -> list[Event]:
        match seen:
            case ModelRequest(turn=turn):
                self._base = self._next
                self._known.clear()
                return [events.TurnStart("assistant")] if turn > 1 else []
            case Retry():
                closing: list[Event] = [
                    events.PartEnd(slot, cut=True) for slot in sorted(self._open)
                ]
                self._open.clear()
                self._base = self._next
                return closing
            case ToolFinished(call=call, result=result):
                told: list[Event] = [*self._call(call), events.PartComplete(result)]
                if self._pipe.writes_results_as_text and any(self._open.values()):
                    self._held += told
                    return []
                return told
            case RunResult(phase=Phase.BROKEN, why=why):
                return [events.StreamError(why or "the model could not be asked")]
            case RunResult(usage=usage):
                return [events.Metadata({"usage": usage})]
            case events.PartStart(slot=slot, part=part):
                return self._start(seen, self._moved(slot), part)
            case events.PartDelta(slot=slot):
                moved = self._moved(slot)
                return [] if moved in self._muted else [replace(seen, slot=moved)]
            case events.PartEnd(slot=slot, alias=alias):
                moved = self._moved(slot)
                self._open.pop(moved, None)
                self._known |= {alias} if alias is not None else set()
                return [] if moved in self._muted else [replace(seen, slot=moved, signature=None)]
            case events.MessageStart(settings) | events.Metadata(
                settings
            ):  # what all turns use up together is told at the end
                return [
                    replace(
                        seen,
                        settings={key: value for key, value in settings.items() if key != "usage"},
                    )
                ]
            case events.PartComplete(part=Call(executor="client") as call):
                return self._call(call) if call.id not in self._known else []
            case events.PartComplete() | events.Finish():
                return [seen]
        return []

    def _start(self, event: events.PartStart, slot: int, part: Part) -> list[Event]:
        if isinstance(part, Call) and part.executor == "client":
            if part.id in self._known:  # it will run under another id, and is told then
                self._muted.add(slot)
                return []
            self._known.add(part.id)
        self._open[slot] = not isinstance(part, Call)
        return [
            replace(
                event,
                slot=slot,
                part=part if isinstance(part, Call) else replace(part, signature=None),
            )
        ]

    def _call(self, call: Call) -> list[Event]:
        """A call that was not told as it came: it stood in a text, or came before this stream, or
        had the id of another."""
        if call.id in self._known:
            return []
        self._known.add(call.id)
        slot = self._next
        self._next += 1
        return [
            events.PartStart(slot, without_text(call)),
            events.PartDelta(slot, call.arguments or "{}"),
            events.PartEnd(slot),
        ]

    def _moved(self, slot: int) -> int:
        self._next = max(self._next, self._base + slot + 1)
        return self._base + slot
