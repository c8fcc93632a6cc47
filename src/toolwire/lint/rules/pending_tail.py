"""The last calls of a history are still waiting for their results.

This is not an error but the current state of the conversation: the tools may still be running, or a
user has to approve them. It is worth knowing, because most providers would refuse the history if it
were sent now.

The program that runs the tools decides whether to send results, run the tools again or abandon the
calls, so a repair leaves them alone by default. `toolwire.pending` lists them, `toolwire.resume`
adds their results, and `toolwire repair --abandon-pending` adds results that report the calls as
interrupted. The gateway does the same, because it sends every request at once. A call is not
reported if a result without a call follows it: another rule reports the two.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.part_map import PartSet
from toolwire.conversation.parts import Call
from toolwire.lint.examples.blocks import assistant_blocks, tool_use
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.ids.duplicates import calls_sharing_an_id, copies_of_calls
from toolwire.lint.ids.rewritings import calls_of_rewritten_ids
from toolwire.lint.rule import Problem, Rule


def _calls_with_a_result_in_sight(facts: Facts) -> PartSet[Call]:
    """Open calls whose result another finding locates: under another id, before the call, or at a
    copy of the call. If that is uncertain, no open call is reported as waiting."""
    calls: PartSet[Call] = PartSet(facts.calls_after_results.values())
    for group in calls_sharing_an_id(facts):
        for copy in copies_of_calls(facts, group):
            calls.add(copy)
    rewritten = calls_of_rewritten_ids(facts)
    for call in rewritten.values():
        calls.add(call)
    last = facts.message_index(facts.pending_calls[0]) if facts.pending_calls else 0
    unknown = [
        result
        for result in facts.results_without_call
        if result not in rewritten and facts.message_index(result) > last
    ]
    if unknown:
        for call in facts.pending_calls:
            calls.add(call)
    return calls


def _check(facts: Facts) -> Iterable[Problem]:
    if (
        facts.profile.rejects_missing_results
        and facts.open_calls
        and facts.conversation.kind == "request"
    ):
        answered = _calls_with_a_result_in_sight(facts)
        for call in facts.pending_calls:
            if call in answered:
                continue
            yield call.path, f"the call {call.id} ({call.name}) is waiting for its result", None


RULE = Rule(
    "TW022",
    "pending-tail",
    title="the last calls of a history are still waiting for their results",
    cost="refuse",
    check=_check,
    severity="info",
    concerns=lambda profile: profile.rejects_missing_results,
    bad=(
        chat_example(USER, assistant(tool_call("c1"))),
        chat_example(USER, assistant(tool_call("c1"), tool_call("c2")), tool_message("c2")),
        blocks_example(USER, assistant_blocks(tool_use("t1"))),
    ),
    good=(
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1")),
        chat_example(USER, assistant(tool_call("c1")), USER),
        chat_example(USER, assistant(tool_call("c1")), tool_message("c9")),
        chat_example(USER, assistant(tool_call("c1")), target="xai"),
    ),
)
