"""A call has no result, and the history has moved on.

Every provider that checks pairs refuses such a history, at every later turn: the session is stuck
for good. It happens when a tool was interrupted, a process died, or somebody cut a history in the
middle of a turn. They say "did not have response messages", "`tool_use` ids were found without
`tool_result` blocks immediately after", "No tool output found for function call".

The fix puts in an answer that says so: an error, marked as made here, so that nobody takes it for a
result of the tool. Nothing is dropped, and other results of the same turn stay. A call at the very
end is not this: it may still be answered.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Call
from toolwire.lint.ambiguous_calls import ambiguous_calls
from toolwire.lint.examples.blocks import (
    HI,
    asking,
    called,
    contents,
    converse,
    item,
    items,
    model,
    use,
    used,
    user,
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
    """Calls of batches none of whose calls has a result; the others are a partial batch."""
    if not facts.profile.rejects_missing_results or not facts.open_calls:
        return []
    unclear = ambiguous_calls(facts)
    return [
        (block, one)
        for block, one in facts.unanswered
        if not block.results and id(one) not in unclear
    ]


def _check(facts: Facts) -> Iterable[Problem]:
    for _, one in _left(facts):
        yield (
            one.path,
            f"the call {one.id} of {one.name} has no result, and the conversation went on",
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
    "TW021",
    "missing-result",
    title="a call has no result, and the history has moved on",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=35,
    ruled_out_by=(Observation.RESULTS_IN_PLACE,),
    bad=(
        chat_example(USER, assistant(tool_call("c1")), USER),
        chat_example(
            USER, assistant(tool_call("c1")), {"role": "assistant", "content": "never mind"}, USER
        ),
        blocks_example(USER, model(use("t1")), USER),
        items(item("c1"), USER),
        contents(HI, asking(called("f")), HI),
        converse(model(used("t1")), user({"text": "well?"})),
    ),
    good=(
        chat_example(USER, assistant(tool_call("c1"))),
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1"), USER),
        chat_example(USER, assistant(tool_call("c1")), USER, target="xai"),
    ),
)
