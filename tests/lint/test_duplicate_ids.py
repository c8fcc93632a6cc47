"""The rules about ids that repeat, about two results of one call, and about several
violations at once.
"""

from __future__ import annotations

import re

import pytest
from cases import ALL, Case, needs_recordings
from lint.turns import (
    ID_RULES,
    Turn,
    call_ids,
    history,
    questions_and_answers,
    repair_fully,
    rule_names,
)
from rows import rows

from toolwire import translate
from toolwire.codec import decode
from toolwire.conversation.json import JSON, Object
from toolwire.conversation.parts import Call
from toolwire.lint import all_rules, check, repair
from toolwire.lint.ambiguous_calls import ambiguous_calls
from toolwire.lint.examples.blocks import (
    assistant_blocks,
    text_block,
    tool_result,
    tool_use,
    user_blocks,
)
from toolwire.lint.examples.chat import USER, assistant, tool_call, tool_message
from toolwire.lint.facts import Facts
from toolwire.profiles.table import profile

# --- ids that repeat ------------------------------------------------------------------------------


_OLDER = assistant(tool_call("c", arguments='{"n": 1}'))
_NEWER = assistant(tool_call("c", arguments='{"n": 2}'))
_LATE = [
    [USER, _OLDER, USER, _NEWER, USER, tool_message("c", "for 1"), tool_message("c", "for 2")],
    [USER, _OLDER, USER, _NEWER, tool_message("c", "for 1"), tool_message("c", "for 2")],
    [USER, _OLDER, USER, _NEWER, USER, tool_message("c", "for 1")],
    [USER, _OLDER, USER, _NEWER, USER, tool_message("c", "for 2")],
    [USER, _OLDER, _NEWER, USER, tool_message("c", "for 2")],
    [USER, _OLDER, _NEWER, USER, {"role": "assistant", "content": "y"}, tool_message("c", "for 2")],
]


@pytest.mark.parametrize("target", ["minimax", "openai-chat", "kimi", "anthropic", "gemini"])
@pytest.mark.parametrize("messages", _LATE)
def test_results_under_an_id_of_two_open_calls_go_to_neither(
    messages: list[JSON], target: str
) -> None:
    body: JSON = {"messages": [*messages, USER]}
    sent = translate(body, "openai-chat", target)
    wire = profile(target).wire
    results = [pair.result.text for pair in decode(sent.body, wire).pairs() if pair.result]
    assert not any(text.startswith("for") for text in results)
    texts = re.findall("for [12]", str(messages))
    assert texts == re.findall("for [12]", str(sent.body))
    assert [finding.name for finding in check(body, "openai-chat", target=target)] == [
        "ambiguous-same-name" for _ in texts
    ]


@pytest.mark.parametrize("target", ["minimax", "qwen", "openai-chat", "anthropic", "gemini"])
def test_messages_with_equal_ids_are_not_merged_so_that_their_pairs_change(target: str) -> None:
    reply: JSON = {"role": "assistant", "content": "so"}
    body: JSON = {"messages": [USER, _OLDER, _NEWER, tool_message("c", "for 2"), reply, USER]}
    sent = translate(body, "openai-chat", target)
    wire = profile(target).wire
    [older, newer] = decode(sent.body, wire).pairs()
    assert older.result is not None and older.result.text.startswith("[toolwire]")
    assert newer.result is not None and newer.result.text.startswith(("[toolwire]", "for 2"))
    assert "for 2" in str(sent.body)
    found = check(sent.body, wire, target=target)
    assert [finding for finding in found if finding.severity == "error"] == []


def _two_calls_and_a_result(wire: str, call_id: str) -> JSON:
    """Two calls of a turn with one id, and one result with it."""
    if wire == "anthropic":
        uses = [tool_use(call_id, name=name) for name in ("f", "g")]
        result = user_blocks(tool_result(call_id, content="for one"), text_block("next"))
        return {"messages": [USER, assistant_blocks(*uses), result]}
    calls = (tool_call(call_id, arguments='{"n": 1}'), tool_call(call_id, arguments='{"n": 2}'))
    return {"messages": [USER, assistant(*calls), tool_message(call_id, "for one"), USER]}


@pytest.mark.parametrize("wire", ["anthropic", "mistral", "openai-chat", "deepseek", "qwen"])
@pytest.mark.parametrize(
    "call_id", ["functions.f:0", "x" * 70, "a|b", "call_1"], ids=["dots", "long", "bar", "plain"]
)
def test_the_only_result_of_two_calls_with_one_id_goes_to_neither_if_the_other_gets_one(
    wire: str, call_id: str
) -> None:
    repaired = repair(_two_calls_and_a_result(wire, call_id), wire)
    results = [pair.result for pair in decode(repaired.body, wire).pairs()]
    assert [result.text.startswith("[toolwire]") for result in results if result] == [True, True]
    assert "for one" in str(repaired.body) and repaired.findings == []


def test_a_second_result_is_no_result_of_a_later_call_with_the_same_id() -> None:
    answers = [tool_message("c", "for 1"), tool_message("c", "for 1")]
    body: JSON = {"messages": [USER, _OLDER, *answers, USER, _NEWER, USER]}
    for target in ("minimax", "openai-chat", "anthropic", "gemini"):
        sent = translate(body, "openai-chat", target)
        [first, second] = decode(sent.body, profile(target).wire).pairs()[:2]
        assert first.result is not None and first.result.text == "for 1"
        assert second.result is not None and second.result.text.startswith("[toolwire]")


def test_a_result_directly_after_the_newer_of_two_open_calls_is_its_own() -> None:
    body: JSON = {"messages": [USER, _OLDER, USER, _NEWER, tool_message("c", "for 2"), USER]}
    pairs = decode(body, "openai-chat").pairs()
    assert [pair.result and pair.result.text for pair in pairs] == [None, "for 2"]


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "bedrock", "openai-responses"])
def test_calls_of_a_turn_that_share_an_id_get_distinct_ids_with_their_results(wire: str) -> None:
    body = history(
        wire,
        ([("x", "f", "a"), ("x", "f", "b"), ("y", "f", "c")], [("x", "A"), ("y", "C"), ("x", "B")]),
    )
    assert rule_names(body, wire) == ["id-dup-in-turn"]
    repaired = repair_fully(body, wire)
    assert [finding for finding in repaired.findings if finding.severity == "error"] == []
    assert questions_and_answers(repaired.body, wire) == [("a", "A"), ("b", "B"), ("c", "C")]
    assert call_ids(repaired.body, wire)[0::2] == ["x", "y"]
    assert len(set(call_ids(repaired.body, wire))) == 3


def test_a_result_with_a_tool_name_is_assigned_to_the_call_of_that_tool() -> None:
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
    assert questions_and_answers(repair_fully(body, "openai-chat").body, "openai-chat") == [
        ("a", "A"),
        ("b", "B"),
    ]


def test_fewer_results_than_calls_of_one_id_are_assigned_only_by_unsafe_fixes() -> None:
    body = history("openai-chat", ([("x", "f", "a"), ("x", "g", "b")], [("x", "A")]))
    default = repair_fully(body, "openai-chat")
    assert [finding for finding in default.findings if finding.severity == "error"] == []
    assert "A" not in {result for _, result in questions_and_answers(default.body, "openai-chat")}
    assert "which may belong to any of several calls: A" in str(default.body)
    assert ("a", "A") in questions_and_answers(
        repair_fully(body, "openai-chat", unsafe=True).body, "openai-chat"
    )


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "bedrock", "openai-responses"])
def test_a_copy_of_a_call_is_removed(wire: str) -> None:
    body = history(wire, ([("x", "f", "a"), ("x", "f", "a")], [("x", "A")]))
    assert rule_names(body, wire) == ["id-dup-call"]
    repaired = repair_fully(body, wire)
    assert repaired.findings == []
    assert call_ids(repaired.body, wire) == ["x"]
    assert questions_and_answers(repaired.body, wire) == [("a", "A")]


def test_a_copy_of_a_call_is_removed_with_its_equal_result() -> None:
    body = history("anthropic", ([("x", "f", "a"), ("x", "f", "a")], [("x", "A"), ("x", "A")]))
    repaired = repair_fully(body, "anthropic")
    assert repaired.findings == []
    assert questions_and_answers(repaired.body, "anthropic") == [("a", "A")]


def test_equal_calls_with_different_results_stay_two_calls() -> None:
    body = history("anthropic", ([("x", "f", "a"), ("x", "f", "a")], [("x", "A"), ("x", "B")]))
    assert rule_names(body, "anthropic") == ["id-dup-in-turn"]
    assert questions_and_answers(repair_fully(body, "anthropic").body, "anthropic") == [
        ("a", "A"),
        ("a", "B"),
    ]


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
    assert rule_names(body, "openai-chat") == ["id-dup-call"]
    repaired = repair_fully(body, "openai-chat")
    assert questions_and_answers(repaired.body, "openai-chat") == [("a", "A")]
    assert "tool_use" not in str(repaired.body)
    assert "let me see" in str(repaired.body)


@pytest.mark.parametrize("call_id", ["call_0", "f"])
def test_an_id_reused_in_later_turns_becomes_unique_with_its_result(call_id: str) -> None:
    turns: list[Turn] = [([(call_id, "f", q)], [(call_id, q.upper())]) for q in "abc"]
    body = history("anthropic", *turns)
    assert len(rule_names(body, "anthropic")) == 2
    repaired = repair_fully(body, "anthropic")
    assert repaired.findings == []
    assert questions_and_answers(repaired.body, "anthropic") == [("a", "A"), ("b", "B"), ("c", "C")]
    assert call_ids(repaired.body, "anthropic")[0] == call_id
    assert len(set(call_ids(repaired.body, "anthropic"))) == 3


@pytest.mark.parametrize("wire", ["openai-chat", "bedrock", "openai-responses", "gemini"])
def test_an_id_reused_in_later_turns_is_accepted_where_ids_are_unique_per_turn(wire: str) -> None:
    turns: list[Turn] = [([("call_0", "f", q)], [("call_0", q.upper())]) for q in "ab"]
    assert rule_names(history(wire, *turns), wire) == []


def test_the_tool_name_as_id_is_accepted_until_the_tool_is_called_twice_in_a_turn() -> None:
    assert (
        rule_names(history("openai-chat", ([("f", "f", "a")], [("f", "A")])), "openai-chat") == []
    )
    body = history("openai-chat", ([("f", "f", "a"), ("f", "f", "b")], [("f", "A"), ("f", "B")]))
    assert [
        (finding.name, finding.fix)
        for finding in check(body, "openai-chat")
        if finding.code in ID_RULES
    ] == [("id-is-tool-name", "safe")]
    assert questions_and_answers(
        repair_fully(body, "openai-chat", unsafe=True).body, "openai-chat"
    ) == [("a", "A"), ("b", "B")]
    default = repair_fully(body, "openai-chat")
    assert [finding for finding in default.findings if finding.severity == "error"] == []
    assert not {"A", "B"} & {
        result for _, result in questions_and_answers(default.body, "openai-chat")
    }


@pytest.mark.parametrize("target", ["xai", "deepseek", "minimax", "qwen"])
def test_duplicate_ids_are_no_finding_where_they_are_accepted(target: str) -> None:
    body = history("openai-chat", ([("x", "f", "a"), ("x", "f", "b")], [("x", "A"), ("x", "B")]))
    assert rule_names(body, "openai-chat", target) == []


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
def test_an_abort_notice_is_replaced_by_a_real_result(abort: str, late: bool) -> None:
    texts = ["21 degrees", abort] if late else [abort, "21 degrees"]
    body = history("openai-chat", ([("c1", "f", "a")], [("c1", text) for text in texts]))
    repaired = repair_fully(body, "openai-chat").body
    assert questions_and_answers(repaired, "openai-chat") == [("a", "21 degrees")]
    assert (abort in str(repaired)) != abort.startswith("[toolwire]")


def test_of_two_results_that_differ_the_last_one_stays_and_the_other_becomes_text() -> None:
    body = history("anthropic", ([("c1", "f", "a")], [("c1", "old"), ("c1", "new")]))
    repaired = repair_fully(body, "anthropic")
    assert questions_and_answers(repaired.body, "anthropic") == [("a", "new")]
    assert "whose call has another result, too: old" in str(repaired.body)
    assert [change.name for change in repaired.changes] == ["dup-result"]


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "bedrock", "openai-responses"])
def test_of_two_equal_results_one_is_removed(wire: str) -> None:
    body = history(
        wire, ([("c1", "f", "a"), ("c2", "f", "b")], [("c1", "A"), ("c2", "B"), ("c1", "A")])
    )
    repaired = repair_fully(body, wire)
    assert repaired.findings == []
    assert questions_and_answers(repaired.body, wire) == [("a", "A"), ("b", "B")]
    assert len(decode(repaired.body, wire).results()) == 2


def test_a_result_repeated_in_a_later_turn_is_a_duplicate() -> None:
    body = history(
        "openai-chat",
        ([("c1", "f", "a")], [("c1", "A")]),
        ([("c2", "f", "b")], [("c1", "A"), ("c2", "B")]),
    )
    repaired = repair_fully(body, "openai-chat")
    assert repaired.findings == []
    assert questions_and_answers(repaired.body, "openai-chat") == [("a", "A"), ("b", "B")]


def test_a_decision_is_no_second_result_of_a_call_with_its_id() -> None:
    items: list[JSON] = [
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "1"},
        {"type": "mcp_approval_response", "approval_request_id": "a", "approve": True},
    ]
    assert "dup-result" not in rule_names({"input": items}, "openai-responses")


# --- several at once ------------------------------------------------------------------------------


def test_refused_ids_that_restart_each_turn_become_distinct() -> None:
    turns: list[Turn] = [
        (
            [("functions.f:0", "f", q), ("functions.f:1", "f", q * 2)],
            [("functions.f:1", q * 4), ("functions.f:0", q * 3)],
        )
        for q in "abc"
    ]
    repaired = repair_fully(history("anthropic", *turns), "anthropic")
    assert repaired.findings == []
    assert questions_and_answers(repaired.body, "anthropic") == [
        pair for q in "abc" for pair in ((q, q * 3), (q * 2, q * 4))
    ]
    assert len(set(call_ids(repaired.body, "anthropic"))) == 6


def test_a_history_with_a_violation_in_every_turn_is_valid_after_one_repair() -> None:
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
    repaired = repair_fully(body, "openai-chat")
    assert [finding for finding in repaired.findings if finding.severity == "error"] == []
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
    assert dict(questions_and_answers(repaired.body, "openai-chat")) == told_so
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


def test_a_fix_of_ids_changes_nothing_but_ids() -> None:
    call = tool_call("a.b")
    assert isinstance(call, dict)
    call["index"] = 7
    extra: JSON = {"role": "assistant", "content": "thinking…", "tool_calls": [call]}
    body: Object = {
        "messages": [USER, extra, {**dict(_result()), "name": None}],
        "max_tokens": 9,
        "x": 1,
    }
    repaired = repair_fully(body, "mistral")
    new = call_ids(repaired.body, "mistral")[0]
    assert re.fullmatch("[a-zA-Z0-9]{9}", new)
    assert str(repaired.body) == str(body).replace("a.b", new)


def _result() -> Object:
    return {"role": "tool", "tool_call_id": "a.b", "content": "1"}


def test_a_call_that_an_uncertain_result_may_belong_to_is_ambiguous() -> None:
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
def test_recorded_traffic_has_no_finding_about_ids(case: Case) -> None:
    assert [
        str(finding)
        for finding in check(case.body, case.wire, case.kind)
        if finding.code in ID_RULES
    ] == []


def arguments_of(call: Call) -> JSON:
    """The arguments of a call, also of one whose arguments a repair stored under `_raw`."""
    value = call.args.value
    return value["_raw"] if isinstance(value, dict) and list(value) == ["_raw"] else value


@rows("case", [case for case in ALL if case.kind == "request"])
def test_a_repair_never_separates_a_pair(case: Case) -> None:
    before, after = (
        [
            (arguments_of(p.call), p.result.text)
            for p in decode(body, case.wire, case.kind).pairs()
            if p.call and p.result
        ]
        for body in (case.body, repair(case.body, case.wire, case.kind).body)
    )
    assert [pair for pair in before if pair not in after] == []


def test_all_rules_about_ids_exist() -> None:
    assert {rule.code for rule in all_rules()} >= ID_RULES


def test_a_fix_that_joins_two_turns_keeps_the_calls_of_one_id_apart() -> None:
    def call(call_id: str, name: str) -> JSON:
        return {"type": "function_call", "call_id": call_id, "name": name, "arguments": "{}"}

    def output(call_id: str, text: str) -> JSON:
        return {"type": "function_call_output", "call_id": call_id, "output": text}

    items = [call("c", "f"), call("d", "g"), output("gone", "?"), call("c", "h")]
    body: JSON = {"input": [USER, *items, output("d", "of g"), output("c", "of h")]}
    repaired = repair(body, "openai-responses")
    results = {
        pair.call.name: pair.result.text
        for pair in decode(repaired.body, "openai-responses").pairs()
        if pair.call and pair.result
    }
    assert (results["g"], results["h"]) == ("of g", "of h")
    assert results["f"].startswith("[toolwire] interrupted")
    assert any("(h) and its result have the id" in change.message for change in repaired.changes)
