"""Find and reduce ids that hold more than an id, on calls and results alike.

Shared by the rules about composite ids. This module knows no rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from toolwire.conversation.json import JsonPath
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Call, Result
from toolwire.lint.facts import Facts
from toolwire.lint.ids.edits import (
    CompositeId,
    all_ids,
    call_id_of,
    describe_move,
    harmful_composites,
    new_id,
    reassign_ids,
    split_pairs,
    with_id,
)
from toolwire.lint.ids.formats import describe_maker, shorten
from toolwire.lint.rule import FixedConversation, Problem

Reduce = Callable[[str], str | None]


def find_composites(facts: Facts, reduce: Reduce, what: str) -> Iterable[Problem]:
    """A finding for each composite id that causes an error. In the message, `what` stands between
    the id and the plain id."""
    for composite in harmful_composites(facts, reduce):
        yield composite.part.path, _describe(facts, composite, what), "safe"


def _describe(facts: Facts, composite: CompositeId, what: str) -> str:
    part = composite.part
    plain = f"{shorten(composite.plain)}{describe_maker(composite.plain)}"
    if not isinstance(part, Call):
        name = composite.call.name if composite.call is not None else ""
        return f"the id {shorten(part.call_id)} of a result of {name} {what} {plain}"
    reason = "its result has another id"
    if part.id in facts.invalid_ids:
        reason = f"{facts.profile.name} does not accept it"
    return f"the id {shorten(part.id)} of the call to {part.name} {what} {plain}; {reason}"


def reduce_ids(
    facts: Facts, reduce: Reduce, also: Callable[[Call, Call], Call] | None = None
) -> FixedConversation | None:
    """Reduce the composite ids that cause an error.

    Args:
        facts: The history.
        reduce: Returns the plain id of a composite one, or None.
        also: Makes a further edit; its arguments are the old call and the call with its new id.
    """
    results_of: PartMap[Call, list[Result]] = PartMap()
    for result, call in split_pairs(facts, reduce).items():
        results_of.setdefault(call, []).append(result)
    taken = all_ids(facts)
    call_ids = {call.id for call in (*facts.calls, *facts.server_calls)}
    new: PartMap[Call, Call] = PartMap()
    calls_of_results: PartMap[Result, Call] = PartMap()
    changes: list[tuple[JsonPath, str]] = []
    for composite in harmful_composites(facts, reduce):
        part = composite.part
        if isinstance(part, Call):
            # An unpaired result with the plain id belongs to this call, which gets that id unless
            # another call has it.
            results = results_of.get(part, [])
            result_ids = {call_id_of(result) for result in results}
            taken -= result_ids - call_ids
            call_id = composite.plain
            if call_id in taken or facts.profile.own_id_pattern:
                call_id = new_id(facts, part, composite.plain, taken)
            taken |= {call_id, *result_ids}
            call = with_id(part, call_id)
            new[part] = call if also is None else also(part, call)
            for result in results:
                calls_of_results[result] = part
            changes.append((part.path, describe_move(facts, part, call_id)))
        elif composite.call is not None:
            calls_of_results[part] = composite.call
            old_id, call_id = shorten(part.call_id), shorten(composite.call.id)
            changes.append((part.path, f"the result for {old_id} has the call id {call_id} now"))
    if not changes:
        return None
    return FixedConversation(reassign_ids(facts, new, calls_of_results), tuple(changes))
