"""What fast paths of reading and writing must keep: messages without a role, the removal of tools,
separate id maps."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from toolwire import Conversation, Message, Reasoning, Text, Tool, decode, encode, translate
from toolwire.conversation.json import JSON, Object

USER: JSON = {"role": "user", "content": "hi"}


@pytest.mark.parametrize("wire", ["openai-chat", "mistral", "cohere", "ollama"])
@pytest.mark.parametrize("more", [{}, {"reasoning_content": "hm"}])
def test_a_message_without_a_role_keeps_its_calls(wire: str, more: Object) -> None:
    call: JSON = {
        "id": "call_abc1",
        "type": "function",
        "function": {"name": "f", "arguments": {} if wire == "ollama" else "{}"},
    }
    message: JSON = {"content": "Let me look.", "tool_calls": [call], **more}
    translated = translate({"model": "m", "messages": [USER, message]}, wire, "anthropic")
    assert [call.name for call in decode(translated.body, "anthropic").calls()] == ["f"]


def test_a_message_without_a_role_keeps_its_reasoning() -> None:
    call: JSON = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    for more in ({}, {"tool_calls": [call]}):
        message: JSON = {"content": "Oh.", "reasoning_content": "hm", **more}
        parts = decode({"messages": [USER, message]}, "openai-chat").parts()
        assert [part.text for part in parts if isinstance(part, Reasoning)] == ["hm"]


@pytest.mark.parametrize(
    "wire",
    [
        "anthropic",
        "openai-chat",
        "gemini",
        "mistral",
        "cohere",
        "ollama",
        "bedrock",
        "openai-responses",
    ],
)
def test_removed_tools_are_not_written(wire: str) -> None:
    request = Conversation(
        (Message("user", (Text("hi"),)),), (Tool("f", "", {"type": "object", "properties": {}}),)
    )
    read = decode(encode(request, wire).body, wire)
    assert read.tools
    assert not decode(encode(replace(read, tools=()), wire).body, wire).tools


def test_every_translation_has_an_id_map_of_its_own() -> None:
    for _ in range(2):
        translated = translate({"messages": [USER]}, "openai-chat", "anthropic")
        assert translated.ids.ids == {}
        translated.ids.ids["call_1"] = "other"
