"""A call has a name, and it is blank.

Servers that check names refuse it ("function.name: empty string", "Name cannot be empty"), and with
it every later turn. It comes from streams whose pieces were joined wrongly (a later piece with an
empty name overwrote the first), and from servers that send an empty name on every piece.

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
from toolwire.lint.rule import Example, Fixed, Problem, Rule
from toolwire.lint.tool_names import fix_for_nameless, has_blank_name, name_calls, nameless_calls


def _check(facts: Facts) -> Iterable[Problem]:
    for one in nameless_calls(facts):
        if has_blank_name(one):
            yield (
                one.path,
                f"the call {one.id} has an empty name: nobody can tell which tool it is of",
                fix_for_nameless(facts, one),
            )


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    return name_calls(facts, [one for one in nameless_calls(facts) if has_blank_name(one)], unsafe)


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
