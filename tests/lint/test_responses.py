"""Histories of items, and what models thought: what is found, what is mended, and what is left
alone."""

from __future__ import annotations

import pytest

from toolwire.conversation.json import JSON, Object
from toolwire.lint import check, repair
from toolwire.lint.examples.items import function_call, function_call_output, reasoning_item

USER: JSON = {"role": "user", "content": "hi"}
RESPONSES = "openai-responses"


def names(body: JSON, wire: str = RESPONSES, target: str | None = None) -> list[str]:
    """What the rules of this file find; others have tests of their own."""
    return [
        finding.name
        for finding in check(body, wire, target=target)
        if "TW041" <= finding.code <= "TW052"
    ]


def items(*found: JSON, **more: JSON) -> Object:
    return {"model": "gpt-5", "input": [USER, *found], **more}


def mended(body: Object, *, unsafe: bool = False) -> JSON:
    done = repair(body, RESPONSES, unsafe=unsafe)
    assert isinstance(done.body, dict)
    held = done.body["input"]
    assert isinstance(held, list)
    return held[1:]


# --- ids of items ---


def test_a_result_that_names_the_item_of_its_call_names_the_call_instead() -> None:
    body = items(
        function_call("call_1", "fc_1"),
        function_call("call_2", "fc_2"),
        function_call_output("fc_2"),
        function_call_output("fc_1"),
    )
    assert names(body) == ["item-id-as-call-id", "item-id-as-call-id"]
    assert mended(body) == [
        function_call("call_1", "fc_1"),
        function_call("call_2", "fc_2"),
        function_call_output("call_2"),
        function_call_output("call_1"),
    ]


def test_a_call_whose_only_id_stands_in_the_field_of_the_item_keeps_it_as_its_call_id() -> None:
    assert mended(items(function_call(None, "call_1"), function_call_output("call_1"))) == [
        function_call("call_1"),
        function_call_output("call_1"),
    ]
    assert mended(items(function_call(None, "fc_1"), function_call_output("fc_1"))) == [
        function_call("fc_1", "fc_1"),
        function_call_output("fc_1"),
    ]


def test_a_result_with_the_item_id_of_a_call_on_the_server_becomes_text() -> None:
    body = items(function_call_output("fc_0123456789abcdef0123"), previous_response_id="resp_1")
    found = [finding for finding in check(body, RESPONSES) if finding.name == "item-id-as-call-id"]
    assert [finding.fix for finding in found] == ["safe"]
    done = repair(body, RESPONSES)
    assert done.findings == []
    assert "a result for fc_0123456789abcdef0123, whose call is not in this history: 1" in str(
        done.body
    )


@pytest.mark.parametrize("odd", ["call_1", "", "msg_1", "0f9a-uuid", "fc-1", "fc_" + "a" * 80, 7])
def test_an_item_id_that_does_not_fit_is_taken_away_and_nothing_else(odd: JSON) -> None:
    body = items({**function_call("call_1"), "id": odd}, function_call_output())
    assert names(body) == ["item-id-prefix"]
    assert mended(body) == [function_call("call_1"), function_call_output()]


@pytest.mark.parametrize("fine", ["fc_1", "fc_0f9a-b", None])
def test_an_item_id_that_fits_or_is_null_stays(fine: JSON) -> None:
    assert names(items({**function_call("call_1"), "id": fine}, function_call_output())) == []


def test_item_ids_are_nobodys_business_where_the_target_does_not_check_them() -> None:
    body = items(function_call("call_1", "call_1"), function_call_output())
    assert names(body, target="deepseek-responses") == []


def test_reasoning_that_was_not_stored_goes_with_the_ids_it_led_to_and_its_summary_becomes_text() -> (
    None
):
    bare = items(
        reasoning_item("rs_1"), function_call("call_1", "fc_1"), function_call_output(), store=False
    )
    assert mended(bare) == [function_call("call_1"), function_call_output()]
    told = items(
        reasoning_item("rs_1", "because"),
        function_call("call_1", "fc_1"),
        function_call_output(),
        store=False,
    )
    text: JSON = {
        "type": "message",
        "role": "assistant",
        "content": "[toolwire] earlier reasoning: because",
    }
    assert mended(told) == [text, function_call("call_1"), function_call_output()]


def test_sealed_thoughts_are_taken_back_without_being_stored() -> None:
    sealed = reasoning_item("rs_1", "because", encrypted_content="gAAAAA")
    assert (
        names(items(sealed, function_call("call_1", "fc_1"), function_call_output(), store=False))
        == []
    )


def test_of_an_item_that_stands_twice_the_answered_copy_stays() -> None:
    call = function_call("call_1", "fc_1")
    assert mended(items(call, call, function_call_output())) == [call, function_call_output()]
    assert mended(items(call, USER, call, function_call_output())) == [
        USER,
        call,
        function_call_output(),
    ]


def test_two_calls_under_one_item_id_both_stay_and_the_second_loses_it() -> None:
    body = items(
        function_call("call_1", "fc_1"),
        function_call_output(),
        function_call("call_2", "fc_1"),
        function_call_output("call_2"),
    )
    assert mended(body) == [
        function_call("call_1", "fc_1"),
        function_call_output(),
        function_call("call_2"),
        function_call_output("call_2"),
    ]


# --- words and forms ---


def test_a_chat_among_items_is_said_as_items_with_ids_and_outputs_to_the_letter() -> None:
    calls: list[JSON] = [
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
        {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "free"}},
    ]
    body = items(
        {"role": "assistant", "content": "wait", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": "1"},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "2"}]},
    )
    assert mended(body) == [
        {"role": "assistant", "content": "wait"},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a": 1}'},
        {"type": "custom_tool_call", "call_id": "c2", "name": "g", "input": "free"},
        {"type": "function_call_output", "call_id": "c1", "output": "1"},
        {
            "type": "function_call_output",
            "call_id": "c2",
            "output": [{"type": "input_text", "text": "2"}],
        },
    ]


def test_items_in_a_chat_become_messages_and_calls_in_a_row_one_message() -> None:
    body: Object = {
        "messages": [
            USER,
            function_call("c1"),
            function_call("c2"),
            function_call_output("c1"),
            function_call_output("c2", {"a": 1}),
        ]
    }
    done = repair(body, "openai-chat")
    function: JSON = {"name": "f", "arguments": "{}"}
    assert done.body == {
        "messages": [
            USER,
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": function},
                    {"id": "c2", "type": "function", "function": function},
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "1"},
            {"role": "tool", "tool_call_id": "c2", "content": '{"a":1}'},
        ]
    }
    assert [finding.severity for finding in done.findings if finding.severity != "info"] == []


@pytest.mark.parametrize(
    ("output", "wanted"),
    [
        ({"a": 1}, '{"a":1}'),
        ([1, 2], "[1,2]"),
        (5, "5"),
        (None, ""),
        ([{"type": "text", "text": "1"}], [{"type": "input_text", "text": "1"}]),
    ],
)
def test_an_output_of_another_form_is_said_as_text_or_blocks(output: JSON, wanted: JSON) -> None:
    body = items(function_call(), function_call_output(output=output))
    assert names(body) == ["output-not-string"]
    assert mended(body) == [function_call(), function_call_output(output=wanted)]


# --- what was thought ---


def test_calls_without_a_thought_are_told_only_of_a_request_that_asks_for_thinking() -> None:
    stored = (function_call("call_1", "fc_1"), function_call_output())
    assert names(items(*stored)) == []
    assert names(items(*stored, reasoning={"effort": "minimal"})) == []
    hard = items(*stored, reasoning={"effort": "high"})
    assert names(hard) == ["reasoning-missing"]
    assert mended(hard) == [function_call("call_1"), function_call_output()]
    assert names({**hard, "previous_response_id": "resp_1"}) == []


def test_a_thought_between_a_call_and_its_result_leads_to_nothing() -> None:
    body = items(
        reasoning_item("rs_1"),
        function_call("call_1", "fc_1"),
        reasoning_item("rs_2"),
        function_call_output(),
    )
    assert names(body) == ["reasoning-dangling"]
    assert mended(body) == [
        reasoning_item("rs_1"),
        function_call("call_1", "fc_1"),
        function_call_output(),
    ]


def _turn(*content: JSON, **more: JSON) -> Object:
    use: JSON = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    told: JSON = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}],
    }
    return {
        "max_tokens": 9,
        "messages": [USER, {"role": "assistant", "content": [*content, use]}, told],
        **more,
    }


ON: JSON = {"type": "enabled", "budget_tokens": 1024}


def test_a_turn_in_progress_without_a_thinking_block_disables_thinking() -> None:
    body = _turn(thinking=ON)
    assert names(body, "anthropic") == ["thinking-missing"]
    assert repair(body, "anthropic").body == _turn(thinking={"type": "disabled"})


def test_a_later_step_of_a_turn_need_not_think_again() -> None:
    body = _turn({"type": "thinking", "thinking": "hm", "signature": "ErUB"}, thinking=ON)
    more: list[JSON] = [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t2", "name": "f", "input": {}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t2", "content": "2"}]},
    ]
    held = body["messages"]
    assert isinstance(held, list)
    assert names({**body, "messages": held + more}, "anthropic") == []


def test_thinking_signed_elsewhere_becomes_text_and_disables_thinking() -> None:
    body = _turn({"type": "thinking", "thinking": "hm", "signature": "gAAAAABo"}, thinking=ON)
    assert names(body, "anthropic") == ["signature-foreign"]
    done = repair(body, "anthropic")
    text: JSON = {"type": "text", "text": "[toolwire] earlier reasoning: hm"}
    assert done.body == _turn(text, thinking={"type": "disabled"})
    assert [change.name for change in done.changes] == ["signature-foreign", "thinking-missing"]


def _steps(*signatures: str | None, model: str = "gemini-3-pro") -> Object:
    said: list[JSON] = [{"role": "user", "parts": [{"text": "hi"}]}]
    for n, one in enumerate(signatures):
        call: Object = {"functionCall": {"name": f"f{n}", "args": {}}}
        said.append(
            {"role": "model", "parts": [{**call, "thoughtSignature": one} if one else call]}
        )
        said.append(
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": f"f{n}", "response": {"output": "1"}}}],
            }
        )
    return {"contents": said, "model": model}


def test_every_step_of_the_newest_turn_is_signed_and_those_before_it_need_not_be() -> None:
    body = _steps(None, "CiQB", None)
    assert [
        finding.pointer for finding in check(body, "gemini") if finding.name == "signature-missing"
    ] == ["/contents/1/parts/0", "/contents/5/parts/0"]
    held = body["contents"]
    assert isinstance(held, list)
    over: list[JSON] = [
        {"role": "model", "parts": [{"text": "ok"}]},
        {"role": "user", "parts": [{"text": "and?"}]},
    ]
    assert names({**body, "contents": held + over}, "gemini") == []
    assert names(_steps(None, model="gemini-2.5-pro"), "gemini") == []


def test_the_placeholder_is_put_on_what_has_no_signature_and_in_the_place_of_a_foreign_one() -> (
    None
):
    placeholder = "skip_thought_signature_validator"
    assert repair(_steps(None, "CiQB"), "gemini").body == _steps(placeholder, "CiQB")
    assert repair(_steps("gAAAAABo", "CiQB"), "gemini").body == _steps(placeholder, "CiQB")


def test_reasoning_content_comes_back_as_it_was_said_or_empty() -> None:
    def asks(one: str, **more: JSON) -> JSON:
        call: JSON = {"id": one, "type": "function", "function": {"name": "f", "arguments": "{}"}}
        return {"role": "assistant", "content": None, "tool_calls": [call], **more}

    def told(one: str) -> JSON:
        return {"role": "tool", "tool_call_id": one, "content": "1"}

    def body(first: JSON, second: JSON) -> Object:
        return {
            "model": "kimi-k2-thinking",
            "messages": [USER, first, told("f:0"), USER, second, told("f:1")],
        }

    done = repair(body(asks("f:0", reasoning="hm"), asks("f:1")), "openai-chat", target="kimi")
    assert done.body == body(
        asks("f:0", reasoning="hm", reasoning_content="hm"), asks("f:1", reasoning_content="")
    )
    # Of this one only the turn that is under way is asked.
    paths = [
        finding.pointer
        for finding in check(
            body(asks("f:0"), asks("f:1")) | {"model": "deepseek-reasoner"}, "deepseek"
        )
    ]
    assert paths == ["/messages/4"]
