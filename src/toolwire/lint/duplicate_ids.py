"""Ids that several calls share: in one turn, as copies of one call, and across turns.

Knows no rule.
"""

from __future__ import annotations

from toolwire.conversation.parts import Call
from toolwire.lint.facts import Facts


def has_repeated_ids(facts: Facts) -> bool:
    """Whether any id is that of several calls."""
    return len({call.id for call in facts.calls}) < len(facts.calls)


def ids_must_differ(facts: Facts) -> bool:
    """Whether the target refuses an id that two calls of a turn share, or the two results that go
    with it."""
    return facts.profile.ids_unique_in_request or (
        facts.profile.rejects_duplicate_results and facts.profile.requires_ids
    )


def calls_sharing_an_id(facts: Facts) -> list[list[Call]]:
    """The calls of a turn that share an id, for each turn and id."""
    found: list[list[Call]] = []
    for turn in facts.turns if has_repeated_ids(facts) else ():
        groups: dict[str, list[Call]] = {}
        for call in turn.calls:
            groups.setdefault(call.id, []).append(call)
        found += [group for group in groups.values() if len(group) > 1]
    return found


def copies_of_calls(facts: Facts, group: list[Call]) -> list[Call]:
    """The calls of a group that are another one again: the same tool, the same arguments, and no
    result that is its own."""
    found: list[Call] = []
    kept: list[Call] = []
    for call in group:
        if any(_same(facts, call, other) for other in kept):
            found.append(call)
        else:
            kept.append(call)
    return found


def _same(facts: Facts, call: Call, other: Call) -> bool:
    if (call.name, call.family, call.args.canonical) != (
        other.name,
        other.family,
        other.args.canonical,
    ):
        return False
    mine, theirs = facts.result_of.get(id(call)), facts.result_of.get(id(other))
    return mine is None or (
        theirs is not None and (mine.text, mine.error) == (theirs.text, theirs.error)
    )


def distinct_calls_sharing_an_id(facts: Facts) -> list[list[Call]]:
    """The calls of a turn that share an id and are not copies of one another, for each
    turn and id.
    """
    groups = (
        [call for call in group if not any(call is one for one in copies_of_calls(facts, group))]
        for group in calls_sharing_an_id(facts)
    )
    return [group for group in groups if len(group) > 1]


def reused_ids(facts: Facts) -> list[tuple[Call, int]]:
    """The first call of a turn under an id that an earlier turn had, and the how manieth call of
    that id it is."""
    if not has_repeated_ids(facts):
        return []
    found: list[tuple[Call, int]] = []
    count: dict[str, int] = {}
    for turn in facts.turns:
        here: set[str] = set()
        before = set(count)
        for call in turn.calls:
            count[call.id] = count.get(call.id, 0) + 1
            if call.id in before and call.id not in here:
                found.append((call, count[call.id]))
            here.add(call.id)
    return found
