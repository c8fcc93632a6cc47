"""The rules about ids that repeat, about two results of one call, and about several
faults at once.
"""

from __future__ import annotations

import re

import pytest
from cases import ALL, Case, needs_recordings
from lint_turns import MINE, Turn, history, ids, joined, mended, names
from rows import rows

from toolwire.codec import decode
from toolwire.conversation.json import JSON, Object
from toolwire.conversation.parts import Call
from toolwire.lint import all_rules, check, repair
from toolwire.lint.ambiguous_calls import ambiguous_calls
from toolwire.lint.examples.chat import USER, assistant, tool_call, tool_message
from toolwire.lint.facts import Facts
from toolwire.profiles.table import profile

# --- ids that repeat ------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "bedrock", "openai-responses"])
def test_calls_of_a_turn_that_share_an_id_are_told_apart_with_their_results(wire: str) -> None:
    body = history(
        wire,
        ([("x", "f", "a"), ("x", "f", "b"), ("y", "f", "c")], [("x", "A"), ("y", "C"), ("x", "B")]),
    )
    assert names(body, wire) == ["id-dup-in-turn"]
    repaired = mended(body, wire)
    assert [one for one in repaired.findings if one.severity == "error"] == []
    assert joined(repaired.body, wire) == [("a", "A"), ("b", "B"), ("c", "C")]
    assert ids(repaired.body, wire)[0::2] == ["x", "y"]
    assert len(set(ids(repaired.body, wire))) == 3


def test_a_result_that_names_its_tool_goes_to_the_call_of_that_tool() -> None:
    answers: list[JSON] = [
        {"role": "tool", "tool_call_id": "x", "name": n, "content": t}
        for n, t in (("g", "B"), ("f", "A"))
    ]
    body: Object = {
        "messages": [
            USER,
            assistant(tool_call("x", "f", '{"q": "a"}'), tool_call("x", "g", '{"q": "b"}')),
            *answers,
        ]
    }
    assert joined(mended(body, "openai-chat").body, "openai-chat") == [("a", "A"), ("b", "B")]


def test_fewer_results_than_calls_of_one_id_are_assigned_only_by_unsafe_fixes() -> None:
    body = history("openai-chat", ([("x", "f", "a"), ("x", "g", "b")], [("x", "A")]))
    default = mended(body, "openai-chat")
    assert [one for one in default.findings if one.severity == "error"] == []
    assert "A" not in {result for _, result in joined(default.body, "openai-chat")}
    assert "which may belong to any of several calls: A" in str(default.body)
    assert ("a", "A") in joined(mended(body, "openai-chat", unsafe=True).body, "openai-chat")


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "bedrock", "openai-responses"])
def test_the_same_call_twice_is_one_call(wire: str) -> None:
    body = history(wire, ([("x", "f", "a"), ("x", "f", "a")], [("x", "A")]))
    assert names(body, wire) == ["id-dup-call"]
    repaired = mended(body, wire)
    assert repaired.findings == []
    assert ids(repaired.body, wire) == ["x"]
    assert joined(repaired.body, wire) == [("a", "A")]


def test_the_same_call_twice_with_the_same_result_twice_is_one_pair() -> None:
    body = history("anthropic", ([("x", "f", "a"), ("x", "f", "a")], [("x", "A"), ("x", "A")]))
    repaired = mended(body, "anthropic")
    assert repaired.findings == []
    assert joined(repaired.body, "anthropic") == [("a", "A")]


def test_the_same_call_twice_with_two_results_is_two_calls() -> None:
    body = history("anthropic", ([("x", "f", "a"), ("x", "f", "a")], [("x", "A"), ("x", "B")]))
    assert names(body, "anthropic") == ["id-dup-in-turn"]
    assert joined(mended(body, "anthropic").body, "anthropic") == [("a", "A"), ("a", "B")]


def test_a_call_in_two_forms_in_one_message_is_one_call() -> None:
    block: JSON = {"type": "tool_use", "id": "t1", "name": "f", "input": {"q": "a"}}
    text: JSON = {"type": "text", "text": "let me see"}
    body: Object = {
        "messages": [
            USER,
            assistant(tool_call("t1", "f", '{"q": "a"}'), content=[text, block]),
            tool_message("t1", "A"),
        ]
    }
    assert names(body, "openai-chat") == ["id-dup-call"]
    repaired = mended(body, "openai-chat")
    assert joined(repaired.body, "openai-chat") == [("a", "A")]
    assert "tool_use" not in str(repaired.body)
    assert "let me see" in str(repaired.body)


@pytest.mark.parametrize("one", ["call_0", "f"])
def test_an_id_that_comes_back_in_later_turns_is_new_there_with_its_own_result(one: str) -> None:
    turns: list[Turn] = [([(one, "f", q)], [(one, q.upper())]) for q in "abc"]
    body = history("anthropic", *turns)
    assert len(names(body, "anthropic")) == 2
    repaired = mended(body, "anthropic")
    assert repaired.findings == []
    assert joined(repaired.body, "anthropic") == [("a", "A"), ("b", "B"), ("c", "C")]
    assert ids(repaired.body, "anthropic")[0] == one
    assert len(set(ids(repaired.body, "anthropic"))) == 3


@pytest.mark.parametrize("wire", ["openai-chat", "bedrock", "openai-responses", "gemini"])
def test_an_id_that_comes_back_is_fine_where_only_a_turn_is_looked_at(wire: str) -> None:
    turns: list[Turn] = [([("call_0", "f", q)], [("call_0", q.upper())]) for q in "ab"]
    assert names(history(wire, *turns), wire) == []


def test_a_name_for_an_id_is_fine_until_the_tool_is_called_twice_in_a_turn() -> None:
    assert names(history("openai-chat", ([("f", "f", "a")], [("f", "A")])), "openai-chat") == []
    body = history("openai-chat", ([("f", "f", "a"), ("f", "f", "b")], [("f", "A"), ("f", "B")]))
    assert [(one.name, one.fix) for one in check(body, "openai-chat") if one.code in MINE] == [
        ("id-is-tool-name", "safe")
    ]
    assert joined(mended(body, "openai-chat", unsafe=True).body, "openai-chat") == [
        ("a", "A"),
        ("b", "B"),
    ]
    default = mended(body, "openai-chat")
    assert [one for one in default.findings if one.severity == "error"] == []
    assert not {"A", "B"} & {result for _, result in joined(default.body, "openai-chat")}


@pytest.mark.parametrize("target", ["xai", "deepseek", "minimax", "qwen"])
def test_who_takes_an_id_twice_gets_no_finding_for_it(target: str) -> None:
    body = history("openai-chat", ([("x", "f", "a"), ("x", "f", "b")], [("x", "A"), ("x", "B")]))
    assert names(body, "openai-chat", target) == []


# --- two results ----------------------------------------------------------------------------------

_ABORTS = [
    "Tool execution aborted",
    "[toolwire] interrupted: no result of this call was recorded",
    "Request interrupted by user",
    "The tool call was cancelled",
    "No result provided",
    "[Tool use was rejected]",
]


@pytest.mark.parametrize("abort", _ABORTS)
@pytest.mark.parametrize("late", [True, False])
def test_a_result_that_says_that_nothing_was_done_gives_way_to_one_that_says_more(
    abort: str, late: bool
) -> None:
    texts = ["21 degrees", abort] if late else [abort, "21 degrees"]
    body = history("openai-chat", ([("c1", "f", "a")], [("c1", text) for text in texts]))
    repaired = mended(body, "openai-chat").body
    assert joined(repaired, "openai-chat") == [("a", "21 degrees")]
    assert (abort in str(repaired)) != abort.startswith("[toolwire]")


def test_of_two_results_that_differ_the_last_one_stays_and_the_other_becomes_text() -> None:
    body = history("anthropic", ([("c1", "f", "a")], [("c1", "old"), ("c1", "new")]))
    repaired = mended(body, "anthropic")
    assert joined(repaired.body, "anthropic") == [("a", "new")]
    assert "whose call has another result, too: old" in str(repaired.body)
    assert [change.name for change in repaired.changes] == ["dup-result"]


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "bedrock", "openai-responses"])
def test_of_two_results_that_say_the_same_one_is_enough(wire: str) -> None:
    body = history(
        wire, ([("c1", "f", "a"), ("c2", "f", "b")], [("c1", "A"), ("c2", "B"), ("c1", "A")])
    )
    repaired = mended(body, wire)
    assert repaired.findings == []
    assert joined(repaired.body, wire) == [("a", "A"), ("b", "B")]
    assert len(decode(repaired.body, wire).results()) == 2


def test_a_result_that_comes_again_in_a_later_turn_is_a_second_one() -> None:
    body = history(
        "openai-chat",
        ([("c1", "f", "a")], [("c1", "A")]),
        ([("c2", "f", "b")], [("c1", "A"), ("c2", "B")]),
    )
    repaired = mended(body, "openai-chat")
    assert repaired.findings == []
    assert joined(repaired.body, "openai-chat") == [("a", "A"), ("b", "B")]


# --- several at once ------------------------------------------------------------------------------


def test_ids_that_restart_each_turn_and_are_refused_stay_apart() -> None:
    turns: list[Turn] = [
        (
            [("functions.f:0", "f", q), ("functions.f:1", "f", q * 2)],
            [("functions.f:1", q * 4), ("functions.f:0", q * 3)],
        )
        for q in "abc"
    ]
    repaired = mended(history("anthropic", *turns), "anthropic")
    assert repaired.findings == []
    assert joined(repaired.body, "anthropic") == [
        pair for q in "abc" for pair in ((q, q * 3), (q * 2, q * 4))
    ]
    assert len(set(ids(repaired.body, "anthropic"))) == 6


def test_a_history_with_a_fault_in_every_turn_is_whole_after_one_repair() -> None:
    long = "call_" + "a" * 80
    turns: list[Turn] = [
        ([(None, "f", "a")], [(None, "A")]),
        ([("", "f", "b"), ("c2", "g", "c")], [("c2", "C"), ("", "B")]),
        ([(7, "f", "d")], [("7", "D")]),
        ([(long, "f", "e"), (long + "1", "f", "g")], [(long + "1", "G"), (long, "E")]),
        ([("call_A|fc_B", "f", "h")], [("call_A", "H")]),
        ([("c3", "f", "i")], [("Sum: 15", "Sum: 15")]),
        ([("x", "f", "j"), ("x", "f", "k"), ("x", "f", "k")], [("x", "J"), ("x", "K"), ("x", "K")]),
        ([("c4c4", "f", "l")], [("c4c4", "L"), ("c4c4", "L")]),
    ]
    body = history("openai-chat", *turns)
    repaired = mended(body, "openai-chat")
    assert [one for one in repaired.findings if one.severity == "error"] == []
    told_so = {
        "a": "A",
        "b": "B",
        "c": "C",
        "d": "D",
        "e": "E",
        "g": "G",
        "h": "H",
        "i": "Sum: 15",
        "j": "J",
        "k": "K",
        "l": "L",
    }
    assert dict(joined(repaired.body, "openai-chat")) == told_so
    assert {
        "id-missing",
        "id-empty",
        "id-not-string",
        "id-too-long",
        "id-composite",
        "id-is-result-content",
        "id-dup-in-turn",
        "id-dup-call",
        "dup-result",
    } <= {change.name for change in repaired.changes}


def test_nothing_but_ids_changes_in_a_fix_that_says_so() -> None:
    extra: JSON = {
        "role": "assistant",
        "content": "thinking…",
        "tool_calls": [tool_call("a.b")],
        "vendor": {"kept": [1, None]},
    }
    body: Object = {
        "messages": [USER, extra, {**dict(_result()), "note": None}],
        "max_tokens": 9,
        "x": 1,
    }
    repaired = mended(body, "mistral")
    new = ids(repaired.body, "mistral")[0]
    assert re.fullmatch("[a-zA-Z0-9]{9}", new)
    assert str(repaired.body) == str(body).replace("a.b", new)


def _result() -> Object:
    return {"role": "tool", "tool_call_id": "a.b", "content": "1"}


def test_a_call_that_an_unclear_result_may_answer_is_in_doubt() -> None:
    lost = history("openai-chat", ([("c1", "f", "a"), ("c2", "f", "b")], [("Sum: 1", "Sum: 1")]))
    shared = history("openai-chat", ([("x", "f", "a"), ("x", "f", "b")], [("x", "A")]))
    plain = history("openai-chat", ([("c1", "f", "a"), ("c2", "f", "b")], [("c1", "A")]))
    counts = [
        len(ambiguous_calls(Facts(decode(body, "openai-chat"), profile("openai-chat"))))
        for body in (lost, shared, plain)
    ]
    assert counts == [2, 1, 0]


@needs_recordings
@rows("case", [case for case in ALL if case.recorded])
def test_what_providers_took_and_gave_has_no_fault_in_its_ids(case: Case) -> None:
    assert [str(one) for one in check(case.body, case.wire, case.kind) if one.code in MINE] == []


def arguments_of(call: Call) -> JSON:
    """The arguments of a call, also of one whose arguments a repair stored under `_raw`."""
    value = call.args.value
    return value["_raw"] if isinstance(value, dict) and list(value) == ["_raw"] else value


@rows("case", [case for case in ALL if case.kind == "request"])
def test_a_repair_never_parts_a_pair(case: Case) -> None:
    before, after = (
        [
            (arguments_of(p.call), p.result.text)
            for p in decode(body, case.wire, case.kind).pairs()
            if p.call and p.result
        ]
        for body in (case.body, repair(case.body, case.wire, case.kind).body)
    )
    assert [pair for pair in before if pair not in after] == []


def test_all_of_these_rules_are_there() -> None:
    assert {rule.code for rule in all_rules()} >= MINE
