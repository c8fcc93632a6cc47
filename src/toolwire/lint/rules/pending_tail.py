"""The last calls of a history are still waiting for their results.

This is not an error but the current state of the conversation: the tools may still be running, or a
user has to approve them. It is worth knowing, because most providers would refuse the history if it
were sent now.

There is no fix, neither safe nor unsafe: the program that runs the tools decides whether to send
results, run the tools again or abandon the calls. `toolwire.pending` lists them.
"""

from __future__ import annotations

from collections.abc import Iterable

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
from toolwire.lint.rule import Problem, Rule


def _check(facts: Facts) -> Iterable[Problem]:
    if (
        facts.profile.rejects_missing_results
        and facts.open_calls
        and facts.conversation.kind == "request"
    ):
        for call in facts.pending_calls:
            yield call.path, f"the call {call.id} ({call.name}) is waiting for its result", None


RULE = Rule(
    "TW022",
    "pending-tail",
    title="the last calls of a history are still waiting for their results",
    cost="refuse",
    check=_check,
    severity="info",
    bad=(
        chat_example(USER, assistant(tool_call("c1"))),
        chat_example(USER, assistant(tool_call("c1"), tool_call("c2")), tool_message("c2")),
        blocks_example(USER, assistant_blocks(tool_use("t1"))),
    ),
    good=(
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1")),
        chat_example(USER, assistant(tool_call("c1")), USER),
        chat_example(USER, assistant(tool_call("c1")), target="xai"),
    ),
)
