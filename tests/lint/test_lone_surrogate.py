"""Texts that were cut inside a character, which strict parsers refuse."""

from __future__ import annotations

import json

import pytest

from toolwire import check, decode, repair, translate
from toolwire.conversation.json import JSON, find_lone_surrogates, replace_lone_surrogates

HALF = "cut \ud83d"
CALL: JSON = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "f", "arguments": '{"a":"\\ud83d"}'},
}
BODY: dict[str, JSON] = {
    "model": "m",
    "messages": [
        {"role": "user", "content": HALF},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": HALF},
        {"role": "user", "content": "ok"},
    ],
}


@pytest.mark.parametrize("body", [BODY, json.dumps(BODY).encode()], ids=["dict", "bytes"])
@pytest.mark.parametrize("target", ["anthropic", "bedrock", "openai-responses", "mistral"])
def test_no_half_of_a_character_reaches_another_wire(body: JSON | bytes, target: str) -> None:
    encoded = translate(body, "openai-chat", target)
    assert "\\ud83d" not in json.dumps(encoded.body) and encoded.findings == []
    assert {change.name for change in encoded.changes} == {"lone-surrogate"}
    (call,) = decode(encoded.body, target).calls()
    assert call.input == {"a": "\ufffd"}


@pytest.mark.parametrize("target", ["anthropic", "bedrock", "mistral"])
def test_arguments_that_hide_half_of_a_character_are_repaired_in_bytes_too(target: str) -> None:
    sent = json.dumps(BODY).replace("cut \\ud83d", "cut").encode()
    encoded = translate(sent, "openai-chat", target)
    (call,) = decode(encoded.body, target).calls()
    assert call.input == {"a": "\ufffd"} and encoded.losses == []
    assert [change.name for change in encoded.changes] == ["lone-surrogate"]


@pytest.mark.parametrize("body", [BODY, json.dumps(BODY).encode()], ids=["dict", "bytes"])
def test_the_own_wire_keeps_everything_but_the_half(body: JSON | bytes) -> None:
    assert [finding.path for finding in check(body, "openai-chat")] == [
        ("messages", 0, "content"),
        ("messages", 2, "content"),
    ]
    repaired = repair(body, "openai-chat")
    assert json.dumps(repaired.body) == json.dumps(BODY).replace("cut \\ud83d", "cut \\ufffd")
    assert repair(repaired.body, "openai-chat").changes == []


def test_a_provider_that_accepts_lone_surrogates_gets_them() -> None:
    assert translate(BODY, "openai-chat", "gemini").changes == []


@pytest.mark.parametrize("target", ["anthropic", "bedrock", "openai-responses", "mistral"])
def test_no_half_of_a_character_is_left_outside_of_the_messages(target: str) -> None:
    parameters: JSON = {"type": "object", "properties": {HALF: {"type": "string", "title": HALF}}}
    function: JSON = {"name": "f", "description": HALF, "parameters": parameters}
    call: JSON = {"id": HALF, "type": "function", "function": {"name": "f", "arguments": HALF}}
    body: JSON = {
        "model": HALF,
        "tools": [{"type": "function", "function": function}],
        "messages": [
            {"role": "user", "content": [{"type": HALF, HALF: HALF}]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": HALF, "content": "ok"},
        ],
    }
    encoded = translate(body, "openai-chat", target)
    assert "\\ud83d" not in json.dumps(encoded.body)
    assert ("tools", 0, "function", "description") in [change.path for change in encoded.changes]


def test_two_keys_that_become_the_same_stay_two() -> None:
    first, second = chr(0xD83D), chr(0xD83E)
    value: JSON = {first: 1, "\ufffd": 2, second: [{first: first}]}
    replaced = replace_lone_surrogates(value)
    assert isinstance(replaced, dict)
    assert list(replaced.values()) == [1, 2, [{"\ufffd": "\ufffd"}]]
    assert list(find_lone_surrogates(replaced)) == []
    assert replace_lone_surrogates(replaced) is replaced


@pytest.mark.parametrize("target", ["openai-chat", "anthropic", "openai-responses", "mistral"])
def test_two_ids_that_differ_in_half_a_character_stay_two(target: str) -> None:
    ids = ("call_\ud83d", "call_\ud83e")
    calls: list[JSON] = [
        {"id": call_id, "type": "function", "function": {"name": "f", "arguments": f'{{"n":{n}}}'}}
        for n, call_id in enumerate(ids)
    ]
    results: list[JSON] = [
        {"role": "tool", "tool_call_id": call_id, "content": f"result {n}"}
        for n, call_id in enumerate(ids)
    ]
    body: JSON = {
        "model": "m",
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": None, "tool_calls": calls},
            *reversed(results),
        ],
    }
    encoded = translate(body, "openai-chat", target)
    pairs = decode(encoded.body, target).pairs()
    assert {(p.call.arguments, p.result.text) for p in pairs if p.call and p.result} == {
        ('{"n":0}', "result 0"),
        ('{"n":1}', "result 1"),
    }


@pytest.mark.parametrize("target", ["anthropic", "gemini", "ollama"])
def test_arguments_as_text_with_half_a_character_are_no_broken_text(target: str) -> None:
    answer: JSON = {
        "choices": [{"message": {"role": "assistant", "tool_calls": [CALL]}, "finish_reason": None}]
    }
    (call,) = decode(
        translate(answer, "openai-chat", target, "response").body, target, "response"
    ).calls()
    assert call.input == {"a": "\ud83d"}
