"""Parts that a wire can send only whole: each waits until it is closed, and until those opened
before it are.

So calls that grow side by side go out in the order in which they began, as in a whole body. Knows
no wire.
"""

from __future__ import annotations

from toolwire.conversation.parts import Part
from toolwire.streaming.accumulate import Accumulator
from toolwire.streaming.events import PartDelta, PartEnd, PartStart


class PartBuffer:
    """Parts on their way, in the order in which they began."""

    __slots__ = ("_growing", "_order")

    def __init__(self) -> None:
        self._growing = Accumulator()
        self._order: dict[int, Part | None] = {}

    def __contains__(self, slot: int) -> bool:
        return slot in self._growing

    def start(self, event: PartStart) -> None:
        """Open a part."""
        self._growing.start(event)
        self._order[event.slot] = None

    def delta(self, event: PartDelta) -> None:
        """Let it grow."""
        self._growing.delta(event)

    def end(self, event: PartEnd) -> list[Part]:
        """Close it: the parts that nothing is in front of any more."""
        self._order[event.slot] = self._growing.end(event)
        ready: list[Part] = []
        for slot, part in list(self._order.items()):
            if part is None:
                break
            ready.append(part)
            del self._order[slot]
        return ready
