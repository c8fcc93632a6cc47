"""The base of writers of content streams: each event holds whole parts, or pieces of a text."""

from __future__ import annotations

from toolwire.conversation.json import Object
from toolwire.conversation.parts import Call, Part
from toolwire.streaming.events import Chunk, MessageStart
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.sequential_writer import SequentialWriter

_NOT_IN_EVERY_EVENT = ("candidates", "content", "usageMetadata")


class ContentWriter(SequentialWriter):
    """Writes a stream of contents."""

    repeats_unknown_parts = True

    def __init__(self, context: EncodeContext, version: int | None = None) -> None:
        super().__init__(context, version)
        self.head: Object = {}
        """The fields that every event has."""

    def empty_event(self, stop: str | None = None) -> Object:
        """An event without parts, with the settings so far."""
        raise NotImplementedError

    def begin(self, event: MessageStart) -> list[Chunk]:
        super().begin(event)
        fields = self.empty_event().items()
        self.head = {key: value for key, value in fields if key not in _NOT_IN_EVERY_EVENT}
        return []

    def waits_for_end(self, part: Part) -> bool:
        return isinstance(part, Call)
