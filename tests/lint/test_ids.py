"""The rules about a single id: none, empty, too long, of other characters, or with more in it than
an id."""

from __future__ import annotations

import pytest
from lint.turns import call_ids, history, questions_and_answers, repair_fully, rule_names

from toolwire.codec import decode
from toolwire.conversation.json import JSON, Object, get
from toolwire.lint import check
from toolwire.lint.examples.chat import USER, assistant, tool_call
from toolwire.profiles.table import profile

# --- no id, an empty one, a number ----------------------------------------------------------------


@pytest.mark.parametrize("none", [None, "", "  ", "null", {"a": 1}, 7.5, [], True])
@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "bedrock", "mistral"])
def test_a_call_without_an_id_and_its_result_get_the_same_id(wire: str, none: JSON) -> None:
    body = history(wire, ([(none, "f", "a")], [(none, "A")]))
    assert rule_names(body, wire)
    repaired = repair_fully(body, wire)
    assert repaired.findings == []
    assert questions_and_answers(repaired.body, wire) == [("a", "A")]
    calls, results = decode(repaired.body, wire).calls(), decode(repaired.body, wire).results()
    assert [call.id for call in calls] == [result.call_id for result in results]
    assert calls[0].origin == results[0].origin == "wire"
    assert profile(wire).id_rule.fits(calls[0].id)


def test_missing_empty_and_non_string_ids_have_separate_rules() -> None:
    body = history("openai-chat", ([(None, "f", "a"), ("", "g", "b"), (7, "h", "c")], []))
    assert rule_names(body, "openai-chat") == ["id-missing", "id-empty", "id-not-string"]


@pytest.mark.parametrize(
    "wire", ["openai-chat", "anthropic", "bedrock", "openai-responses", "mistral"]
)
def test_two_empty_ids_do_not_become_equal(wire: str) -> None:
    body = history(wire, ([("", "f", "a"), ("", "g", "b")], []))
    first, second = call_ids(repair_fully(body, wire).body, wire)
    assert first != second


def test_results_without_ids_are_assigned_by_tool_name() -> None:
    answers: list[JSON] = [
        {"role": "tool", "name": name, "content": text} for name, text in (("g", "B"), ("f", "A"))
    ]
    body: Object = {
        "messages": [
            USER,
            assistant(tool_call(None, "f", '{"q": "a"}'), tool_call("", "g", '{"q": "b"}')),
            *answers,
        ]
    }
    repaired = repair_fully(body, "openai-chat")
    assert repaired.findings == []
    assert questions_and_answers(repaired.body, "openai-chat") == [("a", "A"), ("b", "B")]


@pytest.mark.parametrize("unsafe", [False, True])
@pytest.mark.parametrize("none", [None, ""])
def test_two_results_without_ids_for_two_open_calls_become_text(none: JSON, unsafe: bool) -> None:
    body = history("openai-chat", ([("a", "f", "a"), ("b", "f", "b")], [(none, "A"), (none, "B")]))
    repaired = repair_fully(body, "openai-chat", unsafe=unsafe)
    assert [finding for finding in repaired.findings if finding.severity == "error"] == []
    assert_results_became_text(repaired.body, "A", "B")


def test_calls_without_ids_get_ids_once_their_uncertain_results_are_text() -> None:
    body = history("openai-chat", ([("", "f", "a"), ("", "f", "b")], [("", "A"), ("", "B")]))
    repaired = repair_fully(body, "openai-chat")
    assert [finding for finding in repaired.findings if finding.severity == "error"] == []
    assert_results_became_text(repaired.body, "A", "B")
    assert all(call.origin == "wire" for call in decode(repaired.body, "openai-chat").calls())


def assert_results_became_text(body: JSON, *texts: str) -> None:
    """No result has one of these texts; user messages contain all of them."""
    read = decode(body, "openai-chat")
    assert not {result.text for result in read.results()} & set(texts)
    notes = [
        str(part) for message in read.messages if message.role == "user" for part in message.parts
    ]
    assert all(any(f": {text}" in note for note in notes) for text in texts)


def test_a_call_without_an_id_gets_the_id_of_the_only_result_of_its_turn() -> None:
    body = history("openai-chat", ([(None, "f", "a")], [("call_1", "A")]))
    repaired = repair_fully(body, "openai-chat")
    assert call_ids(repaired.body, "openai-chat") == ["call_1"]
    assert questions_and_answers(repaired.body, "openai-chat") == [("a", "A")]


def test_a_call_without_an_id_does_not_get_the_id_of_a_result_of_another_tool() -> None:
    other: JSON = {"role": "tool", "tool_call_id": "call_1", "name": "g", "content": "B"}
    body: Object = {"messages": [USER, assistant(tool_call(None, "f")), other]}
    assert [
        finding.fix for finding in check(body, "openai-chat") if finding.name == "id-missing"
    ] == [None]


@pytest.mark.parametrize(
    ("value", "result_id"),
    [(193629320, 193629320), (193629320, "193629320"), ("193629320", 193629320)],
)
def test_a_number_becomes_its_digits_on_both_sides(value: JSON, result_id: JSON) -> None:
    body = history("openai-chat", ([(value, "f", "a")], [(result_id, "A")]))
    assert set(rule_names(body, "openai-chat")) == {"id-not-string"}
    new = repair_fully(body, "openai-chat").body
    assert (
        get(new, ("messages", 1, "tool_calls", 0, "id"))
        == get(new, ("messages", 2, "tool_call_id"))
        == "193629320"
    )


def test_an_item_without_a_call_id_gets_one_and_keeps_its_item_id() -> None:
    body: Object = {
        "input": [
            USER,
            {"type": "function_call", "id": "fc_1", "name": "f", "arguments": '{"q": "a"}'},
            {"type": "function_call_output", "call_id": "fc_1", "output": "A"},
        ]
    }
    new = repair_fully(body, "openai-responses").body
    assert questions_and_answers(new, "openai-responses") == [("a", "A")]
    assert get(new, ("input", 1, "id")) == "fc_1"
    assert get(new, ("input", 1, "call_id")) == get(new, ("input", 2, "call_id"))
    assert decode(new, "openai-responses").calls()[0].origin == "wire"


def test_a_result_with_a_tool_name_needs_no_id_where_ids_are_optional() -> None:
    body: Object = {
        "input": [
            USER,
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": None, "name": "f", "output": "A"},
        ]
    }
    assert rule_names(body, "openai-responses") == []


@pytest.mark.parametrize("target", ["xai", "llama.cpp", "vllm"])
def test_missing_ids_are_no_finding_for_a_target_without_ids(target: str) -> None:
    assert (
        rule_names(
            history("openai-chat", ([(None, "f", "a")], [(None, "A")])), "openai-chat", target
        )
        == []
    )


# --- too long, wrong length, wrong characters -----------------------------------------------------


@pytest.mark.parametrize(
    ("wire", "first", "second"),
    [
        ("openai-chat", "call_" + "a" * 80 + "1", "call_" + "a" * 80 + "2"),
        ("openai-responses", "call_" + "a" * 80 + "1", "call_" + "a" * 80 + "2"),
        ("bedrock", "tooluse_" + "a" * 80 + "1", "tooluse_" + "a" * 80 + "2"),
        ("mistral", "tooluse_bpAAAAAAAAAAAAAAAAAAAA", "tooluse_bpBBBBBBBBBBBBBBBBBBBB"),
        ("mistral", "a", "b"),
        ("mistral", "call_abcd", "call-abcd"),
        ("anthropic", "a.b:1", "a_b_1"),
        ("anthropic", "functions.f:0", "functions/f:0"),
        ("bedrock", "a b", "a_b"),
    ],
)
def test_fitted_ids_of_parallel_calls_stay_distinct(wire: str, first: str, second: str) -> None:
    body = history(wire, ([(first, "f", "a"), (second, "f", "b")], [(second, "B"), (first, "A")]))
    assert rule_names(body, wire)
    repaired = repair_fully(body, wire)
    assert [finding for finding in repaired.findings if finding.severity == "error"] == []
    assert questions_and_answers(repaired.body, wire) == [("a", "A"), ("b", "B")]
    assert len(set(call_ids(repaired.body, wire))) == 2
    assert all(
        (profile(wire).accepted_ids or profile(wire).id_rule).fits(call_id)
        for call_id in call_ids(repaired.body, wire)
    )


def test_a_valid_id_stays_unchanged_next_to_a_refused_one() -> None:
    body = history(
        "anthropic",
        ([("toolu_01A", "f", "a"), ("f.0", "f", "b")], [("toolu_01A", "A"), ("f.0", "B")]),
    )
    assert call_ids(repair_fully(body, "anthropic").body, "anthropic")[0] == "toolu_01A"


def test_a_fitted_id_never_equals_an_existing_id() -> None:
    once = call_ids(
        repair_fully(history("anthropic", ([("a.b", "f", "a")], [("a.b", "A")])), "anthropic").body,
        "anthropic",
    )[0]
    body = history(
        "anthropic", ([(once, "f", "b"), ("a.b", "f", "a")], [(once, "B"), ("a.b", "A")])
    )
    new = repair_fully(body, "anthropic").body
    assert questions_and_answers(new, "anthropic") == [("b", "B"), ("a", "A")]
    assert call_ids(new, "anthropic")[0] == once != call_ids(new, "anthropic")[1]


def test_a_longer_history_keeps_the_repaired_ids() -> None:
    long = "call_" + "a" * 80
    short = history("openai-chat", ([(long, "f", "a")], [(long, "A")]))
    more = history(
        "openai-chat", ([(long, "f", "a")], [(long, "A")]), ([("c2", "f", "b")], [("c2", "B")])
    )
    assert (
        call_ids(repair_fully(short, "openai-chat").body, "openai-chat")
        == call_ids(repair_fully(more, "openai-chat").body, "openai-chat")[:1]
    )


def test_a_second_result_follows_its_call_to_the_new_id() -> None:
    long = "call_" + "a" * 80
    body = history("openai-chat", ([(long, "f", "a")], [(long, "A"), (long, "B")]))
    repaired = repair_fully(body, "openai-chat")
    assert rule_names(repaired.body, "openai-chat") == []
    (result,) = decode(repaired.body, "openai-chat").results()
    assert [result.call_id] == call_ids(repaired.body, "openai-chat")
    assert_results_became_text(repaired.body, "A")


def test_the_length_limit_is_that_of_the_target() -> None:
    uuid = "call_0b6b9c1e-3f60-4a5e-9a55-6f6c3b2a1d00"
    body = history("openai-chat", ([(uuid, "f", "a")], [(uuid, "A")]))
    assert rule_names(body, "openai-chat") == []
    assert rule_names(body, "openai-chat", "openai-chat-legacy") == ["id-too-long"]


@pytest.mark.parametrize(
    "call_id",
    ["call_" + "x" * 30 + "|fc_" + "0" * 48, "call_ab__thought__" + "Q" * 80, "call_abcdefgh" * 6],
)
def test_an_id_that_is_too_long_for_a_known_reason_is_reported_by_the_specific_rule(
    call_id: str,
) -> None:
    assert "id-too-long" not in rule_names(
        history("openai-chat", ([(call_id, "f", "a")], [(call_id, "A")])), "openai-chat"
    )


# --- more than an id ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call_id", "result_id", "plain"),
    [
        ("call_A|fc_B", "call_A|fc_B", "call_A"),
        ("call_A|fc_B", "call_A", "call_A"),
        ("call_A", "call_A|fc_B", "call_A"),
        ("call-9-0\nfc_9_0", "call-9-0\nfc_9_0", "call-9-0"),
        ("resp_x:call_0", "resp_x:call_0", "call_0"),
        ("call_9f__thought__CiQB+b/c=", "call_9f__thought__CiQB+b/c=", "call_9f"),
        ("call_9f__thought__CiQB+b/c=", "call_9f", "call_9f"),
        ("call_9f_ts_CiQB+b/c3pLd9Q0xZ=", "call_9f", "call_9f"),
        ("call_Xcall_Xcall_X", "call_X", "call_X"),
        ("call_X", "call_Xcall_X", "call_X"),
    ],
)
def test_a_composite_id_is_reduced_in_call_and_result(
    call_id: str, result_id: str, plain: str
) -> None:
    body = history(
        "anthropic",
        ([(call_id, "f", "a"), ("toolu_2", "f", "b")], [("toolu_2", "B"), (result_id, "A")]),
    )
    repaired = repair_fully(body, "anthropic")
    assert [finding for finding in repaired.findings if finding.severity == "error"] == []
    assert questions_and_answers(repaired.body, "anthropic") == [("a", "A"), ("b", "B")]
    assert call_ids(repaired.body, "anthropic") == [plain, "toolu_2"]


@pytest.mark.parametrize(
    "call_id",
    ["call_A|fc_B", "call_9f__thought__CiQBAb", "call_Xcall_X", "resp_x:call_0", "Sum: 15", "f"],
)
def test_a_composite_id_that_is_accepted_and_paired_stays(call_id: str) -> None:
    assert (
        rule_names(history("openai-chat", ([(call_id, "f", "a")], [(call_id, "A")])), "openai-chat")
        == []
    )


def test_a_reduced_id_never_equals_the_id_of_another_call() -> None:
    body = history(
        "anthropic",
        (
            [("call_A", "f", "a"), ("call_A|fc_B", "f", "b")],
            [("call_A", "A"), ("call_A|fc_B", "B")],
        ),
    )
    repaired = repair_fully(body, "anthropic")
    assert questions_and_answers(repaired.body, "anthropic") == [("a", "A"), ("b", "B")]
    assert (
        call_ids(repaired.body, "anthropic")[0]
        == "call_A"
        != call_ids(repaired.body, "anthropic")[1]
    )


def test_the_other_half_of_a_composite_id_becomes_the_item_id() -> None:
    composite_id = "call_abcdefghijklmnopqrstuvwx|fc_68ab" + "0" * 40
    new = repair_fully(
        history("openai-responses", ([(composite_id, "f", "a")], [(composite_id, "A")])),
        "openai-responses",
    ).body
    assert get(new, ("input", 1, "id")) == composite_id.partition("|")[2]
    assert (
        get(new, ("input", 1, "call_id"))
        == get(new, ("input", 2, "call_id"))
        == composite_id.partition("|")[0]
    )


def test_a_signature_in_an_id_moves_to_the_signature_field() -> None:
    body = history("gemini", ([("c1__thought__CiQBAb", "f", "a")], [("c1__thought__CiQBAb", "A")]))
    new = repair_fully(body, "gemini").body
    assert get(new, ("contents", 1, "parts", 0, "thoughtSignature")) == "CiQBAb"
    assert questions_and_answers(new, "gemini") == [("a", "A")]
    assert call_ids(new, "gemini") == ["c1"]


def test_a_signature_in_an_id_moves_to_extra_content_on_chat() -> None:
    body = history(
        "openai-chat", ([("c1__thought__CiQBAb", "f", "a")], [("c1__thought__CiQBAb", "A")])
    )
    new = repair_fully(body, "openai-chat", "gemini-openai").body
    assert get(new, ("messages", 1, "tool_calls", 0, "extra_content")) == {
        "google": {"thought_signature": "CiQBAb"}
    }


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "bedrock", "mistral"])
def test_two_results_with_one_numeric_id_are_reported_and_repaired(wire: str) -> None:
    body = history(wire, ([(7, "f", "a")], [(7, "A"), (7, "B")]))
    repaired = repair_fully(body, wire)
    assert questions_and_answers(repaired.body, wire) == [("a", "B")]
    assert repair_fully(repaired.body, wire).body == repaired.body


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "anthropic"])
def test_a_repeated_id_is_not_reduced_to_the_id_of_another_call(wire: str) -> None:
    body = history(
        wire,
        ([("call_Xcall_X", "f", "a"), ("call_X", "f", "b")], [("call_X", "B"), ("call_X", "A")]),
    )
    repaired = repair_fully(body, wire)
    assert repaired.findings == []
    assert sorted(questions_and_answers(repaired.body, wire)) == [("a", "A"), ("b", "B")]
