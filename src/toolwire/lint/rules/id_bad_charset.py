"""An id contains characters that the target refuses.

Anthropic and Bedrock accept letters, digits, `_` and `-` ("String should match pattern
'^[a-zA-Z0-9_-]+$'"), Mistral only letters and digits. Kimi's `functions.f:0`, ids with dots, spaces
or vertical bars, and ids that an adapter derives from tool names are refused, on every later turn
as well.

The fix replaces the refused characters and appends a hash of the whole id, in both the call and its
result. Without the hash, `a.b` and `a_b` would become the same id. Only ids change. Other rules
handle an id that combines two ids or that is the output of the tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolwire.conversation.observations import Observation
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
from toolwire.lint.ids.edits import id_rule_for
from toolwire.lint.ids.fitting import calls_with_id_to_fit, fit_refused_ids
from toolwire.lint.ids.formats import describe_maker, shorten
from toolwire.lint.rule import Example, FixedConversation, Problem, Rule


def _calls(facts: Facts) -> list[Call]:
    """Return the calls with refused characters in an id of an accepted length.

    The rules about lengths replace the whole id if its length is refused.
    """
    rule = id_rule_for(facts)
    if not facts.invalid_ids or not (rule.chars or rule.first):
        return []
    calls = calls_with_id_to_fit(facts)
    if rule.exact:
        return [call for call in calls if len(call.id) == rule.longest]
    return [call for call in calls if not rule.longest or len(call.id) <= rule.longest]


def _check(facts: Facts) -> Iterable[Problem]:
    chars = id_rule_for(facts).chars
    for call in _calls(facts):
        if chars:
            refused_chars = "".join(dict.fromkeys(re.findall(f"[^{chars}]", call.id)))
        else:
            refused_chars = call.id[:1]
        message = (
            f"the id {shorten(call.id)}{describe_maker(call.id)} of the call to {call.name}"
            f" contains {shorten(refused_chars)!r}; {facts.profile.name} accepts only {chars}"
        )
        yield call.path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    return fit_refused_ids(facts, _calls(facts))


def _blocks(*ids: str, target: str = "anthropic") -> Example:
    return blocks_example(
        USER,
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": call_id, "name": "f", "input": {}} for call_id in ids
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": call_id, "content": "1"} for call_id in ids
            ],
        },
        target=target,
    )


RULE = Rule(
    "TW006",
    "id-bad-charset",
    title="an id contains characters that the target refuses",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=20,
    ruled_out_on_own_wire_by=(Observation.ACCEPTED_IDS,),
    handled_by="fit",
    bad=(
        _blocks("functions.f:0"),
        _blocks("a b", "a.b", "a_b"),
        Example(
            "mistral",
            "mistral",
            body={"messages": [USER, assistant(tool_call("call_abcd")), tool_message("call_abcd")]},
        ),
        Example(
            "bedrock",
            "bedrock",
            body={
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
        _blocks("toolu_01A-b"),
        _blocks("functions.f:0", target="minimax-anthropic"),
        chat_example(USER, assistant(tool_call("functions.f:0")), tool_message("functions.f:0")),
    ),
)
