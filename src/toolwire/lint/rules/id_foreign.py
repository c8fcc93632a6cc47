"""An id looks like those of another provider than the one it goes to.

This is no fault by itself: most providers take any id that keeps to their rules. It is told only of
ids that are refused for another reason, or whose result finds no call, because it says where they
came from: a conversation that began elsewhere, and a half that was not carried along.

There is nothing to mend here; the rule that found the fault does it.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.id_edits import refused_calls
from toolwire.lint.id_formats import describe_maker, provider, shorten
from toolwire.lint.rule import Example, Problem, Rule


def _check(facts: Facts) -> Iterable[Problem]:
    for one in refused_calls(facts):
        if provider(one.id):
            yield (
                one.path,
                (
                    f"{shorten(one.id)}{describe_maker(one.id)} was not made for {facts.profile.name}, which"
                    " refuses it"
                ),
                None,
            )
    lost = facts.orphans if facts.profile.rejects_orphan_results and facts.unpaired_results else []
    if lost:
        made = {provider(one.id) for one in facts.calls}
        for result in lost:
            who = provider(result.call_id) if result.origin == "wire" else ""
            if who and who not in made:
                yield (
                    result.path,
                    (
                        f"{shorten(result.call_id)}{describe_maker(result.call_id)} is like the id of no call"
                        " in this history"
                    ),
                    None,
                )


_CLAUDE = "toolu_01A09q90qw90lq917835lq9"
RULE = Rule(
    "TW012",
    "id-foreign",
    title="an id looks like those of another provider",
    cost="lossless",
    check=_check,
    severity="info",
    handled_by="fit",
    bad=(
        Example(
            "mistral",
            "mistral",
            {"messages": [USER, assistant(tool_call(_CLAUDE)), tool_message(_CLAUDE)]},
        ),
        blocks_example(
            USER,
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "functions.f:0", "name": "f", "input": {}}],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "functions.f:0", "content": "1"}
                ],
            },
        ),
        chat_example(
            USER, assistant(tool_call("call_abcdefghijklmnopqrstuvwx")), tool_message(_CLAUDE)
        ),
    ),
    good=(
        chat_example(USER, assistant(tool_call(_CLAUDE)), tool_message(_CLAUDE)),
        Example(
            "mistral",
            "mistral",
            {"messages": [USER, assistant(tool_call("D681PevKs")), tool_message("D681PevKs")]},
        ),
        chat_example(USER, assistant(tool_call(_CLAUDE)), tool_message("c9"), target="xai"),
    ),
)
