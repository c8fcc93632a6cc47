"""Some calls of a batch have results and others have none, and the conversation continues.

One of several tools was interrupted, or its result was lost when the others were stored. Providers
refuse the request if any result is missing. They name the missing ids, or report only that the
counts differ ("Not the same number of function calls and responses"). If later turns reuse the ids,
comparing sets of ids does not find the gap: the batch looks complete.

The fix adds an error result marked `[toolwire]` for each call that has none. The other calls and
their results stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Call
from toolwire.lint.ambiguous_calls import ambiguous_calls
from toolwire.lint.examples.blocks import (
    HI,
    assistant_blocks,
    call_part,
    contents_example,
    model_parts,
    response_part,
    text_block,
    tool_result,
    tool_use,
    user_blocks,
    user_parts,
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
    """Calls without a result in batches that have results for other calls."""
    if not facts.profile.rejects_missing_results or not facts.open_calls:
        return []
    ambiguous = ambiguous_calls(facts)
    return [
        (batch, call)
        for batch, call in facts.missing_results
        if batch.results and call not in ambiguous
    ]


def _check(facts: Facts) -> Iterable[Problem]:
    for batch, call in _calls_without_result(facts):
        message = (
            f"the call {call.id} ({call.name}) has no result; its batch has results for"
            f" {len(batch.results)} of {len(batch.calls)} calls"
        )
        yield call.path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    return close_calls(facts, _calls_without_result(facts))


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
        blocks_example(
            USER,
            assistant_blocks(tool_use("t1"), tool_use("t2")),
            user_blocks(tool_result("t2"), text_block("so?")),
        ),
        contents_example(
            HI, model_parts(call_part("f"), call_part("g")), user_parts(response_part("g")), HI
        ),
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
