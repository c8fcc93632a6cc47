"""Results are in a different order from their calls, and only the order connects them.

On wires without ids, the first result is taken as the result of the first call. Parallel tools
finish in any order, so results are swapped, usually without an error: the model believes that it is
raining in the wrong city. Front ends that check report "functionResponse.id does not match
functionCall.id".

The fix puts the results in the order of their calls. Results with an id that the target reads stay
where they are.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON
from toolwire.conversation.observations import Observation
from toolwire.lint.examples.blocks import (
    HI,
    call_part,
    contents_example,
    model_parts,
    response_part,
    user_parts,
)
from toolwire.lint.examples.chat import USER
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.result_placement import place_results
from toolwire.lint.fixes.transforms import describe_calls
from toolwire.lint.rule import Example, FixedConversation, Problem, Rule


def _check(facts: Facts) -> Iterable[Problem]:
    for batch in facts.position_violations.get(NAME, ()) if facts.calls else ():
        message = f"the results for {describe_calls(batch)} are not in the order of their calls"
        yield batch.results[0].path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    batches = facts.position_violations.get(NAME, [])
    changes = tuple(
        (
            batch.results[0].path,
            f"put the results for {describe_calls(batch)} in the order of their calls",
        )
        for batch in batches
    )
    return FixedConversation(place_results(facts, batches), changes)


NAME = "results-out-of-order"
_CALLS: list[JSON] = [{"function": {"name": name, "arguments": {}}} for name in ("f", "g")]
RULE = Rule(
    "TW032",
    NAME,
    title="results are in a different order from their calls",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=44,
    applies=lambda profile: profile.results_follow_call_order,
    ruled_out_by=(Observation.RESULTS_IN_PLACE | Observation.UNIQUE_CALL_IDS,),
    bad=(
        contents_example(
            HI,
            model_parts(call_part("f"), call_part("g")),
            user_parts(response_part("g"), response_part("f")),
        ),
        Example(
            "ollama",
            "ollama",
            {
                "messages": [
                    USER,
                    {"role": "assistant", "content": "", "tool_calls": [*_CALLS]},
                    {"role": "tool", "tool_name": "g", "content": "2"},
                    {"role": "tool", "tool_name": "f", "content": "1"},
                ]
            },
        ),
    ),
    good=(
        contents_example(
            HI,
            model_parts(call_part("f"), call_part("g")),
            user_parts(response_part("f"), response_part("g")),
        ),
        contents_example(
            HI,
            model_parts(call_part("f", "a"), call_part("f", "b")),
            user_parts(response_part("f", 2, "b"), response_part("f", 1, "a")),
        ),
    ),
)
