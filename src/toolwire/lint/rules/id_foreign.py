"""An id has the format of a provider other than the target.

This alone is not an error: most providers accept any id that follows their rules. The rule reports
only ids that the target refuses for another reason, and results that match no call. The format then
shows the cause: the conversation started with another provider, and one half of a pair was not
carried over.

This rule has no fix; the rule that reports the actual violation has one.
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
from toolwire.lint.ids.edits import calls_with_invalid_id
from toolwire.lint.ids.formats import describe_maker, provider, shorten
from toolwire.lint.rule import Example, Problem, Rule


def _check(facts: Facts) -> Iterable[Problem]:
    for call in calls_with_invalid_id(facts):
        if provider(call.id):
            yield (
                call.path,
                f"the id {shorten(call.id)}{describe_maker(call.id)} comes from another provider;"
                f" {facts.profile.name} refuses it",
                None,
            )
    if not facts.rejects_orphans or not facts.results_without_call:
        return
    call_providers = {provider(call.id) for call in facts.calls} if facts.orphans else set()
    for result in facts.orphans:
        result_provider = provider(result.call_id) if result.origin == "wire" else ""
        if result_provider and result_provider not in call_providers:
            yield (
                result.path,
                f"no call in this history has an id in the format of {shorten(result.call_id)}"
                f"{describe_maker(result.call_id)}",
                None,
            )


_ANTHROPIC_ID = "toolu_01A09q90qw90lq917835lq9"
RULE = Rule(
    "TW012",
    "id-foreign",
    title="an id has the format of another provider",
    cost="lossless",
    check=_check,
    severity="info",
    handled_by="fit",
    bad=(
        Example(
            "mistral",
            "mistral",
            body={
                "messages": [USER, assistant(tool_call(_ANTHROPIC_ID)), tool_message(_ANTHROPIC_ID)]
            },
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
            USER, assistant(tool_call("call_abcdefghijklmnopqrstuvwx")), tool_message(_ANTHROPIC_ID)
        ),
    ),
    good=(
        chat_example(USER, assistant(tool_call(_ANTHROPIC_ID)), tool_message(_ANTHROPIC_ID)),
        Example(
            "mistral",
            "mistral",
            body={"messages": [USER, assistant(tool_call("D681PevKs")), tool_message("D681PevKs")]},
        ),
        chat_example(USER, assistant(tool_call(_ANTHROPIC_ID)), tool_message("c9"), target="xai"),
    ),
)
