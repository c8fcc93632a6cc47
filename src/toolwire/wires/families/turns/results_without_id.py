"""Stream results without a call id: they are held back until their call is known.

Which call that is depends on all calls and results of the turn, as in a body. So such a result, and
everything after it, waits for the end of the turn. This module knows no wire.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from toolwire.conversation.pairing import pairs
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Call, Message, Part, Result, Role
from toolwire.streaming.events import Event, Finish, PartComplete, PartStart, StreamError, TurnStart


class ResultsWithoutId:
    """The calls and results of a stream so far, and the events that are held back."""

    __slots__ = ("_held", "_messages", "_mint")

    def __init__(self, mint: Callable[[Result], str]) -> None:
        """Prepare one stream. `mint` makes the id for a result that belongs to no call."""
        self._mint = mint
        self._messages: list[tuple[Role, list[Part]]] = [("assistant", [])]
        self._held: list[Event] = []

    @property
    def is_holding(self) -> bool:
        """True if events are held back."""
        return bool(self._held)

    def add(self, events: list[Event]) -> list[Event]:
        """Add events; return those that can be emitted now."""
        out: list[Event] = []
        for event in events:
            if isinstance(event, TurnStart):
                if event.role == "assistant" and self._messages[-1][0] != "assistant":
                    out += self._release()
                self._messages.append((event.role, []))
            elif isinstance(event, PartStart | PartComplete):
                self._add_part(event.part)
            elif isinstance(event, Finish | StreamError):
                out += self._release()
            if self._held or _is_unidentified(event):
                self._held.append(event)
            else:
                out.append(event)
        return out

    def _add_part(self, part: Part) -> None:
        role, parts = self._messages[-1]
        if isinstance(part, Call | Result) or role != "assistant":
            parts.append(part)

    def _release(self) -> list[Event]:
        """Return the events that were held back, with an id on every result."""
        if not self._held:
            return []
        held, self._held = self._held, []
        messages = [Message(role, tuple(parts)) for role, parts in self._messages]
        call_of: PartMap[Part, Call] = PartMap(
            (pair.result, pair.call)
            for pair in pairs(messages, ordered=False)
            if pair.call is not None and pair.result is not None
        )
        return [self._identify(event, call_of) for event in held]

    def _identify(self, event: Event, call_of: PartMap[Part, Call]) -> Event:
        if not isinstance(event, PartComplete) or not isinstance(event.part, Result):
            return event
        result = event.part
        if result.call_id:
            return event
        call = call_of.get(result)
        call_id = self._mint(result) if call is None else call.id
        return replace(event, part=replace(result, call_id=call_id, origin="minted"))


def _is_unidentified(event: Event) -> bool:
    return (
        isinstance(event, PartComplete)
        and isinstance(event.part, Result)
        and not event.part.call_id
    )
