"""What the writers of content streams share: parts are written one after the other.

Nothing in these streams says which part a piece of text belongs to. So a part that opens while
another is open waits until that one is closed, and a call waits for all of its arguments.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolwire.conversation.json import Object
from toolwire.conversation.parts import Part
from toolwire.streaming.events import (
    Chunk,
    MessageStart,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.sequential_parts import Piece, SequentialEmitter
from toolwire.wires.engine.stream import StreamWriter

_NOT_IN_EVERY_EVENT = ("candidates", "content", "usageMetadata")


class ContentWriter(StreamWriter):
    """Writes a stream of contents."""

    def __init__(self, context: EncodeContext, version: int | None = None) -> None:
        super().__init__(context, version)
        self.head: Object = {}
        """The fields that every event has."""
        self._emitters: dict[int, SequentialEmitter] = {}
        self._choices: dict[int, int] = {}
        """The candidate that each open part belongs to."""

    def empty_event(self, stop: str | None = None) -> Object:
        """An event without parts, with the settings so far."""
        raise NotImplementedError

    def write_text(self, piece: Piece, text: str, choice: int) -> list[Chunk]:
        """The events of a piece of text."""
        raise NotImplementedError

    def write_part(self, part: Part, choice: int) -> list[Chunk]:
        """The events of a complete part."""
        raise NotImplementedError

    def begin(self, event: MessageStart) -> list[Chunk]:
        super().begin(event)
        fields = self.empty_event().items()
        self.head = {key: value for key, value in fields if key not in _NOT_IN_EVERY_EVENT}
        return []

    def start(self, event: PartStart) -> list[Chunk]:
        self._choices[event.slot] = event.choice
        self._emitter(event.choice).start(event)
        return []

    def delta(self, event: PartDelta) -> list[Chunk]:
        choice = self._choices[event.slot]
        return self._write(self._emitters[choice].delta(event), choice)

    def end(self, event: PartEnd) -> list[Chunk]:
        choice = self._choices.pop(event.slot)
        return self._write(self._emitters[choice].end(event), choice)

    def complete(self, event: PartComplete) -> list[Chunk]:
        return self._write(self._emitter(event.choice).whole(event), event.choice)

    def _emitter(self, choice: int) -> SequentialEmitter:
        if choice not in self._emitters:
            self._emitters[choice] = SequentialEmitter()
        return self._emitters[choice]

    def _write(self, pieces: Iterator[tuple[Piece, str]], choice: int) -> list[Chunk]:
        out: list[Chunk] = []
        for piece, text in pieces:
            if text:
                out += self.write_text(piece, text, choice)
            else:
                out += self.write_part(piece.part, choice)
        return out
