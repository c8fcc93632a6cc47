"""An assistant's message has a list of calls with nothing in it.

`tool_calls: []` is refused by servers that want at least one call where the field is there: "empty
array. Expected an array with minimum length 1". SDKs of one version or another fill the field in by
themselves when they read an answer, and the next request sends it back.

The fix takes the field out. Nothing is lost: there was nothing in it.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JsonPath
from toolwire.lint.examples.chat import USER, assistant, chat_example, tool_call, tool_message
from toolwire.lint.facts import Facts
from toolwire.lint.json_remove import remove_paths
from toolwire.lint.rule import FixedBody, Problem, Rule

_FIELD = "tool_calls"


def _bare(facts: Facts) -> list[JsonPath]:
    if not facts.profile.rejects_empty_tool_calls:
        return []
    return [
        message.path
        for message in facts.messages
        if message.role == "assistant"
        and isinstance(message.raw, dict)
        and message.raw.get(_FIELD) == []
    ]


def _check(facts: Facts) -> Iterable[Problem]:
    for at in _bare(facts):
        yield (*at, _FIELD), "an assistant's message has an empty list of calls", "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedBody | None:
    paths: list[JsonPath] = [(*at, _FIELD) for at in _bare(facts)]
    return FixedBody(
        remove_paths(facts.body, paths),
        tuple((at, "the empty list of calls is taken out") for at in paths),
    )


RULE = Rule(
    "TW062",
    "empty-tool-calls",
    title="a list of calls has nothing in it",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=10,
    scope="body",
    bad=(
        chat_example(USER, {"role": "assistant", "content": "ok", "tool_calls": []}, USER),
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
