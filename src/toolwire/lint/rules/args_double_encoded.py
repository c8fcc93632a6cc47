"""The arguments of a call are JSON text in JSON text.

A client encoded arguments that were text already: what parses is a text and not an object. Servers
that look into arguments, and templates that go through them, want an object: "Can only get item
pairs from a mapping."

The fix takes off one layer, or two; the object inside is what the model wrote.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON
from toolwire.conversation.observations import Observation
from toolwire.lint.argument_fixes import fix_arguments, report_faults
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Fixed, FixedBody, Problem, Rule


def _check(facts: Facts) -> Iterable[Problem]:
    return report_faults(facts, "double", "are JSON text in JSON text")


def _fix(facts: Facts, unsafe: bool) -> Fixed | FixedBody | None:
    return fix_arguments(
        facts, "double", "the arguments are the object that was inside", unsafe=unsafe
    )


_TWICE = '"{\\"a\\":1}"'
_THRICE = '"\\"{\\\\\\"a\\\\\\":1}\\""'
_USE: JSON = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": _TWICE}],
}
_TOLD: JSON = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}],
}
RULE = Rule(
    "TW055",
    "args-double-encoded",
    title="the arguments of a call are JSON text in JSON text",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=14,
    ruled_out_by=(Observation.OBJECT_ARGUMENTS,),
    applies=lambda profile: profile.arguments_format != "text",
    bad=(
        chat_example(
            USER, assistant(tool_call("c1", arguments=_TWICE)), tool_message("c1"), target="minimax"
        ),
        chat_example(
            USER, assistant(tool_call("c1", arguments=_THRICE)), tool_message("c1"), target="xai"
        ),
        blocks_example(USER, _USE, _TOLD),
    ),
    good=(
        chat_example(
            USER,
            assistant(tool_call("c1", arguments='{"a":"{}"}')),
            tool_message("c1"),
            target="minimax",
        ),
        chat_example(
            USER,
            assistant(tool_call("c1", arguments='"a text"')),
            tool_message("c1"),
            target="minimax",
        ),
        chat_example(USER, assistant(tool_call("c1", arguments=_TWICE)), tool_message("c1")),
    ),
)
