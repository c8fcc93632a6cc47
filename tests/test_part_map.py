"""Maps and sets of parts keep equal parts apart."""

from __future__ import annotations

import pytest

from toolwire.conversation.part_map import PartMap, PartSet
from toolwire.conversation.parts import Call

FIRST, SECOND = Call("c1", "weather", {}), Call("c1", "weather", {})


def test_equal_parts_are_different_keys() -> None:
    assert FIRST == SECOND
    indexes = PartMap([(FIRST, 0), (SECOND, 1)])
    assert (indexes[FIRST], indexes[SECOND], len(indexes)) == (0, 1, 2)


def test_a_map_yields_its_parts_in_the_order_of_insertion() -> None:
    indexes: PartMap[Call, int] = PartMap()
    indexes[SECOND] = 1
    assert indexes.setdefault(SECOND, 5) == 1
    assert indexes.setdefault(FIRST, 0) == 0
    assert [part is SECOND for part in indexes] == [True, False]
    assert [(part is SECOND, value) for part, value in indexes.items()] == [(True, 1), (False, 0)]
    assert list(indexes.values()) == [1, 0]


def test_an_absent_part_has_no_value() -> None:
    indexes = PartMap([(FIRST, 0)])
    assert SECOND not in indexes
    assert indexes.get(SECOND) is None
    assert indexes.get(SECOND, -1) == -1
    with pytest.raises(KeyError):
        indexes[SECOND]


def test_a_set_holds_parts_by_identity() -> None:
    parts = PartSet([FIRST])
    assert FIRST in parts
    assert SECOND not in parts
    parts.add(SECOND)
    parts.add(SECOND)
    assert len(parts) == 2
    assert [part is FIRST for part in parts] == [True, False]
