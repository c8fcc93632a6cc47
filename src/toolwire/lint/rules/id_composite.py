"""An id is two ids in one: that of the call and that of the item that held it.

Bridges between OpenAI's two interfaces keep both ids of a call in one text: `call_A|fc_B`, with a
bar or a line break, or `resp_X:call_0`. Sent elsewhere it is too long or has characters that are
refused; or one side is split and the other is not, and the result no longer finds its call.

The fix leaves the half that ties a result to its call, on both sides, and keeps the other as the id
of the item where the wire has such ids. Nothing is lost. It is found only where it does harm: many
servers take any text for an id.
"""

from __future__ import annotations

from msgspec.structs import replace

from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Call
from toolwire.lint.composite_ids import find_composites, reduce_ids
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.id_formats import call_half, split_composite
from toolwire.lint.rule import Example, Rule


def _with_item(was: Call, now: Call) -> Call:
    both = split_composite(was.id)
    item = both[1] if both is not None and not both[1].startswith("resp") else None
    return replace(now, item=was.item or item)


_LONG = "call_abcdefghijklmnopqrstuvwx|fc_68ab" + "0" * 40
_BOTH: tuple[str, ...] = ("call_A|fc_B", "call-9-0\nfc_9_0")
RULE = Rule(
    "TW007",
    "id-composite",
    title="an id is two ids in one",
    cost="lossless",
    check=lambda facts: find_composites(facts, call_half, "is two ids in one; that of the call is"),
    fix=lambda facts, unsafe: reduce_ids(facts, call_half, _with_item),
    order=20,
    ruled_out_by=(Observation.RESULTS_IN_PLACE,),
    bad=(
        chat_example(USER, assistant(tool_call(_LONG)), tool_message(_LONG)),
        chat_example(USER, assistant(tool_call("call_A|fc_B")), tool_message("call_A")),
        chat_example(USER, assistant(tool_call("call_A")), tool_message("call_A|fc_B")),
        Example(
            "mistral",
            "mistral",
            {"messages": [USER, assistant(tool_call("call_A|fc_B")), tool_message("call_A|fc_B")]},
        ),
        blocks_example(
            USER,
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": one, "name": "f", "input": {}} for one in _BOTH
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": one, "content": "1"} for one in _BOTH
                ],
            },
        ),
        Example(
            "openai-responses",
            "openai-responses",
            {
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
