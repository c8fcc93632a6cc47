"""A call or a result has no id, or its id is null.

Providers that pair by id refuse it: "expected a string, but got null", "tool_use_id: Field
required", "property 'tool_call_id' is missing". This happens when an adapter forwards the calls of
a server without ids, or when a bridge drops a field that it does not know.

The fix derives an id from the position of the call in the history and the name of its tool, and
gives the same id to its result, because ids that are added to each half separately would not match.
The pair must be certain: a single open call, a single open call of that name, or the order if the
wire guarantees it. Otherwise there is no fix. Only ids change. If the only open call of a turn has
no id and the only result that is left has one, the call gets that id, also for another wire.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON
from toolwire.conversation.observations import Observation
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.ids.missing import adopt_ids, find_calls_to_adopt_ids, find_missing_ids, give_ids
from toolwire.lint.rule import Example, FixedConversation, Problem, Rule


def _check(facts: Facts) -> Iterable[Problem]:
    if facts.own_wire:
        return find_missing_ids(facts, "missing", "has no id")
    return find_calls_to_adopt_ids(facts)  # all other ids are added when they are fitted


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    return give_ids(facts, "missing") if facts.own_wire else adopt_ids(facts)


_CALL_WITHOUT_ID: JSON = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
_RESULT_WITHOUT_ID: JSON = {"role": "tool", "content": "1"}
_USE: JSON = {"role": "assistant", "content": [{"type": "tool_use", "name": "f", "input": {}}]}
RULE = Rule(
    "TW001",
    "id-missing",
    title="a call or a result has no id",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=20,
    ruled_out_by=(Observation.RESULTS_IN_PLACE, Observation.WIRE_IDS),
    ruled_out_on="other wires",
    ruled_out_on_own_wire_by=(Observation.WIRE_IDS,),
    bad=(
        chat_example(USER, assistant(_CALL_WITHOUT_ID), _RESULT_WITHOUT_ID),
        chat_example(USER, assistant(tool_call("call_1")), _RESULT_WITHOUT_ID),
        chat_example(USER, assistant(_CALL_WITHOUT_ID), tool_message("call_1")),
        blocks_example(
            USER, _USE, {"role": "user", "content": [{"type": "tool_result", "content": "1"}]}
        ),
        Example(
            "mistral",
            "mistral",
            body={"messages": [USER, assistant(_CALL_WITHOUT_ID), _RESULT_WITHOUT_ID]},
        ),
    ),
    good=(
        chat_example(  # it is not certain to which call each belongs: ambiguous-same-name
            USER,
            assistant(tool_call("call_1"), tool_call("call_2")),
            _RESULT_WITHOUT_ID,
            _RESULT_WITHOUT_ID,
        ),
        chat_example(USER, assistant(tool_call("call_1")), tool_message("call_1")),
        chat_example(USER, assistant(_CALL_WITHOUT_ID), _RESULT_WITHOUT_ID, target="xai"),
        Example(
            "gemini",
            "gemini",
            body={
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
