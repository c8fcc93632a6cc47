"""Errors that no rule of a history explains, by kind."""

from __future__ import annotations

from toolwire.lint.provider_errors.concepts import is_about_chat
from toolwire.lint.provider_errors.kind import ErrorKind
from toolwire.lint.provider_errors.pattern import matches
from toolwire.lint.provider_errors.tool_kinds import TOOL_KINDS
from toolwire.lint.provider_errors.unrelated_kinds import UNRELATED_KINDS

ERROR_KINDS = (*TOOL_KINDS, *UNRELATED_KINDS)
OTHER_ERROR = ErrorKind(
    "other",
    "it names no tool, call, result or message",
    weak_pattern=(
        r"error|exception|fail|invalid|illegal|unsupported|unrecogni|refused|denied|cannot"
        r"|could not|unable|missing"
        r"|\bnot (?:\w+ ){0,2}(?:found|exist|supported|provided|allowed|open)"
        r"|cancell?ed|\b[45]\d\d\b"
    ),
)
"""An error of an unknown kind whose text has no word of an error about calls."""
PROGRAM_ERROR = ErrorKind(
    "other",
    "it comes from a database, a compiler or the installation of a program, not from a model",
    first_pattern=(
        r"\b(?:column|table|relation) \S{1,80} (?:already exists|does not exist|of relation)"
        r"|no such (?:table|column)|duplicate column|violates (?:\S{1,40} ){1,2}constraint"
        r"|in the schema cache|unknown argument \w{1,60}\. (?:did|available)"
        r"|\berror(?:\[e\d{4}\]| ts\d{4}\b)|(?:^|call to |: )undefined (?:function|method|symbol)\b"
        r"|compilation (?:contains errors|failed)|no matching (?:\w+ )?function for call"
        r"|too (?:many|few) arguments to function"
        r"|object of type \w{1,60} is not json serializable|does not exist on type"
        r"|is not assignable to (?:type|parameter)"
        r"|^(?!.*(?:arguments|parameters|input) (?:passed )?(?:to|for) (?:the )?tool\b).*"
        r"(?:required (?:positional|keyword-only) argument"
        r"|unexpected keyword argument(?! (?:arguments|parameters)))"
        r"|cannot import name|no module named|cannot find (?:module|package)"
        r"|module not found|unresolved (?:import|reference)|undefined reference to"
    ),
)
"""An error whose words a program uses that has nothing to do with a model, even if the names of its
tables, types and modules are those of a chat."""


def match_first(forms: tuple[str, ...]) -> ErrorKind | None:
    """The kind of an error whose words decide alone, before any rule is matched."""
    kinds = (*ERROR_KINDS, PROGRAM_ERROR)
    return next((error for error in kinds if _has(error.first_pattern, forms)), None)


def match_certain(forms: tuple[str, ...]) -> ErrorKind | None:
    """The kind of an error whose words, or else its status, never occur with a history."""
    by_words = next((error for error in ERROR_KINDS if _has(error.pattern, forms)), None)
    return by_words or next(
        (
            error
            for error in ERROR_KINDS
            if error.status and _has(rf"(?<![\w.\[])(?:{error.status})\b", forms)
        ),
        None,
    )


def match_kind(forms: tuple[str, ...], concepts: str) -> ErrorKind | None:
    """The kind of an error that matches no pattern of an error about a history."""
    known = match_certain(forms) or next(
        (error for error in ERROR_KINDS if _has(error.weak_pattern, forms)), None
    )
    if known is not None or is_about_chat(concepts.split()):
        return known
    return OTHER_ERROR if _has(OTHER_ERROR.weak_pattern, forms) else None


def _has(pattern: str, forms: tuple[str, ...]) -> bool:
    return bool(pattern) and matches(pattern, forms)
