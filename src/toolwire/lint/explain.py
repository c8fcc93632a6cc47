"""Explain the error of a provider: which call it is about, why it was refused, and what to do.

The text of the error is matched against a table of patterns. With the body, the rules find what is
wrong in it, and the error only decides the order of the explanations. This module knows no provider
by name.
"""

from __future__ import annotations

import re

from msgspec import Struct, UnsetType
from msgspec.structs import replace

from toolwire.codec import decode, resolve
from toolwire.codec.body_shape import locate
from toolwire.conversation.id_rules import IdRule
from toolwire.conversation.json import Body, JsonPath, get, text_of
from toolwire.conversation.model import Finding, Fix
from toolwire.errors import UsageError, pointer
from toolwire.lint import all_rules, find_all
from toolwire.lint.facts import Facts
from toolwire.lint.provider_errors import (
    ErrorPattern,
    References,
    match_errors,
    match_providers,
    read_references,
    unescape,
)
from toolwire.profiles.table import PROFILES, Profile
from toolwire.translate import detect


class Explanation(Struct, frozen=True):
    """One possible cause of an error: the rule, the path if it is known, and a message that says
    what is wrong and what to do.
    """

    code: str
    name: str
    pointer: str | None
    message: str
    fix: Fix | None = None

    def __str__(self) -> str:
        place = self.pointer if self.pointer is not None else "-"
        return f"{place}: {self.code} {self.name}: {self.message}"


_ADVICE: dict[Fix | None, str] = {
    "safe": "`repair` fixes this and reports each change",
    "unsafe": "`repair` fixes this if unsafe fixes are allowed, which may guess",
    None: "no automatic fix is possible; edit the history by hand",
}
_RESULT_PLACEMENTS = ("", "after", "next", "alone")
"""From the least strict to the strictest."""
_MAX_DISTANCE = 9


def explain(
    error_text: str, body: Body | None = None, wire: str | None = None
) -> list[Explanation]:
    """Explain the error of a provider: possible causes, the likeliest first.

    Args:
        error_text: The error as text; JSON is fine.
        body: The request that was refused. With it, explanations have the paths of what is wrong.
        wire: The wire, profile or provider of the body; detected if not given.

    Returns:
        The explanations; none if the error is unknown.

    Raises:
        DecodeError: The body is not JSON, or not a body of this wire.
        UsageError: The wire of the body cannot be detected.
    """
    text = unescape(str(error_text))
    patterns = match_errors(text)
    if not patterns:
        return []
    references = read_references(text)
    if body is None:
        advice = "`check` finds the position in the body"
        return _explain_by_patterns(patterns, references, advice)
    return _explain_by_body(patterns, references, body=body, wire=wire)


def _explain_by_patterns(
    patterns: list[ErrorPattern], references: References, advice: str
) -> list[Explanation]:
    """The rules to suspect, without a look at a body."""
    rules = {rule.name: rule for rule in all_rules()}
    path = pointer(references.paths[0]) if references.paths else None
    ids = f" It names {', '.join(references.ids[:3])}." if references.ids else ""
    meanings = _meanings(patterns)
    return [
        Explanation(
            rules[name].code,
            name,
            pointer=path,
            message=(
                f"The provider says: {meanings[name]}.{ids}"
                f" Possible cause: {rules[name].title}; {advice}."
            ),
        )
        for name in _ranks(patterns)
        if name in rules
    ]


def _ranks(patterns: list[ErrorPattern]) -> dict[str, int]:
    """The rank of each rule to suspect; 0 is the likeliest."""
    names = dict.fromkeys(name for pattern in patterns for name in pattern.rules)
    return {name: n for n, name in enumerate(names)}


def _meanings(patterns: list[ErrorPattern]) -> dict[str, str]:
    """What the error means for each rule to suspect, by the first pattern that names the rule."""
    return {name: pattern.meaning for pattern in reversed(patterns) for name in pattern.rules}


def _explain_by_body(
    patterns: list[ErrorPattern], references: References, *, body: Body, wire: str | None
) -> list[Explanation]:
    """The findings in a body: those of the suspected rules first, then other errors."""
    body_wire, profile = _resolve_profile(references.text, body, wire)
    facts = Facts(decode(body, body_wire), _with_implied_fields(profile, patterns, references))
    ranks, meanings = _ranks(patterns), _meanings(patterns)
    findings = [
        finding
        for finding in find_all(facts)
        if finding.name in ranks or finding.severity == "error"
    ]
    names = _names_in_text(references, facts)
    findings.sort(
        key=lambda finding: (
            finding.name not in ranks,
            not _mentions(finding, names, facts),
            min(
                (_distance(finding.path, path) for path in references.paths), default=_MAX_DISTANCE
            ),
            ranks.get(finding.name, 0),
        )
    )
    explanations = [
        _explain_finding(finding, meanings.get(finding.name))
        for finding in locate(findings, facts.conversation.source)
    ]
    if not any(finding.name in ranks for finding in findings):
        advice = "no such violation was found in this body: is it the request that was refused?"
        explanations += _explain_by_patterns(patterns, references, advice)
    return explanations


def _explain_finding(finding: Finding, meaning: str | None) -> Explanation:
    reason = "The error of the provider is about something else, but this is wrong too."
    if meaning:
        reason = f"The provider says: {meaning}."
    text = finding.message.rstrip(".")
    message = f"{text[:1].upper()}{text[1:]}. {reason} What to do: {_ADVICE[finding.fix]}."
    return Explanation(
        finding.code, finding.name, pointer=finding.pointer, message=message, fix=finding.fix
    )


def _resolve_profile(text: str, body: Body, wire: str | None) -> tuple[str, Profile]:
    """The wire of a body, and the profile whose rules apply: the given one, or one that the text of
    the error reveals.
    """
    candidates = [PROFILES[name] for name in match_providers(text)]
    if wire is None:
        try:
            wire = detect(body)
        except UsageError:
            if not candidates:
                raise
            wire = candidates[0].wire
    body_wire, profile = resolve(wire)
    if profile.name == body_wire.name:
        profile = next(
            (candidate for candidate in candidates if candidate.wire == body_wire.name), profile
        )
    return body_wire.name, profile


def _with_implied_fields(
    profile: Profile, patterns: list[ErrorPattern], references: References
) -> Profile:
    """The profile with the fields that the error implies; stricter fields of the profile stay."""
    for pattern in reversed(patterns):
        fields = {**pattern.implies}
        placement = str(fields.get("result_placement", ""))
        if _RESULT_PLACEMENTS.index(profile.result_placement) > _RESULT_PLACEMENTS.index(placement):
            fields.pop("result_placement", None)
        for key in ("reasoning_to_return", "arguments_format", "assistant_content"):
            if key in fields and getattr(profile, key) not in ("", "text"):
                del fields[key]
        profile = replace(profile, **fields)
    max_length = references.max_length
    if max_length and not profile.id_rule.exact and "id-too-long" in _ranks(patterns):
        chars = (profile.accepted_ids or profile.id_rule).chars
        profile = replace(
            profile,
            id_rule=IdRule(profile.id_rule.chars, max_length),
            accepted_ids=IdRule(chars, max_length),
        )
    return profile


def _names_in_text(references: References, facts: Facts) -> tuple[str, ...]:
    """The ids and tool names that an error mentions: those it shows to be ids, and those of the
    body that occur in the text.
    """
    text = references.text
    ids = {*(call.id for call in facts.calls), *(result.call_id for result in facts.results)}
    tools = {call.name for call in facts.calls}
    names = [call_id for call_id in ids if len(call_id) > 2 and _contains_word(text, call_id)]
    names += [tool for tool in tools if tool and re.search(rf"['\"`]{re.escape(tool)}['\"`]", text)]
    return tuple(dict.fromkeys((*references.ids, *names)))


def _contains_word(text: str, word: str) -> bool:
    if word not in text:
        return False
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None


def _mentions(finding: Finding, names: tuple[str, ...], facts: Facts) -> bool:
    """True if a finding, or the JSON at its path, contains one of the names."""
    text = finding.message
    value = get(facts.body, finding.path) if len(finding.path) > 1 else ""
    if not isinstance(value, UnsetType):
        text = f"{text} {text_of(value)[:2000]}"
    return any(_contains_word(text, name) for name in names)


def _distance(path: JsonPath, other: JsonPath) -> int:
    """The number of messages between two paths, doubled, plus one if the blocks differ."""
    if (
        len(path) < 2
        or len(other) < 2
        or path[0] != other[0]
        or not isinstance(path[1], int)
        or not isinstance(other[1], int)
    ):
        return _MAX_DISTANCE
    return min(2 * abs(path[1] - other[1]) + (path[: len(other)] != other), _MAX_DISTANCE)
