"""A result shares its message with something else.

Some providers want a message that holds results and nothing else: "tool call result does not follow
tool call", or "function response turn comes immediately after a function call turn". Others take
what a user adds in the same message, so a history that was fine with one is refused by the next.

The fix leaves the results alone in their message and puts the rest into one of its own after it.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.lint.examples.blocks import (
    HI,
    answer,
    asking,
    called,
    contents,
    model,
    responded,
    saying,
    use,
    user,
    words,
)
from toolwire.lint.examples.chat import USER, blocks_example
from toolwire.lint.facts import Facts
from toolwire.lint.result_placement import place_results
from toolwire.lint.rule import Fixed, Problem, Rule
from toolwire.lint.transforms import describe_calls


def _check(facts: Facts) -> Iterable[Problem]:
    for block in facts.misplaced.get(NAME, ()) if facts.calls else ():
        yield (
            block.results[0].path,
            f"the results of {describe_calls(block)} share their message with something else",
            "safe",
        )


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    blocks_example = facts.misplaced.get(NAME, [])
    changes = tuple(
        (
            block.results[0].path,
            f"the results of {describe_calls(block)} stand alone in their message; the rest follows",
        )
        for block in blocks_example
    )
    return Fixed(place_results(facts, blocks_example), changes)


NAME = "result-with-extra"
RULE = Rule(
    "TW031",
    NAME,
    title="a result shares its message with something else",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=43,
    handled_by="write",
    bad=(
        blocks_example(
            USER, model(use("t1")), user(answer("t1"), words("next?")), target="minimax-anthropic"
        ),
        contents(HI, asking(called("f")), saying(responded("f"), {"text": "next?"})),
    ),
    good=(
        blocks_example(USER, model(use("t1")), user(answer("t1"), words("next?"))),
        blocks_example(
            USER,
            model(use("t1")),
            user(answer("t1")),
            user(words("next?")),
            target="minimax-anthropic",
        ),
    ),
)
