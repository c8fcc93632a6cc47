"""A call has no result, and the history has moved on.

Every provider that checks pairs refuses such a history, at every later turn: the session is stuck for good. It happens when a
tool was interrupted, a process died, or somebody cut a history in the middle of a turn.

The fix puts in an answer that says so: an error, marked as made here, so that nobody takes it for a result of the tool. Nothing
is dropped, and other results of the same turn stay. A call at the very end is not this: it may still be answered.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire._json import At
from toolwire.lint._edits import interrupted, laid, written
from toolwire.lint._examples import USER, asks, blocks, call, chat, told
from toolwire.lint._rule import Fix, Fixed, Rule
from toolwire.lint._view import View
from toolwire.parts import Call


def _left(view: View) -> list[Call]:
    """Calls without a result in turns none of whose calls has one; the others are a partial batch."""
    if not view.profile.complete or not view.open:
        return []
    return [
        one
        for turn in view.turns
        if not (turn.last and not turn.follows)
        for one in turn.calls
        if id(one) not in view.answer and not any(id(other) in view.answer for other in turn.calls)
    ]


def _check(view: View) -> Iterable[tuple[At, str, Fix | None]]:
    for one in _left(view):
        yield one.at, f"the call {one.id} of {one.name} has no result, and the conversation went on", "safe"


def _mend(view: View, unsafe: bool) -> Fixed | None:
    left = _left(view)
    changes = tuple((one.at, f"an answer was put in that says that {one.id} of {one.name} was interrupted") for one in left)
    return Fixed(written(laid(view, [interrupted(one) for one in left])), changes)


RULE = Rule(
    "TW021", "missing-result", "a call has no result, and the history has moved on", "lossy", _check, _mend, order=35,
    bad=(
        chat(USER, asks(call("c1")), USER),
        blocks(USER, {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]}, USER),
    ),
    good=(chat(USER, asks(call("c1"))), chat(USER, asks(call("c1")), told("c1"), USER)),
)  # fmt: skip
