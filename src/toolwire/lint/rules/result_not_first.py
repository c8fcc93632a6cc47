"""Something comes before a result in its message.

On such a wire results come first in the user's message, and text or pictures only after them. The
provider says that results are missing "immediately after" the calls, although they are there. It
happens when a program puts what the user said, or a reminder, before what the tools said.

The fix puts the results first; everything keeps its order otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.lint.examples.blocks import answer, converse, given, model, use, used, user, words
from toolwire.lint.examples.chat import USER, blocks_example
from toolwire.lint.facts import Facts
from toolwire.lint.result_placement import place_results
from toolwire.lint.rule import Fixed, Problem, Rule
from toolwire.lint.transforms import describe_calls


def _check(facts: Facts) -> Iterable[Problem]:
    for block in facts.misplaced.get(NAME, ()) if facts.calls else ():
        yield (
            block.results[0].path,
            f"something stands before the results of {describe_calls(block)} in their message",
            "safe",
        )


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    blocks_example = facts.misplaced.get(NAME, [])
    changes = tuple(
        (
            block.results[0].path,
            f"the results of {describe_calls(block)} come first in their message",
        )
        for block in blocks_example
    )
    return Fixed(place_results(facts, blocks_example), changes)


NAME = "result-not-first"
RULE = Rule(
    "TW030",
    NAME,
    title="something comes before a result in its message",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=43,
    handled_by="write",
    bad=(
        blocks_example(
            USER,
            model(use("t1")),
            user(words("see"), answer("t1", cache_control={"type": "ephemeral"})),
        ),
        blocks_example(USER, model(use("t1")), user(words("see"), answer("t1"), words("so"))),
    ),
    good=(
        blocks_example(USER, model(use("t1")), user(answer("t1"), words("see"))),
        converse(model(used("t1")), user({"text": "see"}, given("t1"))),
    ),
)
