"""AI SDK: the order in which the events of a stream are emitted.

A call that has its output in the same stream ran on the server. This is known only when the output
arrives or the stream ends; until then the call, and everything after it, waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from toolwire.streaming.events import Event, PartDelta, PartEnd, PartStart
from toolwire.wires.ai_sdk.stream_tool_parts import StreamedToolPart


class EventQueue:
    """Emits events in order and holds back those after a call without an output.

    `call_events` makes the events of a call when it is released.
    """

    def __init__(self, call_events: Callable[[StreamedToolPart], list[Event]]) -> None:
        self.step = 0
        self.step_emitted = False
        """True if an event of this step was emitted."""
        self.open_slots: set[int] = set()
        """Slots whose start was emitted and whose end was not."""
        self._call_events = call_events
        self.waiting: deque[tuple[int, Event | StreamedToolPart]] = deque()
        """Waiting events and calls, each with its step; the first is a call without an output."""

    def start_step(self) -> None:
        self.step += 1
        self.step_emitted = False

    def add_call(self, tool: StreamedToolPart) -> None:
        """Hold back a call until its output arrives."""
        self.waiting.append((self.step, tool))

    def waiting_calls(self) -> list[StreamedToolPart]:
        return [item for _, item in self.waiting if isinstance(item, StreamedToolPart)]

    def emit(self, *events: Event) -> list[Event]:
        """Return the events that can be emitted now, and queue the others."""
        out: list[Event] = []
        for event in events:
            continues = isinstance(event, PartDelta | PartEnd) and event.slot in self.open_slots
            if self.waiting and not continues:
                self.waiting.append((self.step, event))
            else:
                out.append(self._note(event))
        return out

    def release(self, *, all_of_it: bool = False) -> list[Event]:
        """Return the waiting events up to the next call without an output, or all of them."""
        out: list[Event] = []
        while self.waiting:
            item = self.waiting[0][1]
            if not isinstance(item, StreamedToolPart):
                out.append(self._note(item))
            elif item.answered or all_of_it:
                out += map(self._note, self._call_events(item))
            else:
                break
            self.waiting.popleft()
        return out

    def discard_step(self) -> None:
        """Drop the waiting events of the current step."""
        self.waiting = deque(entry for entry in self.waiting if entry[0] != self.step)

    def _note(self, event: Event) -> Event:
        self.step_emitted = True
        if event.__class__ is PartStart:
            self.open_slots.add(event.slot)
        elif event.__class__ is PartEnd:
            self.open_slots.discard(event.slot)
        return event
