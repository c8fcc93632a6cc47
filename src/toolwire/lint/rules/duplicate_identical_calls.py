"""A turn holds the same call twice: one tool, the same arguments, other ids.

It is legal, and the tool runs as often as it is called. Often that is what was wanted; sometimes a
model repeats itself, or a bridge told one call under two ids. A tool with a side effect then has it
twice.

This is worth knowing and is never mended: calls are not merged, because two of them may well be
meant.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.parts import Call
from toolwire.lint.examples.chat import USER, assistant, chat_example, tool_call, tool_message
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Problem, Rule


def _size(tool_call: Call) -> int:
    """How many characters its arguments have, blanks aside: those of two equal calls have
    as many.
    """
    return len("".join(tool_call.args.text.split()))


def _check(facts: Facts) -> Iterable[Problem]:
    if len(facts.calls) < 2:
        return
    for batch in facts.batches:
        calls = batch.calls
        if len(calls) < 2 or len({(one.name, _size(one)) for one in calls}) == len(calls):
            continue
        first: dict[tuple[str, str], Call] = {}
        for one in calls:
            before = first.setdefault((one.name, one.args.canonical), one)
            if before is not one and before.id != one.id:
                yield (
                    one.path,
                    f"{one.id} is the same call of {one.name} as {before.id}, to the last argument",
                    None,
                )


RULE = Rule(
    "TW066",
    "duplicate-identical-calls",
    title="a turn holds the same call twice",
    cost="refuse",
    check=_check,
    severity="info",
    bad=(
        chat_example(
            USER,
            assistant(tool_call("c1", "f", '{"a":1}'), tool_call("c2", "f", '{"a": 1}')),
            tool_message("c1"),
            tool_message("c2"),
        ),
    ),
    good=(
        chat_example(
            USER,
            assistant(tool_call("c1", "f", '{"a":1}'), tool_call("c2", "f", '{"a":2}')),
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
