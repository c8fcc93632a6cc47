"""The history starts with a result whose call was cut off.

A window of recent messages, or a summary, separated the result from its call. Providers that check
pairs refuse it ("messages with role 'tool' must be a response to a preceding message with
'tool_calls'"), and as the window moves, the error recurs every few turns. Cut the history where no
pair is split, as `toolwire.cut` does.

The call cannot be recovered. The fix rewrites the result as user text marked `[toolwire]`, in the
same place.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.observations import Observation
from toolwire.lint.examples.blocks import (
    HI,
    contents_example,
    model_parts,
    response_part,
    text_block,
    tool_result,
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
from toolwire.lint.fixes.transforms import results_as_text
from toolwire.lint.orphans import leading_orphans
from toolwire.lint.rule import FixedConversation, Problem, Rule


def _check(facts: Facts) -> Iterable[Problem]:
    if not facts.rejects_orphans or not facts.orphans:
        return
    for result in leading_orphans(facts):
        name = "a result" if result.origin == "minted" else f"the result for {result.call_id}"
        yield result.path, f"the history starts with {name}: its call was cut off", "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    results = leading_orphans(facts)
    if not results:
        return None
    changes = tuple(
        (result.path, f"rewrote the result for {result.call_id} as text: its call was cut off")
        for result in results
    )
    return FixedConversation(results_as_text(facts, results), changes)


RULE = Rule(
    "TW024",
    "history-starts-with-result",
    title="the history starts with a result whose call was cut off",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=31,
    ruled_out_by=(Observation.RESULTS_IN_PLACE,),
    bad=(
        chat_example(tool_message("c1"), USER),
        chat_example(
            {"role": "system", "content": "be brief"},
            tool_message("c1"),
            tool_message("c2"),
            {"role": "assistant", "content": "ok"},
            USER,
        ),
        blocks_example(user_blocks(tool_result("t1"), text_block("and?"))),
        contents_example(user_parts(response_part("f")), model_parts({"text": "ok"}), HI),
    ),
    good=(
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1")),
        chat_example(tool_message("c1"), assistant(tool_call("c1")), USER),
        chat_example(tool_message("c1"), USER, target="xai"),
    ),
)
