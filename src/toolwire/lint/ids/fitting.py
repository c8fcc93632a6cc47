"""Fit ids that a target refuses, except those that a more specific rule explains.

Shared by the rules about the characters and the length of ids. This module knows no rule.
"""

from __future__ import annotations

from toolwire.conversation.fitting import fit
from toolwire.conversation.json import JsonPath
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Call
from toolwire.lint.facts import Facts
from toolwire.lint.ids.edits import (
    all_ids,
    calls_with_invalid_id,
    describe_move,
    reassign_ids,
    with_id,
)
from toolwire.lint.ids.formats import is_composite
from toolwire.lint.ids.output_as_id import has_output_as_id
from toolwire.lint.rule import FixedConversation


def calls_with_id_to_fit(facts: Facts) -> list[Call]:
    """The calls with an id that the target refuses and that is neither composite nor output."""
    return [
        call
        for call in calls_with_invalid_id(facts)
        if not is_composite(call.id) and not has_output_as_id(facts, call)
    ]


def fit_refused_ids(facts: Facts, calls: list[Call]) -> FixedConversation | None:
    """Give the calls and their results ids that the target accepts: the start of the old id and a
    hash of the whole id."""
    taken = all_ids(facts)
    new: PartMap[Call, Call] = PartMap()
    changes: list[tuple[JsonPath, str]] = []
    for call in calls:
        call_id = fit(call.id, facts.profile.id_rule, taken)
        taken.add(call_id)
        new[call] = with_id(call, call_id)
        changes.append((call.path, describe_move(facts, call, call_id)))
    return FixedConversation(reassign_ids(facts, new), tuple(changes)) if new else None
