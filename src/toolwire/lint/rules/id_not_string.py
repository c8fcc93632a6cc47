"""An id is a number or another JSON value that is not a string.

Some local servers number their calls, and a database may convert an id of digits to a number. A
provider that requires a string refuses the request: "expected a string, but got an integer".

The fix writes the digits as a string, in both the call and its result. A value that is neither a
string nor a number is replaced with a derived id, as in `id-missing`. Only ids change.
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
    "TW003",
    "id-not-string",
    title="an id is not a string",
    cost="neutral",
    check=lambda facts: find_missing_ids(facts, "not-string", "has an id that is not a string"),
    fix=lambda facts, unsafe: give_ids(facts, "not-string"),
    order=20,
    ruled_out_on_own_wire_by=(Observation.WIRE_IDS,),
    scope="body",
    bad=(
        chat_example(USER, assistant(tool_call(7)), tool_message(7)),
        chat_example(USER, assistant(tool_call(193629320)), tool_message("193629320")),
        chat_example(USER, assistant(tool_call("7")), tool_message(7)),
        chat_example(USER, assistant(tool_call({"id": 7})), tool_message({"id": 7})),
        blocks_example(
            USER,
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": 7, "name": "f", "input": {}}],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": 7, "content": "1"}],
            },
        ),
    ),
    good=(
        chat_example(USER, assistant(tool_call("7")), tool_message("7")),
        Example(
            "mcp",
            "mcp",
            body=[
                {
                    "jsonrpc": "2.0",
                    "id": 7,
                    "method": "tools/call",
                    "params": {"name": "f", "arguments": {}},
                },
                {"jsonrpc": "2.0", "id": 7, "result": {"content": [{"type": "text", "text": "1"}]}},
            ],
        ),
    ),
)
