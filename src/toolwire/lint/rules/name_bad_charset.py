"""The name of a tool has characters that the target does not take.

Most providers take letters, digits, `_` and `-` (Gemini also `.`, and no digit first), and say so
in the request's own terms: "string does not match pattern '^[a-zA-Z0-9_-]+$'". Names from MCP have
dots and slashes, names from OXP an `@`. They are checked in the history as well as in the offer, so
that one call of such a tool is enough to be refused at every later turn.

The fix gives the tool a name that the target takes: a readable beginning and a hash of the whole
name, the same wherever the tool is offered, chosen, called and answered, and never one that another
tool has. The changes say which name became which: a call that comes back under the new name is of
the old tool.
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
from toolwire.lint.rule import Example, FixedBody, Problem, Rule
from toolwire.lint.tool_names import accepted_names, fit_names_in_body, refused_names, too_long


def _odd(facts: Facts) -> dict[str, JsonPath]:
    return {
        name: at
        for name, at in refused_names(facts).items()
        if not too_long(name, accepted_names(facts))
    }


def _check(facts: Facts) -> Iterable[Problem]:
    for name, at in _odd(facts).items():
        yield (
            at,
            f"the name {name!r} has characters that {facts.profile.name} does not take",
            "safe",
        )


def _fix(facts: Facts, unsafe: bool) -> FixedBody | None:
    return fit_names_in_body(facts, _odd(facts))


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
    title="the name of a tool has characters that the target does not take",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=15,
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
