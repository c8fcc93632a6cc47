"""Two ids become one when they are rewritten in the usual way.

Where a target does not take an id, most bridges replace each odd character by `_`, or cut the id to
the length that is taken: `a.b:1` and `a_b_1` become one id, and so do two long ids with the same
beginning. From then on two calls share their results, and providers say "`tool_use` ids must be
unique". Nothing is wrong in the history yet but that it must be rewritten.

The fix rewrites with a hash of the whole id and looks at what is taken, so that they stay apart.
Only ids change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolwire.conversation.id_rules import IdRule
from toolwire.conversation.parts import Call
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.id_edits import accepted_ids
from toolwire.lint.id_fitting import fit_refused_ids, unexplained_refusals
from toolwire.lint.id_formats import shorten
from toolwire.lint.rule import Example, Fixed, Problem, Rule


def _usual(one: str, rule: IdRule) -> str:
    """What most would make of an id."""
    text = re.sub(f"[^{rule.chars}]", "" if rule.exact else "_", one) if rule.chars else one
    return text[: rule.longest] if rule.longest else text


def _meeting(facts: Facts) -> list[tuple[Call, str]]:
    """Calls whose ids must be rewritten, each with another id that would be the same then."""
    if not facts.refused_ids or len(facts.calls) < 2:
        return []
    rule = accepted_ids(facts)
    same: dict[str, list[str]] = {}
    for one in dict.fromkeys(each.id for each in facts.calls if each.origin == "wire"):
        same.setdefault(_usual(one, rule), []).append(one)
    return [
        (one, next(other for other in same[_usual(one.id, rule)] if other != one.id))
        for one in unexplained_refusals(facts)
        if len(same[_usual(one.id, rule)]) > 1
    ]


def _check(facts: Facts) -> Iterable[Problem]:
    for one, other in _meeting(facts):
        said = (
            f"the id {shorten(one.id)} of the call of {one.name}, rewritten in the usual way for"
            f" {facts.profile.name}"
        )
        yield one.path, f"{said}, is the same as {shorten(other)}", "safe"


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    return fit_refused_ids(facts, [one for one, _ in _meeting(facts)])


def _uses(*ids: str) -> Example:
    return blocks_example(
        USER,
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": one, "name": "f", "input": {}} for one in ids],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": one, "content": "1"} for one in ids],
        },
    )


_CUT = tuple("call_" + "a" * 80 + end for end in "12")
_NINE = ("tooluse_bpAAAAAAAAAAAAAAAAAAAA", "tooluse_bpBBBBBBBBBBBBBBBBBBBB")
RULE = Rule(
    "TW015",
    "id-rewrite-collision",
    title="two ids become one when they are rewritten in the usual way",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=20,
    handled_by="fit",
    bad=(
        _uses("a.b:1", "a_b_1"),
        _uses("a.b", "a:b"),
        chat_example(USER, assistant(*map(tool_call, _CUT)), *map(tool_message, _CUT)),
        Example(
            "mistral",
            "mistral",
            {"messages": [USER, assistant(*map(tool_call, _NINE)), *map(tool_message, _NINE)]},
        ),
    ),
    good=(
        _uses("a_b", "a-b"),
        _uses("a.b", "c.d"),
        chat_example(
            USER,
            assistant(tool_call("a.b"), tool_call("a_b")),
            tool_message("a.b"),
            tool_message("a_b"),
        ),
    ),
)
