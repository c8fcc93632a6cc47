"""A call has no result, and the conversation continues after it.

Every provider that checks pairs refuses such a history, and every later turn too, so the session
can never be resumed. This happens when a tool was interrupted, a process died, or a history was cut
in the middle of a turn. The errors are "did not have response messages", "`tool_use` ids were found
without `tool_result` blocks immediately after", "No tool output found for function call".

The fix adds an error result which says that the call was interrupted. It starts with `[toolwire]`,
so it cannot be mistaken for output of the tool. Nothing is removed, and other results of the same
turn stay. A call that only an image can answer, such as one that takes a screenshot, becomes marked
text instead. A call at the end of the history is not a violation: its result may still arrive.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Call
from toolwire.lint.ambiguous_calls import ambiguous_calls
from toolwire.lint.examples.blocks import (
    HI,
    assistant_blocks,
    call_item,
    call_part,
    contents_example,
    converse_call,
    converse_example,
    items_request,
    model_parts,
    tool_use,
    user_blocks,
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
from toolwire.lint.fixes.interrupted_calls import close_calls
from toolwire.lint.rule import FixedConversation, Problem, Rule


def _calls_without_result(facts: Facts) -> list[tuple[CallBatch, Call]]:
    """Calls of batches without any result; batches with some results are `partial-batch`."""
    if not facts.profile.rejects_missing_results or not facts.open_calls:
        return []
    ambiguous = ambiguous_calls(facts)
    return [
        (batch, call)
        for batch, call in facts.missing_results
        if not batch.results and call not in ambiguous
    ]


def _check(facts: Facts) -> Iterable[Problem]:
    for _, call in _calls_without_result(facts):
        message = (
            f"the call {call.id} ({call.name}) has no result, and the conversation continues after"
            " it"
        )
        yield call.path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    return close_calls(facts, _calls_without_result(facts))


RULE = Rule(
    "TW021",
    "missing-result",
    title="a call has no result, and the conversation continues after it",
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
        blocks_example(USER, assistant_blocks(tool_use("t1")), USER),
        items_request(call_item("c1"), USER),
        contents_example(HI, model_parts(call_part("f")), HI),
        converse_example(assistant_blocks(converse_call("t1")), user_blocks({"text": "well?"})),
    ),
    good=(
        chat_example(USER, assistant(tool_call("c1"))),
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1"), USER),
        chat_example(USER, assistant(tool_call("c1")), USER, target="xai"),
    ),
)
