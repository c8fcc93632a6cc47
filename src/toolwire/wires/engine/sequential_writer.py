"""The writer of wires on which one part ends before the next one begins.

The first open part of a candidate is written at once. Events of a later part are kept until the
parts before it have ended, so that parallel calls are sent one after the other, in the order in
which they started, as in a body. Text and reasoning start with their first characters, so that an
empty text is not written. Knows no wire.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.parts import Call, Part
from toolwire.streaming.accumulate import complete_part
from toolwire.streaming.events import Chunk, Finish, PartComplete, PartDelta, PartEnd, PartStart
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.stream import StreamWriter


class QueuedPart(Struct, eq=False):
    """A part that is not written completely."""

    part: Part
    choice: int = 0
    more: bool = False
    """True if the part continues a text that another part interrupted."""
    complete: bool = False
    """True if the part arrived complete, without deltas."""
    whole: bool = False
    """True if the part arrives in deltas but is written only when it is complete."""
    texts: list[str] = []
    """Deltas that are not written yet."""
    opened: bool = False
    """True if its start was written; only the first part of a queue is opened."""
    end: PartEnd | None = None


class SequentialWriter(StreamWriter):
    """Writes parts one after another. A subclass writes the events of one part."""

    def __init__(self, context: EncodeContext, version: int | None = None) -> None:
        super().__init__(context, version)
        self._queues: dict[int, deque[QueuedPart]] = {}
        """The parts of each candidate that are not written completely, in order."""
        self._by_slot: dict[int, QueuedPart] = {}
        self.stop: str | None = None

    # --- for subclasses ---

    def waits_for_end(self, part: Part) -> bool:
        """True if a part that arrives in deltas is written only when it is complete."""
        return False

    def open_part(self, queued: QueuedPart, text: str) -> list[Chunk]:
        """Write the start of a part with its first text, which may be empty for a call."""
        raise NotImplementedError

    def grow_part(self, queued: QueuedPart, text: str) -> list[Chunk]:
        """Write more text of the open part."""
        raise NotImplementedError

    def close_part(self, queued: QueuedPart, event: PartEnd) -> list[Chunk]:
        """Write the end of the open part."""
        return []

    def write_part(self, part: Part, choice: int) -> list[Chunk]:
        """Write a complete part."""
        raise NotImplementedError

    def appender(self, queued: QueuedPart) -> Callable[[str], object] | None:
        """Return the `text_appender` of the open part."""
        return None

    # --- the queue ---

    def start(self, event: PartStart) -> list[Chunk]:
        whole = self.waits_for_end(event.part)
        queued = QueuedPart(event.part, event.choice, more=event.more, whole=whole)
        self._by_slot[event.slot] = queued
        return self._add(queued)

    def complete(self, event: PartComplete) -> list[Chunk]:
        return self._add(QueuedPart(event.part, event.choice, complete=True))

    def _add(self, queued: QueuedPart) -> list[Chunk]:
        queue = self._queues.setdefault(queued.choice, deque())
        queue.append(queued)
        return self._advance(queue) if len(queue) == 1 else []

    def delta(self, event: PartDelta) -> list[Chunk]:
        queued = self._by_slot[event.slot]
        if queued.opened:
            return self.grow_part(queued, event.text)
        if event.text:
            queued.texts.append(event.text)
        return [] if self._waits(queued) else self._advance(self._queues[queued.choice])

    def _waits(self, queued: QueuedPart) -> bool:
        """True if nothing of a part can be written yet."""
        return queued.whole or self._queues[queued.choice][0] is not queued

    def end(self, event: PartEnd) -> list[Chunk]:
        queued = self._by_slot.pop(event.slot)
        queued.end = event
        return self._advance(self._queues[queued.choice])

    def text_appender(self, slot: int) -> Callable[[str], object] | None:
        queued = self._by_slot.get(slot)
        return self.appender(queued) if queued is not None and queued.opened else None

    def text_buffer(self, slot: int) -> Callable[[str], object] | None:
        queued = self._by_slot.get(slot)
        if queued is None or queued.opened or not self._waits(queued):
            return None
        return queued.texts.append

    def _advance(self, queue: deque[QueuedPart]) -> list[Chunk]:
        """Write what is known of the first part and, each time a part is complete, of the next
        one."""
        out: list[Chunk] = []
        while queue:
            queued = queue[0]
            out += self._write(queued)
            if queued.end is None and not queued.complete:
                break
            queue.popleft()
        return out

    def _write(self, queued: QueuedPart) -> list[Chunk]:
        """Write what is known of the first part of a queue."""
        end = queued.end
        if queued.complete:
            return self.write_part(queued.part, queued.choice)
        if queued.whole:
            if end is None:
                return []
            return self.write_part(complete_part(queued.part, queued.texts, end), queued.choice)
        if end is not None and end.whole is not None and not queued.opened:
            queued.texts, end = [end.whole] if end.whole else [], replace(end, whole=None)
        text, queued.texts = "".join(queued.texts), []
        out: list[Chunk] = []
        signed = end is not None and end.signature is not None
        if not queued.opened and (text or signed or isinstance(queued.part, Call)):
            queued.opened = True
            out = self.open_part(queued, text)
        return out + self.close_part(queued, end) if queued.opened and end is not None else out

    # --- the end ---

    def parts_in_queue(self) -> list[QueuedPart]:
        """The parts that the source left open, in order."""
        return [queued for queue in self._queues.values() for queued in queue]

    def close_unfinished(self) -> list[Chunk]:
        """End the parts that the source left open."""
        return [
            chunk for slot in list(self._by_slot) for chunk in self.end(PartEnd(slot, cut=True))
        ]

    def finish(self, event: Finish) -> list[Chunk]:
        self.stop = event.stop
        return []
