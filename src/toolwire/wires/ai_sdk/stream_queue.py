"""AI SDK: the order in which the events of a stream are emitted.

A call that is answered in the same stream ran on the server. Whether it did is known when its
output arrives or the stream ends: until then the call, and everything after it, is held.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from toolwire.streaming.events import Event, PartDelta, PartEnd, PartStart
from toolwire.wires.ai_sdk.stream_tool_parts import StreamedToolPart


class EventQueue:
    """Emits events in order and holds those behind a call without an output.

    `call_events` makes the events of a call when it is released.
    """

    def __init__(self, call_events: Callable[[StreamedToolPart], list[Event]]) -> None:
        self.step = 0
        self.step_emitted = False
        """True if an event of this step was emitted."""
        self.open_slots: set[int] = set()
        """Slots whose start was emitted and whose end was not."""
        self._call_events = call_events
        self.held: deque[tuple[int, Event | StreamedToolPart]] = deque()
        """Steps and what is held of them; the first is a call without its output."""
        self._slots = 0

    def new_slot(self) -> int:
        self._slots += 1
        return self._slots - 1

    def start_step(self) -> None:
        self.step += 1
        self.step_emitted = False

    def hold(self, tool: StreamedToolPart) -> None:
        """Hold a call until its output arrives."""
        self.held.append((self.step, tool))

    def held_calls(self) -> list[StreamedToolPart]:
        return [item for _, item in self.held if isinstance(item, StreamedToolPart)]

    def emit(self, *events: Event) -> list[Event]:
        """The events that can be emitted now; the others are held."""
        out: list[Event] = []
        for event in events:
            continues = isinstance(event, PartDelta | PartEnd) and event.slot in self.open_slots
            if self.held and not continues:
                self.held.append((self.step, event))
            else:
                out.append(self._note(event))
        return out

    def release(self, *, all_of_it: bool = False) -> list[Event]:
        """The held events up to the next call without an output, or all of them."""
        out: list[Event] = []
        while self.held:
            item = self.held[0][1]
            if not isinstance(item, StreamedToolPart):
                out.append(self._note(item))
            elif item.answered or all_of_it:
                out += map(self._note, self._call_events(item))
            else:
                break
            self.held.popleft()
        return out

    def discard_step(self) -> None:
        """Drop what is held of the current step."""
        self.held = deque(entry for entry in self.held if entry[0] != self.step)

    def _note(self, event: Event) -> Event:
        self.step_emitted = True
        if event.__class__ is PartStart:
            self.open_slots.add(event.slot)
        elif event.__class__ is PartEnd:
            self.open_slots.discard(event.slot)
        return event
