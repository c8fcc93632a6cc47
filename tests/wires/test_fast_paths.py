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


_CALL: Object = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
_RESULT: Object = {"role": "tool", "tool_call_id": "a", "content": "1"}


@pytest.mark.parametrize("wire", ["openai-chat", "mistral", "cohere", "ollama"])
@pytest.mark.parametrize("dropped", [None, "role", "content", "tool_calls"])
def test_an_unknown_field_of_a_message_is_reported_whatever_else_it_has(
    wire: str, dropped: str | None
) -> None:
    message: Object = {"role": "assistant", "content": "Oh.", "tool_calls": [_CALL], "other": 1}
    message.pop(dropped or "", None)
    losses = translate({"messages": [USER, message]}, wire, "anthropic").losses
    assert "/messages/1/other" in [loss.pointer for loss in losses]


@pytest.mark.parametrize("dropped", [None, "id", "type"])
def test_an_unknown_field_of_a_call_is_reported_whatever_else_it_has(dropped: str | None) -> None:
    call: Object = {**_CALL, "other": 1}
    call.pop(dropped or "", None)
    message: Object = {"role": "assistant", "content": "Oh.", "tool_calls": [call]}
    losses = translate({"messages": [USER, message]}, "openai-chat", "anthropic").losses
    assert "/messages/1/tool_calls/0/other" in [loss.pointer for loss in losses]


@pytest.mark.parametrize("dropped", [None, "name", "arguments"])
def test_an_unknown_field_of_a_function_is_reported_whatever_else_it_has(
    dropped: str | None,
) -> None:
    function: Object = {"name": "f", "arguments": "{}", "other": 1}
    function.pop(dropped or "", None)
    message: Object = {"role": "assistant", "tool_calls": [{**_CALL, "function": function}]}
    losses = translate({"messages": [USER, message]}, "openai-chat", "anthropic").losses
    assert "/messages/1/tool_calls/0/function/other" in [loss.pointer for loss in losses]


@pytest.mark.parametrize("dropped", [None, "tool_call_id", "content"])
def test_an_unknown_field_of_a_result_is_reported_whatever_else_it_has(dropped: str | None) -> None:
    result: Object = {**_RESULT, "other": 1}
    result.pop(dropped or "", None)
    message: Object = {"role": "assistant", "content": None, "tool_calls": [_CALL]}
    losses = translate({"messages": [USER, message, result]}, "openai-chat", "anthropic").losses
    assert "/messages/2/other" in [loss.pointer for loss in losses]


_USE: Object = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
_ANSWER: Object = {"type": "tool_result", "tool_use_id": "a", "content": "1"}
_TOOL_USE: Object = {"toolUseId": "a", "name": "f", "input": {}}
_TOOL_RESULT: Object = {"toolUseId": "a", "content": [{"text": "1"}], "status": "success"}
_RESPONSE: Object = {"id": "a", "name": "f", "response": {"output": "1"}}
_BLOCKS: list[tuple[str, str, Object, tuple[str, ...]]] = [
    ("anthropic", "", {"type": "text", "text": "hi"}, ()),
    ("anthropic", "", _USE, ("id", "name", "input")),
    ("anthropic", "", _ANSWER, ("tool_use_id", "content")),
    ("bedrock", "", {"text": "hi"}, ()),
    ("bedrock", "toolUse", _TOOL_USE, ("toolUseId", "name", "input")),
    ("bedrock", "toolResult", _TOOL_RESULT, ("toolUseId", "content", "status")),
    ("gemini", "", {"text": "hi"}, ()),
    ("gemini", "functionCall", {"id": "a", "name": "f", "args": {}}, ("id", "name", "args")),
    ("gemini", "functionResponse", _RESPONSE, ("id", "name", "response")),
    ("gemini", "executableCode", {"id": "a", "args": {}}, ()),
    ("gemini", "codeExecutionResult", {"id": "a", "response": {}}, ()),
]
"""Wire, the field that holds a block, the block, and its fields that may be missing."""


@pytest.mark.parametrize(("wire", "outer", "block", "optional"), _BLOCKS)
def test_an_unknown_field_of_a_block_is_reported_whatever_else_it_has(
    wire: str, outer: str, block: Object, optional: tuple[str, ...]
) -> None:
    field, content = ("contents", "parts") if wire == "gemini" else ("messages", "content")
    for dropped in ("", *optional):
        changed: Object = {key: value for key, value in block.items() if key != dropped}
        changed["other"] = 1
        message: JSON = {"role": "user", content: [{outer: changed} if outer else changed]}
        losses = encode(decode({field: [message]}, wire), "openai-chat").losses
        pointer = f"/{field}/0/{content}/0/{outer + '/' if outer else ''}other"
        assert pointer in [loss.pointer for loss in losses], changed


@pytest.mark.parametrize("wire", ["anthropic", "bedrock"])
@pytest.mark.parametrize("more", [{}, {"content": []}])
def test_an_unknown_field_of_a_message_with_blocks_is_reported(wire: str, more: Object) -> None:
    message: JSON = {"role": "user", "other": 1, **more}
    losses = encode(decode({"messages": [message]}, wire), "openai-chat").losses
    assert "/messages/0/other" in [loss.pointer for loss in losses]
