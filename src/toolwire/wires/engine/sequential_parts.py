"""Emit parts one after another, for wires whose deltas do not name their part.

Only the first open part emits text; parts that started after it are buffered until it ends. Knows
no wire.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolwire.conversation.parts import Call, Part
from toolwire.streaming.accumulate import with_text
from toolwire.streaming.events import PartComplete, PartDelta, PartEnd, PartStart


class Piece:
    """An open part and its buffered text."""

    __slots__ = ("fresh", "more", "over", "part", "texts")

    def __init__(self, part: Part, *, over: bool = False, more: bool = False) -> None:
        self.part = part
        self.texts: list[str] = []
        """Deltas that were received and not emitted."""
        self.over = over
        self.more = more
        """True if the part continues the text before it."""
        self.fresh = True
        """True if nothing of the part was emitted."""


class SequentialEmitter:
    """The open parts of one response, in the order in which they started."""

    __slots__ = ("_count", "_open")

    def __init__(self) -> None:
        self._open: dict[int | str, Piece] = {}
        self._count = 0

    def start(self, event: PartStart) -> None:
        """Start a part."""
        self._open[event.slot] = Piece(event.part, more=event.more)

    def whole(self, event: PartComplete) -> Iterator[tuple[Piece, str]]:
        """Add a complete part, and return what can be emitted now."""
        self._count += 1
        self._open[f"whole {self._count}"] = Piece(event.part, over=True)
        return self._flush()

    def delta(self, event: PartDelta) -> Iterator[tuple[Piece, str]]:
        """Add a delta, and return it with its part if it can be emitted now."""
        piece = self._open[event.slot]
        if isinstance(piece.part, Call) or next(iter(self._open)) != event.slot:
            piece.texts.append(event.text)
        elif event.text:
            yield piece, event.text

    def end(self, event: PartEnd) -> Iterator[tuple[Piece, str]]:
        """End a part, and return what can be emitted now.

        Calls and parts that arrived complete are emitted as a part with an empty text.
        """
        piece = self._open[event.slot]
        piece.over = True
        if isinstance(piece.part, Call):
            piece.part = with_text(
                piece.part, "".join(piece.texts) if event.whole is None else event.whole
            )
            piece.texts = []
        return self._flush()

    def _flush(self) -> Iterator[tuple[Piece, str]]:
        while self._open:
            slot, piece = next(iter(self._open.items()))
            if piece.texts and not isinstance(piece.part, Call):
                text, piece.texts = "".join(piece.texts), []
                if text:
                    yield piece, text
            if not piece.over:
                return
            del self._open[slot]
            if isinstance(slot, str) or isinstance(piece.part, Call):
                yield piece, ""
