"""Open calls whose result may be in the history under an id that does not identify it.

No fix may add a result for such a call, because the real one exists. A copy of a call needs none
either, because the copy is removed. This module knows no rule.
"""

from __future__ import annotations

from toolwire.conversation.part_map import PartSet
from toolwire.conversation.parts import Call
from toolwire.lint.facts import Facts
from toolwire.lint.foreign_content import foreign_result_ids
from toolwire.lint.ids.duplicates import (
    calls_sharing_an_id,
    copies_of_calls,
    groups_to_separate,
    ids_must_differ,
)
from toolwire.lint.ids.missing import ids_to_adopt
from toolwire.lint.ids.output_as_id import results_with_output_as_id
from toolwire.lint.memo import once_per_history


@once_per_history
def ambiguous_calls(facts: Facts) -> PartSet[Call]:
    """The open calls in turns with a result that has its output as id; open calls that share an id
    with a call that has a result; where the target refuses equal ids, copies of calls; calls that
    get the id of their result; and calls whose result has the format of another wire."""
    if not facts.open_calls:
        return PartSet()
    foreign_ids = foreign_result_ids(facts)
    ambiguous = PartSet(call for _, calls, _ in results_with_output_as_id(facts) for call in calls)
    for group in calls_sharing_an_id(facts) if ids_must_differ(facts) else ():
        for copy in copies_of_calls(facts, group):
            ambiguous.add(copy)
    for group in groups_to_separate(facts):
        if any(call in facts.result_of for call in group):
            for call in group:
                if call not in facts.result_of:
                    ambiguous.add(call)
    adopted = ids_to_adopt(facts)
    for call in facts.open_calls if foreign_ids or adopted else ():
        if call.id in foreign_ids or call in adopted:
            ambiguous.add(call)
    return ambiguous
