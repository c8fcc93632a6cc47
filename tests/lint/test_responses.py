"""Histories of items, and reasoning: what is found, what is repaired, and what stays unchanged."""

from __future__ import annotations

import pytest

from toolwire import decode, translate
from toolwire.conversation.json import JSON, Object, text_of
from toolwire.lint import check, repair
from toolwire.lint.examples.chat import assistant, tool_call, tool_message
from toolwire.lint.examples.items import function_call, function_call_output, reasoning_item

USER: JSON = {"role": "user", "content": "hi"}
RESPONSES = "openai-responses"


def rule_names(body: JSON, wire: str = RESPONSES, target: str | None = None) -> list[str]:
    """What the rules of this file find; others have tests of their own."""
    return [
        finding.name
        for finding in check(body, wire, target=target)
        if "TW041" <= finding.code <= "TW052"
    ]


def items(*list_of_items: JSON, **more: JSON) -> Object:
    return {"model": "gpt-5", "input": [USER, *list_of_items], **more}


def repair_fully(body: Object, *, unsafe: bool = False) -> JSON:
    repaired = repair(body, RESPONSES, unsafe=unsafe)
    assert isinstance(repaired.body, dict)
    messages = repaired.body["input"]
    assert isinstance(messages, list)
    return messages[1:]


# --- ids of items ---


def test_a_result_with_the_item_id_of_its_call_gets_the_call_id() -> None:
    body = items(
        function_call("call_1", "fc_1"),
        function_call("call_2", "fc_2"),
        function_call_output("fc_2"),
        function_call_output("fc_1"),
    )
    assert rule_names(body) == ["item-id-as-call-id", "item-id-as-call-id"]
    assert repair_fully(body) == [
        function_call("call_1", "fc_1"),
        function_call("call_2", "fc_2"),
        function_call_output("call_2"),
        function_call_output("call_1"),
    ]


def test_a_call_with_only_an_item_id_gets_it_as_its_call_id() -> None:
    assert repair_fully(items(function_call(None, "call_1"), function_call_output("call_1"))) == [
        function_call("call_1"),
        function_call_output("call_1"),
    ]
    assert repair_fully(items(function_call(None, "fc_1"), function_call_output("fc_1"))) == [
        function_call("fc_1", "fc_1"),
        function_call_output("fc_1"),
    ]


def test_a_result_with_the_item_id_of_a_call_on_the_server_becomes_text() -> None:
    body = items(function_call_output("fc_0123456789abcdef0123"), previous_response_id="resp_1")
    findings = [
        finding for finding in check(body, RESPONSES) if finding.name == "item-id-as-call-id"
    ]
    assert [finding.fix for finding in findings] == ["safe"]
    repaired = repair(body, RESPONSES)
    assert repaired.findings == []
    assert "a result for fc_0123456789abcdef0123, whose call is not in this history: 1" in str(
        repaired.body
    )


@pytest.mark.parametrize(
    "item_id", ["call_1", "", "msg_1", "0f9a-uuid", "fc-1", "fc_" + "a" * 80, 7]
)
def test_only_the_id_of_an_item_with_an_invalid_id_is_removed(item_id: JSON) -> None:
    body = items({**function_call("call_1"), "id": item_id}, function_call_output())
    assert rule_names(body) == ["item-id-prefix"]
    assert repair_fully(body) == [function_call("call_1"), function_call_output()]


@pytest.mark.parametrize("fine", ["fc_1", "fc_0f9a-b", None])
def test_a_valid_item_id_and_a_null_item_id_stay(fine: JSON) -> None:
    assert rule_names(items({**function_call("call_1"), "id": fine}, function_call_output())) == []


def test_item_ids_are_ignored_where_the_target_does_not_check_them() -> None:
    body = items(function_call("call_1", "call_1"), function_call_output())
    assert rule_names(body, target="deepseek-responses") == []


def test_reasoning_that_was_not_stored_is_removed_with_the_ids_after_it_and_its_summary_becomes_text() -> (
    None
):
    bare = items(
        reasoning_item("rs_1"), function_call("call_1", "fc_1"), function_call_output(), store=False
    )
    assert repair_fully(bare) == [function_call("call_1"), function_call_output()]
    body = items(
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
    assert repair_fully(body) == [text, function_call("call_1"), function_call_output()]


def test_encrypted_reasoning_is_accepted_without_being_stored() -> None:
    sealed = reasoning_item("rs_1", "because", encrypted_content="gAAAAA")
    assert (
        rule_names(
            items(sealed, function_call("call_1", "fc_1"), function_call_output(), store=False)
        )
        == []
    )


def test_of_a_repeated_item_the_copy_with_a_result_stays() -> None:
    call = function_call("call_1", "fc_1")
    assert repair_fully(items(call, call, function_call_output())) == [call, function_call_output()]
    assert repair_fully(items(call, USER, call, function_call_output())) == [
        USER,
        call,
        function_call_output(),
    ]


def test_two_calls_with_one_item_id_both_stay_and_the_second_loses_the_id() -> None:
    body = items(
        function_call("call_1", "fc_1"),
        function_call_output(),
        function_call("call_2", "fc_1"),
        function_call_output("call_2"),
    )
    assert repair_fully(body) == [
        function_call("call_1", "fc_1"),
        function_call_output(),
        function_call("call_2"),
        function_call_output("call_2"),
    ]


# --- formats of another wire ---


def test_chat_messages_among_items_become_items_with_the_same_ids_and_outputs() -> None:
    calls: list[JSON] = [
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
        {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "free"}},
    ]
    body = items(
        {"role": "assistant", "content": "wait", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": "1"},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "2"}]},
    )
    assert repair_fully(body) == [
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
    repaired = repair(body, "openai-chat")
    function: JSON = {"name": "f", "arguments": "{}"}
    assert repaired.body == {
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
    assert [finding.severity for finding in repaired.findings if finding.severity != "info"] == []


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ({"a": 1}, '{"a":1}'),
        ([1, 2], "[1,2]"),
        (5, "5"),
        (None, ""),
        ([{"type": "text", "text": "1"}], [{"type": "input_text", "text": "1"}]),
    ],
)
def test_an_output_of_another_form_becomes_text_or_blocks(output: JSON, expected: JSON) -> None:
    body = items(function_call(), function_call_output(output=output))
    assert rule_names(body) == ["output-not-string"]
    assert repair_fully(body) == [function_call(), function_call_output(output=expected)]


# --- reasoning ---


def test_calls_without_reasoning_are_reported_only_if_the_request_enables_reasoning() -> None:
    stored = (function_call("call_1", "fc_1"), function_call_output())
    assert rule_names(items(*stored)) == []
    assert rule_names(items(*stored, reasoning={"effort": "minimal"})) == []
    hard = items(*stored, reasoning={"effort": "high"})
    assert rule_names(hard) == ["reasoning-missing"]
    assert repair_fully(hard) == [function_call("call_1"), function_call_output()]
    assert rule_names({**hard, "previous_response_id": "resp_1"}) == []


def test_reasoning_between_a_call_and_its_result_is_dangling() -> None:
    body = items(
        reasoning_item("rs_1"),
        function_call("call_1", "fc_1"),
        reasoning_item("rs_2"),
        function_call_output(),
    )
    assert rule_names(body) == ["reasoning-dangling"]
    assert repair_fully(body) == [
        reasoning_item("rs_1"),
        function_call("call_1", "fc_1"),
        function_call_output(),
    ]


def _turn(*content: JSON, **more: JSON) -> Object:
    use: JSON = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    result_message: JSON = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}],
    }
    return {
        "max_tokens": 9,
        "messages": [USER, {"role": "assistant", "content": [*content, use]}, result_message],
        **more,
    }


ON: JSON = {"type": "enabled", "budget_tokens": 1024}


def test_a_turn_in_progress_without_a_thinking_block_disables_thinking() -> None:
    body = _turn(thinking=ON)
    assert rule_names(body, "anthropic") == ["thinking-missing"]
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
    messages = body["messages"]
    assert isinstance(messages, list)
    assert rule_names({**body, "messages": messages + more}, "anthropic") == []


def test_thinking_signed_elsewhere_becomes_text_and_disables_thinking() -> None:
    body = _turn({"type": "thinking", "thinking": "hm", "signature": "gAAAAABo"}, thinking=ON)
    assert rule_names(body, "anthropic") == ["signature-foreign"]
    repaired = repair(body, "anthropic")
    text: JSON = {"type": "text", "text": "[toolwire] earlier reasoning: hm"}
    assert repaired.body == _turn(text, thinking={"type": "disabled"})
    assert [change.name for change in repaired.changes] == ["signature-foreign", "thinking-missing"]


def _steps(*signatures: str | None, model: str = "gemini-3-pro") -> Object:
    messages: list[JSON] = [{"role": "user", "parts": [{"text": "hi"}]}]
    for n, signature in enumerate(signatures):
        call: Object = {"functionCall": {"name": f"f{n}", "args": {}}}
        messages.append(
            {
                "role": "model",
                "parts": [{**call, "thoughtSignature": signature} if signature else call],
            }
        )
        messages.append(
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": f"f{n}", "response": {"output": "1"}}}],
            }
        )
    return {"contents": messages, "model": model}


def test_every_step_of_the_newest_turn_needs_a_signature_and_earlier_turns_do_not() -> None:
    body = _steps(None, "CiQB", None)
    assert [
        finding.pointer for finding in check(body, "gemini") if finding.name == "signature-missing"
    ] == ["/contents/1/parts/0", "/contents/5/parts/0"]
    messages = body["contents"]
    assert isinstance(messages, list)
    over: list[JSON] = [
        {"role": "model", "parts": [{"text": "ok"}]},
        {"role": "user", "parts": [{"text": "and?"}]},
    ]
    assert rule_names({**body, "contents": messages + over}, "gemini") == []
    assert rule_names(_steps(None, model="gemini-2.5-pro"), "gemini") == []


def test_a_placeholder_replaces_a_missing_or_foreign_signature() -> None:
    placeholder = "skip_thought_signature_validator"
    assert repair(_steps(None, "CiQB"), "gemini").body == _steps(placeholder, "CiQB")
    assert repair(_steps("gAAAAABo", "CiQB"), "gemini").body == _steps(placeholder, "CiQB")


def test_a_call_with_a_signature_of_another_wire_gets_the_placeholder() -> None:
    call: JSON = {"toolRequest": {"name": "f"}, "metadata": {"thoughtSignature": "CiQB"}}
    messages: JSON = [
        {"role": "user", "content": [{"text": "hi"}]},
        {"role": "model", "content": [call]},
    ]
    body: JSON = {"model": "googleai/gemini-3-pro", "messages": messages}
    sent = translate(body, "genkit", "gemini")
    assert b'"thoughtSignature":"skip_thought_signature_validator"' in sent.json()
    assert [change.name for change in sent.changes] == ["signature-missing"]


def test_reasoning_content_is_restored_from_another_field_or_is_empty() -> None:
    def call_message(call_id: str, **more: JSON) -> JSON:
        call: JSON = {
            "id": call_id,
            "type": "function",
            "function": {"name": "f", "arguments": "{}"},
        }
        return {"role": "assistant", "content": None, "tool_calls": [call], **more}

    def result_message(call_id: str) -> JSON:
        return {"role": "tool", "tool_call_id": call_id, "content": "1"}

    def body(first: JSON, second: JSON) -> Object:
        return {
            "model": "kimi-k2-thinking",
            "messages": [USER, first, result_message("f:0"), USER, second, result_message("f:1")],
        }

    repaired = repair(
        body(call_message("f:0", reasoning="hm"), call_message("f:1")), "openai-chat", target="kimi"
    )
    assert repaired.body == body(
        call_message("f:0", reasoning="hm", reasoning_content="hm"),
        call_message("f:1", reasoning_content=""),
    )
    # This provider checks only the turn in progress.
    paths = [
        finding.pointer
        for finding in check(
            body(call_message("f:0"), call_message("f:1")) | {"model": "deepseek-reasoner"},
            "deepseek",
        )
    ]
    assert paths == ["/messages/4"]


@pytest.mark.parametrize("target", ["openai-responses", "deepseek-responses"])
def test_results_without_ids_become_text_where_calls_have_only_item_ids(target: str) -> None:
    """The calls get the ids that the target requires, so that no history stays stuck."""
    calls: list[JSON] = [
        {"type": "function_call", "id": f"fc_{n}", "name": "search", "arguments": text_of({"n": n})}
        for n in range(2)
    ]
    outputs: list[JSON] = [{"type": "function_call_output", "output": f"found {n}"} for n in "ab"]
    question: JSON = {"role": "user", "content": "Well?"}
    body: JSON = {"model": "m", "input": [question, *calls, *outputs, question]}
    repaired = repair(body, "openai-responses", target=target)
    assert repaired.findings == check(repaired.body, "openai-responses", target=target) == []
    assert all(text in text_of(repaired.body) for text in ("found a", "found b"))


_MIXED: list[tuple[str, Object]] = [
    (
        "openai-chat",
        {
            "messages": [
                {"role": "user", "content": [{"type": "input_text", "text": "ask"}]},
                {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"n":1}'},
                {"type": "function_call_output", "call_id": "c1", "output": "told"},
            ]
        },
    ),
    (
        "openai-responses",
        {
            "input": [
                {"role": "user", "content": [{"type": "text", "text": "ask"}]},
                assistant(tool_call("c1", arguments='{"n":1}')),
                tool_message("c1", "told"),
            ]
        },
    ),
    (
        "anthropic",
        {
            "max_tokens": 9,
            "messages": [
                {"role": "user", "content": [{"type": "output_text", "text": "ask"}]},
                assistant(tool_call("c1", arguments='{"n":1}')),
                tool_message("c1", "told"),
            ],
        },
    ),
]


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses", "anthropic", "gemini"])
@pytest.mark.parametrize("source, body", _MIXED)
def test_what_a_client_left_in_the_format_of_another_wire_reaches_every_target(
    source: str, body: Object, target: str
) -> None:
    assert "wrong-vocabulary" in {finding.name for finding in check(body, source)}
    sent = translate(body, source, target)
    [pair] = decode(sent.body, target).pairs()
    assert pair.call is not None and pair.result is not None
    assert (pair.call.input, pair.result.text) == ({"n": 1}, "told")
    assert b'"ask"' in sent.json()
    assert [loss for loss in sent.losses if loss.severity == "loss"] == []
    assert sent.findings == []
    assert sent.changes
