"""An id combines the id of a call and the id of its item.

Bridges between OpenAI's two APIs keep both ids of a call in one string: `call_A|fc_B`, separated by
a vertical bar or a line break, or `resp_X:call_0`. Other targets refuse such an id because of its
length or its characters. If a client splits only one side, the result no longer matches its call.

The fix keeps the call id, in both the call and its result, and stores the other half as the item id
on wires that have item ids. Nothing is lost. The rule reports only ids that are refused or that
separate a call from its result: many servers accept any string as an id.
"""

from __future__ import annotations

from msgspec.structs import replace

from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Call
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.ids.composites import find_composites, reduce_ids
from toolwire.lint.ids.formats import call_half, split_composite
from toolwire.lint.rule import Example, Rule


def _with_item_id(original: Call, call: Call) -> Call:
    """Store the item half of the original id as the item id of the call."""
    item_id = None
    halves = split_composite(original.id)
    if halves is not None and not halves[1].startswith("resp"):
        item_id = halves[1]
    return replace(call, item=original.item or item_id)


_LONG = "call_abcdefghijklmnopqrstuvwx|fc_68ab" + "0" * 40
_IDS: tuple[str, ...] = ("call_A|fc_B", "call-9-0\nfc_9_0")
RULE = Rule(
    "TW007",
    "id-composite",
    title="an id combines the id of a call and the id of its item",
    cost="lossless",
    check=lambda facts: find_composites(facts, call_half, "combines two ids; the call id is"),
    fix=lambda facts, unsafe: reduce_ids(facts, call_half, _with_item_id),
    order=20,
    ruled_out_on_own_wire_by=(Observation.RESULTS_IN_PLACE | Observation.ACCEPTED_IDS,),
    ruled_out_by=(Observation.RESULTS_IN_PLACE,),
    ruled_out_on="other wires",
    bad=(
        chat_example(USER, assistant(tool_call(_LONG)), tool_message(_LONG)),
        chat_example(USER, assistant(tool_call("call_A|fc_B")), tool_message("call_A")),
        chat_example(USER, assistant(tool_call("call_A")), tool_message("call_A|fc_B")),
        Example(
            "mistral",
            "mistral",
            body={
                "messages": [USER, assistant(tool_call("call_A|fc_B")), tool_message("call_A|fc_B")]
            },
        ),
        blocks_example(
            USER,
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": call_id, "name": "f", "input": {}}
                    for call_id in _IDS
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": call_id, "content": "1"}
                    for call_id in _IDS
                ],
            },
        ),
        Example(
            "openai-responses",
            "openai-responses",
            body={
                "input": [
                    {"type": "function_call", "call_id": _LONG, "name": "f", "arguments": "{}"},
                    {"type": "function_call_output", "call_id": _LONG, "output": "1"},
                ]
            },
        ),
    ),
    good=(
        chat_example(USER, assistant(tool_call("call_A|fc_B")), tool_message("call_A|fc_B")),
        chat_example(USER, assistant(tool_call("call_A")), tool_message("call_A")),
    ),
)
