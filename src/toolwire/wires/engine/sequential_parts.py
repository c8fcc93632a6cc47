"""Parts in a line, for wires on which nothing says which part a piece belongs to.

Only the first part that is open speaks; what was opened after it waits until it is closed. Knows no
wire.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolwire.conversation.parts import Call, Part
from toolwire.streaming.accumulate import with_text
from toolwire.streaming.events import PartComplete, PartDelta, PartEnd, PartStart


class Piece:
    """A part on its way."""

    __slots__ = ("fresh", "more", "over", "part", "texts")

    def __init__(self, part: Part, *, over: bool = False, more: bool = False) -> None:
        self.part = part
        self.texts: list[str] = []
        """What came and was not said."""
        self.over = over
        self.more = more
        """Whether it goes on with the text before it."""
        self.fresh = True
        """Whether nothing of it was said."""


class SequentialEmitter:
    """The open parts of one answer, in the order in which they were opened."""

    __slots__ = ("_count", "_open")

    def __init__(self) -> None:
        self._open: dict[int | str, Piece] = {}
        self._count = 0

    def start(self, event: PartStart) -> None:
        """A part joins the line."""
        self._open[event.slot] = Piece(event.part, more=event.more)

    def whole(self, event: PartComplete) -> Iterator[tuple[Piece, str]]:
        """A part that came at once: what can be said now."""
        self._count += 1
        self._open[f"whole {self._count}"] = Piece(event.part, over=True)
        return self._said()

    def delta(self, event: PartDelta) -> Iterator[tuple[Piece, str]]:
        """A part grows: the piece with its text if it may speak."""
        piece = self._open[event.slot]
        if isinstance(piece.part, Call) or next(iter(self._open)) != event.slot:
            piece.texts.append(event.text)
        elif event.text:
            yield piece, event.text

    def end(self, event: PartEnd) -> Iterator[tuple[Piece, str]]:
        """A part is over: what can be said now. A call, and what came at once, is said whole, with
        its part and no text."""
        piece = self._open[event.slot]
        piece.over = True
        if isinstance(piece.part, Call):
            piece.part = with_text(
                piece.part, "".join(piece.texts) if event.whole is None else event.whole
            )
            piece.texts = []
        return self._said()

    def _said(self) -> Iterator[tuple[Piece, str]]:
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
