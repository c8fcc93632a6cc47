"""Edits that the owner of a stream translator may make in its stream."""

from __future__ import annotations

from typing import Protocol

from toolwire.streaming.events import Chunk, Event


class StreamEdits(Protocol):
    """The edits of the owner of a stream translator."""

    def edit_events(self, events: list[Event]) -> list[Event]:
        """Neutral events before they are translated, without deltas from the cache."""

    def edit_chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        """Events of the target before they are encoded, without deltas from the cache."""

    def edit_last_chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        """The events that end a stream of the target."""
