"""How ids and names are fitted, assigned and mapped back, and what is reported, one step at a time."""

from __future__ import annotations

from itertools import permutations

import pytest
from msgspec.structs import replace

from toolwire import Call, Conversation, IdMap, Message, Text, decode, encode, translate
from toolwire.conversation.fitting import IdFitter, fit, fit_names
from toolwire.conversation.id_map import CUSTOM_CALL, ERROR_RESULT
from toolwire.conversation.id_rules import IdRule, lines_matcher, matcher
from toolwire.conversation.ids import mint
from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.model import SIGNATURE_LOST

WORD = IdRule("a-zA-Z0-9_-", 64)


# --- ids ------------------------------------------------------------------------------------------


RULES = (IdRule("a-zA-Z0-9_-"), IdRule(longest=4), IdRule("a-z.", 8, first="[a-c]"), IdRule())


@pytest.mark.parametrize("rules", list(permutations(RULES, 2)))
@pytest.mark.parametrize("text", ["", "abcd", "abcde", "a.b", "zab", "a b", "ab\n", "a\nb", "\n"])
def test_a_text_matches_two_rules_exactly_if_it_fits_both(
    text: str, rules: tuple[IdRule, IdRule]
) -> None:
    lines = text.split("\n")
    fits_both = [all(rule.fits(line) for rule in rules) for line in lines]
    assert bool(lines_matcher(*rules)(text)) == all(fits_both)
    assert bool(matcher(*rules)(text)) == all(rule.fits(text) for rule in rules)


def test_an_id_of_exact_length_is_padded_where_its_hash_is_too_short() -> None:
    assert len(fit("a b", IdRule("a-zA-Z0-9", 14, exact=True))) == 14


def chat_call(call_id: str, n: int) -> JSON:
    function: JSON = {"name": "f", "arguments": f'{{"n":{n}}}'}
    return {"id": call_id, "type": "function", "function": function}


def ids_to_send(messages: list[JSON], target: str) -> list[str]:
    """The ids of the calls of a chat history, written for another wire without a repair."""
    written = encode(decode({"messages": messages}, "openai-chat"), target)
    return [call.id for call in decode(written.json(), target).calls()]


def test_two_calls_of_a_turn_never_share_an_id() -> None:
    together: list[JSON] = [
        {"role": "assistant", "tool_calls": [chat_call("c", n) for n in (1, 2)]}
    ]
    split: list[JSON] = [{"role": "assistant", "tool_calls": [chat_call("c", n)]} for n in (1, 2)]
    for messages in (together, split):
        ids = ids_to_send(messages, "openai-responses")
        assert ids[0] == "c" != ids[1]


def test_two_calls_of_an_answer_never_share_an_id() -> None:
    message: JSON = {"role": "assistant", "tool_calls": [chat_call("c", n) for n in (1, 2)]}
    body: JSON = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    written = encode(decode(body, "openai-chat", "response"), "anthropic", "response")
    ids = [call.id for call in decode(written.json(), "anthropic", "response").calls()]
    assert ids[0] == "c" != ids[1]


def test_a_valid_id_changes_if_an_earlier_id_became_it() -> None:
    def history(*call_ids: str) -> list[JSON]:
        messages: list[JSON] = []
        for n, call_id in enumerate(call_ids):
            messages += [
                {"role": "assistant", "tool_calls": [chat_call(call_id, n)]},
                {"role": "tool", "tool_call_id": call_id, "content": "r"},
            ]
        return messages

    (fitted,) = ids_to_send(history("a.b"), "anthropic")
    ids = ids_to_send(history("a.b", fitted), "anthropic")
    assert ids[0] == fitted != ids[1]


def test_an_id_that_restarts_each_turn_stays_as_it_is() -> None:
    messages: list[JSON] = []
    for n in (1, 2):
        messages += [
            {"role": "user", "content": "Go."},
            {"role": "assistant", "tool_calls": [chat_call("c", n)]},
            {"role": "tool", "tool_call_id": "c", "content": "r"},
        ]
    assert ids_to_send(messages, "openai-responses") == ["c", "c"]


def test_a_result_with_an_id_that_is_not_its_calls_has_no_id_from_the_wire() -> None:
    body: Object = {
        "contents": [
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
            {
                "role": "user",
                "parts": [{"functionResponse": {"id": "x", "name": "f", "response": {}}}],
            },
        ]
    }
    conversation = decode(body, "gemini")
    (call,), (result,) = conversation.calls(), conversation.results()
    assert (result.call_id, result.origin) == (call.id, "minted")


def test_a_minted_id_is_never_an_id_of_the_wire() -> None:
    minted = mint("", 1, "g")
    calls: list[JSON] = [
        {"functionCall": {"id": minted, "name": "f", "args": {}}},
        {"functionCall": {"name": "g", "args": {}}},
    ]
    ids = [
        call.id
        for call in decode({"contents": [{"role": "model", "parts": calls}]}, "gemini").calls()
    ]
    assert ids[0] == minted != ids[1]


def chat_answer(*call_ids: str) -> JSON:
    message: JSON = {
        "role": "assistant",
        "tool_calls": [chat_call(call_id, n) for n, call_id in enumerate(call_ids)],
    }
    return {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}


def test_a_minted_id_that_comes_back_in_an_answer_is_left_out_where_ids_are_optional() -> None:
    minted = mint("", 1, "g")
    answer = decode(chat_answer(minted), "openai-chat", "response")
    assert minted.encode() not in encode(answer, "gemini", "response").json()
    assert minted.encode() in encode(answer, "anthropic", "response").json()


def test_an_id_of_an_answer_that_the_target_refuses_is_fitted() -> None:
    answer = decode(chat_answer("a b"), "openai-chat", "response")
    written = encode(answer, "anthropic", "response")
    (call,) = decode(written.json(), "anthropic", "response").calls()
    assert call.id != "a b"
    assert written.ids.ids == {call.id: "a b"}


# --- ids in a stream ------------------------------------------------------------------------------


def fitter(*, unique: bool) -> IdFitter:
    return IdFitter(WORD, WORD, unique=unique, reverse_map=IdMap(), source_rules=(WORD, WORD))


def test_a_tool_of_a_stream_does_not_get_the_name_that_another_was_sent_under() -> None:
    names = fitter(unique=True)
    sent = names.name("weatheré")
    assert names.name(sent) not in ("weatheré", sent)
    assert names.names[sent] == "weatheré"


def test_a_stream_uses_an_id_of_an_earlier_turn_again_unless_ids_are_unique() -> None:
    for unique in (False, True):
        stream = fitter(unique=unique)
        stream.call(Call("c", "f"))
        stream.start_turn()
        assert (stream.call(Call("c", "f")).id == "c") is not unique


def test_a_result_in_a_stream_gets_the_id_of_its_call() -> None:
    stream = fitter(unique=False)
    call = Call("a b", "f")
    sent = stream.call(call).id
    assert sent != "a b"
    assert stream.result(call.result("r")).call_id == sent


# --- unknown fields -------------------------------------------------------------------------------


def test_an_unknown_field_inside_a_call_is_reported_at_its_own_path() -> None:
    function: JSON = {"name": "f", "arguments": "{}", "lane": 2}
    call: JSON = {"id": "c", "type": "function", "function": function}
    body: JSON = {"messages": [{"role": "assistant", "tool_calls": [call]}]}
    losses = encode(decode(body, "openai-chat"), "anthropic").losses
    assert ("messages", 0, "tool_calls", 0, "function", "lane") in [loss.path for loss in losses]


def test_an_unknown_field_is_reported_although_its_value_is_false_or_zero() -> None:
    use: JSON = {"type": "tool_use", "id": "a", "name": "f", "input": {}, "lane": 0, "fast": False}
    body: JSON = {"messages": [{"role": "assistant", "content": [use]}]}
    losses = encode(decode(body, "anthropic"), "openai-chat").losses
    assert {loss.path[-1] for loss in losses} >= {"lane", "fast"}


def test_a_signature_that_the_target_cannot_carry_is_reported() -> None:
    call: JSON = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2lnbmVk"}
    body: JSON = {"contents": [{"role": "model", "parts": [call]}]}
    losses = encode(decode(body, "gemini"), "anthropic").losses
    assert (("contents", 0, "parts", 0), SIGNATURE_LOST) in [
        (loss.path, loss.reason) for loss in losses
    ]


# --- names ----------------------------------------------------------------------------------------


def test_a_fitted_name_is_not_the_name_of_another_tool() -> None:
    taken = fit("a b", WORD)
    assert fit_names(["a b", taken], WORD, {}).get("a b") not in (None, taken)
    assert taken not in fit_names(["a b", taken], WORD, {})


# --- id maps --------------------------------------------------------------------------------------


def test_a_map_after_a_repair_leads_from_the_repaired_ids_to_the_first_ones() -> None:
    sent = IdMap({"b": "a"}, {"g": "f"}, {"b": CUSTOM_CALL}, {"b": [ERROR_RESULT]})
    after = sent.after_repair(IdMap({"c": "b"}, {"h": "g"}))
    assert after.ids == {"b": "a", "c": "a"}
    assert after.names == {"g": "f", "h": "f"}
    assert (after.calls["c"], after.results["c"]) == (CUSTOM_CALL, [ERROR_RESULT])


def test_a_map_after_an_earlier_one_leads_back_through_both() -> None:
    after = IdMap({"c": "b"}, {"h": "g"}).after(IdMap({"b": "a"}, {"g": "f"}))
    assert (after.ids["c"], after.names["h"]) == ("a", "f")


def test_an_id_that_repair_changed_is_mapped_back_too() -> None:
    messages: list[JSON] = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "tool_calls": [chat_call("call_1|fc_1", 1)]},
        {"role": "tool", "tool_call_id": "call_1", "content": "found"},
        {"role": "user", "content": "So?"},
    ]
    for target in ("anthropic", "openai-chat"):
        made = translate({"messages": messages}, "openai-chat", target)
        (call,) = decode(made.json(), target).calls()
        assert (call.id, made.ids.ids) == ("call_1", {"call_1": "call_1|fc_1"})


def test_an_error_with_a_json_output_is_restored_as_both() -> None:
    use: JSON = {"toolUse": {"toolUseId": "a", "name": "f", "input": {}}}
    result: JSON = {"toolUseId": "a", "content": [{"json": {"code": 7}}], "status": "error"}
    body: JSON = {
        "messages": [
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [{"toolResult": result}]},
        ]
    }
    there = encode(decode(body, "bedrock"), "openai-chat")
    home = encode(decode(there.json(), "openai-chat"), "bedrock", ids=there.ids)
    assert get(home.body, ("messages", 1, "content", 0, "toolResult")) == result


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses", "ollama"])
def test_each_result_of_a_reused_id_is_restored_with_its_own_error_flag(target: str) -> None:
    messages: list[JSON] = []
    for error in (True, False, True):
        use: JSON = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
        result: JSON = {
            "type": "tool_result",
            "tool_use_id": "t1",
            "content": "R",
            "is_error": error,
        }
        messages += [
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result]},
        ]
    there = translate({"max_tokens": 9, "messages": messages}, "anthropic", target)
    home = decode(translate(there.json(), target, "anthropic", ids=there.ids).json(), "anthropic")
    assert [result.error for result in home.results()] == [True, False, True]


def test_the_form_of_a_result_is_restored_although_its_minted_id_was_left_out() -> None:
    call = Call("tw-0123456789abcdef", "f", {}, origin="minted")
    message = Message("user", (call.result("broken", error=True),))
    history = Conversation((Message("assistant", (call,)), message))
    there = encode(history, "ollama")
    assert "tool_call_id" not in str(there.body)
    home = encode(decode(there.json(), "ollama"), "anthropic", ids=there.ids)
    assert '"is_error":true' in home.json().decode()


# --- parts of the target's own wire ---------------------------------------------------------------


def test_a_part_of_the_own_wire_stays_beside_a_part_that_was_added() -> None:
    thinking: JSON = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    unknown: JSON = {"type": "hologram", "depth": 3}
    text: JSON = {"type": "text", "text": "Hi"}
    body: JSON = {
        "max_tokens": 9,
        "messages": [{"role": "assistant", "content": [thinking, unknown, text]}],
    }
    conversation = decode(body, "anthropic")
    (message,) = conversation.messages
    longer = replace(message, parts=(*message.parts, Text("more")))
    written = encode(replace(conversation, messages=(longer,)), "anthropic")
    assert written.losses == []
    assert get(written.body, ("messages", 0, "content")) == [
        thinking,
        unknown,
        text,
        {"type": "text", "text": "more"},
    ]


# --- losses ---------------------------------------------------------------------------------------


def test_a_loss_is_reported_once() -> None:
    part: JSON = {
        "type": "tool-f",
        "toolCallId": "c",
        "state": "output-available",
        "input": {},
        "output": "found",
        "providerExecuted": True,
    }
    body: JSON = {"id": "1", "role": "assistant", "parts": [part]}
    losses = encode(decode(body, "ai-sdk", "response"), "openai-chat", "response").losses
    assert losses and len(losses) == len(set(losses))


def test_a_pair_that_an_edit_leaves_without_a_tie_is_reported() -> None:
    def call(name: str) -> JSON:
        return {"functionCall": {"name": name, "args": {"tool": name}}}

    def response(name: str) -> JSON:
        return {"functionResponse": {"name": name, "response": {"output": name}}}

    body: JSON = {
        "contents": [
            {"role": "model", "parts": [call("f"), call("g")]},
            {"role": "user", "parts": [response("g"), response("f")]},
        ]
    }
    conversation = decode(body, "gemini")
    first = conversation.calls()[0]
    edited = conversation.replace(first, replace(first, name="g"))
    assert [loss.path for loss in encode(edited, "gemini").losses] == [("contents", 1, "parts", 1)]
