"""The name of a tool contains characters that the target does not accept.

Most providers accept letters, digits, `_` and `-` (Gemini also `.`, and no digit first), and report
it as a schema error: "string does not match pattern '^[a-zA-Z0-9_-]+$'". Names from MCP contain
dots and slashes, names from OXP an `@`. Providers check names in the history as well as in the tool
definitions, so a single call to such a tool is enough to have every later turn refused.

The fix renames the tool to a name that the target accepts: a readable beginning and a hash of the
whole name. The new name is the same in tool definitions, tool choice, calls and results, and no
other tool has it. The changes list old and new names: if the model uses the new name, it calls the
old tool.
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
from toolwire.lint.rule import Example, FixedBody, Problem, Rule
from toolwire.lint.tool_names import fit_names_in_body, name_rule_for, names_to_fit, too_long


def _invalid_names(facts: Facts) -> dict[str, JsonPath]:
    return {
        name: path
        for name, path in names_to_fit(facts).items()
        if not too_long(name, name_rule_for(facts))
    }


def _check(facts: Facts) -> Iterable[Problem]:
    for name, path in _invalid_names(facts).items():
        message = f"the name {name!r} contains characters that {facts.profile.name} does not accept"
        yield path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedBody | None:
    return fit_names_in_body(facts, _invalid_names(facts))


_SPEC: JSON = {
    "type": "function",
    "function": {"name": "gmail.search", "parameters": {"type": "object", "properties": {}}},
}
_FORCED: JSON = {"type": "function", "function": {"name": "gmail.search"}}
_USE: JSON = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "t1", "name": "a.b", "input": {}}],
}
_RESULT: JSON = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}],
}
RULE = Rule(
    "TW059",
    "name-bad-charset",
    title="the name of a tool contains characters that the target does not accept",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=15,
    ruled_out_on_own_wire_by=(Observation.ACCEPTED_NAMES,),
    handled_by="fit",
    bad=(
        chat_example(USER, assistant(tool_call("c1", "gmail.search")), tool_message("c1")),
        chat_example(
            USER,
            assistant(tool_call("c1", "gmail.search")),
            tool_message("c1"),
            USER,
            tools=[_SPEC],
            tool_choice=_FORCED,
        ),
        blocks_example(
            USER,
            _USE,
            _RESULT,
            tools=[
                {"name": "a.b", "input_schema": {"type": "object"}},
                {"name": "a_b", "input_schema": {"type": "object"}},
            ],
        ),
        Example(
            "gemini",
            "gemini",
            {
                "contents": [
                    {"role": "user", "parts": [{"text": "hi"}]},
                    {"role": "model", "parts": [{"functionCall": {"name": "a/b", "args": {}}}]},
                    {
                        "role": "user",
                        "parts": [{"functionResponse": {"name": "a/b", "response": {"output": 1}}}],
                    },
                ]
            },
        ),
    ),
    good=(
        chat_example(USER, assistant(tool_call("c1", "gmail_search")), tool_message("c1")),
        chat_example(
            USER, assistant(tool_call("c1", "gmail.search")), tool_message("c1"), target="groq"
        ),
    ),
)
