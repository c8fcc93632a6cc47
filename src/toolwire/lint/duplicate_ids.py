"""Ids that several calls share: in one turn, as copies of one call, and across turns.

Knows no rule.
"""

from __future__ import annotations

from toolwire.conversation.parts import Call
from toolwire.lint.facts import View


def repeated(view: View) -> bool:
    """Whether any id is that of several calls."""
    return len({call.id for call in view.calls}) < len(view.calls)


def once(view: View) -> bool:
    """Whether the target refuses an id that two calls of a turn share, or the two results that go
    with it."""
    return view.profile.unique or (view.profile.single and view.profile.needs_ids)


def twins(view: View) -> list[list[Call]]:
    """The calls of a turn that share an id, for each turn and id."""
    found: list[list[Call]] = []
    for turn in view.turns if repeated(view) else ():
        groups: dict[str, list[Call]] = {}
        for call in turn.calls:
            groups.setdefault(call.id, []).append(call)
        found += [group for group in groups.values() if len(group) > 1]
    return found


def copies(view: View, group: list[Call]) -> list[Call]:
    """The calls of a group that are another one again: the same tool, the same arguments, and no
    result that is its own."""
    found: list[Call] = []
    kept: list[Call] = []
    for call in group:
        if any(_same(view, call, other) for other in kept):
            found.append(call)
        else:
            kept.append(call)
    return found


def _same(view: View, call: Call, other: Call) -> bool:
    if (call.name, call.family, call.args.canonical) != (
        other.name,
        other.family,
        other.args.canonical,
    ):
        return False
    mine, theirs = view.answer.get(id(call)), view.answer.get(id(other))
    return mine is None or (
        theirs is not None and (mine.text, mine.error) == (theirs.text, theirs.error)
    )


def distinct(view: View) -> list[list[Call]]:
    """The calls of a turn that share an id and are not copies of one another, for each
    turn and id.
    """
    groups = (
        [call for call in group if not any(call is one for one in copies(view, group))]
        for group in twins(view)
    )
    return [group for group in groups if len(group) > 1]


def revenants(view: View) -> list[tuple[Call, int]]:
    """The first call of a turn under an id that an earlier turn had, and the how manieth call of
    that id it is."""
    if not repeated(view):
        return []
    found: list[tuple[Call, int]] = []
    count: dict[str, int] = {}
    for turn in view.turns:
        here: set[str] = set()
        before = set(count)
        for call in turn.calls:
            count[call.id] = count.get(call.id, 0) + 1
            if call.id in before and call.id not in here:
                found.append((call, count[call.id]))
            here.add(call.id)
    return found
