"""Write the Events of a run in the way of ADK's own runner.

Texts are written at once in partial Events, calls when they are complete. The parts of a turn are
kept, because the completed Event repeats them, and the results of a turn until the next one,
because they share an Event.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from toolwire.conversation.ids import is_minted
from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Call, Message, Part, Result
from toolwire.streaming.events import Chunk, PartStart, StreamError, TurnStart
from toolwire.wires.adk.bodies import write
from toolwire.wires.adk.events import AGENT, answer_event, write_block
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.sequential_writer import QueuedPart
from toolwire.wires.families.contents.parts import text_block
from toolwire.wires.families.contents.stream_writer import ContentWriter


class _TurnPart(Struct):
    """A part of the current turn: a text that grows, or a block."""

    part: Part
    block: JSON = None
    texts: list[str] = []

    def write(self) -> tuple[Part, JSON]:
        """The part and its block."""
        if self.block is not None:
            return self.part, self.block
        return self.part, text_block(self.part, "".join(self.texts))


class EventWriter(ContentWriter):
    """Writes the Events of one run."""

    supports_results = True
    open_calls_come_last = True  # an Event with calls lists the client's calls

    def __init__(self, context: EncodeContext, version: int | None = None) -> None:
        super().__init__(context, version)
        self.turn_parts: list[_TurnPart] = []
        self.turn_results: list[tuple[Part, JSON]] = []
        self.completed = False
        """True if a completed Event was written."""

    def empty_event(self, stop: str | None = None) -> Object:
        answer = Conversation((Message("assistant", (), stop),), (), self.settings, "", "response")
        event = get(write(answer, self.context), (0,))
        assert isinstance(event, dict)
        return event

    def start_turn(self, event: TurnStart) -> list[Chunk]:
        if self.parts_in_queue():
            return []  # the turn begins with the part that waits for them
        return self._complete_turn() if event.role == "tool" else self._write_results()

    def start(self, event: PartStart) -> list[Chunk]:
        out = [] if self.parts_in_queue() else self._write_results()
        return [*out, *super().start(event)]

    def appender(self, queued: QueuedPart) -> Callable[[str], object] | None:
        if self.turn_parts and self.turn_parts[-1].part is queued.part:
            return self.turn_parts[-1].texts.append
        return None

    def open_part(self, queued: QueuedPart, text: str) -> list[Chunk]:
        out = self._write_results()
        self.turn_parts.append(_TurnPart(queued.part))
        return [*out, *self.grow_part(queued, text)]

    def grow_part(self, queued: QueuedPart, text: str) -> list[Chunk]:
        part = queued.part
        if not self.turn_parts or self.turn_parts[-1].part is not part:
            self.turn_parts.append(_TurnPart(part))  # a turn may end while a text is open
        self.turn_parts[-1].texts.append(text)
        return [self._partial_event(part, text_block(part, text))]

    def write_part(self, part: Part, choice: int) -> list[Chunk]:
        is_result = isinstance(part, Result)
        if isinstance(part, Call) and part.origin != "minted" and is_minted(part.id):
            self.context.minted_ids_sent = True  # a result that follows may need the source's id
        out = self._complete_turn() if is_result else self._write_results()
        block = write_block(part, self.context)
        if block is None:
            return out
        if is_result:
            self.turn_results.append((part, block))
            self.context.minted_ids_sent = True  # order cannot pair a later call with this result
            return out
        self.turn_parts.append(_TurnPart(part, block))
        return [*out, self._partial_event(part, block)]

    def _partial_event(self, part: Part, block: JSON) -> Chunk:
        return {**answer_event(self.head, [(part, block)]), "partial": True}

    def _take_parts(self) -> list[tuple[Part, JSON]]:
        parts, self.turn_parts = self.turn_parts, []
        return [part.write() for part in parts]

    def _complete_turn(self) -> list[Chunk]:
        """The completed Event, which repeats the parts of the turn."""
        if not self.turn_parts:
            return []
        self.completed = True
        return [answer_event(self.head, self._take_parts())]

    def _write_results(self) -> list[Chunk]:
        if not self.turn_results:
            return []
        self.completed = True
        results, self.turn_results = self.turn_results, []
        return [answer_event(self.head, results)]

    def close(self) -> list[Chunk]:
        out = self._write_results()
        # The calls show that the model stopped for a tool.
        called = self.stop == "tool" and any(
            isinstance(turn_part.part, Call) for turn_part in self.turn_parts
        )
        last = self.empty_event("stop" if called else self.stop)
        parts = self._take_parts()
        if parts or not self.completed:
            last = answer_event(last, parts)
        else:
            del last["content"]
        return [*out, last]

    def error(self, event: StreamError) -> list[Chunk]:
        failure: Chunk = {
            **self.head,
            "author": AGENT,
            "errorCode": event.code or "ERROR",
            "errorMessage": event.message,
        }
        return [*self._write_results(), failure, {"error": event.message}]
