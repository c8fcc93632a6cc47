"""Which calls are the same: the fingerprint and the key."""

from __future__ import annotations

import hashlib
import hmac
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwire.conversation.json import JSON, Object, parse
from toolwire.execution.call_key import canonical, fingerprint, key_of, tenant
from toolwire.tools.runnable import ToolId, Version

ADD = ToolId("Calculator", "Add", Version(1))
KEY = b"k" * 32

SAME: list[tuple[Object, Object]] = [
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({"a": 1}, {"a": 1.0}),
    ({"a": [{"x": 0, "y": [3.0]}]}, {"a": [{"y": [3], "x": -0.0}]}),
    ({"a": 10**20}, {"a": 1e20}),
    ({"a": 1e300}, {"a": 1e300}),
]
OTHER: list[tuple[Object, Object]] = [
    ({"a": 1}, {"a": True}),
    ({"a": 1}, {"a": "1"}),
    ({"a": None}, {}),
    ({"a": [1, 2]}, {"a": [2, 1]}),
    ({"a": "\u00e9"}, {"a": "e\u0301"}),
    ({"\u00e9": 1}, {"e\u0301": 1}),
    ({"a": 90071992547409931}, {"a": 90071992547409930}),
    ({"a": 10**30}, {"a": 10**30 + 1}),
    ({"a": 1.5}, {"a": 1}),
    ({"a": "\ud800"}, {"a": "\ud801"}),
    ({"a": {}}, {"a": []}),
]


@pytest.mark.parametrize(("one", "two"), SAME)
def test_equal_json_has_one_fingerprint(one: Object, two: Object) -> None:
    assert fingerprint(KEY, ADD, one) == fingerprint(KEY, ADD, two)


@pytest.mark.parametrize(("one", "two"), OTHER)
def test_different_json_has_two_fingerprints(one: Object, two: Object) -> None:
    assert fingerprint(KEY, ADD, one) != fingerprint(KEY, ADD, two)


def test_tool_version_and_key_make_a_difference() -> None:
    prints = {
        fingerprint(key, tool, {})
        for key in (KEY, b"x" * 32)
        for tool in (
            ADD,
            ToolId("Calculator", "Add", Version(1, 0, 1)),
            ToolId("Calculator", "Sub", Version(1)),
        )
    }
    assert len(prints) == 6


def test_a_fingerprint_is_a_keyed_hash() -> None:
    text = b'["Calculator.Add","1.0.0",{"a":1,"b":"x"}]'
    assert (
        fingerprint(KEY, ADD, {"b": "x", "a": 1.0}) == hmac.new(KEY, text, hashlib.sha256).digest()
    )


TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(TREES)
def test_canonical_json_is_equal_and_idempotent(tree: JSON) -> None:
    text = canonical(tree)
    assert parse(text) == tree
    assert canonical(parse(text)) == text


NAMES = [
    "",
    "a",
    "b",
    ":",
    "1:a",
    "a:b",
    "\\",
    "\\x00",
    "\x00",
    "é",
    "\ud800",
    "x" * 200,
    "x" * 201,
    "x" * 202,
    "\\sha256-" + "0" * 64,
]


def test_no_two_callers_share_a_key() -> None:
    keys = [key_of(who, user, call) for who in NAMES for user in (None, *NAMES) for call in NAMES]
    assert len(set(keys)) == len(keys)
    assert len({tenant(*pair) for pair in combinations(NAMES, 2)}) == len(
        list(combinations(NAMES, 2))
    )


def test_keys_are_printable_and_bounded_and_plain_ids_stay_as_they_are() -> None:
    for name in NAMES:
        key = key_of(name, name, name)
        assert key.call_id.isprintable() and key.tenant.isprintable()
        assert len(key.call_id) <= 2000 and len(key.tenant) <= 4100
    assert key_of("alice", None, "call_1").call_id == "call_1"
