"""A result comes before its call.

Stores that sort by time, or merge two logs, can put a result before its call. Providers read from
the start and report a result without a call, and later a call without a result.

The fix moves the result to its position after the call. Nothing is lost, and nothing else moves.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.observations import Observation
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Result
from toolwire.lint.examples.blocks import (
    assistant_blocks,
    call_item,
    items_request,
    output_item,
    text_block,
    tool_result,
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
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.result_placement import add_results
from toolwire.lint.rule import FixedConversation, Problem, Rule


def _early_results(facts: Facts) -> list[Result]:
    if not facts.rejects_orphans or not facts.results_without_call:
        return []
    return [result for result in facts.results_without_call if result in facts.calls_after_results]


def _check(facts: Facts) -> Iterable[Problem]:
    for result in _early_results(facts):
        call = facts.calls_after_results[result]
        message = f"the result for {call.id} ({call.name}) comes before its call"
        yield result.path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    results = _early_results(facts)
    result_of = PartMap((facts.calls_after_results[result], result) for result in results)
    calls = [(batch, call) for batch in facts.batches for call in batch.calls if call in result_of]
    changes = tuple(
        (result.path, f"moved the result for {result.call_id} after its call") for result in results
    )
    return FixedConversation(add_results(facts, calls, lambda call: result_of[call]), changes)


RULE = Rule(
    "TW026",
    "result-before-call",
    title="a result comes before its call",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=33,
    ruled_out_by=(Observation.RESULTS_IN_PLACE,),
    bad=(
        chat_example(tool_message("c1"), assistant(tool_call("c1"))),
        chat_example(
            USER,
            tool_message("c1"),
            assistant(tool_call("c1"), tool_call("c2")),
            tool_message("c2"),
            USER,
        ),
        blocks_example(
            user_blocks(text_block("hi"), tool_result("t1")), assistant_blocks(tool_use("t1"))
        ),
        items_request(output_item("c1"), call_item("c1"), USER),
    ),
    good=(
        chat_example(
            USER,
            assistant(tool_call("c1")),
            tool_message("c1"),
            assistant(tool_call("c1")),
            tool_message("c1"),
        ),
        chat_example(tool_message("c1"), assistant(tool_call("c1")), target="xai"),
    ),
)
