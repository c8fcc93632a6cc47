"""The results of a turn stand in several messages.

On wires where results are blocks, all results of a turn stand in the one message after the calls. A
program that writes a message for each tool as it finishes gets "Expected toolResult blocks at
messages.2.content for the following Ids", or is told that results are missing which are there, one
message further on.

The fix puts them into one message, each as it came.
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
            (
                f"the results of {describe_calls(block)} stand in several messages;"
                f" {facts.profile.name} wants them in one"
            ),
            "safe",
        )


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    blocks_example = facts.misplaced.get(NAME, [])
    changes = tuple(
        (block.results[0].path, f"the results of {describe_calls(block)} stand in one message")
        for block in blocks_example
    )
    return Fixed(place_results(facts, blocks_example), changes)


NAME = "results-split"
RULE = Rule(
    "TW028",
    NAME,
    title="the results of a turn stand in several messages",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=42,
    handled_by="write",
    bad=(
        blocks_example(USER, model(use("t1"), use("t2")), user(answer("t1")), user(answer("t2"))),
        blocks_example(
            USER, model(use("t1"), use("t2")), user(answer("t2")), user(answer("t1"), words("so?"))
        ),
        contents(
            HI, asking(called("f"), called("g")), saying(responded("f")), saying(responded("g"))
        ),
    ),
    good=(
        blocks_example(USER, model(use("t1"), use("t2")), user(answer("t1"), answer("t2"))),
        blocks_example(
            USER, model(use("t1")), user(answer("t1")), model(use("t2")), user(answer("t2"))
        ),
    ),
)
