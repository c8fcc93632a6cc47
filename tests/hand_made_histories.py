"""Valid histories made by hand, as bodies of every wire of a model."""

from __future__ import annotations

from functools import cache

from toolwire import translate
from toolwire.conversation.json import JSON


def _call(call_id: str, name: str, arguments: str = "{}") -> JSON:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _result(call_id: str, text: str) -> JSON:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def _message(role: str, text: str) -> JSON:
    return {"role": role, "content": text}


TOOLS: list[JSON] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": name,
            "parameters": {"type": "object", "properties": {}},
        },
    }
    for name in ("f", "g")
]
HISTORIES: dict[str, list[JSON]] = {
    "one-call": [
        _message("user", "hi"),
        {
            "role": "assistant",
            "content": "let me see",
            "tool_calls": [_call("aaaaaaaa1", "f", '{"x": 1}')],
        },
        _result("aaaaaaaa1", "one"),
        _message("assistant", "it is one"),
        _message("user", "thanks"),
    ],
    "parallel": [
        _message("user", "hi"),
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                _call("aaaaaaaa1", "f", '{"x": 1}'),
                _call("aaaaaaaa2", "g", '{"x": 2}'),
                _call("aaaaaaaa3", "f", '{"x": 3}'),
            ],
        },
        _result("aaaaaaaa1", "one"),
        _result("aaaaaaaa2", "two"),
        _result("aaaaaaaa3", "three"),
        _message("assistant", "done"),
        _message("user", "and?"),
    ],
    "turns": [
        _message("user", "hi"),
        {"role": "assistant", "content": None, "tool_calls": [_call("aaaaaaaa1", "f", '{"x": 1}')]},
        _result("aaaaaaaa1", "one"),
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [_call("aaaaaaaa2", "g"), _call("aaaaaaaa3", "g", '{"x": 3}')],
        },
        _result("aaaaaaaa2", "two"),
        _result("aaaaaaaa3", "three"),
    ],
}


@cache
def history_body(name: str, wire: str) -> JSON:
    """A history made by hand, as a body of a wire."""
    body: JSON = {"model": "m", "messages": [*HISTORIES[name]], "tools": [*TOOLS]}
    return body if wire == "openai-chat" else translate(body, "openai-chat", wire).body
