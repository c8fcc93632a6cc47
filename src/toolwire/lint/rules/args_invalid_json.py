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
from toolwire.lint.argument_fixes import meant, reported
from toolwire.lint.examples.chat import USER, asks, blocks, call, chat, told
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Fixed, FixedBody, Problem, Rule


def _check(facts: Facts) -> Iterable[Problem]:
    return reported(facts, "invalid", "are not JSON")


def _fix(facts: Facts, unsafe: bool) -> Fixed | FixedBody | None:
    return meant(facts, "invalid", "the arguments are an object", unsafe=unsafe)


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
        chat(USER, asks(call("c1", arguments=_CUT)), told("c1"), target="minimax"),
        chat(USER, asks(call("c1", arguments="path=/etc")), told("c1"), target="xai"),
        blocks(USER, _USE, _TOLD),
    ),
    good=(
        chat(USER, asks(call("c1", arguments='{"path": "/etc"}')), told("c1"), target="minimax"),
        chat(USER, asks(call("c1", arguments=_CUT)), told("c1")),
        chat(
            USER,
            asks({"id": "c1", "type": "custom", "custom": {"name": "f", "input": _CUT}}),
            told("c1"),
            target="xai",
        ),
    ),
)
