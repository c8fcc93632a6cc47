"""An id is the same id repeated several times.

Servers repeat the id of a call in every chunk of a stream, and a client that concatenates every
string field of the chunks builds `call_Xcall_Xcall_X`. The result often has the id only once, so it
does not match its call, or the repeated id exceeds the accepted length.

The fix reduces the id to a single occurrence, in both the call and its result. Only ids change. The
rule reports only ids that are refused or that separate a call from its result.
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
from toolwire.lint.ids.composites import find_composites, reduce_ids
from toolwire.lint.ids.formats import unit_of_repetition
from toolwire.lint.rule import Example, Rule

_LONG = "call_abcdefghijklmnopqrstuvwx" * 3
RULE = Rule(
    "TW009",
    "id-concatenated",
    title="an id is the same id repeated several times",
    cost="neutral",
    check=lambda facts: find_composites(
        facts, unit_of_repetition, "is one id repeated; the id alone is"
    ),
    fix=lambda facts, unsafe: reduce_ids(facts, unit_of_repetition),
    order=20,
    ruled_out_on_own_wire_by=(Observation.RESULTS_IN_PLACE | Observation.ACCEPTED_IDS,),
    ruled_out_by=(Observation.RESULTS_IN_PLACE,),
    ruled_out_on="other wires",
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
            body={
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
