"""An assistant message has an empty list of calls, or null instead of it.

Servers that require at least one call if the field is present refuse `tool_calls: []`: "empty
array. Expected an array with minimum length 1". Some SDK versions add the field when they read a
response, and the next request sends it back. Dumping an SDK object writes null: "Invalid type for
'messages[1].tool_calls': expected an array of objects, but got null instead."

The fix removes the field. Nothing is lost, because there are no calls.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, JsonPath
from toolwire.lint.examples.chat import USER, assistant, chat_example, tool_call, tool_message
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.json_remove import remove_paths
from toolwire.lint.rule import FixedBody, Problem, Rule

_FIELD = "tool_calls"


def _paths(facts: Facts) -> list[JsonPath]:
    """Return the path of each empty list of calls."""
    profile = facts.profile
    if not profile.rejects_empty_tool_calls:
        return []
    empty: list[JSON] = [[], None] if profile.rejects_null_tool_calls else [[]]
    paths: list[JsonPath] = []
    for message in facts.messages:
        if message.role == "assistant":
            raw = message.source.raw
            if raw.__class__ is dict and _FIELD in raw and raw[_FIELD] in empty:
                paths.append((*message.path, _FIELD))
    return paths


def _check(facts: Facts) -> Iterable[Problem]:
    for path in _paths(facts):
        yield path, "there are no calls in this field; expected at least one, or no field", "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedBody | None:
    paths = _paths(facts)
    changes = tuple((path, "removed the empty list of calls") for path in paths)
    return FixedBody(remove_paths(facts.body, paths), changes)


RULE = Rule(
    "TW062",
    "empty-tool-calls",
    title="an assistant message has an empty list of calls",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=10,
    concerns=lambda profile: profile.rejects_empty_tool_calls,
    scope="body",
    bad=(
        chat_example(USER, {"role": "assistant", "content": "ok", "tool_calls": []}, USER),
        chat_example(USER, {"role": "assistant", "content": "ok", "tool_calls": None}, USER),
        chat_example(USER, {"role": "assistant", "content": "ok", "tool_calls": []}, target="qwen"),
    ),
    good=(
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1")),
        chat_example(USER, {"role": "assistant", "content": "ok"}, USER),
        chat_example(
            USER, {"role": "assistant", "content": "ok", "tool_calls": []}, USER, target="vllm"
        ),
    ),
)
