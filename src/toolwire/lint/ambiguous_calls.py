"""Open calls that a result in the history may well answer, though nobody can say which.

Nothing may be put in the place of their results: the true one is there. Knows no rule.
"""

from __future__ import annotations

from toolwire.lint.duplicate_ids import distinct_calls_sharing_an_id, has_repeated_ids
from toolwire.lint.facts import Facts
from toolwire.lint.id_is_output import results_with_output_as_id


def ambiguous_calls(facts: Facts) -> set[int]:
    """Such calls, by their identity: results bear output for an id, or calls share one and there
    are fewer results."""
    if not facts.open_calls:
        return set()
    found = (
        {id(call) for _, calls, _ in results_with_output_as_id(facts) for call in calls}
        if facts.unpaired_results
        else set()
    )
    for group in distinct_calls_sharing_an_id(facts) if has_repeated_ids(facts) else ():
        if any(id(call) in facts.result_of for call in group):
            found |= {id(call) for call in group if id(call) not in facts.result_of}
    return found
