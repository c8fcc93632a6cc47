"""The results of a turn are spread over several messages.

On wires where results are blocks, all results of a turn belong in the one message after the calls.
A program that writes one message per tool as it finishes gets "Expected toolResult blocks at
messages.2.content for the following Ids", or an error about missing results although they are
there, one message later.

The fix moves the results into one message and changes nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.observations import Observation
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
from toolwire.lint.examples.chat import USER, blocks_example
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.result_placement import place_results
from toolwire.lint.fixes.transforms import describe_calls
from toolwire.lint.rule import FixedConversation, Problem, Rule


def _check(facts: Facts) -> Iterable[Problem]:
    for batch in facts.position_violations.get(NAME, ()) if facts.calls else ():
        message = (
            f"the results for {describe_calls(batch)} are in several messages;"
            f" {facts.profile.name} requires them in one"
        )
        yield batch.results[0].path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    batches = facts.position_violations.get(NAME, [])
    changes = tuple(
        (batch.results[0].path, f"merged the results for {describe_calls(batch)} into one message")
        for batch in batches
    )
    return FixedConversation(place_results(facts, batches), changes)


NAME = "results-split"
RULE = Rule(
    "TW028",
    NAME,
    title="the results of a turn are spread over several messages",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=42,
    handled_by="write",
    concerns=lambda profile: profile.results_share_one_message,
    ruled_out_by=(
        Observation.RESULTS_IN_PLACE | Observation.RESULTS_TOGETHER | Observation.UNIQUE_CALL_IDS,
    ),
    bad=(
        blocks_example(
            USER,
            assistant_blocks(tool_use("t1"), tool_use("t2")),
            user_blocks(tool_result("t1")),
            user_blocks(tool_result("t2")),
        ),
        blocks_example(
            USER,
            assistant_blocks(tool_use("t1"), tool_use("t2")),
            user_blocks(tool_result("t2")),
            user_blocks(tool_result("t1"), text_block("so?")),
        ),
        contents_example(
            HI,
            model_parts(call_part("f"), call_part("g")),
            user_parts(response_part("f")),
            user_parts(response_part("g")),
        ),
    ),
    good=(
        blocks_example(
            USER,
            assistant_blocks(tool_use("t1"), tool_use("t2")),
            user_blocks(tool_result("t1"), tool_result("t2")),
        ),
        blocks_example(
            USER,
            assistant_blocks(tool_use("t1")),
            user_blocks(tool_result("t1")),
            assistant_blocks(tool_use("t2")),
            user_blocks(tool_result("t2")),
        ),
    ),
)
