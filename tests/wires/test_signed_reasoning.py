"""Signed reasoning travels between the platforms that serve the models of its maker."""

from __future__ import annotations

from toolwire import decode, translate
from toolwire.conversation.json import JSON, parse, text_of
from toolwire.conversation.parts import Reasoning

ANTHROPIC: JSON = {
    "model": "claude-opus-5",
    "max_tokens": 4000,
    "messages": [
        {"role": "user", "content": "Warm in Oslo?"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "I should look.", "signature": "EqQBCgIYAg=="},
                {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "no"}],
        },
    ],
    "tools": [{"name": "weather", "input_schema": {"type": "object"}}],
}


def reasoning(body: JSON, wire: str) -> list[tuple[str, str | None]]:
    parts = decode(body, wire).parts()
    return [(part.text, part.signature) for part in parts if isinstance(part, Reasoning)]


def test_signed_thinking_goes_to_bedrock_and_back() -> None:
    there = translate(ANTHROPIC, "anthropic", "bedrock")
    signed = [("I should look.", "EqQBCgIYAg==")]
    assert reasoning(there.body, "bedrock") == signed
    assert not any("signature" in loss.reason for loss in there.losses)
    home = translate(there.body, "bedrock", "anthropic", ids=there.ids)
    assert reasoning(home.body, "anthropic") == signed


def test_thinking_without_a_signature_does_not_travel() -> None:
    body = parse(text_of(ANTHROPIC).replace("EqQBCgIYAg==", ""))
    encoded = translate(body, "anthropic", "bedrock", repair=False)
    assert reasoning(encoded.body, "bedrock") == []
    assert any(loss.pointer == "/messages/1/content/0" for loss in encoded.losses)


def test_reasoning_of_another_maker_does_not_travel() -> None:
    part: JSON = {"text": "hm", "thought": True, "thoughtSignature": "EqQBCgIYAg=="}
    call: JSON = {"functionCall": {"name": "weather", "args": {}}}
    body: JSON = {
        "contents": [
            {"role": "user", "parts": [{"text": "Warm?"}]},
            {"role": "model", "parts": [part, call]},
        ]
    }
    for target in ("anthropic", "bedrock"):
        assert reasoning(translate(body, "gemini", target).body, target) == []
