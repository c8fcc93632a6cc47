"""The arguments of a call are an empty string.

Models emit no arguments at all for a tool without parameters, and clients that accumulate a stream
then store an empty string. An empty string is not JSON: "The arguments to a tool_call … are not a
valid JSON string", "EOF while parsing a value".

The fix replaces it with an empty object, which means the same.
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
    return report_faults(facts, "empty", "are an empty string")


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | FixedBody | None:
    return fix_arguments(facts, "empty", "replaced the empty string with an empty object")


_USE: JSON = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": ""}],
}
_RESULT: JSON = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}],
}
RULE = Rule(
    "TW054",
    "args-empty-string",
    title="the arguments of a call are an empty string",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=14,
    ruled_out_by=(Observation.OBJECT_ARGUMENTS,),
    ruled_out_on="other wires",
    ruled_out_on_own_wire_by=(Observation.ACCEPTED_ARGUMENTS,),
    applies=lambda profile: profile.arguments_format == "json",
    bad=(
        chat_example(
            USER, assistant(tool_call("c1", arguments="")), tool_message("c1"), target="xai"
        ),
        chat_example(
            USER, assistant(tool_call("c1", arguments=" ")), tool_message("c1"), target="minimax"
        ),
        blocks_example(USER, _USE, _RESULT),
    ),
    good=(
        chat_example(
            USER, assistant(tool_call("c1", arguments="{}")), tool_message("c1"), target="xai"
        ),
        chat_example(USER, assistant(tool_call("c1", arguments="")), tool_message("c1")),
    ),
)
