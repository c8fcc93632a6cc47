"""Histories as frameworks store them: a question, a call with its arguments, and its result."""

from __future__ import annotations

import json

import pytest
from validators import complaints

from toolwire import Text, check, decode, repair, translate
from toolwire.conversation.json import JSON, get

CHAT_CALL: JSON = {
    "id": "c1",
    "type": "function",
    "function": {"name": "f", "arguments": '{"n": 1}'},
}
AUTOGEN_CALL: JSON = {"id": "c1", "name": "f", "arguments": '{"n": 1}'}
AUTOGEN_RESULT: JSON = {"call_id": "c1", "name": "f", "content": "7", "is_error": False}
HAYSTACK_CALL: JSON = {"id": "c1", "tool_name": "f", "arguments": {"n": 1}, "extra": None}
HAYSTACK_RESULT: JSON = {"result": "7", "origin": HAYSTACK_CALL, "error": False}
STORED: dict[str, list[JSON]] = {
    "LangChain, with the message of the API": [
        {"type": "human", "content": "hi", "additional_kwargs": {}, "example": False},
        {"type": "ai", "content": "", "additional_kwargs": {"tool_calls": [CHAT_CALL]}},
        {"type": "tool", "content": "7", "tool_call_id": "c1", "artifact": None},
    ],
    "LangChain, with a call that it could not parse": [
        {"type": "human", "content": "hi"},
        {
            "type": "ai",
            "content": "",
            "tool_calls": [],
            "invalid_tool_calls": [{"id": "c1", "name": "f", "args": '{"n": 1}', "error": "?"}],
            "additional_kwargs": {"tool_calls": [CHAT_CALL]},
        },
        {"type": "tool", "content": "7", "tool_call_id": "c1"},
    ],
    "LlamaIndex": [
        {"role": "user", "additional_kwargs": {}, "content": "hi"},
        {"role": "assistant", "additional_kwargs": {"tool_calls": [CHAT_CALL]}, "content": None},
        {"role": "tool", "additional_kwargs": {"tool_call_id": "c1"}, "content": "7"},
    ],
    "LlamaIndex, with blocks": [
        {"role": "user", "blocks": [{"block_type": "text", "text": "hi"}]},
        {
            "role": "assistant",
            "additional_kwargs": {},
            "blocks": [
                {
                    "block_type": "tool_call",
                    "tool_call_id": "c1",
                    "tool_name": "f",
                    "tool_kwargs": {"n": 1},
                }
            ],
        },
        {
            "role": "tool",
            "additional_kwargs": {"tool_call_id": "c1"},
            "blocks": [{"block_type": "text", "text": "7"}],
        },
    ],
    "AutoGen 0.2": [
        {"role": "user", "content": "hi", "name": "admin"},
        {"role": "assistant", "content": "", "tool_calls": [CHAT_CALL]},
        {
            "role": "tool",
            "content": "7",
            "tool_responses": [{"role": "tool", "tool_call_id": "c1", "content": "7"}],
        },
    ],
    "AutoGen, its model context": [
        {"type": "UserMessage", "source": "user", "content": "hi"},
        {"type": "AssistantMessage", "source": "a", "content": [AUTOGEN_CALL], "thought": None},
        {"type": "FunctionExecutionResultMessage", "content": [AUTOGEN_RESULT]},
    ],
    "AutoGen, its events": [
        {"type": "TextMessage", "source": "user", "content": "hi", "metadata": {}},
        {"type": "ToolCallRequestEvent", "source": "a", "content": [AUTOGEN_CALL]},
        {"type": "ToolCallExecutionEvent", "source": "a", "content": [AUTOGEN_RESULT]},
    ],
    "Haystack": [
        {"role": "user", "meta": {}, "name": None, "content": [{"text": "hi"}]},
        {"role": "assistant", "meta": {}, "content": [{"tool_call": HAYSTACK_CALL}]},
        {"role": "tool", "meta": {}, "content": [{"tool_call_result": HAYSTACK_RESULT}]},
    ],
    "Haystack 2.9": [
        {"_role": "user", "_meta": {}, "_content": [{"text": "hi"}]},
        {"_role": "assistant", "_meta": {}, "_content": [{"tool_call": HAYSTACK_CALL}]},
        {"_role": "tool", "_meta": {}, "_content": [{"tool_call_result": HAYSTACK_RESULT}]},
    ],
    "Pydantic AI": [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "hi"}]},
        {
            "kind": "response",
            "parts": [
                {"part_kind": "tool-call", "tool_name": "f", "args": {"n": 1}, "tool_call_id": "c1"}
            ],
        },
        {
            "kind": "request",
            "parts": [
                {"part_kind": "tool-return", "tool_name": "f", "content": "7", "tool_call_id": "c1"}
            ],
        },
    ],
    "Semantic Kernel": [
        {"role": "user", "items": [{"content_type": "text", "text": "hi"}]},
        {
            "role": "assistant",
            "items": [
                {"content_type": "function_call", "id": "c1", "name": "f", "arguments": '{"n": 1}'}
            ],
        },
        {
            "role": "tool",
            "items": [{"content_type": "function_result", "id": "c1", "name": "f", "result": "7"}],
        },
    ],
    "Semantic Kernel, .NET": [
        {"Role": {"Label": "user"}, "Items": [{"$type": "TextContent", "Text": "hi"}]},
        {
            "Role": {"Label": "assistant"},
            "Items": [
                {
                    "$type": "FunctionCallContent",
                    "Id": "c1",
                    "FunctionName": "f",
                    "Arguments": {"n": 1},
                }
            ],
        },
        {
            "Role": {"Label": "tool"},
            "Items": [{"$type": "FunctionResultContent", "CallId": "c1", "Result": "7"}],
        },
    ],
    "LangChain4j": [
        {"type": "USER", "contents": [{"type": "TEXT", "text": "hi"}]},
        {
            "type": "AI",
            "toolExecutionRequests": [{"id": "c1", "name": "f", "arguments": '{"n": 1}'}],
        },
        {"type": "TOOL_EXECUTION_RESULT", "id": "c1", "toolName": "f", "text": "7"},
    ],
}


@pytest.mark.parametrize("framework", STORED)
def test_a_stored_history_becomes_one_of_the_chat_and_of_another_wire(framework: str) -> None:
    body: JSON = {"model": "m", "messages": list(STORED[framework])}
    repaired = repair(body, "openai-chat")
    assert complaints("openai-chat", repaired.body) == ""
    assert check(repaired.body, "openai-chat") == []
    assert [get(repaired.body, ("messages", n, "role")) for n in range(3)] == [
        "user",
        "assistant",
        "tool",
    ]
    for target, translated in [
        ("openai-chat", repaired.body),
        ("anthropic", translate(body, "openai-chat", "anthropic").body),
    ]:
        conversation = decode(translated, target)
        [question] = conversation.messages[0].parts
        assert isinstance(question, Text) and question.text == "hi"
        [pair] = conversation.pairs()
        assert pair.call is not None and pair.result is not None
        assert (pair.call.id, pair.call.name) == ("c1", "f")
        assert json.loads(pair.call.arguments) == {"n": 1}
        assert pair.result.text == "7"


def test_all_results_of_a_stored_message_become_messages() -> None:
    calls: list[JSON] = [{"id": f"c{n}", "name": "f", "arguments": f'{{"n": {n}}}'} for n in (1, 2)]
    results: list[JSON] = [{"call_id": f"c{n}", "name": "f", "content": f"r{n}"} for n in (1, 2)]
    stored: list[JSON] = [
        {"type": "SystemMessage", "content": "Be brief."},
        {"type": "UserMessage", "source": "user", "content": "hi"},
        {"type": "AssistantMessage", "source": "a", "content": calls, "thought": "Two at once."},
        {"type": "FunctionExecutionResultMessage", "content": results},
    ]
    repaired = repair(stored, "openai-chat")
    pairs = decode(repaired.body, "openai-chat").pairs()
    assert [pair.result.text for pair in pairs if pair.result is not None] == ["r1", "r2"]
    assert get(repaired.body, (2, "content")) == "Two at once."
    assert {change.path for change in repaired.changes} == {(0,), (1,), (2,), (3,)}
