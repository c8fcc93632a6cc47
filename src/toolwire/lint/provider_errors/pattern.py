"""A pattern for the texts of one class of error, and the rules to suspect."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from itertools import permutations
from typing import TypeAlias

from msgspec import Struct

from toolwire.conversation.id_rules import IdRule

ProfileFields: TypeAlias = "Mapping[str, bool | str | IdRule | None]"


class ErrorPattern(Struct, frozen=True, kw_only=True):
    """A class of errors: how to recognize them, their meaning, and the rules to suspect.

    A row has `words`, a regular expression for a text without quotes, escapes and line breaks, as
    `text.searchable_forms` returns it; or `concepts`, patterns for the tokens that
    `concepts.read_concepts` returns.

    A pattern of concepts is a sequence of tokens of one sentence: in `CALL RESULT` they are
    neighbours, in `CALL ~ RESULT` at most four other tokens are between them, in `NAME & LONG` they
    are in any order with at most six others between them. `(NO|MISSING)` is one of several.
    """

    rules: tuple[str, ...]
    """Names of rules, the likeliest first."""
    meaning: str
    examples: tuple[str, ...]
    """Errors of this class in the words of providers, agents or frameworks."""
    words: str = ""
    also: str = ""
    """A second regular expression that must match too."""
    concepts: tuple[str, ...] = ()
    implies: ProfileFields = {}
    """Fields of the provider's profile that the error reveals."""
    refuses_reasoning: bool = False
    """True if the provider cannot read reasoning of the request although it may look valid: it is
    from another account, region, deployment or model."""

    def matches(self, forms: tuple[str, ...], concepts: str) -> bool:
        """True if the searchable forms of a text, and its concepts, match the row."""
        return (
            (not self.words or matches(self.words, forms))
            and (not self.also or matches(self.also, forms))
            and (not self.concepts or bool(_compile_concepts(self.concepts).search(concepts)))
        )

    def overlaps(self, concepts: str) -> int:
        """The number of concepts of the row, if a text has all of them in the order of the row, at
        any distance; otherwise 0."""
        found = (
            sequence.count(" ") + 1
            for pattern in self.concepts
            for sequence in [pattern.replace(" ~ ", " ").replace(" & ", " ")]
            if _compile_distant(pattern).search(concepts)
        )
        return max(found, default=0)


def matches(pattern: str, forms: tuple[str, ...]) -> bool:
    """True if a searchable form of a text contains a match of a regular expression."""
    search = _compile(pattern).search
    return any(search(form) for form in forms)


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    """A pattern for texts in lower case, which are searched faster than with case ignored."""
    lower = re.sub(
        r"\\.|[A-Z]", lambda match: match[0] if match[0][0] == "\\" else match[0].lower(), pattern
    )
    return re.compile(lower, re.DOTALL)


_FEW = " (?:[A-Z_]+ ){0,4}?"
_SOME = " (?:[A-Z_]+ ){0,6}?"
_ANY = " (?:[A-Z_.]+ +){0,10}?"


@cache
def _compile_concepts(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Patterns of concepts as one regular expression for tokens between spaces."""
    alternatives = []
    for pattern in patterns:
        parts = pattern.replace("(", "(?:").replace(" ~ ", _FEW).split(" & ")
        alternatives += [_SOME.join(order) for order in permutations(parts)]
    return re.compile(f"(?<![A-Z_])(?:{'|'.join(alternatives)})(?![A-Z_])")


@cache
def _compile_distant(pattern: str) -> re.Pattern[str]:
    """A pattern of concepts as an expression that allows any tokens in between."""
    parts = pattern.replace("(", "(?:").replace(" ~ ", " ").split(" & ")
    orders = (" ".join(order).replace(" ", _ANY) for order in permutations(parts))
    return re.compile(f"(?<![A-Z_])(?:{'|'.join(orders)})(?![A-Z_])")
