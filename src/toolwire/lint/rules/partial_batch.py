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
from toolwire.lint.ambiguous_calls import ambiguous_calls
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
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import CallBatch, Facts
from toolwire.lint.result_placement import add_results
from toolwire.lint.rule import Fixed, Problem, Rule
from toolwire.lint.transforms import interrupted_result


def _left(facts: Facts) -> list[tuple[CallBatch, Call]]:
    if not facts.profile.rejects_missing_results or not facts.open_calls:
        return []
    unclear = ambiguous_calls(facts)
    return [
        (block, one) for block, one in facts.unanswered if block.results and id(one) not in unclear
    ]


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
    return Fixed(add_results(facts, left, interrupted_result), changes)


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
        chat_example(
            USER, assistant(tool_call("c1"), tool_call("c2", "g")), tool_message("c1"), USER
        ),
        chat_example(
            USER,
            assistant(tool_call("c1"), tool_call("c2")),
            tool_message("c1"),
            tool_message("c2"),
            assistant(tool_call("c1"), tool_call("c2")),
            tool_message("c2"),
            USER,
        ),
        blocks_example(USER, model(use("t1"), use("t2")), user(answer("t2"), words("so?"))),
        contents(HI, asking(called("f"), called("g")), saying(responded("g")), HI),
    ),
    good=(
        chat_example(USER, assistant(tool_call("c1"), tool_call("c2", "g")), tool_message("c1")),
        chat_example(
            USER,
            assistant(tool_call("c1"), tool_call("c2", "g")),
            tool_message("c2"),
            tool_message("c1"),
            USER,
        ),
        chat_example(
            USER,
            assistant(tool_call("c1"), tool_call("c2", "g")),
            tool_message("c1"),
            USER,
            target="xai",
        ),
    ),
)
