"""Give ids to calls and results whose id is missing, empty or not a string.

Shared by three rules. A call gets an id only if its result is certain: an id on the call alone
would separate the two for good. This module knows no rule.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from toolwire.conversation.fitting import fit
from toolwire.conversation.json import JsonPath
from toolwire.conversation.part_map import PartMap, PartSet
from toolwire.conversation.parts import Call, Result
from toolwire.lint.facts import Facts, ToolTurn
from toolwire.lint.foreign_content import foreign_id_fields
from toolwire.lint.ids.edits import (
    IdProblem,
    PairHalf,
    all_ids,
    describe_move,
    id_problem,
    id_rule_for,
    new_id,
    nth_id,
    parts_with_id_problem,
    reassign_ids,
    surplus_results,
    with_id,
)
from toolwire.lint.ids.formats import shorten
from toolwire.lint.memo import once_per_history
from toolwire.lint.rule import FixedConversation, Problem

_PLAIN_ID = re.compile(r"[\w.:|-]+")


def find_missing_ids(facts: Facts, kind: IdProblem, what: str) -> Iterable[Problem]:
    """A finding for each call and result with this problem; `what` is the predicate of its
    message.
    """
    parts = parts_with_id_problem(facts, kind)
    if not parts:
        return
    ambiguous = _ambiguous_parts(facts)
    elsewhere = {path for path, _, _ in foreign_id_fields(facts)}
    for part in parts:
        if part.path in elsewhere:
            continue  # the rule about formats of other wires reports it
        if isinstance(part, Call):
            subject = f"the call to {part.name or 'a tool'}"
        else:
            subject = f"the result of {part.name}" if part.name else "the result"
        message = f"{subject} in message {facts.message_index(part)} {what}"
        if part in ambiguous:
            if isinstance(part, Result) and facts.rejects_orphans:
                continue  # a rule about ambiguous results reports it
            reason = "it is not certain which result belongs to which call: add the ids by hand"
            yield part.path, f"{message}, and {reason}", None
        else:
            yield part.path, message, "safe"


def give_ids(facts: Facts, kind: IdProblem) -> FixedConversation | None:
    """Give ids to the calls and results with this problem, and to the other halves of their
    pairs."""
    ambiguous = _ambiguous_parts(facts)
    adopted = ids_to_adopt(facts)
    taken, surplus = all_ids(facts), surplus_results(facts)
    calls: PartMap[Call, Call] = PartMap()
    calls_of_results: PartMap[Result, Call] = PartMap()
    changes: list[tuple[JsonPath, str]] = []
    for part in parts_with_id_problem(facts, kind):
        if part in ambiguous:
            continue
        if isinstance(part, Call):
            new = with_id(part, _choose_id(facts, part, adopted, taken))
            calls[part] = new
            changes.append((part.path, describe_move(facts, part, new.id)))
            continue
        call = facts.call_of.get(part) or surplus.get(part)
        if call is None or call in calls:
            continue
        if id_problem(call, facts):  # the call has no id either, so both get the same one
            calls[call] = with_id(call, _choose_id(facts, call, adopted, taken))
        elif call in _calls_sharing_an_id(facts):
            # With that id, the result could belong to the other call.
            calls[call] = with_id(call, new_id(facts, call, nth_id(call.id, 2), taken))
        calls_of_results[part] = call
        call_id = shorten(calls.get(call, call).id)
        changes.append((part.path, f"the result has the id of its call now: {call_id}"))
    if not changes:
        return None
    return FixedConversation(reassign_ids(facts, calls, calls_of_results), tuple(changes))


def find_calls_to_adopt_ids(facts: Facts) -> Iterable[Problem]:
    """A finding for each call without an id that gets the id of the only result left for it."""
    for call, call_id in ids_to_adopt(facts).items():
        message = f"the call to {call.name or 'a tool'} has no id, and its result has {call_id}"
        yield call.path, message, "safe"


def adopt_ids(facts: Facts) -> FixedConversation | None:
    """Give the calls without an id the ids of their results."""
    adopted = ids_to_adopt(facts)
    calls = PartMap((call, with_id(call, call_id)) for call, call_id in adopted.items())
    changes = tuple(
        (call.path, describe_move(facts, call, call_id)) for call, call_id in adopted.items()
    )
    return FixedConversation(reassign_ids(facts, calls), changes) if changes else None


@once_per_history
def _calls_sharing_an_id(facts: Facts) -> PartSet[Call]:
    """The calls that share an id with another call of their turn."""
    counts = [(turn, Counter(call.id for call in turn.calls)) for turn in facts.turns]
    return PartSet(call for turn, count in counts for call in turn.calls if count[call.id] > 1)


def _choose_id(facts: Facts, call: Call, adopted: PartMap[Call, str], taken: set[str]) -> str:
    if call in adopted:
        return adopted[call]
    if call.origin == "wire":  # a number: its digits
        return fit(call.id, facts.profile.id_rule, taken - {call.id})
    # An item id is not used as the call id: the new id differs from it.
    preferred = call.id if call.origin == "minted" else f"call_{call.id}"
    return new_id(facts, call, preferred, taken)


@once_per_history
def ids_to_adopt(facts: Facts) -> PartMap[Call, str]:
    """Ids for open calls without one: if a turn has only one open call and one unpaired result, the
    call gets the id of the result."""
    adopted: PartMap[Call, str] = PartMap()
    if not facts.open_calls or not facts.results_without_call:
        return adopted
    surplus = surplus_results(facts)
    open_calls: PartMap[ToolTurn, list[Call]] = PartMap()
    for call in facts.open_calls:
        turn = facts.turn_of(call)
        if turn is not None:  # a call outside assistant messages is in no turn
            open_calls.setdefault(turn, []).append(call)
    results: PartMap[ToolTurn, list[Result]] = PartMap()
    for result in facts.results_without_call:
        turn = facts.turn_of(result)
        if turn is not None and result not in surplus:
            results.setdefault(turn, []).append(result)
    call_ids = {call.id for call in facts.calls}
    for turn, calls in open_calls.items():
        if len(calls) != 1 or len(results.get(turn, ())) != 1:
            continue
        (call,), (result,) = calls, results[turn]
        if (
            call.origin == "minted"
            and result.call_id not in call_ids
            and _can_adopt(facts, call, result)
        ):
            adopted[call] = result.call_id
    return adopted


def _can_adopt(facts: Facts, call: Call, result: Result) -> bool:
    call_id = result.call_id
    if result.origin != "wire" or result.name not in (None, "", call.name):
        return False
    return (
        (id_rule_for(facts).fits(call_id) or not facts.own_wire)
        and _PLAIN_ID.fullmatch(call_id) is not None
        and id_problem(result, facts) == ""
    )


@once_per_history
def _ambiguous_parts(facts: Facts) -> PartSet[PairHalf]:
    """Unpaired results, and the open calls of the same turns to which they may belong."""
    parts: PartSet[PairHalf] = PartSet()
    if not facts.results_without_call:
        return parts
    surplus, adopted = surplus_results(facts), ids_to_adopt(facts)
    ambiguous_turns = PartSet[object]()
    for result in facts.results_without_call:
        if result not in surplus:
            parts.add(result)
            ambiguous_turns.add(facts.turn_of(result))
    for call in facts.open_calls:
        if facts.turn_of(call) in ambiguous_turns and call not in adopted:
            parts.add(call)
    return parts
