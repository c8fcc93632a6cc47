"""A call has no name: the field is absent, null, or no text.

Servers that check names refuse it ("function.name: field required", "expected a string, but got
null"), and with it every later turn. It comes from streams that were cut off or joined wrongly, and
from histories that were rebuilt from a database.

The fix writes the name that is known: the result bears it, or the id does (`functions.NAME:0`, with
that tool on offer). That changes nothing the model said. Where nothing says which tool it was, the
call and its result go together, which is lossy and done only if unsafe fixes are allowed.
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
from toolwire.lint.rule import Fixed, Problem, Rule
from toolwire.lint.tool_names import fix_for_nameless, has_blank_name, name_calls, nameless_calls


def _check(facts: Facts) -> Iterable[Problem]:
    for one in nameless_calls(facts):
        if not has_blank_name(one):
            yield (
                one.path,
                f"the call {one.id} has no name: nobody can tell which tool it is of",
                fix_for_nameless(facts, one),
            )


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    return name_calls(
        facts, [one for one in nameless_calls(facts) if not has_blank_name(one)], unsafe
    )


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
