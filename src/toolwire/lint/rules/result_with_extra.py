"""A result shares its message with other content.

Some providers require that a message with results contains nothing else: "tool call result does not
follow tool call", or "function response turn comes immediately after a function call turn". Others
accept text of the user in the same message, so a history that works with one provider is refused by
the next.

The fix leaves only the results in their message and moves the rest to a separate message after it.
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
            f"the results for {describe_calls(batch)} share their message with other"
            f" content; {facts.profile.name} requires a message with results only"
        )
        yield batch.results[0].path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    batches = facts.position_violations.get(NAME, [])
    changes = tuple(
        (
            batch.results[0].path,
            f"moved the results for {describe_calls(batch)} to a separate message",
        )
        for batch in batches
    )
    return FixedConversation(place_results(facts, batches), changes)


NAME = "result-with-extra"
RULE = Rule(
    "TW031",
    NAME,
    title="a result shares its message with other content",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=43,
    applies=lambda profile: profile.result_placement == "alone",
    ruled_out_by=(Observation.RESULTS_ALONE,),
    bad=(
        blocks_example(
            USER,
            assistant_blocks(tool_use("t1")),
            user_blocks(tool_result("t1"), text_block("next?")),
            target="minimax-anthropic",
        ),
        contents_example(
            HI, model_parts(call_part("f")), user_parts(response_part("f"), {"text": "next?"})
        ),
    ),
    good=(
        blocks_example(
            USER,
            assistant_blocks(tool_use("t1")),
            user_blocks(tool_result("t1"), text_block("next?")),
        ),
        blocks_example(
            USER,
            assistant_blocks(tool_use("t1")),
            user_blocks(tool_result("t1")),
            user_blocks(text_block("next?")),
            target="minimax-anthropic",
        ),
    ),
)
