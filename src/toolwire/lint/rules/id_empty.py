"""An id is an empty text, blanks, or the word null.

Some local servers hand out calls with `"id": ""`, and adapters that want a text where there is none
put an empty one. Providers say "empty string. Expected a string with minimum length 1", "id cannot
be empty", or name an id that is not to be seen: "tool_call_id  is not found", with two spaces.

The fix is that of a missing id: one made from the place of the call and the name of its tool, the
same for its result, if it is certain which result is whose. A constant in its place would make two
empty ids equal. Only ids change.
"""

from __future__ import annotations

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

RULE = Rule(
    "TW002",
    "id-empty",
    title="an id is an empty text",
    cost="neutral",
    check=lambda facts: find_missing_ids(facts, "empty", "has an empty id"),
    fix=lambda facts, unsafe: give_ids(facts, "empty"),
    order=20,
    scope="body",
    bad=(
        chat_example(USER, assistant(tool_call("")), tool_message("")),
        chat_example(USER, assistant(tool_call("  ")), tool_message("  ")),
        chat_example(
            USER, assistant(tool_call(""), tool_call("", "g")), tool_message(""), tool_message("")
        ),
        blocks_example(
            USER,
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "", "name": "f", "input": {}}],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "", "content": "1"}],
            },
        ),
        Example(
            "openai-responses",
            "openai-responses",
            {
                "input": [
                    {"type": "function_call", "call_id": "", "name": "f", "arguments": "{}"},
                    {"type": "function_call_output", "call_id": "", "output": "1"},
                ]
            },
        ),
    ),
    good=(
        chat_example(USER, assistant(tool_call("x")), tool_message("x")),
        chat_example(USER, assistant(tool_call("")), tool_message(""), target="llama.cpp"),
    ),
)
