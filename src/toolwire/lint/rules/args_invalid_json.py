"""The arguments of a call are not valid JSON.

The model was cut off while it wrote the arguments, or wrote malformed JSON, and the client stored
the text unchanged. Some servers parse the arguments of the whole history and refuse every later
request: "invalid function arguments json string", "not a valid JSON string". On wires whose
arguments are an object, the text is not an object.

The fix keeps the call and its result, and stores the original text in an object under `_raw`. It
never completes or guesses arguments.
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
    return report_faults(facts, "invalid", "are not valid JSON")


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | FixedBody | None:
    return fix_arguments(facts, "invalid", "stored the text in an object")


_TRUNCATED_JSON = '{"path": "/et'
_USE: JSON = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": _TRUNCATED_JSON}],
}
_RESULT: JSON = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}],
}
RULE = Rule(
    "TW053",
    "args-invalid-json",
    title="the arguments of a call are not valid JSON",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=14,
    ruled_out_on_own_wire_by=(Observation.ACCEPTED_ARGUMENTS,),
    applies=lambda profile: profile.arguments_format == "json",
    bad=(
        chat_example(
            USER,
            assistant(tool_call("c1", arguments=_TRUNCATED_JSON)),
            tool_message("c1"),
            target="minimax",
        ),
        chat_example(
            USER,
            assistant(tool_call("c1", arguments="path=/etc")),
            tool_message("c1"),
            target="xai",
        ),
        blocks_example(USER, _USE, _RESULT),
    ),
    good=(
        chat_example(
            USER,
            assistant(tool_call("c1", arguments='{"path": "/etc"}')),
            tool_message("c1"),
            target="minimax",
        ),
        chat_example(
            USER, assistant(tool_call("c1", arguments=_TRUNCATED_JSON)), tool_message("c1")
        ),
        chat_example(
            USER,
            assistant(
                {"id": "c1", "type": "custom", "custom": {"name": "f", "input": _TRUNCATED_JSON}}
            ),
            tool_message("c1"),
            target="xai",
        ),
    ),
)
