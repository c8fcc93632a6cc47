"""Roles and blocks of one wire in a history of another."""

from __future__ import annotations

from toolwire import check, repair, translate
from toolwire.conversation.json import JSON, get

CALL: JSON = {"type": "tool-call", "toolCallId": "a", "toolName": "f", "input": {}}
RESULT: JSON = {
    "type": "tool-result",
    "toolCallId": "a",
    "toolName": "f",
    "output": {"type": "text", "value": "x"},
}


def test_a_wire_with_messages_of_the_role_tool_may_hold_results_there() -> None:
    body: JSON = {
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [CALL]},
            {"role": "tool", "content": [RESULT]},
        ]
    }
    assert check(body, "ai-sdk") == []


def test_a_call_in_such_a_message_is_not_lost() -> None:
    body: JSON = {
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "tool", "content": [CALL]},
            {"role": "tool", "content": [RESULT]},
        ]
    }
    assert repair(body, "ai-sdk").body == body


def test_calls_and_texts_in_a_message_of_an_unknown_role_are_the_models() -> None:
    call: JSON = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    result: JSON = {"role": "tool", "tool_call_id": "a", "content": "ok"}
    unknown: JSON = {"role": "planner", "content": "Let me see.", "tool_calls": [call]}
    body: JSON = {"messages": [{"role": "user", "content": "hi"}, unknown, result]}
    for encoded in (translate(body, "cohere", "openai-chat"), repair(body, "cohere")):
        assert get(encoded.body, ("messages", 1)) == {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [call],
        }
        assert get(encoded.body, ("messages", 2, "tool_call_id")) == "a"
