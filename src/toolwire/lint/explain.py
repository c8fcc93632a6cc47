"""A provider's refusal in plain words: which call it means, why, and what to do.

The words are looked up in a table; with the body at hand the rules say what is really there, and
the refusal only decides what is told first. Knows no provider by name.
"""

from __future__ import annotations

import re

from msgspec import Struct, UnsetType
from msgspec.structs import replace

from toolwire.codec import decode, resolve
from toolwire.conversation.id_rules import IdRule
from toolwire.conversation.json import Body, get, text_of
from toolwire.conversation.model import Finding, Fix
from toolwire.errors import LocalError, pointer
from toolwire.lint import all_rules, find_all
from toolwire.lint.facts import Facts
from toolwire.lint.provider_errors import Sign, Told, plain, signs, speakers, told
from toolwire.profiles.table import PROFILES, Profile
from toolwire.translate import detect


class Explanation(Struct, frozen=True):
    """One thing that a refusal may mean: the rule, the place if it is known, and in words what is
    wrong and what to do."""

    code: str
    name: str
    pointer: str | None
    message: str
    fix: Fix | None = None

    def __str__(self) -> str:
        place = self.pointer if self.pointer is not None else "-"
        return f"{place}: {self.code} {self.name}: {self.message}"


_ADVICE: dict[Fix | None, str] = {
    "safe": "repair mends this, and says what it did",
    "unsafe": (
        "repair mends this if unsafe fixes are allowed: something is then added, removed or guessed"
    ),
    None: "this needs somebody who knows what was meant",
}
_STRICTER = ("", "after", "next", "alone")
_FAR = 9


def explain(
    error_text: str, body: Body | None = None, wire: str | None = None
) -> list[Explanation]:
    """What a provider's refusal means, the likeliest first; with the body, what is wrong there.
    Nothing for unknown words.

    Raises RemoteError if the body is not JSON, or not of this wire; LocalError if its wire must be
    said.
    """
    text = plain(str(error_text))
    seen = signs(text)
    if not seen:
        return []
    named = told(text)
    if body is None:
        return _suspects(seen, named, "with the body at hand, check says where")
    return _in_body(seen, named, body, wire)


def _suspects(seen: list[Sign], named: Told, todo: str) -> list[Explanation]:
    """The rules that a refusal calls to mind, without a look at a body."""
    rules = {rule.name: rule for rule in all_rules()}
    place = pointer(named.places[0]) if named.places else None
    naming = f" It names {', '.join(named.ids[:3])}." if named.ids else ""
    means = {name: sign.means for sign in reversed(seen) for name in sign.suspects}
    return [
        Explanation(
            rules[name].code,
            name,
            place,
            f"The provider says: {means[name]}.{naming} Perhaps {rules[name].title}; {todo}.",
        )
        for name in _ranks(seen)
        if name in rules
    ]


def _ranks(seen: list[Sign]) -> dict[str, int]:
    """The suspects, and how likely each is: 0 is the likeliest."""
    return {
        name: n
        for n, name in enumerate(dict.fromkeys(name for sign in seen for name in sign.suspects))
    }


def _in_body(seen: list[Sign], named: Told, body: Body, wire: str | None) -> list[Explanation]:
    spoken, row = _reader(named.text, body, wire)
    facts = Facts(decode(body, spoken), _proven(row, seen, named))
    ranks = _ranks(seen)
    findings = [one for one in find_all(facts) if one.name in ranks or one.severity == "error"]
    meant = _meant(named, facts)
    findings.sort(
        key=lambda one: (
            one.name not in ranks,
            *_distance(one, named, meant, facts),
            ranks.get(one.name, 0),
        )
    )
    means = {name: sign.means for sign in reversed(seen) for name in sign.suspects}
    out = [_explained(one, means.get(one.name)) for one in findings]
    if not any(one.name in ranks for one in findings):
        out += _suspects(
            seen, named, "nothing of the kind was found in this body: is it the one that was sent?"
        )
    return out


def _explained(finding: Finding, means: str | None) -> Explanation:
    said = (
        f"The provider says: {means}."
        if means
        else "The provider does not speak of this, and it is wrong all the same."
    )
    words = finding.message.rstrip(".")
    message = f"{words[:1].upper()}{words[1:]}. {said} What to do: {_ADVICE[finding.fix]}."
    return Explanation(finding.code, finding.name, finding.pointer, message, finding.fix)


def _reader(text: str, body: Body, wire: str | None) -> tuple[str, Profile]:
    """The wire of a body, and whose rules apply: those of the profile that was named, or that the
    text betrays."""
    betrayed = [PROFILES[name] for name in speakers(text)]
    if wire is None:
        try:
            wire = detect(body)
        except LocalError:
            if not betrayed:
                raise
            wire = betrayed[0].wire
    spoken, row = resolve(wire)
    if row.name == spoken.name:
        row = next((one for one in betrayed if one.wire == spoken.name), row)
    return spoken.name, row


def _proven(row: Profile, seen: list[Sign], named: Told) -> Profile:
    """The profile of a provider with what its own words prove; where it is known to be stricter, it
    stays so."""
    for sign in reversed(seen):
        proof = {**sign.proves}
        if _STRICTER.index(row.result_placement) > _STRICTER.index(
            str(proof.get("result_placement", ""))
        ):
            proof.pop("result_placement", None)
        for key in ("reasoning_to_return", "arguments_format", "assistant_content"):
            if key in proof and getattr(row, key) not in ("", "text"):
                del proof[key]
        row = replace(row, **proof)
    if named.longest and not row.id_rule.exact and "id-too-long" in _ranks(seen):
        chars = (row.accepted_ids or row.id_rule).chars
        row = replace(
            row,
            id_rule=IdRule(row.id_rule.chars, named.longest),
            accepted_ids=IdRule(chars, named.longest),
        )
    return row


def _meant(named: Told, facts: Facts) -> tuple[str, ...]:
    """The ids and names of tools that a text names: those it shows to be ones, and those of the
    body that occur in it."""
    ids = {*(call.id for call in facts.calls), *(result.call_id for result in facts.results)}
    tools = {call.name for call in facts.calls}
    inside = [one for one in ids if len(one) > 2 and one in named.text and _word(one, named.text)]
    inside += [
        one for one in tools if one and re.search(rf"['\"`]{re.escape(one)}['\"`]", named.text)
    ]
    return tuple(dict.fromkeys((*named.ids, *inside)))


def _word(one: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(one)}(?![\w-])", text) is not None


def _distance(
    finding: Finding, named: Told, meant: tuple[str, ...], facts: Facts
) -> tuple[int, int]:
    """How far a finding is from what a text names: by what it names, then by the messages in
    between."""
    there = get(facts.body, finding.path) if len(finding.path) > 1 else ""
    words = (
        finding.message
        if isinstance(there, UnsetType)
        else f"{finding.message} {text_of(there)[:2000]}"
    )
    calls_it = any(_word(one, words) for one in meant)
    return 0 if calls_it else 1, min(
        (_apart(finding.path, place) for place in named.places), default=_FAR
    )


def _apart(path: tuple[str | int, ...], place: tuple[str | int, ...]) -> int:
    """How many messages lie between two places, with a point off if they are the same block."""
    if (
        len(path) < 2
        or len(place) < 2
        or path[0] != place[0]
        or not isinstance(path[1], int)
        or not isinstance(place[1], int)
    ):
        return _FAR
    return min(2 * abs(path[1] - place[1]) + (path[: len(place)] != place), _FAR)
