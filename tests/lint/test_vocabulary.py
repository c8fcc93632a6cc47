"""Roles and blocks of one wire in a history of another."""

from __future__ import annotations

from toolwire import check, repair
from toolwire.conversation.json import JSON

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
