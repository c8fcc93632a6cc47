"""Ids that a bridge rewrote on only the call or the result: known rewritings are matched exactly.

Ids that merely resemble each other never pair. A result belongs to a call only if one of the known
rewritings turns one id into exactly the other, and no other call or result matches. An id that was
cleaned pairs only if every result finds its call, and a truncated id only if nothing else is
unpaired: if a call may have been cut away, the result may be that call's.
This module knows no rule and no wire.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from toolwire.conversation.part_map import PartMap, PartSet
from toolwire.conversation.parts import Call, Result
from toolwire.lint.facts import Facts
from toolwire.lint.ids.formats import call_half, unit_of_repetition, without_payload
from toolwire.lint.memo import once_per_history
from toolwire.profiles.table import PROFILES

_NOT_WORD = re.compile(r"[^a-zA-Z0-9_-]")
_NOT_ALPHANUMERIC = re.compile(r"[^a-zA-Z0-9]")
_BETWEEN_DIGITS = re.compile(r"(?<=[0-9])[^a-zA-Z0-9]+(?=[0-9])")
_ID_CHARACTERS = re.compile(r"[\w.:|/+=@#~-]+")
"""The characters of ids. Bridges clean such ids. White space or quotes around an id are not a known
rewriting: they make it another id."""
_MIN_LENGTH = 4
"""Shorter ids may be equal by chance."""
_MIN_LENGTH_WITHOUT_PUNCTUATION = 9
"""The same for ids that lost their punctuation: `call1` may belong to another series than `call_1`.
The shortest ids from which bridges remove it have nine characters."""


@once_per_history
def calls_of_rewritten_ids(facts: Facts) -> PartMap[Result, Call]:
    """The open call of each orphan whose id was rewritten."""
    if not facts.orphans or not facts.open_calls:
        return PartMap()
    lengths = _longest_ids(facts) if len(facts.orphans) == len(facts.open_calls) == 1 else set()
    call_of = _match(
        facts, lambda call_id: _halves(call_id) | _clean(call_id) | _cut(call_id, lengths)
    )
    return call_of if len(call_of) == len(facts.orphans) else _match(facts, _halves)


def _match(facts: Facts, rewrite: Callable[[str], set[str]]) -> PartMap[Result, Call]:
    """The open call of each orphan whose id is a rewriting of its id, or the reverse."""
    call_of: PartMap[Result, Call] = PartMap()
    results = [result for result in facts.orphans if result.origin != "minted"]
    if not any(map(len, _candidates(facts.open_calls, results, rewrite).values())):
        return call_of
    candidates = _candidates(facts.calls, results, rewrite)
    open_calls = PartSet(facts.open_calls)
    taken: PartMap[Call, int] = PartMap()
    for result, found in candidates.items():
        earlier = PartSet(
            call for call in found if facts.message_index(call) < facts.message_index(result)
        )
        if len(earlier) != 1:
            continue
        (call,) = earlier
        if call in open_calls:
            call_of[result] = call
            taken[call] = taken.get(call, 0) + 1
    return PartMap((result, call) for result, call in call_of.items() if taken[call] == 1)


def _candidates(
    calls: list[Call], results: list[Result], rewrite: Callable[[str], set[str]]
) -> PartMap[Result, list[Call]]:
    """For each result, the calls whose id is a rewriting of its id, or the reverse."""
    by_id: dict[str, list[Call]] = {}
    by_rewriting: dict[str, list[Call]] = {}
    for call in calls:
        if call.origin == "minted":
            continue
        by_id.setdefault(call.id, []).append(call)
        for text in rewrite(call.id):
            by_rewriting.setdefault(text, []).append(call)
    return PartMap(
        (
            result,
            [
                *by_rewriting.get(result.call_id, ()),
                *(call for text in rewrite(result.call_id) for call in by_id.get(text, ())),
            ],
        )
        for result in results
    )


def _halves(call_id: str) -> set[str]:
    """The ids that known bridges extend to this one: a half of it, what stands before a payload, or
    what is repeated."""
    return _other_ids(
        call_id, {call_half(call_id), without_payload(call_id), unit_of_repetition(call_id)}
    )


def _clean(call_id: str) -> set[str]:
    """The forms of an id in which bridges replace or remove the characters that a wire refuses."""
    if not _ID_CHARACTERS.fullmatch(call_id):
        return set()
    cleaned = {_NOT_WORD.sub("_", call_id)}
    if _BETWEEN_DIGITS.search(call_id) is None:  # `call_1.1` and `call_11` are two calls
        shortened = (_NOT_WORD.sub("", call_id), _NOT_ALPHANUMERIC.sub("", call_id))
        cleaned |= {text for text in shortened if len(text) >= _MIN_LENGTH_WITHOUT_PUNCTUATION}
    return _other_ids(call_id, cleaned)


def _other_ids(call_id: str, forms: Iterable[str | None]) -> set[str]:
    """The forms of an id that are other ids, and not so short that they may be equal by chance."""
    return {text for text in forms if text and text != call_id and len(text) >= _MIN_LENGTH}


def _cut(call_id: str, lengths: set[int]) -> set[str]:
    """The forms of an id that bridges cut to the maximum length of a wire."""
    cleaned = (_NOT_WORD.sub("_", call_id), _NOT_ALPHANUMERIC.sub("", call_id))
    return {
        text[:length] for text in (call_id, *cleaned) for length in lengths if len(text) > length
    }


def _longest_ids(facts: Facts) -> set[int]:
    """The lengths to which a bridge may have cut an id: the limits of target and source."""
    source = PROFILES.get(facts.conversation.wire, facts.profile)
    rules = (facts.profile.id_rule, source.id_rule)
    return {rule.longest for rule in rules if rule.longest >= _MIN_LENGTH}
