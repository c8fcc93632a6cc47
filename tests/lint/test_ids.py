"""The rules about a single id: none, empty, too long, of other characters, or with more in it than
an id."""

from __future__ import annotations

import pytest
from lint_turns import history, ids, joined, mended, names

from toolwire.codec import decode
from toolwire.conversation.json import JSON, Object, get
from toolwire.lint import check
from toolwire.lint.examples.chat import USER, assistant, tool_call
from toolwire.profiles.table import profile

# --- no id, an empty one, a number ----------------------------------------------------------------


@pytest.mark.parametrize("none", [None, "", "  ", "null", {"a": 1}, 7.5, [], True])
@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "bedrock", "mistral"])
def test_a_call_without_an_id_and_its_result_get_the_same_one(wire: str, none: JSON) -> None:
    body = history(wire, ([(none, "f", "a")], [(none, "A")]))
    assert names(body, wire)
    repaired = mended(body, wire)
    assert repaired.findings == []
    assert joined(repaired.body, wire) == [("a", "A")]
    calls, results = decode(repaired.body, wire).calls(), decode(repaired.body, wire).results()
    assert [one.id for one in calls] == [one.call_id for one in results]
    assert calls[0].origin == results[0].origin == "wire"
    assert profile(wire).id_rule.fits(calls[0].id)


def test_missing_empty_and_odd_ids_are_told_apart() -> None:
    body = history("openai-chat", ([(None, "f", "a"), ("", "g", "b"), (7, "h", "c")], []))
    assert names(body, "openai-chat") == ["id-missing", "id-empty", "id-not-string"]


@pytest.mark.parametrize(
    "wire", ["openai-chat", "anthropic", "bedrock", "openai-responses", "mistral"]
)
def test_two_empty_ids_do_not_become_equal(wire: str) -> None:
    body = history(wire, ([("", "f", "a"), ("", "g", "b")], []))
    first, second = ids(mended(body, wire).body, wire)
    assert first != second


def test_results_without_ids_go_by_the_names_of_their_tools() -> None:
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
    repaired = mended(body, "openai-chat")
    assert repaired.findings == []
    assert joined(repaired.body, "openai-chat") == [("a", "A"), ("b", "B")]


@pytest.mark.parametrize("unsafe", [False, True])
@pytest.mark.parametrize("none", [None, ""])
def test_two_results_without_ids_for_two_open_calls_become_text_and_go_to_neither(
    none: JSON, unsafe: bool
) -> None:
    body = history("openai-chat", ([("a", "f", "a"), ("b", "f", "b")], [(none, "A"), (none, "B")]))
    repaired = mended(body, "openai-chat", unsafe=unsafe)
    assert [one for one in repaired.findings if one.severity == "error"] == []
    assert_told_as_text(repaired.body, "A", "B")


def test_calls_without_ids_get_ids_once_their_uncertain_results_are_text() -> None:
    body = history("openai-chat", ([("", "f", "a"), ("", "f", "b")], [("", "A"), ("", "B")]))
    repaired = mended(body, "openai-chat")
    assert [one for one in repaired.findings if one.severity == "error"] == []
    assert_told_as_text(repaired.body, "A", "B")
    assert all(call.origin == "wire" for call in decode(repaired.body, "openai-chat").calls())


def assert_told_as_text(body: JSON, *texts: str) -> None:
    """No result has one of these texts, and messages of the user tell all of them."""
    read = decode(body, "openai-chat")
    assert not {result.text for result in read.results()} & set(texts)
    notes = [
        str(part) for message in read.messages if message.role == "user" for part in message.parts
    ]
    assert all(any(f": {text}" in note for note in notes) for text in texts)


def test_a_call_without_an_id_takes_that_of_the_only_result_of_its_turn() -> None:
    body = history("openai-chat", ([(None, "f", "a")], [("call_1", "A")]))
    repaired = mended(body, "openai-chat")
    assert ids(repaired.body, "openai-chat") == ["call_1"]
    assert joined(repaired.body, "openai-chat") == [("a", "A")]


def test_a_call_without_an_id_does_not_take_that_of_a_result_of_another_tool() -> None:
    other: JSON = {"role": "tool", "tool_call_id": "call_1", "name": "g", "content": "B"}
    body: Object = {"messages": [USER, assistant(tool_call(None, "f")), other]}
    assert [one.fix for one in check(body, "openai-chat") if one.name == "id-missing"] == [None]


@pytest.mark.parametrize(
    ("asked", "answered"),
    [(193629320, 193629320), (193629320, "193629320"), ("193629320", 193629320)],
)
def test_a_number_becomes_its_digits_on_both_sides(asked: JSON, answered: JSON) -> None:
    body = history("openai-chat", ([(asked, "f", "a")], [(answered, "A")]))
    assert set(names(body, "openai-chat")) == {"id-not-string"}
    new = mended(body, "openai-chat").body
    assert (
        get(new, ("messages", 1, "tool_calls", 0, "id"))
        == get(new, ("messages", 2, "tool_call_id"))
        == "193629320"
    )


def test_an_item_without_a_call_id_gets_one_and_keeps_its_own() -> None:
    body: Object = {
        "input": [
            USER,
            {"type": "function_call", "id": "fc_1", "name": "f", "arguments": '{"q": "a"}'},
            {"type": "function_call_output", "call_id": "fc_1", "output": "A"},
        ]
    }
    new = mended(body, "openai-responses").body
    assert joined(new, "openai-responses") == [("a", "A")]
    assert get(new, ("input", 1, "id")) == "fc_1"
    assert get(new, ("input", 1, "call_id")) == get(new, ("input", 2, "call_id"))
    assert decode(new, "openai-responses").calls()[0].origin == "wire"


def test_an_output_that_names_its_tool_needs_no_id_where_the_wire_says_so() -> None:
    body: Object = {
        "input": [
            USER,
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": None, "name": "f", "output": "A"},
        ]
    }
    assert names(body, "openai-responses") == []


@pytest.mark.parametrize("target", ["xai", "llama.cpp", "vllm"])
def test_who_needs_no_ids_gets_no_finding_for_them(target: str) -> None:
    assert (
        names(history("openai-chat", ([(None, "f", "a")], [(None, "A")])), "openai-chat", target)
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
def test_siblings_stay_apart_however_their_ids_are_fitted(
    wire: str, first: str, second: str
) -> None:
    body = history(wire, ([(first, "f", "a"), (second, "f", "b")], [(second, "B"), (first, "A")]))
    assert names(body, wire)
    repaired = mended(body, wire)
    assert [one for one in repaired.findings if one.severity == "error"] == []
    assert joined(repaired.body, wire) == [("a", "A"), ("b", "B")]
    assert len(set(ids(repaired.body, wire))) == 2
    assert all(
        (profile(wire).accepted_ids or profile(wire).id_rule).fits(one)
        for one in ids(repaired.body, wire)
    )


def test_a_valid_id_stays_to_the_letter_beside_one_that_is_refused() -> None:
    body = history(
        "anthropic",
        ([("toolu_01A", "f", "a"), ("f.0", "f", "b")], [("toolu_01A", "A"), ("f.0", "B")]),
    )
    assert ids(mended(body, "anthropic").body, "anthropic")[0] == "toolu_01A"


def test_an_id_is_never_fitted_to_one_that_the_history_has() -> None:
    once = ids(
        mended(history("anthropic", ([("a.b", "f", "a")], [("a.b", "A")])), "anthropic").body,
        "anthropic",
    )[0]
    body = history(
        "anthropic", ([(once, "f", "b"), ("a.b", "f", "a")], [(once, "B"), ("a.b", "A")])
    )
    new = mended(body, "anthropic").body
    assert joined(new, "anthropic") == [("b", "B"), ("a", "A")]
    assert ids(new, "anthropic")[0] == once != ids(new, "anthropic")[1]


def test_the_same_history_with_more_behind_it_keeps_its_ids() -> None:
    long = "call_" + "a" * 80
    short = history("openai-chat", ([(long, "f", "a")], [(long, "A")]))
    more = history(
        "openai-chat", ([(long, "f", "a")], [(long, "A")]), ([("c2", "f", "b")], [("c2", "B")])
    )
    assert (
        ids(mended(short, "openai-chat").body, "openai-chat")
        == ids(mended(more, "openai-chat").body, "openai-chat")[:1]
    )


def test_a_second_result_follows_its_call_to_the_new_id() -> None:
    long = "call_" + "a" * 80
    body = history("openai-chat", ([(long, "f", "a")], [(long, "A"), (long, "B")]))
    repaired = mended(body, "openai-chat")
    assert names(repaired.body, "openai-chat") == []
    (result,) = decode(repaired.body, "openai-chat").results()
    assert [result.call_id] == ids(repaired.body, "openai-chat")
    assert_told_as_text(repaired.body, "A")


def test_the_cap_is_that_of_the_target() -> None:
    uuid = "call_0b6b9c1e-3f60-4a5e-9a55-6f6c3b2a1d00"
    body = history("openai-chat", ([(uuid, "f", "a")], [(uuid, "A")]))
    assert names(body, "openai-chat") == []
    assert names(body, "openai-chat", "openai-chat-legacy") == ["id-too-long"]


@pytest.mark.parametrize(
    "one",
    ["call_" + "x" * 30 + "|fc_" + "0" * 48, "call_ab__thought__" + "Q" * 80, "call_abcdefgh" * 6],
)
def test_what_is_too_long_for_a_reason_is_told_by_the_reason(one: str) -> None:
    assert "id-too-long" not in names(
        history("openai-chat", ([(one, "f", "a")], [(one, "A")])), "openai-chat"
    )


# --- more than an id ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "answered", "plain"),
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
def test_an_id_with_more_in_it_comes_back_to_itself_on_both_sides(
    asked: str, answered: str, plain: str
) -> None:
    body = history(
        "anthropic",
        ([(asked, "f", "a"), ("toolu_2", "f", "b")], [("toolu_2", "B"), (answered, "A")]),
    )
    repaired = mended(body, "anthropic")
    assert [one for one in repaired.findings if one.severity == "error"] == []
    assert joined(repaired.body, "anthropic") == [("a", "A"), ("b", "B")]
    assert ids(repaired.body, "anthropic") == [plain, "toolu_2"]


@pytest.mark.parametrize(
    "one",
    ["call_A|fc_B", "call_9f__thought__CiQBAb", "call_Xcall_X", "resp_x:call_0", "Sum: 15", "f"],
)
def test_an_odd_id_that_the_target_takes_and_that_pairs_is_left_alone(one: str) -> None:
    assert names(history("openai-chat", ([(one, "f", "a")], [(one, "A")])), "openai-chat") == []


def test_a_half_that_another_call_has_is_not_taken_from_it() -> None:
    body = history(
        "anthropic",
        (
            [("call_A", "f", "a"), ("call_A|fc_B", "f", "b")],
            [("call_A", "A"), ("call_A|fc_B", "B")],
        ),
    )
    repaired = mended(body, "anthropic")
    assert joined(repaired.body, "anthropic") == [("a", "A"), ("b", "B")]
    assert ids(repaired.body, "anthropic")[0] == "call_A" != ids(repaired.body, "anthropic")[1]


def test_the_other_half_becomes_the_id_of_the_item_where_there_are_items() -> None:
    both = "call_abcdefghijklmnopqrstuvwx|fc_68ab" + "0" * 40
    new = mended(
        history("openai-responses", ([(both, "f", "a")], [(both, "A")])), "openai-responses"
    ).body
    assert get(new, ("input", 1, "id")) == both.partition("|")[2]
    assert (
        get(new, ("input", 1, "call_id"))
        == get(new, ("input", 2, "call_id"))
        == both.partition("|")[0]
    )


def test_a_signature_in_an_id_goes_to_its_field_where_it_is_wanted() -> None:
    body = history("gemini", ([("c1__thought__CiQBAb", "f", "a")], [("c1__thought__CiQBAb", "A")]))
    new = mended(body, "gemini").body
    assert get(new, ("contents", 1, "parts", 0, "thoughtSignature")) == "CiQBAb"
    assert joined(new, "gemini") == [("a", "A")]
    assert ids(new, "gemini") == ["c1"]


def test_a_signature_in_an_id_goes_to_the_extra_content_of_the_chat_shape() -> None:
    body = history(
        "openai-chat", ([("c1__thought__CiQBAb", "f", "a")], [("c1__thought__CiQBAb", "A")])
    )
    new = mended(body, "openai-chat", "gemini-openai").body
    assert get(new, ("messages", 1, "tool_calls", 0, "extra_content")) == {
        "google": {"thought_signature": "CiQBAb"}
    }


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "bedrock", "mistral"])
def test_two_results_under_one_number_are_told_and_mended(wire: str) -> None:
    body = history(wire, ([(7, "f", "a")], [(7, "A"), (7, "B")]))
    repaired = mended(body, wire)
    assert joined(repaired.body, wire) == [("a", "B")]
    assert mended(repaired.body, wire).body == repaired.body
