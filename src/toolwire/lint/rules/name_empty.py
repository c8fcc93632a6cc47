"""A call has an empty or blank name.

Servers that check names refuse it ("function.name: empty string", "Name cannot be empty"), and
every later turn too. This happens when the fragments of a stream were joined wrongly (a later
fragment with an empty name overwrote the first), and with servers that send an empty name in every
fragment.

The fix writes the name if it is known: from the result, or from the id (`functions.NAME:0`, if that
tool is defined). That changes nothing that the model wrote. If the tool cannot be determined, the
call gets the name `toolwire_unknown_tool`: the call, its arguments and its result stay readable.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON
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
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Example, FixedConversation, Problem, Rule
from toolwire.lint.tool_names import has_blank_name, name_calls, nameless_calls


def _calls_with_blank_name(facts: Facts) -> list[Call]:
    return [call for call in nameless_calls(facts) if has_blank_name(call)]


def _check(facts: Facts) -> Iterable[Problem]:
    for call in _calls_with_blank_name(facts):
        message = f"the call {call.id} has an empty name; expected the name of a tool"
        yield call.path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    return name_calls(facts, _calls_with_blank_name(facts))


_BLOCK: JSON = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "t1", "name": "", "input": {}}],
}
_RESULT: JSON = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}],
}
RULE = Rule(
    "TW058",
    "name-empty",
    title="the name of a call is empty",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=12,
    ruled_out_by=(Observation.NAMED_CALLS,),
    bad=(
        chat_example(USER, assistant(tool_call("c1", "")), tool_message("c1")),
        chat_example(
            USER,
            assistant(tool_call("c1", ""), tool_call("c2", "g")),
            tool_message("c1"),
            tool_message("c2"),
            USER,
        ),
        chat_example(
            USER,
            assistant(tool_call("c1", " ")),
            {"role": "tool", "tool_call_id": "c1", "name": "f", "content": "1"},
        ),
        blocks_example(USER, _BLOCK, _RESULT),
        Example(
            "gemini",
            "gemini",
            {
                "contents": [
                    {"role": "user", "parts": [{"text": "hi"}]},
                    {"role": "model", "parts": [{"functionCall": {"name": "", "args": {}}}]},
                    {
                        "role": "user",
                        "parts": [{"functionResponse": {"name": "f", "response": {"output": 1}}}],
                    },
                ]
            },
        ),
    ),
    good=(
        chat_example(USER, assistant(tool_call("c1", "f")), tool_message("c1")),
        chat_example(USER, assistant(tool_call("c1", "")), tool_message("c1"), target="vllm"),
    ),
)
