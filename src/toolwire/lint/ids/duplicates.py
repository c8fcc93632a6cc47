"""Calls that share an id: within a turn, as copies of one call, and across turns.

This module knows no rule.
"""

from __future__ import annotations

from toolwire.conversation.part_map import PartSet
from toolwire.conversation.parts import Call
from toolwire.lint.facts import Facts
from toolwire.lint.memo import once_per_history


@once_per_history
def has_repeated_ids(facts: Facts) -> bool:
    """True if several calls share an id."""
    return len({call.id for call in facts.calls}) < len(facts.calls)


def ids_must_differ(facts: Facts) -> bool:
    """True if the target refuses two calls of a turn with one id, or two results with one id.

    For a target on another wire, it is always True: different calls get different ids there, so it
    must be certain which result belongs to which call.
    """
    profile = facts.profile
    return (
        not facts.own_wire
        or profile.ids_unique_in_request
        or profile.ids_unique_in_turn
        or (profile.rejects_duplicate_results and profile.requires_ids)
    )


@once_per_history
def calls_sharing_an_id(facts: Facts) -> list[list[Call]]:
    """For each turn and id, the calls that share the id."""
    shared: list[list[Call]] = []
    for turn in facts.turns if has_repeated_ids(facts) else ():
        groups: dict[str, list[Call]] = {}
        for call in turn.calls:
            groups.setdefault(call.id, []).append(call)
        shared += [group for group in groups.values() if len(group) > 1]
    return shared


def copies_of_calls(facts: Facts, group: list[Call]) -> list[Call]:
    """The calls of a group that repeat an earlier call: they have the same tool and arguments, and
    either no result or an equal one."""
    copies: list[Call] = []
    outcomes: dict[tuple[str, str, str], set[tuple[str, bool] | None]] = {}
    """Content of a call → the results of the calls with it that are not copies; None for no
    result."""
    for call in group:
        result = facts.result_of.get(call)
        outcome = None if result is None else (result.text, result.error)
        content = (call.name, call.family, call.args.canonical)
        known = outcomes.get(content)
        if known is not None and (outcome is None or outcome in known):
            copies.append(call)
        else:
            outcomes.setdefault(content, set()).add(outcome)
    return copies


@once_per_history
def uncertain_calls(facts: Facts) -> PartSet[Call]:
    """The open calls that share an ambiguous result with other calls."""
    return PartSet(call for group in facts.ambiguous_groups for call in group.calls)


@once_per_history
def distinct_calls_sharing_an_id(facts: Facts) -> list[list[Call]]:
    """For each turn and id, the calls that share the id and are not copies of one another.

    Calls that wait for the same ambiguous result are left out, because a new id would decide to
    which of them it belongs.
    """
    groups: list[list[Call]] = []
    uncertain = uncertain_calls(facts)
    for group in calls_sharing_an_id(facts):
        copies = PartSet(copies_of_calls(facts, group))
        distinct = [call for call in group if call not in copies and call not in uncertain]
        if len(distinct) > 1:
            groups.append(distinct)
    return groups


def pairs_are_certain(facts: Facts, group: list[Call]) -> bool:
    """True if it is certain which call of a group with one id each result belongs to."""
    results = [facts.result_of[call] for call in group if call in facts.result_of]
    if len(results) in (0, len(group)):
        return True  # the pairing assigned them in order
    names_differ = len({call.name for call in group}) == len(group)
    return names_differ and all(result.name for result in results)


@once_per_history
def groups_to_separate(facts: Facts) -> list[list[Call]]:
    """The groups of calls with one id that a target refuses. If it accepts them, those in which a
    result must be added: beside the added one, the others would belong to certain calls."""
    groups = distinct_calls_sharing_an_id(facts)
    if not groups or ids_must_differ(facts):
        return groups
    if not facts.profile.rejects_missing_results:
        return []
    missing = PartSet(call for _, call in facts.missing_results)
    return [
        group
        for group in groups
        if not pairs_are_certain(facts, group) and any(call in missing for call in group)
    ]


@once_per_history
def calls_with_uncertain_result(facts: Facts) -> PartSet[Call]:
    """The calls that share an id of which only some have a result. A new id would decide to which
    of them the result belongs."""
    groups = groups_to_separate(facts)
    return PartSet(
        call for group in groups if not pairs_are_certain(facts, group) for call in group
    )


def calls_reusing_an_id(facts: Facts) -> list[tuple[Call, int]]:
    """For each turn, the first call with each id of an earlier turn, and its number among all calls
    with that id."""
    if not has_repeated_ids(facts):
        return []
    reused: list[tuple[Call, int]] = []
    count: dict[str, int] = {}
    for turn in facts.turns:
        earlier_ids = set(count)
        turn_ids: set[str] = set()
        for call in turn.calls:
            count[call.id] = count.get(call.id, 0) + 1
            if call.id in earlier_ids and call.id not in turn_ids:
                reused.append((call, count[call.id]))
            turn_ids.add(call.id)
    return reused
