"""Some calls of a batch have results and others have none, and the history has moved on.

One of several tools was interrupted, or its result was lost when the others were stored. Providers
want all of them or refuse the request, and say which ids they miss, or only that the numbers differ
("Not the same number of function calls and responses"). Looking at sets of ids misses it where ids
come back in later turns: the batch looks complete and is not.

The fix puts in an answer for each call that has none: an error, marked as made here. The answered
calls and their results stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Call
from toolwire.lint.ambiguous_calls import doubtful
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
from toolwire.lint.examples.chat import USER, asks, blocks, call, chat, told
from toolwire.lint.facts import CallBatch, Facts
from toolwire.lint.rule import Fixed, Problem, Rule
from toolwire.lint.transforms import answered_for, interrupted


def _left(facts: Facts) -> list[tuple[CallBatch, Call]]:
    if not facts.profile.rejects_missing_results or not facts.open:
        return []
    unclear = doubtful(facts)
    return [(block, one) for block, one in facts.left if block.results and id(one) not in unclear]


def _check(facts: Facts) -> Iterable[Problem]:
    for block, one in _left(facts):
        yield (
            one.path,
            (
                f"the call {one.id} of {one.name} has no result; {len(block.results)} of"
                f" {len(block.calls)} calls of its batch have"
            ),
            "safe",
        )


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    left = _left(facts)
    changes = tuple(
        (one.path, f"an answer was put in that says that {one.id} of {one.name} was interrupted")
        for _, one in left
    )
    return Fixed(answered_for(facts, left, interrupted), changes)


RULE = Rule(
    "TW023",
    "partial-batch",
    title="some calls of a batch have results and others have none",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=35,
    ruled_out_by=(Observation.RESULTS_IN_PLACE,),
    bad=(
        chat(USER, asks(call("c1"), call("c2", "g")), told("c1"), USER),
        chat(
            USER,
            asks(call("c1"), call("c2")),
            told("c1"),
            told("c2"),
            asks(call("c1"), call("c2")),
            told("c2"),
            USER,
        ),
        blocks(USER, model(use("t1"), use("t2")), user(answer("t2"), words("so?"))),
        contents(HI, asking(called("f"), called("g")), saying(responded("g")), HI),
    ),
    good=(
        chat(USER, asks(call("c1"), call("c2", "g")), told("c1")),
        chat(USER, asks(call("c1"), call("c2", "g")), told("c2"), told("c1"), USER),
        chat(USER, asks(call("c1"), call("c2", "g")), told("c1"), USER, target="xai"),
    ),
)
