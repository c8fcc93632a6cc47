"""Find the calls that a plain-text question asks for, step by step, with their arguments.

Tools are found by the words of their names, then of their descriptions. A step is a list of calls
that can run at once; `then` starts the next step, which may refer to `the result`. Only simple
sentences are understood.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from toolwire.conversation.json import JSON
from toolwire.conversation.model import Tool
from toolwire.conversation.part_map import PartMap
from toolwire.mock.demo_arguments import Clause, arguments

_THEN = re.compile(
    r"[,;.]?\s*\b(?:and\s+)?(?:then|after that|afterwards|finally)\b[,:]?", re.IGNORECASE
)
_BREAK = re.compile(
    r"(?:[;?!\n]+|\.(?=\s|$)|,\s*and\b|,|\band\b|\bas well as\b|\balso\b)", re.IGNORECASE
)
_QUOTES = re.compile(r"\"[^\"]*\"|“[^”]*”|(?<!\w)'[^']*'(?!\w)|`[^`]*`|\{[^{}]*\}|\[[^\[\]]*\]")
_COMMON = frozenset(
    """a an the of in on at to for from by with and or is are was be it its this that these those what which who how do does did
    can could would will please me my your you i we us they their there here use using tool tools function call run get gets fetch
    list give show tell let make made returns return given any all one two some into as if not no new current now""".split()
)
_SYNONYMS = {
    "plus": "add",
    "sum": "add",
    "+": "add",
    "total": "add",
    "times": "multiply",
    "product": "multiply",
    "*": "multiply",
    "×": "multiply",
    "minus": "subtract",
    "difference": "subtract",
    "divided": "divide",
    "/": "divide",
    "forecast": "weather",
    "temperature": "weather",
    "clock": "time",
    "mail": "email",
    "find": "search",
    "look": "search",
}
"""Words in questions, and the word in a tool's name that they stand for."""


class QuestionStep(Struct, frozen=True):
    """One call that a question asks for; `lacks` are the required arguments that the question does
    not give."""

    tool: Tool
    given: dict[str, JSON]
    lacks: tuple[str, ...] = ()


def steps(text: str) -> list[str]:
    """The text of each step."""
    hidden = _QUOTES.sub(lambda quoted: "\0" * len(quoted[0]), text)
    found: list[str] = []
    start = 0
    for match in _THEN.finditer(hidden):
        found.append(text[start : match.start()])
        start = match.end()
    return [step.strip() for step in (*found, text[start:]) if step.strip()]


def find_calls(text: str, tools: Sequence[Tool], results: Sequence[JSON]) -> list[QuestionStep]:
    """The calls that one step asks for, given the results of the step before."""
    known = _KnownTools(tools)
    found: list[QuestionStep] = []
    for words, tool in _clauses(text, known):
        for given, lacks in arguments(
            Clause(words, known.words(tool), tuple(results)), tool.schema
        ):
            found.append(QuestionStep(tool, given, lacks))
    return found


class _KnownTools:
    """The defined tools, and the words that identify each."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.tools = [tool for tool in tools if tool.name and tool.kind in ("function", "custom")]
        names = [set(split(tool.name)) - _COMMON for tool in self.tools]
        shared = {
            word
            for words_of_name in names
            for word in words_of_name
            if len(names) > 1 and sum(word in other for other in names) == len(names)
        }
        self._names = PartMap(
            (tool, {stem(word) for word in name - shared or name})
            for tool, name in zip(self.tools, names, strict=True)
        )
        common = {stem(word) for word in _COMMON}
        self._about = PartMap(
            (tool, {stem(word) for word in split(tool.description or "")} - common)
            for tool in self.tools
        )

    def words(self, tool: Tool) -> frozenset[str]:
        """The words that name a tool, so that none of them is used as an argument."""
        return frozenset(self._names[tool] | {stem(word) for word in split(tool.name)})

    def by_name(self, text: str) -> Tool | None:
        """The tool that a text names: by its whole name, else by the most words of its name, in the
        order of the text."""
        low = text.lower()
        whole = [
            tool
            for tool in self.tools
            if re.search(rf"(?<![\w.-]){re.escape(tool.name.lower())}(?![\w-])", low)
        ]
        if whole:
            return max(whole, key=lambda tool: len(tool.name))
        spoken_words = [
            stem(_SYNONYMS.get(word, word))
            for word in [*split(text), *re.findall(r"(?<=\d)\s*([+*×/])\s*(?=\d)", text)]
        ]
        best, most = None, (0, 0)
        for tool in self.tools:
            words = self._names[tool]
            hits = [n for n, word in enumerate(spoken_words) if word in words]
            score = (len({spoken_words[n] for n in hits}), -hits[0]) if hits else (0, 0)
            if hits and (best is None or score > most):
                best, most = tool, score
        return best

    def by_description(self, text: str) -> Tool | None:
        """The tool whose description has the most words of a text, at least two."""
        spoken_words = {stem(word) for word in split(text)}
        scores = [(len(spoken_words & self._about[tool]), -n) for n, tool in enumerate(self.tools)]
        many, n = max(scores, default=(0, 0))
        return self.tools[-n] if many > 1 else None


def split(name: str) -> list[str]:
    """The words of a name or a text, in lower case: `Calculator_Add`, `getWeather`, `a.b/c`."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return [word.lower() for word in re.findall(r"[^\W_]+", parted)]


def stem(word: str) -> str:
    """A word without the endings that a question may put on it."""
    for ending in ("ing", "ies", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)] + ("y" if ending == "ies" else "")
    return word


def _clauses(text: str, known: _KnownTools) -> list[tuple[str, Tool]]:
    """The pieces of a step that name one tool each, with the text that belongs to them."""
    hidden = _QUOTES.sub(lambda quoted: "\0" * len(quoted[0]), text)
    cuts = [0, *(end for match in _BREAK.finditer(hidden) for end in match.span()), len(text)]
    pieces = [(cuts[n], cuts[n + 1]) for n in range(0, len(cuts), 2)]
    tools = [known.by_name(text[start:end]) for start, end in pieces]
    if not any(tools):
        tool = known.by_description(text)
        return [] if tool is None else [(text, tool)]
    found: list[tuple[int, int, Tool]] = []
    first = next(n for n, tool in enumerate(tools) if tool is not None)
    for n, (start, end) in enumerate(pieces):
        tool = tools[n]
        if n < first:
            continue
        if tool is not None:
            found.append((start if n > first else 0, end, tool))
        else:
            found[-1] = (found[-1][0], end, found[-1][2])
    return [(text[start:end], tool) for start, end, tool in found]
