"""Calls of a stream that also holds results: held back until it is known who runs them.

An agent streams the calls of its model, then the results of those that it ran. A target that cannot
hold results must not present such a call as one that waits for a result. So a call, and everything
after it, is held back: a call that gets a result was run by the agent; a call that has no result
when the model continues, or when the stream ends, is the client's.
"""

from __future__ import annotations

from msgspec.structs import replace

from toolwire.conversation.parts import Call, Result
from toolwire.streaming.events import (
    Event,
    Finish,
    MessageStart,
    Metadata,
    PartComplete,
    PartStart,
    StreamError,
    TurnStart,
    Unsupported,
)

_NEVER_HELD = (MessageStart, Metadata, Unsupported)


class PendingCalls:
    """The events that are held back."""

    __slots__ = ("_events", "_indexes", "for_client")

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._indexes: dict[str, int] = {}
        """Call id → index among the events, for calls without a result."""
        self.for_client: set[str] = set()
        """Ids of calls that the stream explicitly leaves to the client."""

    def add(self, events: list[Event]) -> list[Event]:
        """Add events; return those that can be emitted now."""
        out: list[Event] = []
        for event in events:
            if isinstance(event, _NEVER_HELD):
                out.append(event)
            elif not self._events and self._call_to_hold(event) is None:
                out.append(_with_provider_result(event))
            elif isinstance(event, StreamError | Finish) or (
                isinstance(event, TurnStart) and event.role == "assistant"
            ):
                out += [*self._release(), event]
            else:
                self._hold(event)
                if not self._indexes:
                    out += self._release()
        return out

    def _hold(self, event: Event) -> None:
        call = self._call_to_hold(event)
        if call is not None:
            self._indexes[call.id] = len(self._events)
        elif isinstance(event, PartComplete) and isinstance(event.part, Result):
            index = self._indexes.pop(event.part.call_id, None)
            if index is not None:
                self._events[index] = _with_provider_call(self._events[index])
        self._events.append(_with_provider_result(event))

    def _call_to_hold(self, event: Event) -> Call | None:
        if not isinstance(event, PartStart | PartComplete):
            return None
        part = event.part
        if not isinstance(part, Call) or part.executor != "client" or part.id in self.for_client:
            return None
        return part

    def _release(self) -> list[Event]:
        events, self._events = self._events, []
        self._indexes.clear()
        return events


def _with_provider_call(event: Event) -> Event:
    if isinstance(event, PartStart | PartComplete) and isinstance(event.part, Call):
        return replace(event, part=replace(event.part, executor="provider"))
    return event


def _with_provider_result(event: Event) -> Event:
    if (
        isinstance(event, PartComplete)
        and isinstance(event.part, Result)
        and event.part.executor == "client"
    ):
        return replace(event, part=replace(event.part, executor="provider", origin="wire"))
    return event
