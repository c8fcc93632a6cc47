"""The last calls of a history wait for their results.

That is no fault: it is where the conversation is. The tools may still be running, or somebody has
to approve them. It is worth knowing, because most providers would refuse the history if it were
sent now.

Nothing is mended, with or without unsafe fixes: whoever runs the tools decides whether to answer,
to run them again or to give them up. `toolwire.pending` lists them.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.lint.examples.blocks import model, use
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
        for one in facts.pending_calls:
            yield one.path, f"the call {one.id} of {one.name} waits for its result", None


RULE = Rule(
    "TW022",
    "pending-tail",
    title="the last calls of a history wait for their results",
    cost="refuse",
    check=_check,
    severity="info",
    bad=(
        chat_example(USER, assistant(tool_call("c1"))),
        chat_example(USER, assistant(tool_call("c1"), tool_call("c2")), tool_message("c2")),
        blocks_example(USER, model(use("t1"))),
    ),
    good=(
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1")),
        chat_example(USER, assistant(tool_call("c1")), USER),
        chat_example(USER, assistant(tool_call("c1")), target="xai"),
    ),
)
