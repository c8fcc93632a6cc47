"""Find calls in a text that may still be growing.

The same scanner reads bodies and streams: a body is a stream of one piece. Outside of calls, only
text that could be the start of a mark is held back. A block is held back until it is complete or
cannot be completed; a block that must fill the whole message, until the message is complete.
"""

from __future__ import annotations

import re
from functools import cache

from msgspec import Struct

from toolwire.wires.text.cursor import Cursor
from toolwire.wires.text.dialect import CallBlock, CallMatch, Dialect, Grammar
from toolwire.wires.text.dialects import DEFAULT, DIALECTS
from toolwire.wires.text.embedded_json import skip_space

MARK_STARTS = "<["
"""Every mark of every dialect starts with one of these characters."""


class Span(Struct, frozen=True):
    """A piece of a text. The pieces joined are the text."""

    text: str
    calls: tuple[CallMatch, ...] | None = None
    """The calls of a block, with positions in this piece; None if the piece is plain text."""


class _Attempt:
    """An attempt to read a block at a position in one dialect."""

    __slots__ = ("complete", "cursor", "dialect", "parse", "recognizer")

    def __init__(self, dialect: Dialect, grammar: Grammar, text: str, position: int) -> None:
        self.dialect = dialect
        self.parse = grammar.parse
        self.cursor = Cursor(text, position)
        self.recognizer = grammar.recognize(self.cursor)
        self.complete: bool | None = None
        """True if the block is complete, False if it cannot be completed, None if undecided."""
        self._advance()

    def append(self, text: str) -> None:
        if self.complete is None:
            self.cursor.append(text)
            self._advance()

    def _advance(self) -> None:
        try:
            next(self.recognizer)
        except StopIteration as stop:
            self.complete = stop.value


@cache
def _marks(names: tuple[str, ...], final: bool) -> re.Pattern[str]:
    """A pattern for the marks of these dialects.

    Unless the text is final, it also matches the start of a mark at the end of the text.
    """
    whole = "|".join(dict.fromkeys(DIALECTS[name].opens for name in names))
    partial = "|".join(dict.fromkeys(DIALECTS[name].partly_opens for name in names))
    return re.compile(whole if final else rf"{whole}|(?P<partial>(?:{partial})\Z)")


_AT_START, _IN_TEXT, _AFTER_BLOCK = "at start", "in text", "after block"


class Scanner:
    """Reads the text of one message, piece by piece."""

    __slots__ = ("_attempts", "_buffer", "_state", "dialect")

    def __init__(self) -> None:
        self.dialect: Dialect | None = None
        """The dialect of the first block: from then on, no other dialect is read."""
        self._state = _AT_START
        self._buffer: list[str] = []
        self._attempts: list[_Attempt] = []

    def feed(self, text: str) -> list[Span]:
        """Add text and return the spans that are decided now."""
        if not text:
            return []
        self._buffer.append(text)
        for attempt in self._attempts:
            attempt.append(text)
        return [] if self._needs_text() else self._read(final=False)

    @property
    def idle(self) -> bool:
        """True if the scanner is inside plain text and holds nothing back."""
        return self._state == _IN_TEXT and not self._buffer and not self._attempts

    def end(self) -> list[Span]:
        """Return the remaining spans when the text is complete."""
        return self._read(final=True)

    def _needs_text(self) -> bool:
        """True if an attempt needs more text, and none is complete."""
        outcomes = [attempt.complete for attempt in self._attempts]
        return None in outcomes and True not in outcomes

    def _read(self, *, final: bool) -> list[Span]:
        text = "".join(self._buffer)
        self._buffer.clear()
        out: list[Span] = []
        if self._state == _AT_START and not final and skip_space(text, 0) == len(text):
            return self._release(text, 0, 0, out)
        start = position = 0
        while start < len(text):
            if not self._attempts:
                position = self._find_start(text, position, final)
            if not self._attempts or (not final and self._needs_text()):
                return self._release(text, start, position, out)
            block = self._take_block(text, position, final)
            if block is None:
                position += self._state == _IN_TEXT
                self._state = _IN_TEXT
                continue
            if start < position:
                out.append(Span(text[start:position]))
            calls = tuple(call.shift(-position) for call in block.calls)
            out.append(Span(text[position : block.end], calls))
            self._state = _AFTER_BLOCK if calls else _IN_TEXT
            start = position = block.end
        return out

    def _release(self, text: str, start: int, position: int, out: list[Span]) -> list[Span]:
        """Release the plain text before a position, and hold back the rest."""
        if start < position:
            out.append(Span(text[start:position]))
        if position < len(text):
            self._buffer.append(text[position:])
        return out

    def _take_block(self, text: str, position: int, final: bool) -> CallBlock | None:
        """The block at a position, if an attempt succeeded.

        At the end of the message, undecided attempts may turn out to be complete.
        """
        attempts, self._attempts = self._attempts, []
        for attempt in attempts:
            if attempt.complete or (final and attempt.complete is None):
                block = attempt.parse(text, position)
                if block is not None:
                    self.dialect = attempt.dialect
                    return block
        return None

    def _find_start(self, text: str, position: int, final: bool) -> int:
        """Start attempts at the next position where a block may start, and return the position.

        If there is none, return the end of the text that is certainly plain.
        """
        if self._state == _AT_START:
            first = skip_space(text, position)
            self._attempts = [
                _Attempt(dialect, dialect.block, text, position)
                for dialect in DIALECTS.values()
                if dialect.bare_start and text.startswith(dialect.bare_start, first)
            ]
        elif self._state == _AFTER_BLOCK and self.dialect and self.dialect.closing:
            self._attempts = [_Attempt(self.dialect, self.dialect.closing, text, position)]
        if self._attempts:
            return position
        self._state = _IN_TEXT
        names = tuple(DIALECTS) if self.dialect is None else (self.dialect.name,)
        if final:  # do not retry dialects that can no longer be completed
            rest = text[position:]
            names = tuple(name for name in names if DIALECTS[name].end_marker in rest)
        found = _marks(names, final).search(text, position) if names else None
        if found is None:
            return len(text)
        if final or found["partial"] is None:
            self._attempts = [
                _Attempt(dialect, dialect.block, text, found.start())
                for dialect in map(DIALECTS.__getitem__, names)
                if re.compile(dialect.opens).match(text, found.start())
            ]
        return found.start()


_BARE_STARTS = "".join(re.escape(dialect.bare_start) for dialect in DIALECTS.values())
_MAY_HOLD_CALLS = re.compile(
    rf"\A[ \t\n\r]*[{_BARE_STARTS}]|{_marks(tuple(DIALECTS), True).pattern}"
)


def find_calls(text: str) -> tuple[Dialect, list[CallBlock]]:
    """The blocks of calls in a text, and their dialect."""
    if _MAY_HOLD_CALLS.search(text) is None:
        return DEFAULT, []
    scanner = Scanner()
    blocks: list[CallBlock] = []
    position = 0
    for span in (*scanner.feed(text), *scanner.end()):
        end = position + len(span.text)
        if span.calls is not None:
            calls = tuple(call.shift(position) for call in span.calls)
            blocks.append(CallBlock(position, end, calls))
        position = end
    return scanner.dialect or DEFAULT, blocks
