"""The arguments of a call are an empty text.

Models give nothing at all for a tool without parameters, and streams that are put together give an
empty text. It is no JSON: "The arguments to a tool_call … are not a valid JSON string", "EOF while
parsing a value".

The fix writes an empty object, which says the same.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON
from toolwire.lint.argument_fixes import meant, reported
from toolwire.lint.examples.chat import USER, asks, blocks, call, chat, told
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Fixed, FixedBody, Problem, Rule


def _check(facts: Facts) -> Iterable[Problem]:
    return reported(facts, "empty", "are an empty text")


def _fix(facts: Facts, unsafe: bool) -> Fixed | FixedBody | None:
    return meant(facts, "empty", "the arguments are an empty object", unsafe=unsafe)


_USE: JSON = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": ""}],
}
_TOLD: JSON = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}],
}
RULE = Rule(
    "TW054",
    "args-empty-string",
    title="the arguments of a call are an empty text",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=14,
    scope="body",
    bad=(
        chat(USER, asks(call("c1", arguments="")), told("c1"), target="xai"),
        chat(USER, asks(call("c1", arguments=" ")), told("c1"), target="minimax"),
        blocks(USER, _USE, _TOLD),
    ),
    good=(
        chat(USER, asks(call("c1", arguments="{}")), told("c1"), target="xai"),
        chat(USER, asks(call("c1", arguments="")), told("c1")),
    ),
)
