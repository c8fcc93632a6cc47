"""What three rules do alike: fit ids that a target does not take, and leave those that another rule
explains.

Knows no rule.
"""

from __future__ import annotations

from toolwire.conversation.ids import fit
from toolwire.conversation.json import JsonPath
from toolwire.conversation.parts import Call
from toolwire.lint.facts import Facts
from toolwire.lint.id_edits import moved, refused, retied, under, used
from toolwire.lint.id_formats import explained
from toolwire.lint.id_is_output import traded
from toolwire.lint.rule import Fixed


def unexplained(facts: Facts) -> list[Call]:
    """The calls whose ids the target refuses, without those that are more than an id or something
    else altogether."""
    return [call for call in refused(facts) if not explained(call.id) and not traded(facts, call)]


def fitted(facts: Facts, calls: list[Call]) -> Fixed | None:
    """The body with calls and their results under ids that the target takes: a beginning of the old
    one, and a hash of it all."""
    taken = used(facts)
    new: dict[int, Call] = {}
    changes: list[tuple[JsonPath, str]] = []
    for call in calls:
        one = fit(call.id, facts.profile.id_rule, taken)
        taken.add(one)
        new[id(call)] = under(call, one)
        changes.append((call.path, moved(facts, call, one)))
    return Fixed(retied(facts, new), tuple(changes)) if new else None
