"""Calls in a text that may still be growing: what is said goes on at once, what may be a call is
held until that is known.

One reading for both: a body is a stream that came in one piece. Outside of calls only what could be
the beginning of a mark is held back. A block is held until it is whole, or cannot become one; one
that has to fill the whole message, until that is over. Knows dialects only by their rows; knows no
wire.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from msgspec import Struct

from toolwire.wires.text.cursor import Guard, Tape
from toolwire.wires.text.dialects import CALLS, DEFAULT, CallBlock, Dialect, Found
from toolwire.wires.text.embedded_json import skip


class Stretch(Struct, frozen=True):
    """A piece of a text. The texts of all stretches, joined, are the text."""

    text: str
    calls: tuple[Found, ...] | None = None
    """The calls in it, by their spans in this piece; None if it is words."""


class _Try:
    """A block that a dialect may have here."""

    __slots__ = ("dialect", "guard", "parse", "tape", "verdict")

    def __init__(
        self,
        dialect: Dialect,
        guard: Callable[[Tape], Guard],
        parse: Callable[[str, int], CallBlock | None],
        text: str,
        path: int,
    ) -> None:
        self.dialect = dialect
        self.parse = parse
        self.tape = Tape(text, path)
        self.guard = guard(self.tape)
        self.verdict: bool | None = None
        """Whether it is whole, or cannot become so; None as long as that is open."""
        self._step()

    def more(self, piece: str) -> None:
        if self.verdict is None:
            self.tape.more(piece)
            self._step()

    def _step(self) -> None:
        try:
            next(self.guard)
        except StopIteration as stop:
            self.verdict = stop.value


@cache
def _marks(names: tuple[str, ...], final: bool) -> re.Pattern[str]:
    """The marks of these dialects; also the beginnings of marks where the text ends, unless it ends
    for good."""
    whole = "|".join(dict.fromkeys(CALLS[name].opens for name in names))
    part = "|".join(dict.fromkeys(CALLS[name].nearly for name in names))
    return re.compile(whole if final else rf"{whole}|(?P<part>(?:{part})\Z)")


MARKS = "<["
"""With one of these begins every mark of every dialect."""
_START, _WITHIN, _AFTER = "start", "within", "after"
"""At the beginning of the message; in its midst; right behind a block."""


class Scan:
    """Reads one message."""

    __slots__ = ("_held", "_place", "_tries", "dialect")

    def __init__(self) -> None:
        self.dialect: Dialect | None = None
        """That of the first block: the others mean nothing from there on."""
        self._place = _START
        self._held: list[str] = []
        self._tries: list[_Try] = []

    def feed(self, text: str) -> list[Stretch]:
        """What is sure now that this much more has come."""
        if not text:
            return []
        self._held.append(text)
        for one in self._tries:
            one.more(text)
        if any(one.verdict is None for one in self._tries) and not any(
            one.verdict for one in self._tries
        ):
            return []
        return self._read(final=False)

    @property
    def idle(self) -> bool:
        """Whether it is in the midst of words and holds nothing."""
        return self._place == _WITHIN and not self._held and not self._tries

    def end(self) -> list[Stretch]:
        """The rest, when no more comes."""
        return self._read(final=True)

    def _read(self, *, final: bool) -> list[Stretch]:
        text = "".join(self._held)
        self._held.clear()
        out: list[Stretch] = []
        if self._place == _START and not final and skip(text, 0) == len(text):
            return self._hold(text, 0, 0, out)
        begin = look = 0
        while begin < len(text):
            if not self._tries:
                look = self._next(text, look, final)
            if not self._tries:  # only words, and perhaps the beginning of a mark
                return self._hold(text, begin, look, out)
            alive = [one for one in self._tries if one.verdict is None]
            if alive and not final and not any(one.verdict for one in self._tries):
                return self._hold(text, begin, look, out)
            block = self._won(text, look, final)
            if block is None:
                look += self._place == _WITHIN
                self._place = _WITHIN
                continue
            if begin < look:
                out.append(Stretch(text[begin:look]))
            calls = tuple(
                Found(c.start - look, c.end - look, c.name, c.args, c.id) for c in block.calls
            )
            out.append(Stretch(text[look : block.end], calls))
            self._place = _AFTER if calls else _WITHIN
            begin = look = block.end
        return out

    def _hold(self, text: str, begin: int, look: int, out: list[Stretch]) -> list[Stretch]:
        """Let go of the words before a place, and hold the rest."""
        if begin < look:
            out.append(Stretch(text[begin:look]))
        if look < len(text):
            self._held.append(text[look:])
        return out

    def _won(self, text: str, path: int, final: bool) -> CallBlock | None:
        """The block that is here; when no more comes, one that was waiting for that may
        be whole.
        """
        tries, self._tries = self._tries, []
        for one in tries:
            if one.verdict or (final and one.verdict is None):
                block = one.parse(text, path)
                if block is not None:
                    self.dialect = one.dialect
                    return block
        return None

    def _next(self, text: str, look: int, final: bool) -> int:
        """Where the next block may begin; those that may are tried. Without any, where the words
        end that are sure."""
        if self._place == _START:
            first = text[(path := skip(text, look)) : path + 1]
            self._tries = [
                _Try(one, one.guard, one.parse, text, look)
                for one in CALLS.values()
                if first and one.alone == first
            ]
        elif self._place == _AFTER and self.dialect is not None and self.dialect.closes is not None:
            self._tries = [_Try(self.dialect, *self.dialect.closes, text, look)]
        if self._tries:
            return look
        self._place = _WITHIN
        names = tuple(CALLS) if self.dialect is None else (self.dialect.name,)
        if final:  # what cannot be whole any more need not be tried, again and again
            names = tuple(
                name for name in names if not CALLS[name].needs or CALLS[name].needs in text[look:]
            )
        found = _marks(names, final).search(text, look) if names else None
        if found is None:
            return len(text)
        if final or found["part"] is None:
            self._tries = [
                _Try(one, one.guard, one.parse, text, found.start())
                for one in map(CALLS.__getitem__, names)
                if re.compile(one.opens).match(text, found.start())
            ]
        return found.start()


_MIGHT = re.compile(
    r"\A["
    rf" \t\n\r]*[{''.join(re.escape(one.alone) for one in CALLS.values())}]"
    rf"|{_marks(tuple(CALLS), True).pattern}"
)


def find_calls(text: str) -> tuple[Dialect, list[CallBlock]]:
    """The blocks in a text, and their dialect: that of the first."""
    if _MIGHT.search(text) is None:
        return DEFAULT, []
    scan = Scan()
    blocks: list[CallBlock] = []
    path = 0
    for stretch in (*scan.feed(text), *scan.end()):
        if stretch.calls is not None:
            calls = tuple(
                Found(path + c.start, path + c.end, c.name, c.args, c.id) for c in stretch.calls
            )
            blocks.append(CallBlock(path, path + len(stretch.text), calls))
        path += len(stretch.text)
    return scan.dialect or DEFAULT, blocks
