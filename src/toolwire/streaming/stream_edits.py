"""Edits that the owner of a stream translator may make in its stream."""

from __future__ import annotations

from typing import Protocol

from toolwire.streaming.events import Chunk, Event


class StreamEdits(Protocol):
    """The edits of the owner of a stream translator."""

    def edit_events(self, events: list[Event]) -> list[Event]:
        """Edit neutral events before they are translated. Deltas from the cache are not passed."""

    def edit_chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        """Edit events of the target before they are encoded. Deltas from the cache are not
        passed."""

    def edit_last_chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        """Edit the events that end a stream of the target."""
