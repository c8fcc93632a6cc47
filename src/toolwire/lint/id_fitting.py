"""What three rules do alike: fit ids that a target does not take, and leave those that another rule
explains.

Knows no rule.
"""

from __future__ import annotations

from toolwire.conversation.fitting import fit
from toolwire.conversation.json import JsonPath
from toolwire.conversation.parts import Call
from toolwire.lint.facts import Facts
from toolwire.lint.id_edits import describe_move, reassign_ids, refused_calls, used_ids, with_id
from toolwire.lint.id_formats import is_composite
from toolwire.lint.id_is_output import has_output_as_id
from toolwire.lint.rule import Fixed


def unexplained_refusals(facts: Facts) -> list[Call]:
    """The calls whose ids the target refuses, without those that are more than an id or something
    else altogether."""
    return [
        call
        for call in refused_calls(facts)
        if not is_composite(call.id) and not has_output_as_id(facts, call)
    ]


def fit_refused_ids(facts: Facts, calls: list[Call]) -> Fixed | None:
    """The body with calls and their results under ids that the target takes: a beginning of the old
    one, and a hash of it all."""
    taken = used_ids(facts)
    new: dict[int, Call] = {}
    changes: list[tuple[JsonPath, str]] = []
    for call in calls:
        one = fit(call.id, facts.profile.id_rule, taken)
        taken.add(one)
        new[id(call)] = with_id(call, one)
        changes.append((call.path, describe_move(facts, call, one)))
    return Fixed(reassign_ids(facts, new), tuple(changes)) if new else None
