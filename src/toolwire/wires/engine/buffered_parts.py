"""A buffer for parts that a wire can send only complete.

A part is released when it and all parts that started before it have ended, so that parallel calls
are sent in the order in which they started, as in a body. Knows no wire.
"""

from __future__ import annotations

from toolwire.conversation.parts import Part
from toolwire.streaming.accumulate import Accumulator
from toolwire.streaming.events import PartDelta, PartEnd, PartStart


class PartBuffer:
    """Incomplete parts, in the order in which they started."""

    __slots__ = ("_accumulator", "_order")

    def __init__(self) -> None:
        self._accumulator = Accumulator()
        self._order: dict[int, Part | None] = {}

    def __contains__(self, slot: int) -> bool:
        return slot in self._accumulator

    def start(self, event: PartStart) -> None:
        """Start a part."""
        self._accumulator.start(event)
        self._order[event.slot] = None

    def delta(self, event: PartDelta) -> None:
        """Append a delta to a part."""
        self._accumulator.delta(event)

    def end(self, event: PartEnd) -> list[Part]:
        """End a part, and return the parts that can be sent now."""
        self._order[event.slot] = self._accumulator.end(event)
        ready: list[Part] = []
        for slot, part in list(self._order.items()):
            if part is None:
                break
            ready.append(part)
            del self._order[slot]
        return ready
