"""What three rules do alike: bring ids that hold more than an id back to what they were, on both
sides.

Knows no rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from toolwire.conversation.json import JsonPath
from toolwire.conversation.parts import Call
from toolwire.lint.facts import Facts
from toolwire.lint.id_edits import (
    call_id_of,
    describe_move,
    harmful_composites,
    new_id,
    reassign_ids,
    split_pairs,
    used_ids,
    with_id,
)
from toolwire.lint.id_formats import describe_maker, shorten
from toolwire.lint.rule import Fixed, Problem

Reduce = Callable[[str], str | None]


def find_composites(facts: Facts, reduce: Reduce, what: str) -> Iterable[Problem]:
    """The ids that hold more and do harm; `what` says what they are, before the id they
    should be.
    """
    for odd in harmful_composites(facts, reduce):
        part = odd.part
        if isinstance(part, Call):
            why = (
                f"{facts.profile.name} does not take it"
                if part.id in facts.refused_ids
                else "its result bears another"
            )
            said = (
                f"the id {shorten(part.id)} of the call of {part.name} {what}"
                f" {shorten(odd.plain)}{describe_maker(odd.plain)}; {why}"
            )
        else:
            name = odd.call.name if odd.call is not None else ""
            said = (
                f"the id {shorten(part.call_id)} of a result of {name} {what}"
                f" {shorten(odd.plain)}{describe_maker(odd.plain)}"
            )
        yield part.path, said, "safe"


def reduce_ids(
    facts: Facts, reduce: Reduce, also: Callable[[Call, Call], Call] | None = None
) -> Fixed | None:
    """The body with the ids that do harm reduced; `also` does more to a call, given as it was and
    under its new id."""
    ties = split_pairs(facts, reduce)
    taken = used_ids(facts)
    new: dict[int, Call] = {}
    kept: dict[int, Call] = {}
    changes: list[tuple[JsonPath, str]] = []
    for odd in harmful_composites(facts, reduce):
        part = odd.part
        if isinstance(part, Call):
            # A result that bears the plain id already is this call's, and no other.
            mine = [id(result) for result in facts.unpaired_results if ties.get(id(result)) is part]
            free = taken - {
                call_id_of(result) for result in facts.unpaired_results if id(result) in mine
            }
            one = (
                odd.plain
                if odd.plain not in free and not facts.profile.own_id_pattern
                else new_id(facts, part, odd.plain, free)
            )
            taken.add(one)
            new[id(part)] = with_id(part, one) if also is None else also(part, with_id(part, one))
            kept |= dict.fromkeys(mine, part)
            changes.append((part.path, describe_move(facts, part, one)))
        elif odd.call is not None:
            kept[id(part)] = odd.call
            changes.append(
                (
                    part.path,
                    f"the result for {shorten(part.call_id)} goes under {shorten(odd.call.id)}",
                )
            )
    return Fixed(reassign_ids(facts, new, kept), tuple(changes)) if changes else None
