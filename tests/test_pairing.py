"""Pairing: an ordered walk with the open calls in hand. Ambiguity is reported, never guessed."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from toolwire import Call, Message, Part, Result, Text
from toolwire.conversation.pairing import pairs
from toolwire.conversation.parts import Source


def call(call_id: str, name: str = "f", **more: object) -> Call:
    call = Call(call_id, name, {"id": call_id}, source=Source())
    return replace(call, **more)


def result(call_id: str, output: str, name: str | None = None, **more: object) -> Result:
    return replace(call(call_id).result(output), name=name, **more)


def result_without_id(output: str, name: str | None = None, **more: object) -> Result:
    """A result without an id."""
    return result("", output, name, origin="minted", **more)


def turn(*parts: Part) -> Message:
    return Message("assistant", parts)


def answers(*parts: Part) -> Message:
    return Message("tool", parts)


def pair_texts(
    *messages: Message, ordered: bool = False
) -> list[tuple[str | None, str | None, str | None]]:
    return [
        (pair.call.id if pair.call else None, pair.result.text if pair.result else None, pair.how)
        for pair in pairs(messages, ordered=ordered)
    ]


def test_two_assistant_messages_in_a_row_are_one_turn() -> None:
    texts = pair_texts(
        turn(call("a", "f")),
        turn(call("b", "g")),
        answers(result_without_id("1", "f"), result_without_id("2", "g")),
    )
    assert texts == [("a", "1", "name"), ("b", "2", "name")]


def test_an_id_reused_in_a_later_turn_pairs_with_the_newer_call() -> None:
    texts = pair_texts(turn(call("a")), answers(), turn(call("a")), answers(result("a", "1")))
    assert texts == [("a", None, None), ("a", "1", "id")]


def test_an_item_id_that_two_calls_share_pairs_with_none() -> None:
    first, other = call("a", item="i"), call("b", item="i")
    assert pair_texts(turn(first, other), answers(result("i", "1"))) == [
        ("a", None, None),
        ("b", None, None),
        (None, "1", None),
    ]
    assert pair_texts(turn(first), answers(result("i", "1"))) == [("a", "1", "id")]


def test_a_second_result_under_an_item_id_finds_no_call() -> None:
    texts = pair_texts(turn(call("a", item="i")), answers(result("i", "1"), result("i", "2")))
    assert texts == [("a", "1", "id"), (None, "2", None)]


def test_a_provider_answers_in_place_only_if_that_is_clear() -> None:
    hosted = {"executor": "provider", "origin": "minted"}
    first, other = call("a", **hosted), call("b", **hosted)
    answer = result_without_id("1", executor="provider")
    assert pair_texts(turn(first, answer)) == [("a", "1", "order")]
    assert pair_texts(turn(first, other, answer)) == [
        ("a", None, None),
        ("b", None, None),
        (None, "1", None),
    ]
    assert pair_texts(turn(first, other, answer), ordered=True) == [
        ("a", "1", "order"),
        ("b", None, None),
    ]


def test_a_providers_call_with_an_id_does_not_take_an_answer_without_one() -> None:
    hosted = call("a", executor="provider")
    assert pair_texts(turn(hosted, result_without_id("1", executor="provider"))) == [
        ("a", None, None),
        (None, "1", None),
    ]


def test_an_unknown_id_pairs_by_order_only_where_order_is_promised() -> None:
    messages = turn(call("a", origin="minted")), answers(result("z", "1"))
    assert pair_texts(*messages) == [("a", None, None), (None, "1", None)]
    assert pair_texts(*messages, ordered=True) == [("a", "1", "order")]


def test_a_result_with_an_id_of_its_own_is_no_answer_to_a_call_with_another_id() -> None:
    texts = pair_texts(turn(call("a")), answers(result("z", "1")), ordered=True)
    assert texts == [("a", None, None), (None, "1", None)]


def test_calls_and_results_of_different_number_are_not_paired_by_order() -> None:
    calls = turn(call("a", origin="minted"), call("b", origin="minted"))
    assert pair_texts(calls, answers(result_without_id("1")), ordered=True) == [
        ("a", None, None),
        ("b", None, None),
        (None, "1", None),
    ]


def test_several_are_paired_by_order_only_where_order_is_promised() -> None:
    messages = turn(call("a"), call("b")), answers(result_without_id("1"), result_without_id("2"))
    assert pair_texts(*messages, ordered=True) == [("a", "1", "order"), ("b", "2", "order")]
    assert pair_texts(*messages) == [
        ("a", None, None),
        ("b", None, None),
        (None, "1", None),
        (None, "2", None),
    ]


@pytest.mark.parametrize("ordered", [False, True])
def test_a_name_that_no_call_has_contradicts_every_call(ordered: bool) -> None:
    messages = turn(call("a", "f")), answers(result_without_id("1", "g"))
    assert pair_texts(*messages, ordered=ordered) == [("a", None, None), (None, "1", None)]


@pytest.mark.parametrize("name", ["unknown", "undefined", "call_176130", "Tool result: 5"])
def test_a_name_that_no_tool_has_contradicts_unless_order_is_promised(name: str) -> None:
    messages = turn(call("a", "f")), answers(result_without_id("1", name))
    assert pair_texts(*messages) == [("a", None, None), (None, "1", None)]
    assert pair_texts(*messages, ordered=True) == [("a", "1", "order")]


def test_of_two_calls_with_one_id_the_result_takes_the_tool_it_names() -> None:
    texts = pair_texts(
        turn(call("a", "f"), call("a", "g")), answers(result("a", "1", "g"), result("a", "2", "f"))
    )
    assert texts == [("a", "2", "id"), ("a", "1", "id")]


def test_a_result_under_an_id_of_several_messages_answers_the_newest_call() -> None:
    first, other = call("a", "f"), call("a", "g")
    assert pair_texts(turn(first), turn(other), answers(result("a", "1"))) == [
        ("a", None, None),
        ("a", "1", "id"),
    ]
    texts = pair_texts(turn(first), turn(other), answers(result("a", "1"), result("a", "2")))
    assert texts == [("a", "1", "id"), ("a", "2", "id")]


def test_a_result_under_an_id_of_several_messages_takes_the_tool_it_names() -> None:
    texts = pair_texts(turn(call("a", "f")), turn(call("a", "g")), answers(result("a", "1", "f")))
    assert texts == [("a", "1", "id"), ("a", None, None)]


@pytest.mark.parametrize("between", [(), (Text("and"),)], ids=["nothing", "text"])
def test_a_call_in_a_user_message_is_paired_as_in_a_message_of_its_own(
    between: tuple[Part, ...],
) -> None:
    first, second = call("a", "f"), call("a", "g")
    misplaced = Message("user", (second, *between))
    moved = [Message("user", between), turn(second)] if between else [turn(second)]
    for later in ([misplaced], moved):
        texts = pair_texts(turn(first), *later, answers(result("a", "1")))
        assert texts == [("a", None, None), ("a", "1", "id")]


def test_one_call_that_was_written_twice_is_answered_at_its_first_place() -> None:
    same = call("a")
    texts = pair_texts(turn(same), turn(call("a")), answers(result("a", "1")))
    assert texts == [("a", "1", "id"), ("a", None, None)]


def test_a_result_without_an_id_belongs_to_no_call_after_it() -> None:
    first, other = call("a"), call("b")
    searched = call("s", executor="provider", origin="minted")
    assert pair_texts(turn(searched, result_without_id("1"), first)) == [
        ("s", None, None),
        ("a", None, None),
        (None, "1", None),
    ]
    assert pair_texts(turn(first, result("a", "1"), result_without_id("2"), other)) == [
        ("a", "1", "id"),
        ("b", None, None),
        (None, "2", None),
    ]


def test_the_result_of_the_side_that_ran_a_call_comes_before_one_of_the_other_side() -> None:
    foreign = result("a", "1", executor="provider")
    assert pair_texts(turn(call("a"), foreign), answers(result("a", "2"))) == [
        ("a", "2", "id"),
        (None, "1", None),
    ]
    assert pair_texts(turn(call("a"), foreign)) == [("a", "1", "id")]
    second = result("a", "2", executor="provider")
    assert pair_texts(turn(call("a"), foreign, second)) == [("a", "1", "id"), (None, "2", None)]
