"""Results stand in another order than their calls, and nothing else tells whose they are.

Where ids do not travel, the first result is taken for that of the first call. Parallel tools finish
in any order, so the answers get mixed up: mostly without an error, and the model believes that it
is raining in the wrong city. Front ends that check say "functionResponse.id does not match
functionCall.id".

The fix puts the results in the order of their calls. Results that name their calls by an id that
the target reads stay.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON
from toolwire.lint.examples.blocks import HI, asking, called, contents, responded, saying
from toolwire.lint.examples.chat import USER
from toolwire.lint.facts import Facts
from toolwire.lint.result_placement import place_results
from toolwire.lint.rule import Example, Fixed, Problem, Rule
from toolwire.lint.transforms import describe_calls


def _check(facts: Facts) -> Iterable[Problem]:
    for block in facts.misplaced.get(NAME, ()) if facts.calls else ():
        yield (
            block.results[0].path,
            f"the results of {describe_calls(block)} do not stand in the order of the calls",
            "safe",
        )


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    blocks = facts.misplaced.get(NAME, [])
    changes = tuple(
        (
            block.results[0].path,
            f"the results of {describe_calls(block)} stand in the order of the calls",
        )
        for block in blocks
    )
    return Fixed(place_results(facts, blocks), changes)


NAME = "results-out-of-order"
_CALLS: list[JSON] = [{"function": {"name": name, "arguments": {}}} for name in ("f", "g")]
RULE = Rule(
    "TW032",
    NAME,
    title="results stand in another order than their calls",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=44,
    handled_by="write",
    bad=(
        contents(HI, asking(called("f"), called("g")), saying(responded("g"), responded("f"))),
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
        contents(HI, asking(called("f"), called("g")), saying(responded("f"), responded("g"))),
        contents(
            HI,
            asking(called("f", "a"), called("f", "b")),
            saying(responded("f", 2, "b"), responded("f", 1, "a")),
        ),
    ),
)
