"""A call was removed from the history, but its result was kept.

Filters cause this: one that drops calls with invalid arguments, one that keeps each id once, or one
that trusts a separate list of calls. The remaining trace is a result next to the results of an
assistant message that calls other tools, or after an assistant message that has an empty list of
calls or no content. Providers refuse it like any result without a call. Correct the filter: a call
and its result must be removed together.

The call and its arguments cannot be recovered. The fix rewrites the result as user text marked
`[toolwire]`, after the whole run of calls and results, so that the other pairs stay together.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Call, Message
from toolwire.lint.examples.blocks import (
    assistant_blocks,
    converse_call,
    converse_example,
    converse_result,
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
from toolwire.lint.fixes.transforms import results_as_text
from toolwire.lint.ids.formats import list_some, shorten
from toolwire.lint.orphans import orphans_of_removed_calls
from toolwire.lint.rule import FixedConversation, Problem, Rule


def _check(facts: Facts) -> Iterable[Problem]:
    if not facts.rejects_orphans or not facts.orphans:
        return
    callers = orphans_of_removed_calls(facts)
    previous: Message | None = None
    position = ""
    for result in facts.orphans:
        if result not in callers:
            continue
        if callers[result] is not previous:
            previous = callers[result]
            position = _describe_position(previous)
        yield (
            result.path,
            f"the result for {result.call_id} {position}, but its call was removed",
            "safe",
        )


def _describe_position(caller: Message) -> str:
    call_ids = [shorten(part.id) for part in caller.parts if isinstance(part, Call)]
    if call_ids:
        return f"is next to the results for {list_some(call_ids)}"
    return "follows an assistant message without calls"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    callers = orphans_of_removed_calls(facts)
    results = [result for result in facts.orphans if result in callers]
    if not results:
        return None
    changes = tuple(
        (result.path, f"rewrote the result for {result.call_id} as text: its call was removed")
        for result in results
    )
    return FixedConversation(results_as_text(facts, results), changes)


RULE = Rule(
    "TW038",
    "call-dropped-keep-result",
    title="a call was removed from the history, but its result was kept",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=31,
    ruled_out_by=(Observation.RESULTS_IN_PLACE,),
    bad=(
        chat_example(
            USER, assistant(tool_call("c1")), tool_message("c0"), tool_message("c1"), USER
        ),
        chat_example(
            USER, {"role": "assistant", "content": "", "tool_calls": []}, tool_message("c1"), USER
        ),
        blocks_example(
            USER,
            assistant_blocks(tool_use("t1")),
            user_blocks(tool_result("t0"), tool_result("t1")),
        ),
        converse_example(
            assistant_blocks(converse_call("t1")),
            user_blocks(converse_result("t0"), converse_result("t1")),
        ),
    ),
    good=(
        chat_example(
            USER,
            assistant(tool_call("c0"), tool_call("c1")),
            tool_message("c0"),
            tool_message("c1"),
            USER,
        ),
        chat_example(
            USER,
            assistant(tool_call("c1")),
            tool_message("c0"),
            tool_message("c1"),
            USER,
            target="xai",
        ),
    ),
)
