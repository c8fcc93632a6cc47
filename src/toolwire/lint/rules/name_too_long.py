"""The name of a tool is longer than the target accepts.

The limit is 64 characters at most providers and 128 at Anthropic ("string too long. Expected a
string with maximum length 64"). Names get long when the name of a server is put before the name of
the tool, as bridges to MCP do. Providers check names in the history too.

The fix renames the tool to a shorter name: its beginning and a hash of the whole name, the same in
tool definitions, tool choice, calls and results. Truncating alone would make similar names equal.
The changes list old and new names.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, JsonPath
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
from toolwire.lint.rule import FixedBody, Problem, Rule
from toolwire.lint.tool_names import fit_names_in_body, name_rule_for, names_to_fit, too_long


def _long_names(facts: Facts) -> dict[str, JsonPath]:
    return {
        name: path
        for name, path in names_to_fit(facts).items()
        if too_long(name, name_rule_for(facts))
    }


def _check(facts: Facts) -> Iterable[Problem]:
    for name, path in _long_names(facts).items():
        message = (
            f"the name {name} has {len(name)} characters; {facts.profile.name} accepts at most"
            f" {name_rule_for(facts).longest}"
        )
        yield path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedBody | None:
    return fit_names_in_body(facts, _long_names(facts))


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
    title="the name of a tool is longer than the target accepts",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=15,
    ruled_out_on_own_wire_by=(Observation.ACCEPTED_NAMES,),
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
