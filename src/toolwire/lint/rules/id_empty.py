"""An id is an empty string, whitespace, or the word null.

Some local servers return calls with `"id": ""`, and adapters that require a string insert an empty
one. Providers report "empty string. Expected a string with minimum length 1", "id cannot be empty",
or print the empty id inside the message: "tool_call_id  is not found", with two spaces.

The fix is that of `id-missing`: it derives an id from the position of the call and the name of its
tool, and gives the same id to the result if the pair is certain. A constant would give all empty
ids the same value. Only ids change.
"""

from __future__ import annotations

from toolwire.conversation.observations import Observation
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.ids.missing import find_missing_ids, give_ids
from toolwire.lint.rule import Example, Rule

RULE = Rule(
    "TW002",
    "id-empty",
    title="an id is an empty string",
    cost="neutral",
    check=lambda facts: find_missing_ids(facts, "empty", "has an empty id"),
    fix=lambda facts, unsafe: give_ids(facts, "empty"),
    order=20,
    ruled_out_on_own_wire_by=(Observation.WIRE_IDS,),
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
            body={
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
