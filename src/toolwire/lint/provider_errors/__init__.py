"""Texts of errors: the patterns to look for, their meaning, and the rules to suspect.

The tables are by class of error, not by provider: gateways, agents and servers repeat the words of
others. They are tried in order, and likelier rules come first. A text that none of them knows is
read by the general patterns, which combine words of a vocabulary. An error also shows what its
provider checks, whatever its profile says, so a pattern lists the profile fields that it implies.
This package reads texts only, not bodies.
"""

from __future__ import annotations

from msgspec import Struct

from toolwire.lint.provider_errors.content import CONTENT_PATTERNS
from toolwire.lint.provider_errors.definitions import DEFINITION_PATTERNS
from toolwire.lint.provider_errors.general import GENERAL_PATTERNS, LAST_PATTERNS
from toolwire.lint.provider_errors.ids import ID_PATTERNS
from toolwire.lint.provider_errors.order import ORDER_PATTERNS
from toolwire.lint.provider_errors.pairs import PAIR_PATTERNS
from toolwire.lint.provider_errors.pattern import ErrorPattern, matches
from toolwire.lint.provider_errors.providers import PROVIDER_PATTERNS
from toolwire.lint.provider_errors.reasoning import REASONING_PATTERNS
from toolwire.lint.provider_errors.text import References, read_references, searchable_forms
from toolwire.lint.provider_errors.unrelated import (
    OTHER_ERROR,
    UNRELATED_ERRORS,
    UnrelatedError,
    match_certain,
    match_unrelated,
)

__all__ = (
    "ERROR_CLASSES",
    "ERROR_PATTERNS",
    "GENERAL_PATTERNS",
    "LAST_PATTERNS",
    "OTHER_ERROR",
    "PROVIDER_PATTERNS",
    "UNRELATED_ERRORS",
    "ErrorMatch",
    "ErrorPattern",
    "References",
    "UnrelatedError",
    "match_error",
    "match_providers",
    "read_references",
    "searchable_forms",
)

ERROR_CLASSES: dict[str, tuple[ErrorPattern, ...]] = {
    "Calls and results": PAIR_PATTERNS,
    "Roles and order": ORDER_PATTERNS,
    "Ids": ID_PATTERNS,
    "Reasoning and signatures": REASONING_PATTERNS,
    "Arguments and content": CONTENT_PATTERNS,
    "Tool definitions": DEFINITION_PATTERNS,
}
ERROR_PATTERNS = tuple(pattern for group in ERROR_CLASSES.values() for pattern in group)


class ErrorMatch(Struct, frozen=True):
    """What a text is about: patterns of errors about tool calls, or a kind of other error."""

    patterns: tuple[ErrorPattern, ...] = ()
    unrelated: UnrelatedError | None = None


def match_error(text: str) -> ErrorMatch:
    """The patterns that a text matches, in order; else its kind, if it is not about tool calls."""
    forms = searchable_forms(text)
    patterns = _match_patterns(ERROR_PATTERNS, forms)
    if not patterns and match_certain(forms) is None:
        general = _match_patterns(GENERAL_PATTERNS, forms)
        patterns = general or _match_patterns(LAST_PATTERNS, forms)
    return ErrorMatch(patterns) if patterns else ErrorMatch(unrelated=match_unrelated(forms))


def match_providers(text: str) -> tuple[str, ...]:
    """The profiles whose providers use the words of a text, the likeliest first."""
    forms = searchable_forms(text)
    return tuple(
        name
        for pattern, names in PROVIDER_PATTERNS
        if any(matches(pattern, form) for form in forms)
        for name in names
    )


def _match_patterns(
    patterns: tuple[ErrorPattern, ...], forms: tuple[str, ...]
) -> tuple[ErrorPattern, ...]:
    return tuple(pattern for pattern in patterns if any(pattern.matches(form) for form in forms))
