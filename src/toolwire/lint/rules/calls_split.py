"""One batch of parallel calls is split into several assistant messages.

A program that stores each call as it arrives writes one message per call. The results of the first
message then do not follow it directly, because another assistant message does. Providers report
missing results or a missing call ("Missing corresponding tool call for tool response message").
If a provider signs each step, all messages except the first have no signature.

The fix merges the messages into one and keeps the order of the calls; nothing is lost. Calls that
each have their result before the next call are left alone: they may have been made one by one.
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
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.result_placement import place_results
from toolwire.lint.fixes.transforms import batch_path, describe_calls
from toolwire.lint.rule import FixedConversation, Problem, Rule


def _check(facts: Facts) -> Iterable[Problem]:
    for batch in facts.position_violations.get(NAME, ()) if facts.calls else ():
        yield (
            batch_path(batch),
            (
                f"the parallel calls {describe_calls(batch)} are split into"
                f" {len(batch.caller_indexes)} assistant messages; expected one message before"
                " their results"
            ),
            "safe",
        )


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    batches = facts.position_violations.get(NAME, [])
    changes = tuple(
        (batch_path(batch), f"merged the calls {describe_calls(batch)} into one message")
        for batch in batches
    )
    return FixedConversation(place_results(facts, batches), changes)


NAME = "calls-split"
RULE = Rule(
    "TW029",
    NAME,
    title="one batch of calls is split into several assistant messages",
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
            target="deepseek",
        ),
        blocks_example(
            USER,
            assistant_blocks(tool_use("t1")),
            assistant_blocks(tool_use("t2")),
            user_blocks(tool_result("t1"), tool_result("t2")),
            target="minimax-anthropic",
        ),
        contents_example(
            HI,
            model_parts(call_part("f", thoughtSignature="c2ln")),
            model_parts(call_part("g")),
            user_parts(response_part("f"), response_part("g")),
        ),
    ),
    good=(
        blocks_example(
            USER,
            assistant_blocks(tool_use("t1")),
            assistant_blocks(tool_use("t2")),
            user_blocks(tool_result("t1"), tool_result("t2")),
        ),
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
