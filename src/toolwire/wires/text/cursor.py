"""A text that is still growing, and whether it can still become what it looks like.

A guard walks along a tape. It yields when it needs more text, and returns True when what it guards
is whole, False as soon as that cannot be any more. It keeps nothing of what it has passed. Knows
JSON and brackets; knows no wire and no dialect.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from typing import TypeAlias

Guard: TypeAlias = "Generator[None, None, bool]"


class Tape:
    """The text from the place on that a guard has reached."""

    __slots__ = ("path", "text")

    def __init__(self, text: str, path: int = 0) -> None:
        self.text = text
        self.path = path

    def more(self, piece: str) -> None:
        """Let it grow; what was passed is forgotten."""
        self.text = self.text[self.path :] + piece
        self.path = 0

    def pass_over(self, pattern: re.Pattern[str]) -> str:
        """Move over what a pattern matches, which may be nothing."""
        found = pattern.match(self.text, self.path)
        if found is None:
            return ""
        self.path = found.end()
        return found[0]

    @property
    def spent(self) -> bool:
        """Whether nothing is left to look at."""
        return self.path >= len(self.text)


def beginnings(*words: str) -> str:
    """A pattern for what is the beginning of one of these words, but not all of it."""
    return "|".join(re.escape(word[:n]) for word in words for n in range(len(word) - 1, 0, -1))


def expected(tape: Tape, whole: re.Pattern[str], part: re.Pattern[str]) -> Guard:
    """Move over a pattern; `part` is what could still become it."""
    while (found := whole.match(tape.text, tape.path)) is None:
        if part.fullmatch(tape.text, tape.path) is None:
            return False
        yield
    tape.path = found.end()
    return True


def blanks(tape: Tape, pattern: re.Pattern[str]) -> Generator[None, None, None]:
    """Move on to something that is no blank."""
    tape.pass_over(pattern)
    while tape.spent:
        yield
        tape.pass_over(pattern)


# --- JSON -----------------------------------------------------------------------------------------

SPACE = re.compile(r"[ \t\n\r]*")
_INSIDE = re.compile(r'(?:[^"\\\x00-\x1f]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*')
_ESCAPE = re.compile(r"(?:\\(?:u[0-9a-fA-F]{0,3})?)?")
_BARE = re.compile(r"[-+.0-9A-Za-z]*")
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null")
_CLOSERS = {"{": "}", "[": "]"}


def _string(tape: Tape, known: frozenset[str] | None = None) -> Guard:
    """Move to the end of a string whose quotation mark is passed; where only some are known, it has
    to be one of them."""
    said: list[str] = []
    while True:
        piece = tape.pass_over(_INSIDE)
        if known is not None:
            said.append(piece)
        if tape.text.startswith('"', tape.path):
            tape.path += 1
            return known is None or json.loads(f'"{"".join(said)}"') in known
        if _ESCAPE.fullmatch(tape.text, tape.path) is None:
            return False
        yield


def json_value(tape: Tape, known: frozenset[str] | None = None) -> Guard:
    """Move over a JSON object or list. `known` are the only keys that the object itself
    may have.
    """
    closers: list[str] = []
    wanted = "value"
    while True:
        yield from blanks(tape, SPACE)
        here = tape.text[tape.path]
        if wanted in ("value", "first item") and here in _CLOSERS:
            tape.path += 1
            closers.append(_CLOSERS[here])
            wanted = "first key" if here == "{" else "first item"
            continue
        if not closers:
            return False
        if here == '"' and wanted in ("key", "first key"):
            tape.path += 1
            if not (yield from _string(tape, known if len(closers) == 1 else None)):
                return False
            wanted = "colon"
        elif here == ":" and wanted == "colon":
            tape.path += 1
            wanted = "value"
        elif here == "," and wanted == "next":
            tape.path += 1
            wanted = "key" if closers[-1] == "}" else "value"
        elif here == closers[-1] and wanted in ("next", "first key", "first item"):
            tape.path += 1
            closers.pop()
            if not closers:
                return True
            wanted = "next"
        elif wanted in ("value", "first item"):
            if not (yield from _scalar(tape, here)):
                return False
            wanted = "next"
        else:
            return False


def _scalar(tape: Tape, here: str) -> Guard:
    if here == '"':
        tape.path += 1
        return (yield from _string(tape))
    while (found := _BARE.match(tape.text, tape.path)) is not None and found.end() == len(
        tape.text
    ):
        yield
    if found is None or _SCALAR.fullmatch(found[0]) is None:
        return False
    tape.path = found.end()
    return True


# --- brackets -------------------------------------------------------------------------------------

_PLAIN = re.compile(r"[^\[\](){}'\"]*")
_QUOTED = {quote: re.compile(rf"(?:[^{quote}\\]+|\\.)*", re.DOTALL) for quote in "'\""}


def bracketed(tape: Tape) -> Guard:
    """Move over something in brackets, such as a list of Python: only strings and brackets are
    looked at."""
    depth = 0
    while True:
        tape.pass_over(_PLAIN)
        if tape.spent:
            yield
            continue
        here = tape.text[tape.path]
        tape.path += 1
        if here in "([{":
            depth += 1
        elif here in ")]}":
            depth -= 1
            if depth <= 0:
                return True
        else:
            tape.pass_over(_QUOTED[here])
            while not tape.text.startswith(here, tape.path):
                yield
                tape.pass_over(_QUOTED[here])
            tape.path += 1
