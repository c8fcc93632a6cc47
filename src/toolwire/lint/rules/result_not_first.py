"""Other content comes before a result in the same message.

On wires where results are blocks of a user message, results come first, and text or images only
after them. The provider reports that results are missing "immediately after" the calls, although
they are there. This happens when a program puts the text of the user, or a reminder, before the
results.

The fix moves the results to the front. Everything else keeps its order.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.observations import Observation
from toolwire.lint.examples.blocks import (
    assistant_blocks,
    converse_call,
    converse_example,
    converse_result,
    text_block,
    tool_result,
    tool_use,
    user_blocks,
)
from toolwire.lint.examples.chat import USER, blocks_example
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.result_placement import place_results
from toolwire.lint.fixes.transforms import describe_calls
from toolwire.lint.rule import FixedConversation, Problem, Rule


def _check(facts: Facts) -> Iterable[Problem]:
    for batch in facts.position_violations.get(NAME, ()) if facts.calls else ():
        message = (
            f"other content comes before the results for {describe_calls(batch)} in their message"
        )
        yield batch.results[0].path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    batches = facts.position_violations.get(NAME, [])
    changes = tuple(
        (
            batch.results[0].path,
            f"moved the results for {describe_calls(batch)} to the start of their message",
        )
        for batch in batches
    )
    return FixedConversation(place_results(facts, batches), changes)


NAME = "result-not-first"
RULE = Rule(
    "TW030",
    NAME,
    title="other content comes before a result in the same message",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=43,
    handled_by="write",
    ruled_out_by=(Observation.RESULTS_IN_PLACE | Observation.UNIQUE_CALL_IDS,),
    bad=(
        blocks_example(
            USER,
            assistant_blocks(tool_use("t1")),
            user_blocks(text_block("see"), tool_result("t1", cache_control={"type": "ephemeral"})),
        ),
        blocks_example(
            USER,
            assistant_blocks(tool_use("t1")),
            user_blocks(text_block("see"), tool_result("t1"), text_block("so")),
        ),
    ),
    good=(
        blocks_example(
            USER,
            assistant_blocks(tool_use("t1")),
            user_blocks(tool_result("t1"), text_block("see")),
        ),
        converse_example(
            assistant_blocks(converse_call("t1")),
            user_blocks({"text": "see"}, converse_result("t1")),
        ),
    ),
)
