"""Open calls that a result in the history may well answer, though nobody can say which.

Nothing may be put in the place of their results: the true one is there. Knows no rule.
"""

from __future__ import annotations

from toolwire.lint.duplicate_ids import distinct, repeated
from toolwire.lint.facts import Facts
from toolwire.lint.id_is_output import strays


def doubtful(facts: Facts) -> set[int]:
    """Such calls, by their identity: results bear output for an id, or calls share one and there
    are fewer results."""
    if not facts.open:
        return set()
    found = {id(call) for _, calls, _ in strays(facts) for call in calls} if facts.stray else set()
    for group in distinct(facts) if repeated(facts) else ():
        if any(id(call) in facts.answer for call in group):
            found |= {id(call) for call in group if id(call) not in facts.answer}
    return found
