"""Texts of errors: how to recognize them, their meaning, and the rules to suspect.

The tables are by class of error, not by provider: gateways, agents and servers repeat the words of
others. A table of phrases has texts that do not state the problem, or that reveal what a provider
checks. A table of readings has concepts: a text is turned into tokens, and a sequence of tokens
identifies the problem, whatever the wording. An error also shows what its provider checks,
independently of its profile, so a row lists the profile fields that it implies. This package reads
only texts, not bodies.

A table of kinds has errors that no history causes: about tools (`tool_kinds.py`), or about other
things (`unrelated_kinds.py`).

To support a new text, add its words to a row of `concepts.py`; or, if its words do not state the
problem, add a phrase to the table of its class.
"""

from __future__ import annotations

from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from toolwire.lint.provider_errors.arguments import (
    ARGUMENT_PHRASES,
    ARGUMENT_READINGS,
    BROKEN_CALL_READINGS,
    STREAM_READINGS,
)
from toolwire.lint.provider_errors.complaints import COMPLAINTS
from toolwire.lint.provider_errors.completion import KnownMessages
from toolwire.lint.provider_errors.concepts import read_concepts
from toolwire.lint.provider_errors.content import (
    CONTENT_PHRASES,
    CONTENT_READINGS,
    EMPTY_CONTENT_READINGS,
    FOREIGN_READINGS,
    MEDIA_READINGS,
)
from toolwire.lint.provider_errors.definitions import (
    DEFINITION_PHRASES,
    DEFINITION_READINGS,
    NAME_READINGS,
    REFUSED_FIELD_READINGS,
)
from toolwire.lint.provider_errors.ids import ID_PHRASES, ID_READINGS, MISSING_ID_READINGS
from toolwire.lint.provider_errors.kind import ErrorKind
from toolwire.lint.provider_errors.kinds import (
    ERROR_KINDS,
    OTHER_ERROR,
    match_certain,
    match_first,
    match_kind,
)
from toolwire.lint.provider_errors.order import ORDER_PHRASES, ORDER_READINGS, ROLE_READINGS
from toolwire.lint.provider_errors.pairs import PAIR_PHRASES, PAIR_READINGS
from toolwire.lint.provider_errors.paths import PATH_PHRASES
from toolwire.lint.provider_errors.pattern import ErrorPattern, matches
from toolwire.lint.provider_errors.providers import PROVIDER_PATTERNS
from toolwire.lint.provider_errors.reasoning import (
    REASONING_PHRASES,
    REASONING_READINGS,
    SIGNATURE_READINGS,
)
from toolwire.lint.provider_errors.subjects import LAST_GUESS, SUBJECT_READINGS
from toolwire.lint.provider_errors.text import (
    References,
    provider_message,
    read_references,
    remove_markup,
    searchable_forms,
    split_compounds,
)

__all__ = (
    "ERROR_CLASSES",
    "ERROR_KINDS",
    "ERROR_PATTERNS",
    "OTHER_ERROR",
    "PROVIDER_PATTERNS",
    "ErrorKind",
    "ErrorMatch",
    "ErrorPattern",
    "References",
    "match_error",
    "match_providers",
    "read_references",
    "searchable_forms",
)

ERROR_CLASSES: dict[str, tuple[ErrorPattern, ...]] = {
    "Calls and results": (*PAIR_PHRASES, *PAIR_READINGS),
    "Roles and order": (*ORDER_PHRASES, *ROLE_READINGS, *ORDER_READINGS),
    "Places of the request": PATH_PHRASES,
    "Ids": (*ID_PHRASES, *ID_READINGS, *MISSING_ID_READINGS),
    "Reasoning and signatures": (*REASONING_PHRASES, *SIGNATURE_READINGS, *REASONING_READINGS),
    "Arguments": (*ARGUMENT_PHRASES, *ARGUMENT_READINGS, *STREAM_READINGS, *BROKEN_CALL_READINGS),
    "Content": (
        *CONTENT_PHRASES,
        *FOREIGN_READINGS,
        *MEDIA_READINGS,
        *EMPTY_CONTENT_READINGS,
        *CONTENT_READINGS,
    ),
    "Tool definitions": (
        *DEFINITION_PHRASES,
        *NAME_READINGS,
        *REFUSED_FIELD_READINGS,
        *DEFINITION_READINGS,
    ),
}
PHRASES = (
    *PATH_PHRASES,
    *PAIR_PHRASES,
    *ORDER_PHRASES,
    *ID_PHRASES,
    *REASONING_PHRASES,
    *ARGUMENT_PHRASES,
    *CONTENT_PHRASES,
    *DEFINITION_PHRASES,
)
READINGS = (
    *FOREIGN_READINGS,
    *NAME_READINGS,
    *STREAM_READINGS,
    *ID_READINGS,
    *ARGUMENT_READINGS,
    *MEDIA_READINGS,
    *SIGNATURE_READINGS,
    *ROLE_READINGS,
    *PAIR_READINGS,
    *BROKEN_CALL_READINGS,
    *MISSING_ID_READINGS,
    *REASONING_READINGS,
    *REFUSED_FIELD_READINGS,
)
"""Rows in order: rows about a smaller thing, such as a name or an id, come before rows about a
larger one. No other kind of error combines these concepts."""
WEAK_READINGS = (*EMPTY_CONTENT_READINGS, *ORDER_READINGS, *DEFINITION_READINGS, *CONTENT_READINGS)
"""Rows with concepts that other kinds of errors use too."""
ERROR_PATTERNS = (*PHRASES, *READINGS, *WEAK_READINGS, *SUBJECT_READINGS)


_CALL_CONCEPTS = frozenset(("CALL", "RESULT", "CALL_ID", "SERVER", "SIGNATURE", "DEFINITION"))
"""Concepts that a text must have so that a guess is better than no answer."""
_COMPLAINT_CONCEPTS = frozenset(token for token, _ in COMPLAINTS) - {"."}
_MAX_GUESSES = 3
_MAX_LINES = 40
_MIN_LINE = 20
"""The number of lines of a log that are matched, and the length that an error has at least."""


class ErrorMatch(Struct, frozen=True):
    """The subject of a text: patterns of errors about a history, or a kind of other error."""

    patterns: tuple[ErrorPattern, ...] = ()
    kind: ErrorKind | None = None


def match_error(text: str) -> ErrorMatch:
    """The rows that a text matches, in order; otherwise its kind, if it is not about a history.

    The message of the provider takes precedence, because people describe around it what they did.
    """
    text = remove_markup(text)
    message = provider_message(text)
    return (message and _match_message(message)) or _match_text(text)


def _match_message(message: str) -> ErrorMatch | None:
    forms, concepts = _read(message)
    kind = match_first(forms)
    if kind is not None:
        return ErrorMatch(kind=kind)
    patterns = _match_strong(message, forms, concepts)
    if not patterns and match_certain(forms) is None:
        patterns = _match(forms, concepts, WEAK_READINGS)
    return ErrorMatch(patterns) if patterns else None


def _match_text(text: str) -> ErrorMatch:
    forms, concepts = _read(text)
    kind = match_first(forms)
    if kind is not None:
        return ErrorMatch(kind=kind)
    patterns = _match_strong(text, forms, concepts)
    if not patterns and match_certain(forms) is None:
        patterns = _match(forms, concepts, WEAK_READINGS, SUBJECT_READINGS)
    elif not patterns:
        patterns = _match_lines(text)
    kind = None if patterns else match_kind(forms, concepts)
    if not patterns and kind is None:
        patterns = _guess_patterns(concepts)
    return ErrorMatch(patterns, kind)


def _match_lines(text: str) -> tuple[ErrorPattern, ...]:
    """The rows that one of several lines matches, if the text as a whole is of another kind: a log
    has other errors too."""
    lines = text.splitlines()[:_MAX_LINES]
    found = (_match_message(line) for line in lines if _MIN_LINE < len(line) < len(text))
    return next((match.patterns for match in found if match and match.patterns), ())


def _match_strong(text: str, forms: tuple[str, ...], concepts: str) -> tuple[ErrorPattern, ...]:
    """The rows that no other kind of error matches; a clipped text is completed first."""
    patterns = _match(forms, concepts, PHRASES, READINGS)
    complete = _known_messages().complete
    completed = forms if patterns else tuple(complete(form) for form in forms)
    if completed == forms:
        return patterns
    concepts = read_concepts(complete(_read_words(text)))
    return _match(completed, concepts, PHRASES, READINGS, WEAK_READINGS)


@cache  # on first use: reading all examples takes longer than importing the package
def _known_messages() -> KnownMessages:
    rows = (*PHRASES, *READINGS, *WEAK_READINGS)
    forms = (searchable_forms(text)[0] for pattern in rows for text in pattern.examples)
    return KnownMessages(dict.fromkeys(forms))


def _read(text: str) -> tuple[tuple[str, ...], str]:
    """The searchable forms of a text, and its concepts."""
    return searchable_forms(text), read_concepts(_read_words(text))


def _read_words(text: str) -> str:
    """The searchable form from which concepts are read."""
    return searchable_forms(split_compounds(text))[0]


def _match(
    forms: tuple[str, ...], concepts: str, *tables: tuple[ErrorPattern, ...]
) -> tuple[ErrorPattern, ...]:
    """The matching rows of the first table that has any."""
    found = (tuple(row for row in table if row.matches(forms, concepts)) for table in tables)
    return next(filter(None, found), ())


def _guess_patterns(concepts: str) -> tuple[ErrorPattern, ...]:
    """The rows whose concepts a text about calls has in some order, rows with most concepts first.

    These are guesses, so they imply nothing about the provider.
    """
    tokens = frozenset(concepts.split())
    if tokens.isdisjoint(_CALL_CONCEPTS) or tokens.isdisjoint(_COMPLAINT_CONCEPTS):
        return ()
    ranks = ((row.overlaps(concepts), row) for row in (*READINGS, *WEAK_READINGS))
    ranked = sorted(((rank, row) for rank, row in ranks if rank > 1), key=lambda pair: -pair[0])
    rows = tuple(row for _, row in ranked[:_MAX_GUESSES]) or (LAST_GUESS,)
    return tuple(replace(row, implies={}, refuses_reasoning=False) for row in rows)


def match_providers(text: str) -> tuple[str, ...]:
    """The profiles whose providers use the words of a text, the likeliest first."""
    forms = searchable_forms(text)
    return tuple(
        name for pattern, names in PROVIDER_PATTERNS if matches(pattern, forms) for name in names
    )
