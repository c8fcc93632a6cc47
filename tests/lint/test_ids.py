"""The rules about single ids and ids that repeat: each trap that is known, on the wires that have it, and several at once."""

from __future__ import annotations

import re

import pytest
from cases import ALL, Case

from toolwire._json import JSON, Object, get
from toolwire.lint import Repaired, check, every, repair
from toolwire.lint._doubt import doubtful
from toolwire.lint._examples import USER, asks, call, told
from toolwire.lint._shapes import halves, loaded, maker, mangled, unit
from toolwire.lint._view import View
from toolwire.profiles import profile
from toolwire.translate import decode

MINE = {f"TW{number:03d}" for number in range(1, 20)}
WIRES = ("openai-chat", "anthropic", "bedrock", "openai-responses", "mistral", "gemini")
Asked = tuple[JSON, str, str]
Told = tuple[JSON, str]
Turn = tuple[list[Asked], list[Told]]


# --- the same history on every wire ------------------------------------------------------------------------------------


def _chat(turns: list[Turn]) -> JSON:
    body: list[JSON] = []
    for asked, answered in turns:
        body += [USER, asks(*(call(one, name, f'{{"q": "{q}"}}') for one, name, q in asked))]
        body += [told(one, text) for one, text in answered]
    return {"messages": body}


def _blocks(turns: list[Turn]) -> JSON:
    body: list[JSON] = []
    for asked, answered in turns:
        uses: list[JSON] = [{"type": "tool_use", "id": one, "name": name, "input": {"q": q}} for one, name, q in asked]
        body += [USER, {"role": "assistant", "content": uses}] if not body else [{"role": "assistant", "content": uses}]
        done: list[JSON] = [{"type": "tool_result", "tool_use_id": one, "content": text} for one, text in answered]
        body += [{"role": "user", "content": done}] if done else []
    return {"max_tokens": 9, "messages": body}


def _bedrock(turns: list[Turn]) -> JSON:
    body: list[JSON] = [{"role": "user", "content": [{"text": "hi"}]}]
    for asked, answered in turns:
        uses: list[JSON] = [{"toolUse": {"toolUseId": one, "name": name, "input": {"q": q}}} for one, name, q in asked]
        body.append({"role": "assistant", "content": uses})
        done: list[JSON] = [{"toolResult": {"toolUseId": one, "content": [{"text": text}]}} for one, text in answered]
        body += [{"role": "user", "content": done}] if done else []
    names = dict.fromkeys(name for asked, _ in turns for _, name, _ in asked)
    tools: list[JSON] = [{"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object"}}}} for name in names]
    return {"messages": body, "toolConfig": {"tools": tools}}


def _items(turns: list[Turn]) -> JSON:
    body: list[JSON] = []
    for asked, answered in turns:
        body.append(USER)
        body += [
            {"type": "function_call", "call_id": one, "name": name, "arguments": f'{{"q": "{q}"}}'} for one, name, q in asked
        ]
        body += [{"type": "function_call_output", "call_id": one, "output": text} for one, text in answered]
    return {"input": body}


def _contents(turns: list[Turn]) -> JSON:
    body: list[JSON] = [{"role": "user", "parts": [{"text": "hi"}]}]
    for asked, answered in turns:
        body.append({"role": "model", "parts": [{"functionCall": {"id": i, "name": n, "args": {"q": q}}} for i, n, q in asked]})
        names = {str(one): name for one, name, _ in asked}
        done: list[JSON] = [
            {"functionResponse": {"id": one, "name": names.get(str(one), "f"), "response": {"output": text}}}
            for one, text in answered
        ]
        body += [{"role": "user", "parts": done}] if done else []
    return {"contents": body}


SHAPES = {
    "openai-chat": _chat,
    "mistral": _chat,
    "anthropic": _blocks,
    "bedrock": _bedrock,
    "openai-responses": _items,
    "gemini": _contents,
}


def history(wire: str, *turns: Turn) -> JSON:
    """Turns of calls (id, tool, question) and results (id, text) as a body of a wire."""
    return SHAPES[wire](list(turns))


def names(body: JSON, wire: str, target: str | None = None) -> list[str]:
    """The findings of these rules, by name."""
    return [one.name for one in check(body, wire, target=target) if one.code in MINE]


def joined(body: JSON, wire: str) -> list[tuple[str, str]]:
    """What was asked, and what came of it."""
    pairs = decode(body, wire).pairs()
    return [(str(get(p.call.input, ("q",))), p.result.text) for p in pairs if p.call is not None and p.result is not None]


def ids(body: JSON, wire: str) -> list[str]:
    """The ids of the calls."""
    return [one.id for one in decode(body, wire).calls()]


def mended(body: JSON, wire: str, target: str | None = None, *, unsafe: bool = False) -> Repaired:
    """A body after repair, of which nothing is left to mend, and which a second repair leaves as it is."""
    first = repair(body, wire, unsafe=unsafe, target=target)
    again = repair(first.body, wire, unsafe=unsafe, target=target)
    assert again.changes == []
    assert again.body == first.body
    return first


# --- no id, an empty one, a number --------------------------------------------------------------------------------------


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
    assert profile(wire).ids.fits(calls[0].id)


def test_missing_empty_and_odd_ids_are_told_apart() -> None:
    body = history("openai-chat", ([(None, "f", "a"), ("", "g", "b"), (7, "h", "c")], []))
    assert names(body, "openai-chat") == ["id-missing", "id-empty", "id-not-string"]


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "bedrock", "openai-responses", "mistral"])
def test_two_empty_ids_do_not_become_equal(wire: str) -> None:
    body = history(wire, ([("", "f", "a"), ("", "g", "b")], []))
    first, second = ids(mended(body, wire).body, wire)
    assert first != second


def test_results_without_ids_go_by_the_names_of_their_tools() -> None:
    answers: list[JSON] = [{"role": "tool", "name": name, "content": text} for name, text in (("g", "B"), ("f", "A"))]
    body: Object = {"messages": [USER, asks(call(None, "f", '{"q": "a"}'), call("", "g", '{"q": "b"}')), *answers]}
    repaired = mended(body, "openai-chat")
    assert repaired.findings == []
    assert joined(repaired.body, "openai-chat") == [("a", "A"), ("b", "B")]


@pytest.mark.parametrize("unsafe", [False, True])
@pytest.mark.parametrize("none", [None, ""])
def test_two_open_calls_and_two_results_without_ids_are_left_to_a_person(none: JSON, unsafe: bool) -> None:
    body = history("openai-chat", ([("a", "f", "a"), ("b", "f", "b")], [(none, "A"), (none, "B")]))
    repaired = mended(body, "openai-chat", unsafe=unsafe)
    assert repaired.body == body
    found = [one for one in repaired.findings if one.code in MINE]
    assert len(found) == 2
    assert {one.fix for one in found} == {None}
    assert all("by hand" in one.message for one in found)


def test_calls_without_ids_get_none_as_long_as_their_results_are_not_told_apart() -> None:
    body = history("openai-chat", ([("", "f", "a"), ("", "f", "b")], [("", "A"), ("", "B")]))
    assert mended(body, "openai-chat", unsafe=True).body == body


def test_a_call_without_an_id_takes_that_of_the_only_result_of_its_turn() -> None:
    body = history("openai-chat", ([(None, "f", "a")], [("call_1", "A")]))
    repaired = mended(body, "openai-chat")
    assert ids(repaired.body, "openai-chat") == ["call_1"]
    assert joined(repaired.body, "openai-chat") == [("a", "A")]


def test_a_call_without_an_id_does_not_take_that_of_a_result_of_another_tool() -> None:
    other: JSON = {"role": "tool", "tool_call_id": "call_1", "name": "g", "content": "B"}
    body: Object = {"messages": [USER, asks(call(None, "f")), other]}
    assert [one.fix for one in check(body, "openai-chat") if one.name == "id-missing"] == [None]


@pytest.mark.parametrize(("asked", "answered"), [(193629320, 193629320), (193629320, "193629320"), ("193629320", 193629320)])
def test_a_number_becomes_its_digits_on_both_sides(asked: JSON, answered: JSON) -> None:
    body = history("openai-chat", ([(asked, "f", "a")], [(answered, "A")]))
    assert set(names(body, "openai-chat")) == {"id-not-string"}
    new = mended(body, "openai-chat").body
    assert get(new, ("messages", 1, "tool_calls", 0, "id")) == get(new, ("messages", 2, "tool_call_id")) == "193629320"


def test_an_item_without_a_call_id_gets_one_and_keeps_its_own() -> None:
    body: Object = {"input": [
        USER,
        {"type": "function_call", "id": "fc_1", "name": "f", "arguments": '{"q": "a"}'},
        {"type": "function_call_output", "call_id": "fc_1", "output": "A"},
    ]}  # fmt: skip
    new = mended(body, "openai-responses").body
    assert joined(new, "openai-responses") == [("a", "A")]
    assert get(new, ("input", 1, "id")) == "fc_1"
    assert get(new, ("input", 1, "call_id")) == get(new, ("input", 2, "call_id"))
    assert decode(new, "openai-responses").calls()[0].origin == "wire"


def test_an_output_that_names_its_tool_needs_no_id_where_the_wire_says_so() -> None:
    body: Object = {"input": [
        USER,
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": None, "name": "f", "output": "A"},
    ]}  # fmt: skip
    assert names(body, "openai-responses") == []


@pytest.mark.parametrize("target", ["xai", "llama.cpp", "vllm"])
def test_who_needs_no_ids_gets_no_finding_for_them(target: str) -> None:
    assert names(history("openai-chat", ([(None, "f", "a")], [(None, "A")])), "openai-chat", target) == []


# --- too long, wrong length, wrong characters ---------------------------------------------------------------------------


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
def test_siblings_stay_apart_however_their_ids_are_fitted(wire: str, first: str, second: str) -> None:
    body = history(wire, ([(first, "f", "a"), (second, "f", "b")], [(second, "B"), (first, "A")]))
    assert names(body, wire)
    repaired = mended(body, wire)
    assert [one for one in repaired.findings if one.severity == "error"] == []
    assert joined(repaired.body, wire) == [("a", "A"), ("b", "B")]
    assert len(set(ids(repaired.body, wire))) == 2
    assert all((profile(wire).takes or profile(wire).ids).fits(one) for one in ids(repaired.body, wire))


def test_a_valid_id_stays_to_the_letter_beside_one_that_is_refused() -> None:
    body = history("anthropic", ([("toolu_01A", "f", "a"), ("f.0", "f", "b")], [("toolu_01A", "A"), ("f.0", "B")]))
    assert ids(mended(body, "anthropic").body, "anthropic")[0] == "toolu_01A"


def test_an_id_is_never_fitted_to_one_that_the_history_has() -> None:
    once = ids(mended(history("anthropic", ([("a.b", "f", "a")], [("a.b", "A")])), "anthropic").body, "anthropic")[0]
    body = history("anthropic", ([(once, "f", "b"), ("a.b", "f", "a")], [(once, "B"), ("a.b", "A")]))
    new = mended(body, "anthropic").body
    assert joined(new, "anthropic") == [("b", "B"), ("a", "A")]
    assert ids(new, "anthropic")[0] == once != ids(new, "anthropic")[1]


def test_the_same_history_with_more_behind_it_keeps_its_ids() -> None:
    long = "call_" + "a" * 80
    short = history("openai-chat", ([(long, "f", "a")], [(long, "A")]))
    more = history("openai-chat", ([(long, "f", "a")], [(long, "A")]), ([("c2", "f", "b")], [("c2", "B")]))
    assert ids(mended(short, "openai-chat").body, "openai-chat") == ids(mended(more, "openai-chat").body, "openai-chat")[:1]


def test_a_second_result_follows_its_call_to_the_new_id() -> None:
    long = "call_" + "a" * 80
    body = history("openai-chat", ([(long, "f", "a")], [(long, "A"), (long, "B")]))
    repaired = mended(body, "openai-chat")
    assert names(repaired.body, "openai-chat") == ["dup-result"]
    assert {one.call_id for one in decode(repaired.body, "openai-chat").results()} == set(ids(repaired.body, "openai-chat"))


def test_the_cap_is_that_of_the_target() -> None:
    uuid = "call_0b6b9c1e-3f60-4a5e-9a55-6f6c3b2a1d00"
    body = history("openai-chat", ([(uuid, "f", "a")], [(uuid, "A")]))
    assert names(body, "openai-chat") == []
    assert names(body, "openai-chat", "openai-chat-legacy") == ["id-too-long"]


@pytest.mark.parametrize("one", ["call_" + "x" * 30 + "|fc_" + "0" * 48, "call_ab__thought__" + "Q" * 80, "call_abcdefgh" * 6])
def test_what_is_too_long_for_a_reason_is_told_by_the_reason(one: str) -> None:
    assert "id-too-long" not in names(history("openai-chat", ([(one, "f", "a")], [(one, "A")])), "openai-chat")


# --- more than an id ----------------------------------------------------------------------------------------------------


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
def test_an_id_with_more_in_it_comes_back_to_itself_on_both_sides(asked: str, answered: str, plain: str) -> None:
    body = history("anthropic", ([(asked, "f", "a"), ("toolu_2", "f", "b")], [("toolu_2", "B"), (answered, "A")]))
    repaired = mended(body, "anthropic")
    assert [one for one in repaired.findings if one.severity == "error"] == []
    assert joined(repaired.body, "anthropic") == [("a", "A"), ("b", "B")]
    assert ids(repaired.body, "anthropic") == [plain, "toolu_2"]


@pytest.mark.parametrize("one", ["call_A|fc_B", "call_9f__thought__CiQBAb", "call_Xcall_X", "resp_x:call_0", "Sum: 15", "f"])
def test_an_odd_id_that_the_target_takes_and_that_pairs_is_left_alone(one: str) -> None:
    assert names(history("openai-chat", ([(one, "f", "a")], [(one, "A")])), "openai-chat") == []


def test_a_half_that_another_call_has_is_not_taken_from_it() -> None:
    body = history("anthropic", ([("call_A", "f", "a"), ("call_A|fc_B", "f", "b")], [("call_A", "A"), ("call_A|fc_B", "B")]))
    repaired = mended(body, "anthropic")
    assert joined(repaired.body, "anthropic") == [("a", "A"), ("b", "B")]
    assert ids(repaired.body, "anthropic")[0] == "call_A" != ids(repaired.body, "anthropic")[1]


def test_the_other_half_becomes_the_id_of_the_item_where_there_are_items() -> None:
    both = "call_abcdefghijklmnopqrstuvwx|fc_68ab" + "0" * 40
    new = mended(history("openai-responses", ([(both, "f", "a")], [(both, "A")])), "openai-responses").body
    assert get(new, ("input", 1, "id")) == both.partition("|")[2]
    assert get(new, ("input", 1, "call_id")) == get(new, ("input", 2, "call_id")) == both.partition("|")[0]


def test_a_signature_in_an_id_goes_to_its_field_where_it_is_wanted() -> None:
    body = history("gemini", ([("c1__thought__CiQBAb", "f", "a")], [("c1__thought__CiQBAb", "A")]))
    new = mended(body, "gemini").body
    assert get(new, ("contents", 1, "parts", 0, "thoughtSignature")) == "CiQBAb"
    assert joined(new, "gemini") == [("a", "A")]
    assert ids(new, "gemini") == ["c1"]


def test_a_signature_in_an_id_goes_to_the_extra_content_of_the_chat_shape() -> None:
    body = history("openai-chat", ([("c1__thought__CiQBAb", "f", "a")], [("c1__thought__CiQBAb", "A")]))
    new = mended(body, "openai-chat", "gemini-openai").body
    assert get(new, ("messages", 1, "tool_calls", 0, "extra_content")) == {"google": {"thought_signature": "CiQBAb"}}


# --- the output for an id: the four patterns of one plugin ----------------------------------------------------------------

_45 = "Found the documentation of S3: three documents"[:45]
_1721 = ('{"items": [' + '{"path": "/var/log/syslog", "size": 1048576}, ' * 40)[:1718] + "0]}"


def test_the_patterns_have_the_lengths_that_were_reported() -> None:
    assert (len(_45), len(_1721)) == (45, 1721)


@pytest.mark.parametrize(
    "text", [_45, _1721, '{"temperature": 21, "unit": "C"}', "Sum: 15", '"Tool response content"', "Añadido: 3"]
)
@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "bedrock", "openai-responses"])
@pytest.mark.parametrize("one", ["call_1", "add"])
def test_a_result_under_its_own_output_goes_back_to_the_call_that_waits(wire: str, one: str, text: str) -> None:
    body = history(wire, ([(one, "add", "a")], [(text, text)]), ([("call_9", "g", "b")], [("call_9", "B")]))
    found = [finding for finding in check(body, wire) if finding.name == "id-is-result-content"]
    assert [finding.fix for finding in found] == ["safe"]
    repaired = mended(body, wire)
    assert [left for left in repaired.findings if left.severity == "error"] == []
    assert joined(repaired.body, wire) == [("a", text), ("b", "B")]
    assert ids(repaired.body, wire) == [one, "call_9"]


def test_the_whole_conversation_of_the_plugin_is_mended_turn_by_turn() -> None:
    turns: list[Turn] = [
        ([(f"call_{n}", "search", str(n))], [(text, text)]) for n, text in enumerate((_45, _1721, "Sum: 15", "{}"))
    ]
    repaired = mended(history("openai-chat", *turns), "openai-chat")
    assert repaired.findings == []
    assert joined(repaired.body, "openai-chat") == [(str(n), text) for n, text in enumerate((_45, _1721, "Sum: 15", "{}"))]


def test_the_name_for_the_call_and_the_output_for_the_result_are_mended_together() -> None:
    body = history(
        "anthropic", ([("add", "add", "a")], [("Sum: 15", "Sum: 15")]), ([("add", "add", "b")], [("Sum: 16", "Sum: 16")])
    )
    repaired = mended(body, "anthropic")
    assert repaired.findings == []
    assert joined(repaired.body, "anthropic") == [("a", "Sum: 15"), ("b", "Sum: 16")]


def test_an_id_that_only_begins_the_output_is_told_too() -> None:
    body = history("openai-chat", ([("c1", "f", "a")], [("Documentation", "Documentation of S3, in three parts")]))
    assert names(body, "openai-chat") == ["id-is-result-content"]


def test_several_waiting_calls_and_as_many_outputs_go_by_order_and_only_if_asked() -> None:
    body = history("openai-chat", ([("c1", "f", "a"), ("c2", "f", "b")], [("Sum: 1", "Sum: 1"), ("Sum: 2", "Sum: 2")]))
    assert [one.fix for one in check(body, "openai-chat") if one.name == "id-is-result-content"] == ["unsafe", "unsafe"]
    assert joined(mended(body, "openai-chat", unsafe=True).body, "openai-chat") == [("a", "Sum: 1"), ("b", "Sum: 2")]
    assert mended(body, "openai-chat").body == body


def test_more_waiting_calls_than_outputs_are_left_to_a_person() -> None:
    body = history("openai-chat", ([("c1", "f", "a"), ("c2", "f", "b")], [("Sum: 1", "Sum: 1")]))
    found = [one for one in check(body, "openai-chat") if one.name == "id-is-result-content"]
    assert [one.fix for one in found] == [None]


def test_one_of_two_results_under_its_output_goes_to_the_call_that_is_left() -> None:
    body = history("openai-chat", ([("c1", "f", "a"), ("c2", "f", "b")], [("c2", "B"), ("Sum: 1", "Sum: 1")]))
    repaired = mended(body, "openai-chat")
    assert repaired.findings == [one for one in repaired.findings if one.severity == "info"]
    assert joined(repaired.body, "openai-chat") == [("a", "Sum: 1"), ("b", "B")]


def test_a_pair_that_goes_under_its_output_gets_an_id_that_does_not_repeat_it() -> None:
    repaired = mended(history("openai-chat", ([(_1721, "f", "a")], [(_1721, _1721)])), "openai-chat")
    assert names(repaired.body, "openai-chat") == []
    assert "items" not in ids(repaired.body, "openai-chat")[0]
    assert joined(repaired.body, "openai-chat") == [("a", _1721)]


def test_a_result_for_another_call_is_not_taken_for_output() -> None:
    body = history("openai-chat", ([("c1", "f", "a")], [("call_9", "Sum: 15")]))
    assert names(body, "openai-chat") == []


# --- where ids come from ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "who"),
    [
        ("call_abcdefghijklmnopqrstuvwx", "OpenAI"),
        ("fc_68ab" + "0" * 44, "OpenAI"),
        ("toolu_01A09q90qw90lq917835lq9", "Anthropic"),
        ("toolu_vrtx_01A09q90qw90lq91", "Claude"),
        ("srvtoolu_01A09q90qw", "Anthropic"),
        ("tooluse_bpAAAAAAAAAAAAAAAAAAAA", "Bedrock"),
        ("D681PevKs", "Mistral"),
        ("functions.get_weather:0", "Kimi"),
        ("Shell:58", "Kimi"),
        ("call_00_AbC123", "DeepSeek"),
        ("call_function_abc123def456_1", "MiniMax"),
        ("call_8469015594668440441", "Gemini or GLM"),
        ("call_4162774", "Gemini or GLM"),
        ("chatcmpl-tool-" + "0a" * 16, "vLLM"),
        ("adk-0b6b9c1e-3f60-4a5e-9a55-6f6c3b2a1d00", "Google ADK"),
        ("tool_0_search", "OpenRouter"),
        ("bash-uOQIdN0O", "Antigravity"),
        ("lc-tool-call-1", "LangChain"),
        ("tw-0123456789abcdef", "toolwire"),
        ("call_0", "a server that counts"),
        ("17", "a server that counts"),
        ("call_0b6b9c1e-3f60-4a5e-9a55-6f6c3b2a1d00", "an adapter"),
        ("get_weather", ""),
        ("functions", ""),
        ("Sum: 15", ""),
    ],
)
def test_the_shape_of_an_id_says_who_made_it(one: str, who: str) -> None:
    assert maker(one).startswith(who)
    assert bool(maker(one)) == bool(who)


@pytest.mark.parametrize(("one", "wire"), [("toolu_01A09q90qw90lq917835lq9", "mistral"), ("functions.f:0", "anthropic")])
def test_a_foreign_id_is_told_where_it_is_refused_and_nowhere_else(one: str, wire: str) -> None:
    turn: Turn = ([(one, "f", "a")], [(one, "A")])
    found = [finding for finding in check(history(wire, turn), wire) if finding.name == "id-foreign"]
    assert [(finding.severity, finding.fix) for finding in found] == [("info", None)]
    assert maker(one) in found[0].message
    assert names(history("openai-chat", turn), "openai-chat") == []


@pytest.mark.parametrize(
    "one", ["call_A", "a|b", "call_A|", "|fc_B", "x__thought__", "lots_ts_of", "abababab", "toolu_1", "call_"]
)
def test_a_plain_id_is_not_taken_apart(one: str) -> None:
    assert halves(one) is None
    assert loaded(one) is None
    assert unit(one) is None


# --- a model's own ids --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "name", "is_so"),
    [
        ("functionsread0", "read", True),
        ("functions_read_0", "read", True),
        ("functions-read-12", "read", True),
        ("functions_get_weather_3", "get_weather", True),
        ("functionsgetweather3", "get_weather", True),
        ("functions_read_0_7hGk2Lq9", "read", True),
        ("functions.read:0", "read", False),
        ("read_0", "read", False),
        ("read:0", "read", False),
        ("functions_read_0", "write", False),
        ("functions_read", "read", False),
        ("call_abcdefghijklmnopqrstuvwx", "read", False),
    ],
)
def test_only_a_models_own_id_with_other_signs_is_mangled(one: str, name: str, is_so: bool) -> None:
    assert mangled(one, name) is is_so


def test_a_models_own_ids_count_up_over_the_history_again() -> None:
    body = history(
        "openai-chat",
        (
            [("functionsread0", "read", "a"), ("functionswrite1", "write", "b")],
            [("functionswrite1", "B"), ("functionsread0", "A")],
        ),
        ([("functions.read:2", "read", "c")], [("functions.read:2", "C")]),
        ([("functionsread0", "read", "d")], [("functionsread0", "D")]),
    )
    repaired = mended(body, "openai-chat", "kimi")
    assert repaired.findings == []
    assert ids(repaired.body, "openai-chat") == ["functions.read:0", "functions.write:1", "functions.read:2", "functions.read:3"]
    assert joined(repaired.body, "openai-chat") == [("a", "A"), ("b", "B"), ("c", "C"), ("d", "D")]


def test_a_repeated_id_becomes_one_of_the_models_own_kind_where_it_makes_them() -> None:
    turn: Turn = ([("functions.f:0", "f", "a")], [("functions.f:0", "A")])
    repaired = mended(history("openai-chat", turn, turn), "openai-chat", "kimi")
    assert ids(repaired.body, "openai-chat") == ["functions.f:0", "functions.f:1"]


def test_ids_of_other_providers_go_to_such_a_model_as_they_are() -> None:
    one = "call_abcdefghijklmnopqrstuvwx"
    assert names(history("openai-chat", ([(one, "f", "a")], [(one, "A")])), "openai-chat", "kimi") == []


# --- no field for ids ---------------------------------------------------------------------------------------------------


def test_ids_are_taken_off_only_after_the_results_stand_in_the_order_of_their_calls() -> None:
    body = history("gemini", ([("x", "f", "a"), ("y", "f", "b")], [("y", "B"), ("x", "A")]))
    repaired = mended(body, "gemini", "vertex-gemini")
    assert repaired.findings == []
    assert joined(repaired.body, "gemini") == [("a", "A"), ("b", "B")]
    assert {one.origin for one in decode(repaired.body, "gemini").calls()} == {"minted"}


def test_ids_that_alone_tell_who_is_unanswered_are_left() -> None:
    body = history("gemini", ([("x", "f", "a"), ("y", "f", "b")], [("y", "B")]))
    repaired = mended(body, "gemini", "vertex-gemini", unsafe=True)
    assert joined(repaired.body, "gemini") == [("b", "B")]
    assert {one.fix for one in repaired.findings if one.name == "id-field-unsupported"} == {None}


def test_the_field_is_fine_where_it_is_known() -> None:
    assert names(history("gemini", ([("x", "f", "a")], [("x", "A")])), "gemini") == []


# --- ids that repeat ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "bedrock", "openai-responses"])
def test_calls_of_a_turn_that_share_an_id_are_told_apart_with_their_results(wire: str) -> None:
    body = history(wire, ([("x", "f", "a"), ("x", "f", "b"), ("y", "f", "c")], [("x", "A"), ("y", "C"), ("x", "B")]))
    assert names(body, wire) == ["id-dup-in-turn"]
    repaired = mended(body, wire)
    assert [one for one in repaired.findings if one.severity == "error"] == []
    assert joined(repaired.body, wire) == [("a", "A"), ("b", "B"), ("c", "C")]
    assert ids(repaired.body, wire)[0::2] == ["x", "y"]
    assert len(set(ids(repaired.body, wire))) == 3


def test_a_result_that_names_its_tool_goes_to_the_call_of_that_tool() -> None:
    answers: list[JSON] = [{"role": "tool", "tool_call_id": "x", "name": n, "content": t} for n, t in (("g", "B"), ("f", "A"))]
    body: Object = {"messages": [USER, asks(call("x", "f", '{"q": "a"}'), call("x", "g", '{"q": "b"}')), *answers]}
    assert joined(mended(body, "openai-chat").body, "openai-chat") == [("a", "A"), ("b", "B")]


def test_fewer_results_than_calls_of_one_id_are_a_guess() -> None:
    body = history("openai-chat", ([("x", "f", "a"), ("x", "g", "b")], [("x", "A")]))
    assert [one.fix for one in check(body, "openai-chat") if one.name == "id-dup-in-turn"] == ["unsafe"]


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
    body: Object = {"messages": [USER, asks(call("t1", "f", '{"q": "a"}'), content=[text, block]), told("t1", "A")]}
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
    assert [(one.name, one.fix) for one in check(body, "openai-chat") if one.code in MINE] == [("id-is-tool-name", "unsafe")]
    assert joined(mended(body, "openai-chat", unsafe=True).body, "openai-chat") == [("a", "A"), ("b", "B")]
    assert mended(body, "openai-chat").body == body


@pytest.mark.parametrize("target", ["xai", "deepseek", "minimax", "qwen"])
def test_who_takes_an_id_twice_gets_no_finding_for_it(target: str) -> None:
    body = history("openai-chat", ([("x", "f", "a"), ("x", "f", "b")], [("x", "A"), ("x", "B")]))
    assert names(body, "openai-chat", target) == []


# --- two results --------------------------------------------------------------------------------------------------------

_ABORTS = ["Tool execution aborted", "[toolwire] interrupted: no result of this call was recorded", "Request interrupted by user",
           "The tool call was cancelled", "No result provided", "[Tool use was rejected]"]  # fmt: skip


@pytest.mark.parametrize("abort", _ABORTS)
@pytest.mark.parametrize("late", [True, False])
def test_a_result_that_says_that_nothing_was_done_gives_way_to_one_that_says_more(abort: str, late: bool) -> None:
    texts = ["21 degrees", abort] if late else [abort, "21 degrees"]
    body = history("openai-chat", ([("c1", "f", "a")], [("c1", text) for text in texts]))
    assert mended(body, "openai-chat").body == body
    assert joined(mended(body, "openai-chat", unsafe=True).body, "openai-chat") == [("a", "21 degrees")]


def test_of_two_results_that_differ_the_last_one_stays() -> None:
    body = history("anthropic", ([("c1", "f", "a")], [("c1", "old"), ("c1", "new")]))
    assert [one.fix for one in check(body, "anthropic") if one.name == "dup-result"] == ["unsafe"]
    repaired = mended(body, "anthropic", unsafe=True)
    assert joined(repaired.body, "anthropic") == [("a", "new")]
    assert any("old" in change.message for change in repaired.changes)


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "bedrock", "openai-responses"])
def test_of_two_results_that_say_the_same_one_is_enough(wire: str) -> None:
    body = history(wire, ([("c1", "f", "a"), ("c2", "f", "b")], [("c1", "A"), ("c2", "B"), ("c1", "A")]))
    repaired = mended(body, wire)
    assert repaired.findings == []
    assert joined(repaired.body, wire) == [("a", "A"), ("b", "B")]
    assert len(decode(repaired.body, wire).results()) == 2


def test_a_result_that_comes_again_in_a_later_turn_is_a_second_one() -> None:
    body = history("openai-chat", ([("c1", "f", "a")], [("c1", "A")]), ([("c2", "f", "b")], [("c1", "A"), ("c2", "B")]))
    repaired = mended(body, "openai-chat")
    assert repaired.findings == []
    assert joined(repaired.body, "openai-chat") == [("a", "A"), ("b", "B")]


# --- several at once ----------------------------------------------------------------------------------------------------


def test_ids_that_restart_each_turn_and_are_refused_stay_apart() -> None:
    turns: list[Turn] = [
        ([("functions.f:0", "f", q), ("functions.f:1", "f", q * 2)], [("functions.f:1", q * 4), ("functions.f:0", q * 3)])
        for q in "abc"
    ]
    repaired = mended(history("anthropic", *turns), "anthropic")
    assert repaired.findings == []
    assert joined(repaired.body, "anthropic") == [pair for q in "abc" for pair in ((q, q * 3), (q * 2, q * 4))]
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
    told_so = {"a": "A", "b": "B", "c": "C", "d": "D", "e": "E", "g": "G", "h": "H", "i": "Sum: 15", "j": "J", "k": "K", "l": "L"}
    assert dict(joined(repaired.body, "openai-chat")) == told_so
    assert {"id-missing", "id-empty", "id-not-string", "id-too-long", "id-composite", "id-is-result-content", "id-dup-in-turn",
            "id-dup-call", "dup-result"} <= {change.name for change in repaired.changes}  # fmt: skip


def test_nothing_but_ids_changes_in_a_fix_that_says_so() -> None:
    extra: JSON = {"role": "assistant", "content": "thinking…", "tool_calls": [call("a.b")], "vendor": {"kept": [1, None]}}
    body: Object = {"messages": [USER, extra, {**dict(_result()), "note": None}], "max_tokens": 9, "x": 1}
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
    counts = [len(doubtful(View(decode(body, "openai-chat"), profile("openai-chat")))) for body in (lost, shared, plain)]
    assert counts == [2, 1, 0]


@pytest.mark.parametrize("case", [case for case in ALL if case.name.startswith("recorded")], ids=str)
def test_what_providers_took_and_gave_has_no_fault_in_its_ids(case: Case) -> None:
    assert [str(one) for one in check(case.body, case.wire, case.kind) if one.code in MINE] == []


@pytest.mark.parametrize("case", [case for case in ALL if case.kind == "request"], ids=str)
def test_a_repair_never_parts_a_pair(case: Case) -> None:
    before, after = (
        [(p.call.args.canonical, p.result.text) for p in decode(body, case.wire, case.kind).pairs() if p.call and p.result]
        for body in (case.body, repair(case.body, case.wire, case.kind).body)
    )
    assert [pair for pair in before if pair not in after] == []


def test_all_of_these_rules_are_there() -> None:
    assert {rule.code for rule in every()} >= MINE
