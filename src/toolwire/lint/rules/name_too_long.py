"""The name of a tool is longer than the target takes.

The cap is 64 characters at most providers and 128 at Anthropic ("string too long. Expected a string
with maximum length 64"). Names grow when a server's name is put before the tool's, as bridges to
MCP do. They are checked in the history too.

The fix gives the tool a shorter name: its beginning and a hash of the whole name, the same wherever
the tool is offered, chosen, called and answered. Cutting alone would make neighbours equal. The
changes say which name became which.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, JsonPath
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.rule import FixedBody, Problem, Rule
from toolwire.lint.tool_names import accepted_names, fit_names_in_body, refused_names, too_long


def _long(facts: Facts) -> dict[str, JsonPath]:
    return {
        name: at
        for name, at in refused_names(facts).items()
        if too_long(name, accepted_names(facts))
    }


def _check(facts: Facts) -> Iterable[Problem]:
    for name, at in _long(facts).items():
        yield (
            at,
            (
                f"the name {name} has {len(name)} characters; {facts.profile.name} takes"
                f" {accepted_names(facts).longest}"
            ),
            "safe",
        )


def _fix(facts: Facts, unsafe: bool) -> FixedBody | None:
    return fit_names_in_body(facts, _long(facts))


_LONG = "mcp__a_server_with_a_long_name__a_tool_with_a_name_that_is_long_too_70"
_SPEC: JSON = {
    "type": "function",
    "function": {"name": _LONG, "parameters": {"type": "object", "properties": {}}},
}
_NEAR: JSON = {
    "type": "function",
    "function": {"name": f"{_LONG[:-1]}1", "parameters": {"type": "object", "properties": {}}},
}
_USE: JSON = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "t1", "name": _LONG, "input": {}}],
}
RULE = Rule(
    "TW059",
    "name-too-long",
    title="the name of a tool is longer than the target takes",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=15,
    handled_by="fit",
    bad=(
        chat_example(USER, assistant(tool_call("c1", _LONG)), tool_message("c1")),
        chat_example(
            USER, assistant(tool_call("c1", _LONG)), tool_message("c1"), USER, tools=[_SPEC, _NEAR]
        ),
    ),
    good=(
        chat_example(USER, assistant(tool_call("c1", _LONG[:64])), tool_message("c1")),
        blocks_example(USER, _USE),
    ),
)
