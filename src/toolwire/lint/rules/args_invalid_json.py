"""The arguments of a call are not JSON.

A model was cut off in the middle of them, or wrote them badly, and the client kept what came. Some
servers parse the arguments of the whole history and refuse it at every turn: "invalid function
arguments json string", "not a valid JSON string"; where the wire wants an object there is none.

The fix keeps the call and its result, and puts the text as it came into an object, under `_raw`.
That is unsafe: the model sees arguments that it did not quite write. Nothing is guessed or
completed.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON
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
    return report_faults(facts, "invalid", "are not JSON")


def _fix(facts: Facts, unsafe: bool) -> Fixed | FixedBody | None:
    return fix_arguments(facts, "invalid", "the arguments are an object", unsafe=unsafe)


_CUT = '{"path": "/et'
_USE: JSON = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": _CUT}],
}
_TOLD: JSON = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}],
}
RULE = Rule(
    "TW053",
    "args-invalid-json",
    title="the arguments of a call are not JSON",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=14,
    applies=lambda profile: profile.arguments_format == "json",
    bad=(
        chat_example(
            USER, assistant(tool_call("c1", arguments=_CUT)), tool_message("c1"), target="minimax"
        ),
        chat_example(
            USER,
            assistant(tool_call("c1", arguments="path=/etc")),
            tool_message("c1"),
            target="xai",
        ),
        blocks_example(USER, _USE, _TOLD),
    ),
    good=(
        chat_example(
            USER,
            assistant(tool_call("c1", arguments='{"path": "/etc"}')),
            tool_message("c1"),
            target="minimax",
        ),
        chat_example(USER, assistant(tool_call("c1", arguments=_CUT)), tool_message("c1")),
        chat_example(
            USER,
            assistant({"id": "c1", "type": "custom", "custom": {"name": "f", "input": _CUT}}),
            tool_message("c1"),
            target="xai",
        ),
    ),
)
