"""Open calls that a result in the history may well answer, though nobody can say which.

Nothing may be put in the place of their results: the true one is there. Knows no rule.
"""

from __future__ import annotations

from toolwire.lint.duplicate_ids import distinct, repeated
from toolwire.lint.facts import View
from toolwire.lint.id_is_output import strays


def doubtful(view: View) -> set[int]:
    """Such calls, by their identity: results bear output for an id, or calls share one and there
    are fewer results."""
    if not view.open:
        return set()
    found = {id(call) for _, calls, _ in strays(view) for call in calls} if view.stray else set()
    for group in distinct(view) if repeated(view) else ():
        if any(id(call) in view.answer for call in group):
            found |= {id(call) for call in group if id(call) not in view.answer}
    return found
