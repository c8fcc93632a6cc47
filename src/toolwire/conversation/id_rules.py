"""Rules for ids and tool names: which characters a provider accepts, and how many."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import lru_cache

from msgspec import Struct

NAMESPACE_SEPARATOR = "::"
"""Joins the name of a namespace and the name of a tool in it. A dot would be ambiguous: many tool
names contain one."""


class IdRule(Struct, frozen=True, cache_hash=True):
    """What a provider accepts as an id or a tool name. The default accepts any non-empty text."""

    chars: str = ""
    """The accepted characters, as the inside of a regular expression class; empty accepts all."""
    longest: int = 0
    """The maximum length; 0 means no limit."""
    exact: bool = False
    """True if the length must be exactly `longest`."""
    first: str = ""
    """A regular expression that the first character must match."""

    def fits(self, text: str) -> bool:
        """Return True if the text can be sent unchanged."""
        return matcher(self)(text) is not None


_ANY = "(?s:.)"
"""Any character, in the form that `re` matches without looking at it."""


def _pattern(rule: IdRule) -> str:
    chars = f"[{rule.chars}]" if rule.chars else _ANY
    shortest = rule.longest if rule.exact else 1
    count = f"{{{shortest},{rule.longest or ''}}}"
    return f"(?={rule.first}){chars}{count}" if rule.first else f"{chars}{count}"


def _pattern_of_all(rules: tuple[IdRule, ...], end: str) -> str:
    """The pattern of a text that fits every rule. One match costs less than one for each rule.

    `end` matches the end of the text.
    """
    last, *others = map(_pattern, rules or (IdRule(),))
    return "".join(f"(?={pattern}{end})" for pattern in others) + last


@lru_cache(maxsize=256)
def lines_matcher(*rules: IdRule) -> Callable[[str], re.Match[str] | None]:
    """Return a function that matches lines which all fit these rules."""
    line = _pattern_of_all(rules, "$").replace(_ANY, ".")
    return re.compile(f"{line}(?:\n{line})*", re.MULTILINE).fullmatch  # tries no line twice


_JOIN_THRESHOLD = 5
"""From this many texts on, one match of all texts joined is faster than one match per text."""


@lru_cache(maxsize=256)
def matcher(*rules: IdRule) -> Callable[[str], re.Match[str] | None]:
    """Return a function that matches a text which fits these rules."""
    return re.compile(_pattern_of_all(rules, r"\Z")).fullmatch


def all_fit(texts: Collection[str], rule: IdRule) -> bool:
    """Return True if every text fits. Checks many texts in one match: nearly always all fit."""
    if not texts:
        return True
    if len(texts) < _JOIN_THRESHOLD:
        return all(map(matcher(rule), texts))
    if not rule.chars and not rule.first:
        return all(texts) and (not rule.longest or max(map(len, texts)) <= rule.longest)
    lines = "\n".join(texts)
    return lines.count("\n") == len(texts) - 1 and lines_matcher(rule)(lines) is not None


def invalid_ids(texts: Collection[str], rule: IdRule) -> list[str]:
    """Return the texts that do not fit.

    A source may hold ids that break its own wire's rule; a translation back must restore them
    instead of fitting them to that rule.
    """
    return [] if all_fit(texts, rule) else [text for text in texts if not rule.fits(text)]
