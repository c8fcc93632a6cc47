"""Who runs a call, where a stream also tells the results: held until it is known.

A framework streams the calls of its model, then the results of those it ran. Whoever cannot be told
of results must not take such a call for one that waits for an answer. So for them calls, and what
comes after, wait: a call that is answered was run, one that is not when the model speaks again, or
when no more comes, is the listener's. Knows no wire.
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

_AT_ONCE = (MessageStart, Metadata, Unsupported)


class Runs:
    """Events on their way to somebody who cannot be told of results."""

    __slots__ = ("_held", "_open", "sure")

    def __init__(self) -> None:
        self._held: list[Event] = []
        self._open: dict[str, int] = {}
        """Calls without an answer, and where in line they stand."""
        self.sure: set[str] = set()
        """Ids of calls of which the stream itself says that they are for others."""

    def take(self, events: list[Event]) -> list[Event]:
        """What can be said now."""
        out: list[Event] = []
        for event in events:
            if not self._held and self._calls(event) is None:
                out.append(_ran(event))
            elif isinstance(event, _AT_ONCE):
                out.append(event)
            elif isinstance(event, StreamError | Finish) or (
                isinstance(event, TurnStart) and event.role == "assistant"
            ):
                out += [*self.rest(), event]
            else:
                self._line(event)
                if not self._open:
                    out += self.rest()
        return out

    def _line(self, event: Event) -> None:
        call = self._calls(event)
        if call is not None:
            self._open[call.id] = len(self._held)
        elif isinstance(event, PartComplete) and isinstance(event.part, Result):
            path = self._open.pop(event.part.call_id, None)
            asked = self._held[path] if path is not None else None
            if path is not None and asked is not None:
                self._held[path] = _elsewhere(asked)
        self._held.append(_ran(event))

    def _calls(self, event: Event) -> Call | None:
        part = event.part if isinstance(event, PartStart | PartComplete) else None
        return (
            part
            if isinstance(part, Call) and part.executor == "client" and part.id not in self.sure
            else None
        )

    def rest(self) -> list[Event]:
        """All that was held: what has no answer waits for one."""
        held, self._held = self._held, []
        self._open.clear()
        return held


def _elsewhere(event: Event) -> Event:
    """A call that somebody else runs."""
    if isinstance(event, PartStart | PartComplete) and isinstance(event.part, Call):
        return replace(event, part=replace(event.part, executor="provider"))
    return event


def _ran(event: Event) -> Event:
    """A result was given by whoever ran the call."""
    if (
        isinstance(event, PartComplete)
        and isinstance(event.part, Result)
        and event.part.executor == "client"
    ):
        return replace(event, part=replace(event.part, executor="provider", origin="wire"))
    return event
