"""Results without ids could belong to several calls.

Two calls of one tool are open, and their results have no ids: nothing says which is whose. Where a
wire promises that results stand in the order of their calls and there are as many of them, they are
joined by that order and this is not found.

There is no fix. Guessing by order swaps answers without anybody noticing: the temperature of one
city for that of another. Give the results the ids of their calls where they are made.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON
from toolwire.conversation.observations import Observation
from toolwire.lint.examples.blocks import HI, asking, called, contents, responded, saying
from toolwire.lint.examples.chat import USER, assistant, chat_example, tool_call, tool_message
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Problem, Rule


def _check(facts: Facts) -> Iterable[Problem]:
    if (
        not (facts.profile.rejects_missing_results or facts.profile.rejects_orphan_results)
        or not facts.unpaired_results
    ):
        return
    for one in facts.ambiguous_groups:
        if len(one.calls) > 1:
            calls = " or ".join(f"{each.id} of {each.name}" for each in one.calls)
            for result in one.results:
                yield (
                    result.path,
                    f"a result without an id could belong to {calls}; only who made it knows",
                    None,
                )


_BARE: JSON = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
RULE = Rule(
    "TW033",
    "ambiguous-same-name",
    title="results without ids could belong to several calls",
    cost="refuse",
    check=_check,
    ruled_out_by=(Observation.RESULTS_IN_PLACE,),
    bad=(
        chat_example(
            USER,
            assistant(tool_call("c1"), tool_call("c2")),
            {"role": "tool", "content": "1"},
            {"role": "tool", "content": "2"},
        ),
        chat_example(
            USER,
            assistant(_BARE, _BARE),
            {"role": "tool", "content": "1"},
            {"role": "tool", "content": "2"},
        ),
        contents(HI, asking(called("f"), called("f")), saying(responded("f")), HI),
    ),
    good=(
        chat_example(
            USER,
            assistant(tool_call("c1"), tool_call("c2")),
            tool_message("c2"),
            tool_message("c1"),
        ),
        chat_example(USER, assistant(tool_call("c1")), {"role": "tool", "content": "1"}),
        contents(
            HI, asking(called("f"), called("f")), saying(responded("f", 1), responded("f", 2))
        ),
    ),
)
