"""A call or a result has no id, or null.

Providers that pair by id refuse it: "expected a string, but got null", "tool_use_id: Field
required", "property 'tool_call_id' is missing". It happens when a server that gives no ids is put
behind an adapter that passes on what it got, or when a bridge drops a field that it does not know.

The fix makes an id from the place of the call in the history and the name of its tool, and gives
the very same to its result: filling in the two halves on their own would only make them different.
Which result is whose must be certain: one open call, one of that name, or the order where the wire
promises it. Else nothing is done. Only ids change.
"""

from __future__ import annotations

from toolwire.conversation.json import JSON
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.missing_ids import find_missing_ids, give_ids
from toolwire.lint.rule import Example, Rule

_BARE: JSON = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
_ANSWER: JSON = {"role": "tool", "content": "1"}
_USE: JSON = {"role": "assistant", "content": [{"type": "tool_use", "name": "f", "input": {}}]}
RULE = Rule(
    "TW001",
    "id-missing",
    title="a call or a result has no id",
    cost="neutral",
    check=lambda facts: find_missing_ids(facts, "missing", "has no id"),
    fix=lambda facts, unsafe: give_ids(facts, "missing"),
    order=20,
    scope="body",
    bad=(
        chat_example(USER, assistant(_BARE), _ANSWER),
        chat_example(USER, assistant(tool_call("call_1")), _ANSWER),
        chat_example(USER, assistant(_BARE), tool_message("call_1")),
        chat_example(USER, assistant(tool_call("call_1"), tool_call("call_2")), _ANSWER, _ANSWER),
        blocks_example(
            USER, _USE, {"role": "user", "content": [{"type": "tool_result", "content": "1"}]}
        ),
        Example("mistral", "mistral", {"messages": [USER, assistant(_BARE), _ANSWER]}),
    ),
    good=(
        chat_example(USER, assistant(tool_call("call_1")), tool_message("call_1")),
        chat_example(USER, assistant(_BARE), _ANSWER, target="xai"),
        Example(
            "gemini",
            "gemini",
            {
                "contents": [
                    {"role": "user", "parts": [{"text": "hi"}]},
                    {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
                    {
                        "role": "user",
                        "parts": [{"functionResponse": {"name": "f", "response": {"output": "1"}}}],
                    },
                ]
            },
        ),
    ),
)
