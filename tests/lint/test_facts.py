"""What rules know about a history: which results belong to which calls, and which belong to none."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from toolwire import Call, Conversation, Message, Result, Text
from toolwire.conversation.model import BodySource
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Part
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.transforms import results_as_text
from toolwire.lint.fixes.uncertain_results import UNCERTAIN, rewrite_uncertain_results
from toolwire.lint.ids.duplicates import calls_reusing_an_id, copies_of_calls
from toolwire.lint.ids.edits import split_pairs, surplus_results
from toolwire.lint.ids.formats import call_half
from toolwire.lint.ids.output_as_id import is_output, results_with_output_as_id
from toolwire.lint.ids.rewritings import calls_of_rewritten_ids
from toolwire.lint.orphans import leading_orphans, orphans_of_removed_calls
from toolwire.profiles.table import profile

HI = Message("user", (Text("hi"),))


def caller(*parts: Part) -> Message:
    return Message("assistant", parts)


def answer(*parts: Part) -> Message:
    return Message("tool", parts)


def call(call_id: str, name: str = "f", **arguments: int) -> Call:
    return Call(call_id, name, dict(arguments))


def result(call_id: str, output: str = "r") -> Result:
    return call(call_id).result(output)


def with_minted_id(found: Result) -> Result:
    """A result as wires without ids give it: the call id is not from the wire."""
    return replace(found, origin="minted")


def facts_of(*messages: Message, target: str = "anthropic") -> Facts:
    """The facts about a history of a chat wire for a target on another wire."""
    return Facts(replace(Conversation(messages), wire="openai-chat"), profile(target))


def owners(found: PartMap[Result, Call]) -> list[tuple[str, str]]:
    """The id of each result, and the id of the call that it belongs to."""
    return [(result.call_id, call.id) for result, call in found.items()]


# --- rewritten ids --------------------------------------------------------------------------------


def test_a_rewritten_id_belongs_to_the_one_earlier_call_that_it_was_made_of() -> None:
    first, other = call("functions.read:0"), call("functions.list:1")
    found = facts_of(HI, caller(first, other), answer(result("functions_read_0")))
    assert owners(calls_of_rewritten_ids(found)) == [("functions_read_0", "functions.read:0")]


def test_a_rewritten_id_that_two_calls_could_have_become_belongs_to_neither() -> None:
    alike = caller(call("call.read"), call("call:read"))
    assert not calls_of_rewritten_ids(facts_of(HI, alike, answer(result("call_read"))))


def test_a_rewritten_id_never_belongs_to_a_later_call() -> None:
    late = caller(call("functions.read:0"))
    found = facts_of(HI, caller(call("other")), answer(result("functions_read_0")), late)
    assert not calls_of_rewritten_ids(found)


def test_two_results_under_rewritings_of_one_id_belong_to_no_call() -> None:
    rewritten = answer(result("functions_read_0"), result("functionsread0"))
    assert not calls_of_rewritten_ids(facts_of(HI, caller(call("functions.read:0")), rewritten))


def test_an_id_that_was_cut_finds_its_call_only_if_nothing_else_is_unpaired() -> None:
    whole = "call_" + "0123456789abcdefghijklmnopqrstuvwxyz" * 2
    cut = whole[: profile("openai-chat").id_rule.longest]
    alone = facts_of(HI, caller(call(whole)), answer(result(cut)))
    assert owners(calls_of_rewritten_ids(alone)) == [(cut, whole)]
    beside = facts_of(HI, caller(call(whole), call("y")), answer(result(cut)))
    assert not calls_of_rewritten_ids(beside)


def test_ids_of_three_characters_may_be_alike_by_chance() -> None:
    assert not calls_of_rewritten_ids(facts_of(HI, caller(call("a.b")), answer(result("a_b"))))


# --- output as id ---------------------------------------------------------------------------------


def test_a_short_id_is_not_taken_for_the_beginning_of_an_output() -> None:
    assert not is_output("4", result("4", "42 degrees and sunny"))
    assert is_output("42 degrees", result("42 degrees", "42 degrees and sunny"))


def test_outputs_as_ids_are_counted_only_if_every_unpaired_result_of_the_turn_has_one() -> None:
    sunny = result("it is sunny in Oslo", "it is sunny in Oslo")
    calls = caller(call("a"), call("b"))
    strange = results_with_output_as_id(facts_of(HI, calls, answer(sunny, result("zzz"))))
    assert [(found.text, count) for found, _, count in strange] == [("it is sunny in Oslo", 0)]
    windy = result("it is windy in Rome", "it is windy in Rome")
    every = results_with_output_as_id(facts_of(HI, calls, answer(sunny, windy)))
    assert [count for _, _, count in every] == [2, 2]


def test_a_composite_id_is_not_taken_for_an_output_however_long_it_is() -> None:
    composite = result("call_1__thought__" + "QUJD" * 20)
    assert results_with_output_as_id(facts_of(HI, caller(call("a")), answer(composite))) == []


# --- orphans --------------------------------------------------------------------------------------


def test_an_orphan_after_other_content_does_not_lead_the_history() -> None:
    late = Message("user", (Text("so"), result("a")))
    assert leading_orphans(facts_of(late)) == []
    assert [found.call_id for found in leading_orphans(facts_of(answer(result("a")), HI))] == ["a"]


def test_an_orphan_with_a_rewritten_id_or_none_had_no_call_that_was_removed() -> None:
    calls = caller(call("call_A1b2|fc_9"))
    rewritten, removed = result("call_A1b2"), result("zzz")
    found = facts_of(HI, calls, answer(rewritten), answer(removed))
    assert [orphan.call_id for orphan in orphans_of_removed_calls(found)] == ["zzz"]
    answered = (HI, caller(call("a")), answer(result("a")))
    assert not orphans_of_removed_calls(facts_of(*answered, answer(with_minted_id(result("tw-1")))))


def test_a_second_result_is_an_orphan_outside_of_the_batch_of_its_call() -> None:
    """Some targets accept a second result of a call, but only among the results of that call."""
    turn = (HI, caller(call("a")), answer(result("a")), answer(result("a", "again")))
    target = next(name for name in ("xai", "vllm") if accepts_second_results(name))
    assert facts_of(*turn, target=target).orphans == []
    later = (
        *turn[:3],
        caller(Text("ok")),
        HI,
        caller(call("b")),
        answer(result("b"), turn[3].parts[0]),
    )
    assert [orphan.text for orphan in facts_of(*later, target=target).orphans] == ["again"]


def accepts_second_results(target: str) -> bool:
    return not profile(target).rejects_duplicate_results


def test_a_second_result_without_an_id_is_an_orphan_although_it_was_given_an_id() -> None:
    second = with_minted_id(result("a", "again"))
    found = facts_of(HI, caller(call("a")), answer(result("a"), second))
    assert found.orphans == [second]


# --- pairs ----------------------------------------------------------------------------------------


PARTLY_PAIRED: dict[str, tuple[Message, ...]] = {
    "a second result": (caller(call("a"), call("b")), answer(result("a"), result("a", "again"))),
    "an unknown id": (caller(call("a")), answer(result("x"), result("a"))),
    "a result before its call": (answer(result("a")), caller(call("a")), HI),
    "an id of another turn": (caller(call("a")), HI, caller(call("b")), answer(result("a"))),
    "the id of an item": (caller(replace(call("a"), item="fc_1")), answer(result("fc_1"))),
    "an unknown id for a call without one": (
        caller(replace(call("tw-1"), origin="minted")),
        answer(result("x")),
    ),
    "no id": (caller(call("a")), answer(with_minted_id(result("tw-1")))),
    "a result beside its call": (caller(call("a"), result("a")), HI),
}


@pytest.mark.parametrize("ordered", [False, True], ids=["any order", "in order"])
@pytest.mark.parametrize("messages", PARTLY_PAIRED.values(), ids=PARTLY_PAIRED)
def test_facts_pair_as_a_walk_over_all_turns_does(
    messages: tuple[Message, ...], ordered: bool
) -> None:
    conversation = Conversation(
        (HI, *messages), wire="openai-chat", source=BodySource(ordered=ordered)
    )
    found = Facts(conversation, profile("anthropic"))
    walked = [
        (pair.result, pair.call) for pair in conversation.pairs() if pair.result and pair.call
    ]
    assert len(found.call_of) == len(found.result_of) == len(walked)
    assert all(found.call_of.get(result) is call for result, call in walked)
    assert all(found.result_of.get(call) is result for result, call in walked)


def test_results_before_calls_with_one_id_belong_to_one_call_each() -> None:
    early = answer(result("a", "1"), result("a", "2"))
    found = facts_of(HI, early, caller(call("a", x=1)), HI, caller(call("a", x=2)))
    assert [made.arguments for made in found.calls_after_results.values()] == ['{"x":1}', '{"x":2}']


def test_a_result_without_an_id_is_not_paired_against_its_name_whatever_id_it_was_given() -> None:
    other = with_minted_id(call("a", "h").result("r"))
    calls = caller(call("a", "f"), call("b", "g"))
    found = facts_of(HI, calls, answer(call("b", "g").result("r")), answer(other))
    assert [made.id for made in found.result_of] == ["b"]


def test_a_second_result_belongs_to_the_newest_call_of_its_id() -> None:
    first, second = call("a", x=1), call("a", x=2)
    history = (HI, caller(first), answer(result("a")), HI, caller(second))
    found = facts_of(*history, answer(result("a"), result("a", "again")))
    assert [(made.text, owner is second) for made, owner in surplus_results(found).items()] == [
        ("again", True)
    ]
    assert not surplus_results(facts_of(HI, caller(first, second), answer(result("a"))))


def test_two_results_that_could_belong_to_one_composite_id_belong_to_none() -> None:
    calls = caller(call("call_1|fc_1"))
    single = facts_of(HI, calls, answer(result("call_1")))
    assert owners(split_pairs(single, call_half)) == [("call_1", "call_1|fc_1")]
    double = facts_of(HI, calls, answer(result("call_1"), result("call_1|fc_2")))
    assert not split_pairs(double, call_half)


# --- calls that share an id -----------------------------------------------------------------------


def test_only_the_first_call_of_a_turn_reuses_an_id_of_an_earlier_turn() -> None:
    found = facts_of(HI, caller(call("a", x=1)), HI, caller(call("a", x=2), call("a", x=3)))
    reused = [(made.arguments, number) for made, number in calls_reusing_an_id(found)]
    assert reused == [('{"x":2}', 2)]


def test_a_call_with_a_result_of_its_own_is_no_copy() -> None:
    first, second = call("a"), call("a")
    results = answer(first.result("1")), answer(second.result("2"))
    found = facts_of(HI, caller(first), results[0], caller(second), results[1])
    assert copies_of_calls(found, [first, second]) == []


# --- results that become text ---------------------------------------------------------------------


def test_the_text_of_a_result_never_stands_between_a_call_and_its_result() -> None:
    first, second, stray = call("a"), call("b"), result("zzz", "stray")
    results = (answer(first.result("1")), answer(stray), answer(second.result("2")))
    found = facts_of(HI, caller(first, second), *results, caller(Text("ok")), target="openai-chat")
    rewritten = results_as_text(found, [stray])
    roles = [message.role for message in rewritten.messages]
    assert roles == ["user", "assistant", "tool", "tool", "user", "assistant"]


def test_a_call_that_keeps_its_result_gets_no_second_one() -> None:
    first, second = call("a"), call("b")
    stray = result("zzz", "stray")
    found = facts_of(HI, caller(first, second), answer(first.result("1")), answer(stray))
    rewritten = rewrite_uncertain_results(found, [first, second], [stray])
    texts = {made.call_id: made.text for made in rewritten.results()}
    assert texts == {"a": "1", "b": UNCERTAIN}
    assert len(rewritten.results()) == 2
