"""JSON values keep every digit, and values that JSON cannot express are refused."""

from __future__ import annotations

import json
from datetime import date
from enum import IntEnum, StrEnum

import msgspec
import pytest
from cases import differences, same
from hypothesis import given
from hypothesis import strategies as st

import toolwire
from toolwire import DecodeError, UsageError, check, translate
from toolwire.conversation.json import JSON, dump, get, load, parse, patch, put, require_json, snake
from toolwire.conversation.lazy_json import LazyJson

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_what_is_dumped_is_parsed_to_the_same(value: JSON) -> None:
    assert same(parse(dump(value)), value)


@pytest.mark.parametrize(
    "value",
    [
        2**53 + 1,
        -(2**63),
        2**64,
        10**40,
        -(10**40),
        0.1,
        1e-7,
        1.0,
        -0.0,
        1.7e308,
        "\u2028\u2029\x7f",
        "\x00\x1f",
        "🏔",
        "",
    ],
    ids=repr,
)
def test_numbers_and_text_keep_every_digit_and_letter(value: JSON) -> None:
    assert same(parse(dump({"x": [value]})), {"x": [value]})


@pytest.mark.parametrize("deep", [200, 300, 390])
def test_deep_values_are_dumped(deep: int) -> None:
    value: JSON = []
    for _ in range(deep):
        value = [value]
    assert json.loads(dump(value)) == value


def test_a_lone_surrogate_is_dumped_as_an_escape() -> None:
    assert dump({"x": "a\ud83d"}) == b'{"x":"a\\ud83d"}'


@pytest.mark.parametrize(
    "value", [object(), {1, 2}, b"x", {1: 2}, date(2026, 1, 1)], ids=lambda v: type(v).__name__
)
def test_what_is_not_json_is_not_dumped(value: object) -> None:
    with pytest.raises(UsageError, match="not JSON"):
        dump(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {"a": {1}}])
def test_a_value_that_json_cannot_express_is_refused_at_construction(value: object) -> None:
    body: JSON = {
        "messages": [
            {
                "role": "assistant",
                "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}],
            }
        ]
    }
    conversation = toolwire.decode(body, "openai-chat")
    [call] = conversation.calls()
    with pytest.raises(UsageError):
        call.result(value)  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        conversation.replace(call, msgspec.structs.replace(call, args=LazyJson.from_value(value)))  # type: ignore[arg-type]


def test_a_plain_value_is_taken_as_the_very_same_object() -> None:
    value: JSON = {"a": [1, {"b": None}], "c": "x"}
    assert require_json(value, "") is value


def test_a_value_of_subclasses_and_tuples_becomes_plain_and_is_not_changed() -> None:
    class Text(str):
        pass

    class Map(dict[str, object]):
        pass

    inner = Map(b=Text("x"))
    value = {"a": (1, inner)}
    assert require_json(value, "") == {"a": [1, {"b": "x"}]}
    assert value == {"a": (1, inner)}
    assert type(value["a"]) is tuple


class Role(StrEnum):
    USER = "user"
    TOOL = "tool"


class Limit(IntEnum):
    TOKENS = 64


def test_members_of_enums_become_their_values() -> None:
    message = {"role": Role.USER, Role.TOOL: [Role.TOOL, Limit.TOKENS, True]}
    plain = require_json(message, "")
    assert repr(plain) == "{'role': 'user', 'tool': ['tool', 64, True]}"


def test_a_chat_with_roles_and_ids_that_are_members_of_enums_is_translated() -> None:
    function: JSON = {"name": Role.TOOL, "arguments": "{}"}
    calls: JSON = [{"id": Role.TOOL, "type": "function", "function": function}]
    messages: list[JSON] = [
        {"role": Role.USER, "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": Role.TOOL, "tool_call_id": Role.TOOL, "content": "ok"},
    ]
    encoded = translate(messages, "openai-chat", "anthropic")
    assert encoded.body == translate(json.dumps(messages), "openai-chat", "anthropic").body
    assert check(messages, "openai-chat") == []


def test_load_keeps_the_bytes_of_text() -> None:
    assert load(' {"a": 1.0} ', "") == ({"a": 1.0}, b' {"a": 1.0} ')
    assert load({"a": 1}, "") == ({"a": 1}, None)
    with pytest.raises(DecodeError):
        load("{", "")


# --- a value that is mostly carried ---------------------------------------------------------------


def test_json_keeps_its_text_verbatim_and_parses_it_on_demand() -> None:
    lazy = LazyJson('{ "a" : 1.50 }')
    assert (lazy.text, lazy.value, lazy.broken) == ('{ "a" : 1.50 }', {"a": 1.5}, False)


def test_empty_text_means_no_arguments_and_broken_text_is_marked() -> None:
    assert (LazyJson("").value, LazyJson("").broken, LazyJson("").text) == ({}, False, "")
    assert (LazyJson('{"a').value, LazyJson('{"a').broken, LazyJson('{"a').text) == (
        None,
        True,
        '{"a',
    )
    assert LazyJson("[" * 100_000).broken
    assert LazyJson("[" * 100_000).value is None


def test_two_json_values_are_equal_if_they_mean_the_same() -> None:
    assert LazyJson('{"a":1}') == LazyJson('{ "a": 1 }') == LazyJson.from_value({"a": 1})
    assert LazyJson("{") == LazyJson("{")
    assert LazyJson("{") != LazyJson("[")
    assert LazyJson("") != LazyJson("null")


@pytest.mark.parametrize(
    "pair",
    [(LazyJson('{"a":1}'), LazyJson('{ "a": 1 }')), (LazyJson(""), LazyJson("{}"))],
    ids=("spelling", "empty"),
)
def test_equal_json_values_have_equal_hashes(pair: tuple[LazyJson, LazyJson]) -> None:
    left, right = pair
    assert left == right
    assert hash(left) == hash(right)


# --- get, put, patch ------------------------------------------------------------------------------

OLD: JSON = {"a": [{"b": 1}, {"b": 2}], "c": None}


def test_get_returns_the_value_at_a_path() -> None:
    assert get(OLD, ("a", 1, "b")) == 2
    assert get(OLD, ()) is OLD
    assert get(OLD, ("c",)) is None
    assert repr(get(OLD, ("a", 7))) == repr(get(OLD, ("c", "x"))) == "UNSET"


@given(VALUES, VALUES)
def test_put_changes_the_path_and_nothing_else(value: JSON, new: JSON) -> None:
    before: JSON = {"a": [value, {"b": value}]}
    new_body = put(before, ("a", 1, "b"), new)
    assert same(get(new_body, ("a", 1, "b")), new)  # type: ignore[arg-type]
    assert all(at[:3] == ("a", 1, "b") for at in differences(before, new_body))
    assert before == {"a": [value, {"b": value}]}


@given(
    st.dictionaries(st.text(max_size=3), VALUES, max_size=4),
    st.dictionaries(st.text(max_size=3), VALUES, max_size=4),
)
def test_patch_turns_the_old_into_the_new_and_keeps_what_neither_mentions(
    old: dict[str, JSON], new: dict[str, JSON]
) -> None:
    raw: JSON = {**old, "unknown field": [1]}
    assert patch(raw, old, new) == {**new, "unknown field": [1]}
    assert raw == {**old, "unknown field": [1]}


def test_patch_finds_a_field_under_its_other_spelling() -> None:
    raw: JSON = {"function_call": {"name": "a", "more": 1}, "thought_signature": "s"}
    old: JSON = {"functionCall": {"name": "a"}}
    assert patch(raw, old, {"functionCall": {"name": "b"}}, snake_case=True) == {
        "function_call": {"name": "b", "more": 1},
        "thought_signature": "s",
    }
    assert patch({"tool_id": 1}, {}, {"toolId": 2}) == {"tool_id": 1, "toolId": 2}
    assert snake("thoughtSignature") == "thought_signature"
