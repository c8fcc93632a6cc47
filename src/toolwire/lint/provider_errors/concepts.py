"""The concepts of errors: every way to express a thing or a complaint becomes one token.

`read_concepts` turns a text into a sequence of tokens, such as `CALL MATCH RESULT` for "an
assistant message with tool calls must be followed by tool messages". Providers choose different
words for the same sequence, so the tables of readings have only sequences. To support a new word,
add it to the row of its concept in `things.py` or `complaints.py`, or to `languages.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from toolwire.lint.provider_errors.complaints import COMPLAINTS
from toolwire.lint.provider_errors.languages import translate_words
from toolwire.lint.provider_errors.things import THINGS

_LEXICON = (*THINGS, *COMPLAINTS)
_BOUNDS = ((r"\w*", r"\w{0,40}"), (r"\w+", r"\w{1,40}"), (r"\d+", r"\d{1,9}"))
"""Limits, so that no text takes long."""


@cache  # on first use: compiling takes longer than importing the package
def _lexicon() -> re.Pattern[str]:
    """One expression for all rows; the name of the matching group is the number of the row."""
    things = _alternatives(THINGS, first=0, edge=_edge("a-z"))
    complaints = _alternatives(COMPLAINTS, first=len(THINGS), edge=_edge("a-z_/"))
    # Both edges are in front of the rows, so that most positions of a text are ruled out at once.
    return re.compile(f"{_edge('a-z')}(?:{things}|{_edge('a-z_/')}(?:{complaints}))")


def _edge(letters: str) -> str:
    """A position that is not between two letters."""
    return f"(?!(?<=[{letters}])[{letters}])"


def _alternatives(rows: Iterable[tuple[str, str]], *, first: int, edge: str) -> str:
    """A group for the words of each row, with the number of the row."""
    groups: list[str] = []
    for n, (_, words) in enumerate(rows, first):
        words = re.sub(r"(?<!\\)(?<!\[) (?![\]*])", "[ _-]{0,2}", words)
        for endless, bounded in _BOUNDS:
            words = words.replace(endless, bounded)
        groups.append(f"(?P<r{n}>(?:{words}){edge})")
    return "|".join(groups)


_OF_A_CHAT = frozenset(
    ("MESSAGE", "PLACE", "ROLE", "ASSISTANT", "USER", "SYSTEM", "CALL", "RESULT", "CALL_ID", "TOOL")
)
_CONTEXTS = {
    "result": ("RESULT", frozenset(("CALL", "CALL_ID", "SERVER", "value"))),
    "call": ("CALL", frozenset(("RESULT", "CALL_ID", "ARGUMENTS", "value"))),
    "item": (
        "ITEM",
        frozenset(
            (
                "ID",
                "STORED",
                "REASONING",
                "CALL",
                "RESULT",
                "KIND",
                "MESSAGE",
                "VALUES",
                "value",
                "item_value",
            )
        ),
    ),
    "index": ("STREAM_INDEX", frozenset(("CALL", "STREAMED"))),
    "place": ("PLACE", (_OF_A_CHAT - {"TOOL"}) | {"CONTENT", "THINKING", "user", "system"}),
    "role": ("ROLE", _OF_A_CHAT | {"user", "system", "CONTENT", "ALTERNATE", "UNKNOWN", "VALUES"}),
    "user": ("USER", _OF_A_CHAT | {"role", "system", "ALTERNATE"}),
    "system": ("SYSTEM", _OF_A_CHAT | {"role", "user", "ALTERNATE"}),
    "arguments": ("ARGUMENTS", frozenset(("BROKEN",))),
    "value": ("", frozenset()),
    "api": ("", frozenset()),
}
"""The concept of a word that has one only beside certain other concepts, and these concepts."""
_AMBIGUOUS = {
    "arguments": "ARGUMENTS",
    "schema": "SCHEMA",
    "signature": "SIGNATURE",
    "content": "CONTENT",
}
"""The concept of a word that all programs use, if the text is about a chat, from an API, or so
short that nothing else is in it."""
_MAX_FRAGMENT = 5
"""The maximum number of words of a text that has nothing else."""
_UNCERTAIN = frozenset(
    (
        *(token for tokens, _ in COMPLAINTS for token in tokens.split()),
        *("MESSAGE", "KIND", "ID", "NAME", "OUTPUT", "MEDIA", "SETTING", "DESCRIPTION", "STORED"),
    )
)
"""Concepts that a text may have without being about a chat."""


def read_concepts(form: str) -> str:
    """The tokens of a searchable form in order, with a full stop at the end of each sentence."""
    words = _lexicon().finditer(translate_words(form))
    tokens = (_LEXICON[int((word.lastgroup or "r0")[1:])][0] for word in words)
    found = " ".join(token for token in tokens if token).split()
    if "api" in found or is_about_chat(found) or len(form.split()) <= _MAX_FRAGMENT:
        found = [_AMBIGUOUS.get(token, token) for token in found]
    sentences = " ".join(found).split(".")
    return " . ".join(" ".join(_resolve(sentence.split())) for sentence in sentences).strip()


def is_about_chat(tokens: Iterable[str]) -> bool:
    """True if a text with these tokens is about a chat: other programs do not have its concepts."""
    return any(token.isupper() and token not in _UNCERTAIN for token in tokens)


_PAIR = frozenset(("CALL", "RESULT"))
_PARTS = frozenset(("ID", "NAME", "ROLE"))
_OWNERS = _PAIR | {"TOOL", "DEFINITION", "MESSAGE"}


def _resolve(tokens: list[str]) -> Iterator[str]:
    """The tokens of a sentence, including words that have a meaning only beside others."""
    known = _join_parts([_in_context(token, tokens) for token in tokens])
    skipped = 0
    for n, token in enumerate(known):
        if skipped:
            skipped -= 1
        elif token == "of" and _is_complement(known, n):
            skipped = 1
        elif token.isupper():
            yield token


def _join_parts(tokens: list[str]) -> list[str]:
    """The tokens with "the name of a call" as `CALL NAME`, and "the id of a call" as `CALL_ID`."""
    joined: list[str] = []
    for token in tokens:
        joined.append(token)
        part, preposition, owner = ("", "", *joined)[-3:]
        if preposition == "of" and part in _PARTS and owner in _OWNERS:
            is_id = part == "ID" and owner in _PAIR
            joined[-3:] = ["CALL_ID"] if is_id else [owner, part]
    return joined


def _is_complement(tokens: list[str], n: int) -> bool:
    """True if a thing belongs to the one before it: "the result of a call" is a result, "the call
    for a result" is a call. A clause ("for a call that was never made") is about the second one."""
    return frozenset((tokens[n - 1], *tokens[n + 1 : n + 2])) == _PAIR and "that" not in tokens[n:]


def _in_context(token: str, tokens: list[str]) -> str:
    """The concept of a token in a sentence; empty if it has none there."""
    concept, contexts = _CONTEXTS.get(token, (token, None))
    return concept if contexts is None or not contexts.isdisjoint(tokens) else ""


def rate_words(form: str) -> int:
    """How much of a searchable form consists of known words; long words count more than their
    parts."""
    return sum(len(word[0]) ** 2 for word in _lexicon().finditer(form))
