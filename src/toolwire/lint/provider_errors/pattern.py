"""A pattern for the texts of one class of error, and the rules that such errors point to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TypeAlias

from msgspec import Struct

from toolwire.conversation.id_rules import IdRule

ProfileFields: TypeAlias = "Mapping[str, bool | str | IdRule | None]"


class ErrorPattern(Struct, frozen=True):
    """A pattern for the text of an error, its meaning, and the names of the rules to suspect.

    The pattern is a regular expression for a text without quotes, escapes and line breaks, as
    `text.searchable_forms` makes it. Case does not matter.
    """

    pattern: str
    rules: tuple[str, ...]
    """Names of rules, the likeliest first."""
    meaning: str
    example: str
    """An error of this class in the words of a provider, an agent or a framework."""
    also: str = ""
    """A second regular expression that must match too."""
    implies: ProfileFields = {}
    """Fields of the provider's profile that the error reveals."""
    refuses_reasoning: bool = False
    """True if the provider cannot read reasoning of the request, which may look valid: it is of
    another account, region, deployment or model."""

    def matches(self, form: str) -> bool:
        """True if a searchable form of a text matches the pattern."""
        return matches(self.pattern, form) and (not self.also or matches(self.also, form))


def matches(pattern: str, form: str) -> bool:
    """True if a searchable form of a text contains a match of a regular expression."""
    return _compile(pattern).search(form) is not None


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    """A pattern for forms in lower case, which are searched faster than by ignoring case."""
    lower = re.sub(
        r"\\.|[A-Z]", lambda match: match[0] if match[0][0] == "\\" else match[0].lower(), pattern
    )
    return re.compile(lower, re.DOTALL)
