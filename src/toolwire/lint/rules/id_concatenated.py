"""An id is one id several times in a row.

Servers repeat the id of a call in every piece of a stream, and a client that puts the pieces
together adds up everything that is text: `call_Xcall_Xcall_X`. The result often bears the id once,
so that it is not found; or the id grows longer than is taken.

The fix reduces the id to the one that was repeated, on both sides. Only ids change. It is found
only where it does harm.
"""

from __future__ import annotations

from toolwire.conversation.observations import Observation
from toolwire.lint.composite_ids import find_composites, reduce_ids
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.id_formats import repeated_unit
from toolwire.lint.rule import Example, Rule

_LONG = "call_abcdefghijklmnopqrstuvwx" * 3
RULE = Rule(
    "TW009",
    "id-concatenated",
    title="an id is one id several times in a row",
    cost="neutral",
    check=lambda facts: find_composites(facts, repeated_unit, "is one id several times in a row:"),
    fix=lambda facts, unsafe: reduce_ids(facts, repeated_unit),
    order=20,
    ruled_out_by=(Observation.RESULTS_IN_PLACE,),
    bad=(
        chat_example(USER, assistant(tool_call("call_Xcall_Xcall_X")), tool_message("call_X")),
        chat_example(USER, assistant(tool_call("call_X")), tool_message("call_Xcall_X")),
        chat_example(USER, assistant(tool_call(_LONG)), tool_message(_LONG)),
        blocks_example(
            USER,
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "toolu_1toolu_1", "name": "f", "input": {}}],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "1"}],
            },
        ),
        Example(
            "openai-responses",
            "openai-responses",
            {
                "input": [
                    {
                        "type": "function_call",
                        "call_id": "call_Xcall_X",
                        "name": "f",
                        "arguments": "{}",
                    },
                    {"type": "function_call_output", "call_id": "call_X", "output": "1"},
                ]
            },
        ),
    ),
    good=(
        chat_example(USER, assistant(tool_call("call_Xcall_X")), tool_message("call_Xcall_X")),
        chat_example(USER, assistant(tool_call("abababab")), tool_message("abababab")),
        chat_example(
            USER,
            assistant(tool_call("call_Xcall_X"), tool_call("call_X")),
            tool_message("call_X"),
            tool_message("call_Xcall_X"),
        ),
    ),
)
