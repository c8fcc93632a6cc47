"""One batch of calls is written as several messages of the assistant.

A program that stores each call as it comes makes a message of each. The results of the first then
do not follow it: another message of the assistant does. Providers say that results are missing, or
that a call is ("Missing corresponding tool call for tool response message"); where each message is
a step of its own, all but the first lack their signature.

The fix makes one message of them, with the calls in their order. Calls that were answered one by
one are left alone: they may have been made one by one.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.observations import Observation
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
)
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.result_placement import place_results
from toolwire.lint.rule import Fixed, Problem, Rule
from toolwire.lint.transforms import batch_path, describe_calls


def _check(facts: Facts) -> Iterable[Problem]:
    for block in facts.misplaced.get(NAME, ()) if facts.calls else ():
        yield (
            batch_path(block),
            (
                f"the calls {describe_calls(block)} stand in {len(block.caller_indexes)} messages; their results"
                " cannot follow each"
            ),
            "safe",
        )


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    blocks_example = facts.misplaced.get(NAME, [])
    changes = tuple(
        (batch_path(block), f"the calls {describe_calls(block)} stand in one message")
        for block in blocks_example
    )
    return Fixed(place_results(facts, blocks_example), changes)


NAME = "calls-split"
RULE = Rule(
    "TW029",
    NAME,
    title="one batch of calls is written as several messages",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=40,
    ruled_out_by=(Observation.RESULTS_IN_PLACE,),
    bad=(
        chat_example(
            USER,
            assistant(tool_call("c1")),
            assistant(tool_call("c2", "g")),
            tool_message("c1"),
            tool_message("c2"),
        ),
        chat_example(
            USER,
            assistant(tool_call("c1"), reasoning_content="first f"),
            assistant(tool_call("c2", "g")),
            tool_message("c2"),
            tool_message("c1"),
            USER,
        ),
        blocks_example(
            USER,
            model(use("t1")),
            model(use("t2")),
            user(answer("t1"), answer("t2")),
            target="minimax-anthropic",
        ),
        contents(
            HI,
            asking(called("f", thoughtSignature="c2ln")),
            asking(called("g")),
            saying(responded("f"), responded("g")),
        ),
    ),
    good=(
        blocks_example(USER, model(use("t1")), model(use("t2")), user(answer("t1"), answer("t2"))),
        chat_example(
            USER,
            assistant(tool_call("c1")),
            tool_message("c1"),
            assistant(tool_call("c2", "g")),
            tool_message("c2"),
        ),
        chat_example(
            USER,
            {"role": "assistant", "content": "let me see"},
            assistant(tool_call("c1")),
            tool_message("c1"),
        ),
        chat_example(
            USER,
            assistant(tool_call("c1")),
            assistant(tool_call("c2", "g")),
            tool_message("c1"),
            tool_message("c2"),
            target="xai",
        ),
    ),
)
