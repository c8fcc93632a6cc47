"""A buffer for calls, on chat wires that send a call in one chunk.

A call is released when it and all calls that started before it have ended, so that parallel calls
are sent in the order in which they started, as in a body. Texts do not wait. Knows no wire.
"""

from __future__ import annotations

from toolwire.conversation.parts import Part
from toolwire.streaming.accumulate import Accumulator
from toolwire.streaming.events import PartDelta, PartEnd, PartStart


class CallBuffer:
    """Incomplete calls, in the order in which they started."""

    __slots__ = ("_accumulator", "_order")

    def __init__(self) -> None:
        self._accumulator = Accumulator()
        self._order: dict[int, Part | None] = {}

    def start(self, event: PartStart) -> None:
        """Start a call."""
        self._accumulator.start(event)
        self._order[event.slot] = None

    def delta(self, event: PartDelta) -> None:
        """Append a delta to a call."""
        self._accumulator.delta(event)

    def end(self, event: PartEnd) -> list[Part]:
        """End a call, and return the calls that can be sent now."""
        self._order[event.slot] = self._accumulator.end(event)
        ready: list[Part] = []
        for slot, call in list(self._order.items()):
            if call is None:
                break
            ready.append(call)
            del self._order[slot]
        return ready
