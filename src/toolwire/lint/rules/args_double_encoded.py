"""The arguments of a call are JSON text that was encoded twice.

A client encoded arguments that were already JSON text, so parsing them yields a string instead of
an object. Servers that parse the arguments, and chat templates that iterate over them, require an
object: "Can only get item pairs from a mapping."

The fix removes one or two layers of encoding. The result is the object that the model wrote, so
nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON
from toolwire.conversation.observations import Observation
from toolwire.lint.arguments import fix_arguments, report_faults
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.rule import FixedBody, FixedConversation, Problem, Rule


def _check(facts: Facts) -> Iterable[Problem]:
    return report_faults(facts, "double", "are JSON text that was encoded twice")


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | FixedBody | None:
    return fix_arguments(
        facts, "double", "replaced the nested JSON text with the object it contains"
    )


_ENCODED_TWICE = '"{\\"a\\":1}"'
_ENCODED_THREE_TIMES = '"\\"{\\\\\\"a\\\\\\":1}\\""'
_USE: JSON = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": _ENCODED_TWICE}],
}
_RESULT: JSON = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}],
}
RULE = Rule(
    "TW055",
    "args-double-encoded",
    title="the arguments of a call are JSON text that was encoded twice",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=14,
    ruled_out_on_own_wire_by=(Observation.ACCEPTED_ARGUMENTS,),
    ruled_out_by=(Observation.OBJECT_ARGUMENTS,),
    applies=lambda profile: profile.arguments_format != "text",
    bad=(
        chat_example(
            USER,
            assistant(tool_call("c1", arguments=_ENCODED_TWICE)),
            tool_message("c1"),
            target="minimax",
        ),
        chat_example(
            USER,
            assistant(tool_call("c1", arguments=_ENCODED_THREE_TIMES)),
            tool_message("c1"),
            target="xai",
        ),
        blocks_example(USER, _USE, _RESULT),
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
        chat_example(
            USER, assistant(tool_call("c1", arguments=_ENCODED_TWICE)), tool_message("c1")
        ),
    ),
)
