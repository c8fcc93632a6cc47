"""What three rules do alike: give an id to calls and results that came without one that is text.

An id is given only where it is certain which result is whose: given to a call alone it would part
the two for good. Knows no rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolwire.conversation.fitting import fit
from toolwire.conversation.json import JsonPath
from toolwire.conversation.parts import Call, Result
from toolwire.lint.facts import Facts
from toolwire.lint.id_edits import (
    IdProblem,
    accepted_ids,
    describe_move,
    id_problem,
    new_id,
    parts_with_id_problem,
    reassign_ids,
    surplus_results,
    turns_by_part,
    used_ids,
    with_id,
)
from toolwire.lint.id_formats import shorten
from toolwire.lint.rule import Fixed, Problem

_PLAIN = re.compile(r"[\w.:|-]+")


def find_missing_ids(facts: Facts, kind: IdProblem, what: str) -> Iterable[Problem]:
    """The calls and results that lack an id in one way; `what` says how, after the part."""
    parts = parts_with_id_problem(facts, kind)
    if not parts:
        return
    stuck = _stuck(facts)
    for part in parts:
        where = f"message {facts.message_index(part)}"
        if isinstance(part, Call):
            said = f"the call of {part.name or 'a tool'} in {where} {what}"
        else:
            said = f"the result{f' of {part.name}' if part.name else ''} in {where} {what}"
        if id(part) in stuck:
            yield (
                part.path,
                f"{said}, and nothing tells which result is whose: say it by hand",
                None,
            )
        else:
            yield part.path, said, "safe"


def give_ids(facts: Facts, kind: IdProblem) -> Fixed | None:
    """The body with ids given to those that lack them in one way, and to the other halves of their
    pairs."""
    stuck = _stuck(facts)
    adopted = _adopted(facts)
    taken, more = used_ids(facts), surplus_results(facts)
    calls: dict[int, Call] = {}
    ties: dict[int, Call] = {}
    changes: list[tuple[JsonPath, str]] = []
    for part in parts_with_id_problem(facts, kind):
        if id(part) in stuck:
            continue
        if isinstance(part, Call):
            calls[id(part)] = new = with_id(part, _new(facts, part, adopted, taken))
            changes.append((part.path, describe_move(facts, part, new.id)))
        elif (call := facts.call_of.get(id(part)) or more.get(id(part))) is not None and id(
            call
        ) not in calls:
            if id_problem(
                call, facts
            ):  # it has none either: the rule that says so gives one to both
                calls[id(call)] = with_id(call, _new(facts, call, adopted, taken))
            ties[id(part)] = call
            changes.append(
                (
                    part.path,
                    (
                        f"the result goes under {shorten(calls.get(id(call), call).id)}, as its call"
                        " does"
                    ),
                )
            )
    return Fixed(reassign_ids(facts, calls, ties), tuple(changes)) if changes else None


def _new(facts: Facts, call: Call, adopted: dict[int, str], taken: set[str]) -> str:
    if id(call) in adopted:
        return adopted[id(call)]
    if call.origin == "wire":  # a number: its digits
        return fit(call.id, facts.profile.id_rule, taken - {call.id})
    # Where an item's id stood in, it is told apart from that of the call.
    return new_id(facts, call, call.id if call.origin == "minted" else f"call_{call.id}", taken)


def _adopted(facts: Facts) -> dict[int, str]:
    """Open calls without an id that are alone in their turn, as is a stray result that has one: it
    is theirs."""
    if not facts.open_calls or not facts.unpaired_results:
        return {}
    turns, more = turns_by_part(facts), surplus_results(facts)
    find_missing_ids: dict[int, str] = {}
    for call in facts.open_calls:
        turn = turns.get(id(call))
        if turn is None:  # somebody else than the assistant makes it
            continue
        opens = [other for other in turn.calls if id(other) not in facts.result_of]
        here = [
            result
            for result in facts.unpaired_results
            if turns.get(id(result)) is turn and id(result) not in more
        ]
        if call.origin == "minted" and len(opens) == len(here) == 1 and _fits(facts, call, here[0]):
            find_missing_ids[id(call)] = here[0].call_id
    return find_missing_ids


def _fits(facts: Facts, call: Call, result: Result) -> bool:
    one = result.call_id
    if (
        result.origin != "wire"
        or one in {other.id for other in facts.calls}
        or result.name not in (None, "", call.name)
    ):
        return False
    return (
        accepted_ids(facts).fits(one)
        and _PLAIN.fullmatch(one) is not None
        and id_problem(result, facts) == ""
    )


def _stuck(facts: Facts) -> set[int]:
    """Those of which nobody can say whose they are: results that found no call, and the open calls
    that they may answer."""
    if not facts.unpaired_results:
        return set()
    turns, more, adopted = turns_by_part(facts), surplus_results(facts), _adopted(facts)
    alone = [result for result in facts.unpaired_results if id(result) not in more]
    unclear = {id(turns.get(id(result))) for result in alone}
    calls = {
        id(call)
        for call in facts.open_calls
        if id(turns.get(id(call))) in unclear and id(call) not in adopted
    }
    return calls | {id(result) for result in alone}
