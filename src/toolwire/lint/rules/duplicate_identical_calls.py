"""A turn contains the same call twice: the same tool and arguments under different ids.

This is valid, and the tool runs once per call. Often that is intended. Sometimes the model repeats
itself, or a bridge emits one call under two ids, and a tool with side effects then performs them
twice.

The finding is information only, and there is no fix: the calls are not merged, because both may be
intended.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.parts import Call
from toolwire.lint.examples.chat import USER, assistant, chat_example, tool_call, tool_message
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Problem, Rule


def _arguments_size(call: Call) -> int:
    """Count the characters of the arguments without whitespace; equal calls have equal counts."""
    return len("".join(call.args.text.split()))


def _check(facts: Facts) -> Iterable[Problem]:
    if len(facts.calls) < 2:
        return
    for batch in facts.batches:
        calls = batch.calls
        if len(calls) < 2:
            continue
        if len({(call.name, _arguments_size(call)) for call in calls}) == len(calls):
            continue
        first_calls: dict[tuple[str, str], Call] = {}
        for call in calls:
            first = first_calls.setdefault((call.name, call.args.canonical), call)
            if first is not call and first.id != call.id:
                message = f"the call {call.id} ({call.name}) has the same arguments as {first.id}"
                yield call.path, message, None


RULE = Rule(
    "TW066",
    "duplicate-identical-calls",
    title="a turn contains the same call twice",
    cost="refuse",
    check=_check,
    severity="info",
    bad=(
        chat_example(
            USER,
            assistant(
                tool_call("c1", "f", arguments='{"a":1}'),
                tool_call("c2", "f", arguments='{"a": 1}'),
            ),
            tool_message("c1"),
            tool_message("c2"),
        ),
    ),
    good=(
        chat_example(
            USER,
            assistant(
                tool_call("c1", "f", arguments='{"a":1}'), tool_call("c2", "f", arguments='{"a":2}')
            ),
            tool_message("c1"),
            tool_message("c2"),
        ),
        chat_example(
            USER,
            assistant(tool_call("c1")),
            tool_message("c1"),
            assistant(tool_call("c2")),
            tool_message("c2"),
        ),
    ),
)
