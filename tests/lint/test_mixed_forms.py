"""A call and its result in messages of another wire: both stay, and they stay a pair."""

from __future__ import annotations

import json

import pytest
from validators import complaints

from toolwire import check, decode, repair, translate
from toolwire.conversation.json import JSON, Object

GEMINI_CALL: Object = {"name": "f", "args": {"q": 1}}
GEMINI_RESULT: Object = {"name": "f", "response": {"result": "sunny"}}
CHAT_CALL: JSON = {
    "id": "c1",
    "type": "function",
    "function": {"name": "f", "arguments": '{"q": 1}'},
}
ITEM_CALL: JSON = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"q": 1}'}
ITEM_RESULT: JSON = {"type": "function_call_output", "call_id": "c1", "output": "sunny"}
SDK_CALL: JSON = {"type": "tool-call", "toolCallId": "c1", "toolName": "f", "input": {"q": 1}}
SDK_RESULT: JSON = {"type": "tool-result", "toolCallId": "c1", "toolName": "f", "output": "sunny"}
MIXED: dict[str, tuple[str, list[JSON]]] = {
    "Gemini messages without ids in a chat": (
        "openai-chat",
        [
            {"role": "model", "parts": [{"functionCall": GEMINI_CALL}]},
            {"role": "user", "parts": [{"functionResponse": GEMINI_RESULT}]},
        ],
    ),
    "Gemini's role function in a chat": (
        "openai-chat",
        [
            {"role": "model", "parts": [{"functionCall": {**GEMINI_CALL, "id": "c1"}}]},
            {"role": "function", "parts": [{"functionResponse": {**GEMINI_RESULT, "id": "c1"}}]},
        ],
    ),
    "Gemini blocks without ids among those of Anthropic": (
        "anthropic",
        [
            {"role": "assistant", "content": [{"functionCall": GEMINI_CALL}]},
            {"role": "user", "content": [{"functionResponse": GEMINI_RESULT}]},
        ],
    ),
    "Gemini messages among items": (
        "openai-responses",
        [
            {"role": "model", "parts": [{"functionCall": {**GEMINI_CALL, "id": "c1"}}]},
            {"role": "user", "parts": [{"functionResponse": {**GEMINI_RESULT, "id": "c1"}}]},
        ],
    ),
    "a Gemini result of an item": (
        "openai-responses",
        [
            ITEM_CALL,
            {"role": "user", "parts": [{"functionResponse": {**GEMINI_RESULT, "id": "c1"}}]},
        ],
    ),
    "a tool message of the AI SDK among items": (
        "openai-responses",
        [{"role": "assistant", "content": [SDK_CALL]}, {"role": "tool", "content": [SDK_RESULT]}],
    ),
    "a tool message of the AI SDK in a chat": (
        "openai-chat",
        [
            {"role": "assistant", "tool_calls": [CHAT_CALL]},
            {"role": "tool", "content": [SDK_RESULT]},
        ],
    ),
    "a flat call beside text among items": (
        "openai-responses",
        [
            {
                "role": "assistant",
                "content": "well",
                "tool_calls": [{"id": "c1", "name": "f", "args": {"q": 1}}],
            },
            ITEM_RESULT,
        ],
    ),
    "items as an SDK for JavaScript stores them": (
        "openai-responses",
        [
            {"type": "function_call", "callId": "c1", "name": "f", "arguments": '{"q": 1}'},
            {
                "type": "function_call_result",
                "callId": "c1",
                "name": "f",
                "output": {"type": "text", "text": "sunny"},
            },
        ],
    ),
    "items with reasoning in a chat": (
        "openai-chat",
        [{"type": "reasoning", "id": "rs_1", "summary": []}, ITEM_CALL, ITEM_RESULT],
    ),
    "a chat's call and result as parts": (
        "gemini",
        [
            {"role": "model", "parts": [CHAT_CALL]},
            {"role": "user", "parts": [{"tool_call_id": "c1", "content": "sunny"}]},
        ],
    ),
}
OPENINGS: dict[str, dict[str, JSON]] = {
    "openai-chat": {"model": "m", "messages": [{"role": "user", "content": "hi"}]},
    "anthropic": {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]},
    "openai-responses": {"model": "m", "input": [{"role": "user", "content": "hi"}]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
}


@pytest.mark.parametrize("name", MIXED)
def test_a_call_and_its_result_in_messages_of_another_wire_stay_a_pair(name: str) -> None:
    wire, messages = MIXED[name]
    body: JSON = {
        field: [*value, *messages] if isinstance(value, list) else value
        for field, value in OPENINGS[wire].items()
    }
    bodies = {wire: repair(body, wire).body}
    bodies |= {target: translate(body, wire, target).body for target in OPENINGS if target != wire}
    for target, made in bodies.items():
        assert [finding.name for finding in check(made, target) if finding.fix] == [], target
        assert complaints(target, made) == "", target
        [pair] = decode(made, target).pairs()
        assert pair.call is not None and pair.result is not None
        assert json.loads(pair.call.arguments) == {"q": 1}, target
        assert "sunny" in pair.result.text, target


def test_results_without_ids_of_two_calls_of_one_tool_are_not_guessed() -> None:
    calls: list[JSON] = [{"functionCall": {"name": "f", "args": {"n": n}}} for n in (1, 2)]
    results: list[JSON] = [
        {"functionResponse": {"name": "f", "response": {"n": n}}} for n in (2, 1)
    ]
    body: JSON = {
        "model": "m",
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "model", "parts": calls},
            {"role": "user", "parts": results},
        ],
    }
    repaired = repair(body, "openai-chat").body
    pairs = decode(repaired, "openai-chat").pairs()
    assert all('"n"' not in pair.result.text for pair in pairs if pair.result is not None)
    assert all(f'\\"n\\":{n}' in json.dumps(repaired) for n in (1, 2))
