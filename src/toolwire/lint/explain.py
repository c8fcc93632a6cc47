"""Explain an error of a provider: which call it is about, why it was refused, and what to do.

The text of the error is matched against a table of patterns. If the body is given, the rules find
its violations, and the error only decides the order of the explanations. This module knows no
provider by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from msgspec import Struct, UnsetType
from msgspec.structs import replace

from toolwire.codec import decode_in_full, resolve
from toolwire.codec.body_shape import locate
from toolwire.codec.known_wires import detect
from toolwire.conversation.id_rules import IdRule
from toolwire.conversation.json import Body, JsonPath, get, text_of
from toolwire.conversation.model import Finding, Fix
from toolwire.errors import UsageError, pointer
from toolwire.lint import all_rules, find_all
from toolwire.lint.facts import Facts
from toolwire.lint.provider_errors import (
    ErrorKind,
    ErrorMatch,
    ErrorPattern,
    References,
    match_error,
    match_providers,
    read_references,
)
from toolwire.lint.rule import Rule
from toolwire.profiles.table import PROFILES, Profile


class Explanation(Struct, frozen=True):
    """One possible cause of an error: the rule, the path if it is known, and a message with the
    problem and the remedy.

    An error that no rule explains has one explanation with the code `TW000`, and its kind as the
    name. It is `likely` if the error is about tools.
    """

    code: str
    name: str
    pointer: str | None
    message: str
    fix: Fix | None = None
    likely: bool = True
    """True if the error text points to this cause; False for further findings of `check`."""
    command: str = ""
    """The command that fixes the problem, or shows it if there is no fix; `FILE` stands for the
    file of the body."""
    line: int | None = None
    """The line of a session file that the pointer leads into; None for a body."""

    def __str__(self) -> str:
        location = self.pointer if self.pointer is not None else "-"
        if self.line is not None:
            location = f"{self.line}:{location}"
        return f"{location}: {self.code} {self.name}: {self.message}"


UNRELATED_CODE = "TW000"
"""The code of an error that is not about the calls and results of a history."""
_ADVICE: dict[Fix | None, str] = {
    "safe": "`repair` fixes this and reports each change",
    "unsafe": "`repair` fixes this if unsafe fixes are allowed, which may guess",
    None: "no automatic fix is possible; edit the request by hand",
}
_PENDING_ADVICE = (
    "send the results of the calls, or let `repair` add results that report them as interrupted"
)
_VERBS: dict[Fix | None, str] = {
    "safe": "repair FILE",
    "unsafe": "repair FILE --unsafe",
    None: "check FILE",
}
_PENDING_VERB = "repair FILE --abandon-pending"
_RESULT_PLACEMENTS = ("", "after", "next", "alone")
"""From the least strict to the strictest."""
_DEFAULT_TOKENS = 100_000
"""The number of tokens to which a history is cut if the error states no limit."""
_MAX_DISTANCE = 9
_MAX_NAMES = 50
"""The maximum number of names and paths of an error that are compared with findings: an error may
list every call."""
_MAX_TEXT = 20_000
"""The maximum number of characters of an error that are searched for names of the body."""
_QUOTES = frozenset("'\"`")


def explain(
    error_text: str, body: Body | None = None, wire: str | None = None
) -> list[Explanation]:
    """Explain an error of a provider: possible causes, the likeliest first.

    Args:
        error_text: The error as text: clipped, wrapped in JSON, or with surrounding lines.
        body: The refused request. With it, explanations have paths into the body and include
            all findings of `check`.
        wire: The wire, profile or provider of the body; detected if not given.

    Returns:
        The explanations; none if the error is unknown and no body shows a cause.

    Raises:
        DecodeError: The body is not JSON, or not a body of this wire.
        UsageError: The wire of the body cannot be detected.
    """
    text = str(error_text)
    match, references = match_error(text), read_references(text)
    kinds = [_explain_kind(match.kind, references)] if match.kind else []
    if body is not None:
        return kinds + _explain_by_body(match, references, body=body, wire=wire)
    advice = "`check` finds the position in the body"
    return kinds + _explain_by_patterns(match.patterns, references, advice)


def _explain_kind(error: ErrorKind, references: References) -> Explanation:
    message = f"This error is not about tool calls: {error.meaning}."
    if error.about_tools:
        message = (
            "This error is about tools, but not about the calls and results of the history:"
            f" {error.meaning}. What to do: {error.advice}."
        )
    return Explanation(
        UNRELATED_CODE,
        error.kind,
        pointer=None,
        message=message,
        likely=error.about_tools,
        command=error.command.replace("TOKENS", str(references.max_tokens or _DEFAULT_TOKENS)),
    )


def _explain_by_patterns(
    patterns: tuple[ErrorPattern, ...], references: References, advice: str, options: str = ""
) -> list[Explanation]:
    """Explain an error by the suspected rules, without a body."""
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
            command=_command(_choose_verb(rules[name]), options),
        )
        for name in _ranks(patterns)
        if name in rules
    ]


def _choose_verb(rule: Rule) -> str:
    """The command for a suspected rule: its repair, or a check if it has none."""
    if rule.name == "pending-tail":
        return _PENDING_VERB
    return _VERBS["safe" if rule.fix else None]


def _command(verb: str, options: str) -> str:
    return f"toolwire {verb}{options}"


def _advise(finding: Finding) -> tuple[str, str]:
    """The advice for a finding: a sentence, and the command to run."""
    if finding.name == "pending-tail":
        return _PENDING_ADVICE, _PENDING_VERB
    return _ADVICE[finding.fix], _VERBS[finding.fix]


def _ranks(patterns: tuple[ErrorPattern, ...]) -> dict[str, int]:
    """The rank of each suspected rule; 0 is the likeliest."""
    names = dict.fromkeys(name for pattern in patterns for name in pattern.rules)
    return {name: n for n, name in enumerate(names)}


def _meanings(patterns: tuple[ErrorPattern, ...]) -> dict[str, str]:
    """The meaning of the error for each suspected rule, by the first pattern that names the
    rule."""
    return {name: pattern.meaning for pattern in reversed(patterns) for name in pattern.rules}


def _explain_by_body(
    match: ErrorMatch, references: References, *, body: Body, wire: str | None
) -> list[Explanation]:
    """All findings in a body: first those of the suspected rules, then other errors, then
    information."""
    body_wire, checked_profile, profile = _resolve_profiles(references.text, body, wire)
    conversation = decode_in_full(body, body_wire)
    facts = Facts(conversation, _with_implied_fields(profile, match.patterns, references))
    findings = _merge(find_all(facts), find_all(Facts(conversation, checked_profile)))
    ranks, meanings = _ranks(match.patterns), _meanings(match.patterns)
    names = _names_in_text(references, facts)
    suspects_named = any(
        finding.name in ranks and _is_at_reference(finding, references) for finding in findings
    )
    findings.sort(
        key=lambda finding: (
            finding.name not in ranks
            and (suspects_named or not _is_at_reference(finding, references)),
            finding.severity != "error" and finding.name not in ranks,
            not _mentions(finding, names, facts),
            min(
                (_distance(finding.path, path) for path in references.paths[:_MAX_NAMES]),
                default=_MAX_DISTANCE,
            ),
            ranks.get(finding.name, 0),
        )
    )
    options = f" --from {body_wire}" + (f" --to {profile.name}" * (profile.name != body_wire))
    found = any(finding.name in ranks for finding in findings)
    relation = _describe_relation(match, found)
    explanations = [
        _explain_finding(finding, meanings.get(finding.name), relation=relation, options=options)
        for finding in locate(findings, conversation.source)
    ]
    if not found and not any(finding.severity == "error" for finding in findings):
        advice = "no such violation was found in this body: is it the request that was refused?"
        explanations += _explain_by_patterns(match.patterns, references, advice, options)
    return explanations


def _merge(findings: list[Finding], others: list[Finding]) -> list[Finding]:
    """The findings, and those of `others` that are not among them."""
    known = {(finding.name, finding.path) for finding in findings}
    return findings + [other for other in others if (other.name, other.path) not in known]


def _describe_relation(match: ErrorMatch, found: bool) -> str:
    """How a finding is related to an error that does not point to its rule."""
    if match.kind or found:
        return "The error of the provider is about something else, but this is wrong too."
    if match.patterns:
        return "The provider's text matches other rules better, but this is wrong in the body."
    return "The text of the error is not known, but this is wrong in the body."


def _explain_finding(
    finding: Finding, meaning: str | None, *, relation: str, options: str
) -> Explanation:
    reason = f"The provider says: {meaning}." if meaning else relation
    text = finding.message.rstrip(".")
    advice, verb = _advise(finding)
    message = f"{text[:1].upper()}{text[1:]}. {reason} What to do: {advice}."
    return Explanation(
        finding.code,
        finding.name,
        pointer=finding.pointer,
        message=message,
        fix=finding.fix,
        likely=meaning is not None,
        command=_command(verb, options),
    )


def _resolve_profiles(text: str, body: Body, wire: str | None) -> tuple[str, Profile, Profile]:
    """The wire of a body, the profile that `check` uses, and the profile whose rules apply: the
    same one, or one that the error text reveals."""
    candidates = [PROFILES[name] for name in match_providers(text)]
    if wire is None:
        try:
            wire = detect(body)
        except UsageError:
            if not candidates:
                raise
            wire = candidates[0].wire
    body_wire, given = resolve(wire)
    profile = given
    if given.name == body_wire.name:
        profile = next(
            (candidate for candidate in candidates if candidate.wire == body_wire.name), given
        )
    return body_wire.name, given, profile


def _with_implied_fields(
    profile: Profile, patterns: tuple[ErrorPattern, ...], references: References
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
    """The ids and tool names that an error mentions: recognizable ids, and ids and names of the
    body that occur in the text."""
    text = references.text[:_MAX_TEXT]
    ids = [*(call.id for call in facts.calls), *(result.call_id for result in facts.results)]
    names = (
        call_id for call_id in dict.fromkeys(ids) if len(call_id) > 2 and _has_word(text, call_id)
    )
    tools = (
        tool
        for tool in dict.fromkeys(call.name for call in facts.calls)
        if tool and _is_quoted(text, tool)
    )
    found = dict.fromkeys(chain(references.ids, islice(names, _MAX_NAMES), tools))
    return tuple(islice(found, _MAX_NAMES))


def _has_word(text: str, word: str) -> bool:
    """True if a text contains a word that is not part of a longer one."""
    return any(
        not _continues_word(before) and not _continues_word(after)
        for before, after in _neighbours(text, word)
    )


def _continues_word(character: str) -> bool:
    return character == "-" or character == "_" or character.isalnum()


def _is_quoted(text: str, word: str) -> bool:
    return any(before in _QUOTES and after in _QUOTES for before, after in _neighbours(text, word))


def _neighbours(text: str, word: str) -> Iterator[tuple[str, str]]:
    """The characters before and after each occurrence of a word; empty at the ends of the text."""
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        yield text[max(start - 1, 0) : start], text[end : end + 1]
        start = text.find(word, start + 1)


def _mentions(finding: Finding, names: tuple[str, ...], facts: Facts) -> bool:
    """True if a finding, or the JSON at its path, contains one of the names."""
    text = finding.message
    value = get(facts.body, finding.path) if len(finding.path) > 1 else ""
    if not isinstance(value, UnsetType):
        text = f"{text} {text_of(value)[:2000]}"
    return any(_has_word(text, name) for name in names)


def _is_at_reference(finding: Finding, references: References) -> bool:
    """True for an error at a position that the text names."""
    paths = references.paths[:_MAX_NAMES] if finding.severity == "error" else ()
    return any(finding.path[: len(path)] == path for path in paths)


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
