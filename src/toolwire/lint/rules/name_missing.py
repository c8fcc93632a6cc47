"""A call has no name: the field is absent, null, or not a string.

Servers that check names refuse it ("function.name: field required", "expected a string, but got
null"), and every later turn too. This happens when a stream was cut off or joined wrongly, or when
a history was rebuilt from a database.

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
from toolwire.lint.rule import FixedConversation, Problem, Rule
from toolwire.lint.tool_names import has_blank_name, name_calls, nameless_calls


def _calls_without_name(facts: Facts) -> list[Call]:
    return [call for call in nameless_calls(facts) if not has_blank_name(call)]


def _check(facts: Facts) -> Iterable[Problem]:
    for call in _calls_without_name(facts):
        message = f"the call {call.id} has no name; expected the name of a tool"
        yield call.path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    return name_calls(facts, _calls_without_name(facts))


_BARE: JSON = {"id": "c1", "type": "function", "function": {"arguments": "{}"}}
_NULL: JSON = {
    "id": "functions.f:0",
    "type": "function",
    "function": {"name": None, "arguments": "{}"},
}
_F: JSON = {
    "type": "function",
    "function": {"name": "f", "parameters": {"type": "object", "properties": {}}},
}
RULE = Rule(
    "TW058",
    "name-missing",
    title="a call has no name",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=12,
    ruled_out_by=(Observation.NAMED_CALLS,),
    bad=(
        chat_example(USER, assistant(_BARE), tool_message("c1")),
        chat_example(
            USER,
            assistant(_BARE, tool_call("c2", "g")),
            tool_message("c2"),
            tool_message("c1"),
            USER,
        ),
        chat_example(USER, assistant(_NULL), tool_message("functions.f:0"), tools=[_F]),
    ),
    good=(
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1")),
        chat_example(USER, assistant(_BARE), tool_message("c1"), target="xai"),
        blocks_example(
            USER,
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}],
            },
        ),
    ),
)
