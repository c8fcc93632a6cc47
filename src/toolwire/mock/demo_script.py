"""Directives in double brackets, which tell the offline model exactly what to do.

`[[call weather {"city": "Oslo"}]] [[then]] [[text done]]`. The table documents them, one row each.
If a question has directives, the rest of it is not read.
"""

from __future__ import annotations

import re
from json import JSONDecodeError, JSONDecoder

from msgspec import Struct

from toolwire.conversation.json import JSON


class Directive(Struct, frozen=True):
    """One row: the keyword, its arguments, and its effect."""

    word: str
    takes: str
    does: str
    is_content: bool = False
    """True if the directive is part of the response, not a way to deliver it. Then the rest of the
    question is ignored."""


_ROWS = (
    Directive(
        "call",
        "NAME {JSON}",
        "calls a tool, whether the request defines it or not; several before the next"
        " `[[then]]` are parallel calls",
        True,
    ),
    Directive(
        "then",
        "",
        'starts the next answer, after the results; `"$1"` in JSON is the first result',
        True,
    ),
    Directive("text", "WORDS", "answers with these words", True),
    Directive(
        "think", "WORDS", "returns these words as reasoning, on wires that have reasoning", True
    ),
    Directive("unknown-tool", "", "calls `no_such_tool`, which is not defined", True),
    Directive(
        "broken-json",
        "",
        "cuts the arguments off in the middle; on wires where arguments are an object, only in"
        " a stream",
    ),
    Directive("repeat-id", "", "gives all calls the same id, including those of the next turn"),
    Directive("never-stop", "", "calls the same tools again after every result"),
    Directive(
        "say-as-text",
        "",
        "writes the calls into the text, in tags, as models without a tool API do",
    ),
    Directive(
        "cut",
        "",
        "breaks off the answer in the middle of the last call, or of the text, and closes the"
        " connection",
    ),
    Directive(
        "error", "STATUS TIMES", "fails with this status, this many times; without a number, always"
    ),
    Directive(
        "slow", "SECONDS", "waits this long before the answer, and before every event of a stream"
    ),
    Directive("size", "CHARACTERS", "fills the text of the answer up to this many characters"),
)
DIRECTIVES: dict[str, Directive] = {row.word: row for row in _ROWS}

_OPENING = re.compile(
    r"\[\[\s*("
    + "|".join(re.escape(word) for word in sorted(DIRECTIVES, key=len, reverse=True))
    + r")(?=[\s\]])"
)
_JSON = JSONDecoder()
MAX_DIRECTIVES = 1000
"""The maximum number of directives that are read from one question."""


class QuestionDirective(Struct, frozen=True):
    """A directive in a question: its keyword, its text, and its JSON."""

    word: str
    rest: str = ""
    value: JSON = None

    @property
    def numbers(self) -> list[float]:
        """The numbers in its text."""
        return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", self.rest)]


def read_directives(text: str) -> list[QuestionDirective]:
    """Return the directives of a question, in order."""
    found: list[QuestionDirective] = []
    at = 0
    for _ in range(MAX_DIRECTIVES):
        opened = _OPENING.search(text, at)
        if opened is None:
            break
        directive, end = _read_directive(text, opened[1], opened.end())
        at = opened.end() if directive is None else end
        if directive is not None:
            found.append(directive)
    return found


def _read_directive(text: str, word: str, at: int) -> tuple[QuestionDirective | None, int]:
    """The directive whose keyword ends at `at`, and its own end; JSON in it may hold brackets."""
    value: JSON = None
    rest, close = "", text.find("]]", at)
    brace = text.find("{", at)
    if word == "call" and 0 <= brace < close:
        try:
            value, stop = _JSON.raw_decode(text, brace)
        except (JSONDecodeError, RecursionError):
            return None, at
        rest, close = text[at:brace], text.find("]]", stop)
    elif close >= 0:
        rest = text[at:close]
    return (None, at) if close < 0 else (QuestionDirective(word, rest.strip(), value), close + 2)
