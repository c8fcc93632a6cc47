"""An id has characters that the target does not take.

Anthropic and Bedrock take letters, digits, `_` and `-` ("String should match pattern
'^[a-zA-Z0-9_-]+$'"), Mistral only letters and digits. Kimi's `functions.f:0`, ids with dots, blanks
or bars, and everything that an adapter made of a name are refused, at every later turn.

The fix replaces the odd characters and adds a hash of the whole id, for the call and its result
alike. Replacing alone would make `a.b` and `a_b` one id. Only ids change. An id that is two in one,
or output, is left to the rule that says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

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
from toolwire.lint.id_formats import describe_maker, shorten
from toolwire.lint.rule import Example, Fixed, Problem, Rule


def _amiss(facts: Facts) -> list[Call]:
    """Those whose length is right: what is too long is mended as a whole by the rule that
    says so.
    """
    rule = accepted_ids(facts)
    if not facts.refused_ids or not (rule.chars or rule.first):
        return []
    return [
        one
        for one in unexplained_refusals(facts)
        if (
            len(one.id) == rule.longest
            if rule.exact
            else not rule.longest or len(one.id) <= rule.longest
        )
    ]


def _check(facts: Facts) -> Iterable[Problem]:
    chars = accepted_ids(facts).chars
    for one in _amiss(facts):
        odd = "".join(dict.fromkeys(re.findall(f"[^{chars}]", one.id))) if chars else one.id[:1]
        said = f"the id {shorten(one.id)} of the call of {one.name}{describe_maker(one.id)} has {shorten(odd)!r}"
        yield one.path, f"{said}; {facts.profile.name} takes only {chars}", "safe"


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    return fit_refused_ids(facts, _amiss(facts))


def _uses(*ids: str, target: str = "anthropic") -> Example:
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
        target=target,
    )


RULE = Rule(
    "TW006",
    "id-bad-charset",
    title="an id has characters that the target does not take",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=20,
    handled_by="fit",
    bad=(
        _uses("functions.f:0"),
        _uses("a b", "a.b", "a_b"),
        Example(
            "mistral",
            "mistral",
            {"messages": [USER, assistant(tool_call("call_abcd")), tool_message("call_abcd")]},
        ),
        Example(
            "bedrock",
            "bedrock",
            {
                "messages": [
                    {"role": "user", "content": [{"text": "hi"}]},
                    {
                        "role": "assistant",
                        "content": [{"toolUse": {"toolUseId": "f/0", "name": "f", "input": {}}}],
                    },
                    {
                        "role": "user",
                        "content": [
                            {"toolResult": {"toolUseId": "f/0", "content": [{"text": "1"}]}}
                        ],
                    },
                ],
                "toolConfig": {
                    "tools": [
                        {"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}
                    ]
                },
            },
        ),
    ),
    good=(
        _uses("toolu_01A-b"),
        _uses("functions.f:0", target="minimax-anthropic"),
        chat_example(USER, assistant(tool_call("functions.f:0")), tool_message("functions.f:0")),
    ),
)
