"""Messages of version 4 of the AI SDK, which applications have stored."""

from __future__ import annotations

import pytest

from toolwire import check, repair, translate
from toolwire.conversation.json import JSON, get

_FIELDS: dict[str, JSON] = {"toolCallId": "c1", "toolName": "f", "args": {"n": 1}}
_INVOCATION: JSON = {"state": "result", "step": 0, **_FIELDS, "result": "one"}
_USER: JSON = {"id": "1", "role": "user", "content": "hi"}
MESSAGES: dict[str, list[JSON]] = {
    "invocations of a message": [
        _USER,
        {"id": "2", "role": "assistant", "content": "so", "toolInvocations": [_INVOCATION]},
    ],
    "invocations in parts": [
        {"id": "1", "role": "user", "content": "hi", "parts": [{"type": "text", "text": "hi"}]},
        {
            "id": "2",
            "role": "assistant",
            "content": "so",
            "parts": [
                {"type": "text", "text": "so"},
                {"type": "tool-invocation", "toolInvocation": _INVOCATION},
            ],
            "toolInvocations": [_INVOCATION],
        },
    ],
    "messages of the model": [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "so"}, {"type": "tool-call", **_FIELDS}],
        },
        {
            "role": "tool",
            "content": [
                {"type": "tool-result", "toolCallId": "c1", "toolName": "f", "result": "one"}
            ],
        },
    ],
}


@pytest.mark.parametrize("messages", MESSAGES.values(), ids=MESSAGES)
def test_calls_and_results_of_version_4_are_read(messages: list[JSON]) -> None:
    assert get(translate(messages, "ai-sdk", "anthropic").body, ("messages",)) == [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "so"},
                {"type": "tool_use", "id": "c1", "name": "f", "input": {"n": 1}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "one"}],
        },
    ]


def test_a_repair_writes_invocations_as_tool_parts() -> None:
    repaired = repair(MESSAGES["invocations in parts"], "ai-sdk").body
    part: JSON = {
        "type": "tool-f",
        "toolCallId": "c1",
        "state": "output-available",
        "input": {"n": 1},
        "output": "one",
    }
    parts = get(repaired, (1, "parts"))
    assert isinstance(parts, list) and part in parts
    assert check(repaired, "ai-sdk") == []
