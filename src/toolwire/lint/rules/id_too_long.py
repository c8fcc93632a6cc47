"""An id is longer than the target takes.

Providers cap ids (40 characters at older OpenAI-shaped servers, 64 at newer ones and at Bedrock), and refuse the whole request,
turn after turn. Ids grow when a bridge puts something else into them: a signature, two ids in one, or the output of the tool.

The fix keeps a readable beginning and adds a hash of the whole id, for the call and its result alike, never one that is taken.
Cutting alone would make siblings equal. What is longer because it is something else is mended by the rule that says so.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire._json import At
from toolwire.identity import fit
from toolwire.lint._edits import renamed, written
from toolwire.lint._examples import USER, asks, call, chat, told
from toolwire.lint._rule import Fix, Fixed, Rule
from toolwire.lint._view import View
from toolwire.parts import Call


def _long(view: View) -> list[Call]:
    longest = (view.profile.takes or view.profile.ids).longest
    if not longest or not view.strange_ids:
        return []
    return [one for one in view.calls if len(one.id) > longest]


def _check(view: View) -> Iterable[tuple[At, str, Fix | None]]:
    longest = (view.profile.takes or view.profile.ids).longest
    for one in _long(view):
        yield (
            one.at,
            f"the id of the call of {one.name} has {len(one.id)} characters; {view.profile.name} takes {longest}",
            "safe",
        )


def _mend(view: View, unsafe: bool) -> Fixed | None:
    taken = {one.id for one in view.calls}
    ids: dict[int, str] = {}
    changes: list[tuple[At, str]] = []
    for one in _long(view):
        new = fit(one.id, view.profile.ids, taken)
        taken.add(new)
        ids[id(one)] = new
        changes.append((one.at, f"the call of {one.name} and its result go under {new}"))
    return Fixed(written(renamed(view, ids)), tuple(changes))


_LONG = "call_" + "a" * 80
RULE = Rule(
    "TW004", "id-too-long", "an id is longer than the target takes", "neutral", _check, _mend, order=20,
    bad=(chat(USER, asks(call(_LONG)), told(_LONG)), chat(USER, asks(call(_LONG)), told(_LONG), USER)),
    good=(chat(USER, asks(call("call_1")), told("call_1")), chat(USER, asks(call("a" * 64)), told("a" * 64))),
)  # fmt: skip
