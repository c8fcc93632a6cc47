"""Find each unit of an old list in a new one: unchanged, changed, moved, or removed.

Takes n log n steps, even for lists that have nothing in common.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Hashable, Sequence

from msgspec import Struct

from toolwire.conversation.json import JSON, sorted_json

_IDENTITY_FIELDS = ("type", "role", "id", "call_id", "tool_use_id", "tool_call_id", "name")


class UnitValue(Struct, frozen=True, eq=False):
    """The unit of alignment: a message, item or block, and the role it belongs to."""

    role: str
    value: JSON

    def content_key(self) -> Hashable:
        """A key that is equal for units with the same content."""
        return self.role, sorted_json(self.value)

    def identity_key(self) -> Hashable:
        """A key that is equal for two versions of one unit: they agree in type, role and ids."""
        fields = self.value if isinstance(self.value, dict) else {}
        return self.role, *(str(fields.get(name)) for name in _IDENTITY_FIELDS)


class Alignment(Struct, frozen=True):
    """For each new unit, the old unit that it continues in place, or the old unit that moved
    here."""

    continues: list[int | None]
    moved: list[int | None]


def align(old: Sequence[UnitValue], new: Sequence[UnitValue]) -> Alignment:
    """Find the old unit of each new one. The indexes in `continues` increase."""
    old_keys = [unit.content_key() for unit in old]
    new_keys = [unit.content_key() for unit in new]
    continues = _match_in_order(old_keys, new_keys)
    _match_gaps(continues, old, new)
    unused: dict[Hashable, deque[int]] = defaultdict(deque)
    used = {n for n in continues if n is not None}
    for n, key in enumerate(old_keys):
        if n not in used:
            unused[key].append(n)
    moved: list[int | None] = [
        unused[key].popleft() if continues[n] is None and unused[key] else None
        for n, key in enumerate(new_keys)
    ]
    return Alignment(continues, moved)


def _match_in_order(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[int | None]:
    """For each new key, the position of an equal old one; the positions increase."""
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    positions: dict[Hashable, deque[int]] = defaultdict(deque)
    for n in range(first, len(old) - last):
        positions[old[n]].append(n)
    candidates = [
        (n, positions[new[n]].popleft()) for n in range(first, len(new) - last) if positions[new[n]]
    ]
    matches: list[int | None] = [None] * len(new)
    matches[:first] = range(first)
    if last:
        matches[-last:] = range(len(old) - last, len(old))
    for n, position in _longest_growth(candidates):
        matches[n] = position
    return matches


def _longest_growth(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence of pairs whose second numbers increase."""
    ends: list[int] = []
    at_end: list[int] = []
    before: list[int | None] = []
    for n, (_, position) in enumerate(pairs):
        length = bisect_left(ends, position)
        before.append(at_end[length - 1] if length else None)
        ends[length : length + 1] = [position]
        at_end[length : length + 1] = [n]
    chosen: list[tuple[int, int]] = []
    current = at_end[-1] if at_end else None
    while current is not None:
        chosen.append(pairs[current])
        current = before[current]
    return chosen[::-1]


def _match_gaps(
    matches: list[int | None], old: Sequence[UnitValue], new: Sequence[UnitValue]
) -> None:
    """Match changed units between two unchanged ones: by identity, then one by one."""
    for new_gap, old_gap in _gaps(matches, len(old)):
        inner = _match_in_order(
            [old[n].identity_key() for n in old_gap], [new[n].identity_key() for n in new_gap]
        )
        for n, position in zip(new_gap, inner, strict=True):
            if position is not None:
                matches[n] = old_gap[position]
    for new_gap, old_gap in _gaps(matches, len(old)):
        for n, position in zip(new_gap, old_gap, strict=False):
            if new[n].role == old[position].role:
                matches[n] = position


def _gaps(matches: Sequence[int | None], count: int) -> list[tuple[range, range]]:
    """The runs of unmatched new positions, each with the unmatched old positions beside it."""
    gaps: list[tuple[range, range]] = []
    start, previous = 0, -1
    for n in range(len(matches) + 1):
        position = matches[n] if n < len(matches) else count
        if position is None:
            continue
        if start < n and previous + 1 < position:
            gaps.append((range(start, n), range(previous + 1, position)))
        start, previous = n + 1, position
    return gaps
