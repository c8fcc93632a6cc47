"""What three rules do alike: bring ids that hold more than an id back to what they were, on both
sides.

Knows no rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from toolwire.conversation.json import JsonPath
from toolwire.conversation.parts import Call
from toolwire.lint.facts import Facts
from toolwire.lint.id_edits import anew, more_than_ids, moved, one_of, retied, torn, under, used
from toolwire.lint.id_formats import like, short
from toolwire.lint.rule import Fixed, Problem

Reduce = Callable[[str], str | None]


def found(facts: Facts, reduce: Reduce, what: str) -> Iterable[Problem]:
    """The ids that hold more and do harm; `what` says what they are, before the id they
    should be.
    """
    for odd in more_than_ids(facts, reduce):
        part = odd.part
        if isinstance(part, Call):
            why = (
                f"{facts.profile.name} does not take it"
                if part.id in facts.strange_ids
                else "its result bears another"
            )
            said = (
                f"the id {short(part.id)} of the call of {part.name} {what}"
                f" {short(odd.plain)}{like(odd.plain)}; {why}"
            )
        else:
            name = odd.call.name if odd.call is not None else ""
            said = (
                f"the id {short(part.call_id)} of a result of {name} {what}"
                f" {short(odd.plain)}{like(odd.plain)}"
            )
        yield part.path, said, "safe"


def reduced(
    facts: Facts, reduce: Reduce, also: Callable[[Call, Call], Call] | None = None
) -> Fixed | None:
    """The body with the ids that do harm reduced; `also` does more to a call, given as it was and
    under its new id."""
    ties = torn(facts, reduce)
    taken = used(facts)
    new: dict[int, Call] = {}
    kept: dict[int, Call] = {}
    changes: list[tuple[JsonPath, str]] = []
    for odd in more_than_ids(facts, reduce):
        part = odd.part
        if isinstance(part, Call):
            # A result that bears the plain id already is this call's, and no other.
            mine = [id(result) for result in facts.stray if ties.get(id(result)) is part]
            free = taken - {one_of(result) for result in facts.stray if id(result) in mine}
            one = (
                odd.plain
                if odd.plain not in free and not facts.profile.own_id_pattern
                else anew(facts, part, odd.plain, free)
            )
            taken.add(one)
            new[id(part)] = under(part, one) if also is None else also(part, under(part, one))
            kept |= dict.fromkeys(mine, part)
            changes.append((part.path, moved(facts, part, one)))
        elif odd.call is not None:
            kept[id(part)] = odd.call
            changes.append(
                (part.path, f"the result for {short(part.call_id)} goes under {short(odd.call.id)}")
            )
    return Fixed(retied(facts, new, kept), tuple(changes)) if changes else None
