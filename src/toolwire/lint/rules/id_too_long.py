"""An id is longer than the target takes.

Providers cap ids (40 characters at older OpenAI-shaped servers, 64 at newer ones and at Bedrock)
and refuse the whole request, turn after turn: "string too long. Expected a string with maximum
length 40, but got a string with length 41". A prefix before a UUID is enough, and some servers hand
out ids of 69 characters themselves.

The fix keeps a readable beginning and adds a hash of the whole id, for the call and its result
alike, never one that is taken. Cutting alone would make siblings equal. Only ids change. An id that
is too long because it is something else (two ids, a signature, the output of the tool) is left to
the rule that says so.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.parts import Call
from toolwire.lint.examples.chat import USER, asks, call, chat, told
from toolwire.lint.facts import Facts
from toolwire.lint.id_edits import rule_of
from toolwire.lint.id_fitting import fitted, unexplained
from toolwire.lint.id_formats import like, short
from toolwire.lint.rule import Example, Fixed, Problem, Rule


def _long(facts: Facts) -> list[Call]:
    rule = rule_of(facts)
    if not rule.longest or rule.exact or not facts.strange_ids:
        return []
    return [one for one in unexplained(facts) if len(one.id) > rule.longest]


def _check(facts: Facts) -> Iterable[Problem]:
    for one in _long(facts):
        said = (
            f"the id {short(one.id)} of the call of {one.name}{like(one.id)} has {len(one.id)}"
            " characters"
        )
        yield one.path, f"{said}; {facts.profile.name} takes {rule_of(facts).longest}", "safe"


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    return fitted(facts, _long(facts))


_LONG = "call_" + "a" * 80
_UUID = "call_0b6b9c1e-3f60-4a5e-9a55-6f6c3b2a1d00"
RULE = Rule(
    "TW004",
    "id-too-long",
    title="an id is longer than the target takes",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=20,
    handled_by="fit",
    bad=(
        chat(USER, asks(call(_LONG)), told(_LONG)),
        chat(USER, asks(call(_LONG)), told(_LONG), USER),
        chat(
            USER, asks(call(_LONG + "1"), call(_LONG + "2")), told(_LONG + "2"), told(_LONG + "1")
        ),
        chat(USER, asks(call(_UUID)), told(_UUID), target="openai-chat-legacy"),
        Example(
            "openai-responses",
            "openai-responses",
            {
                "input": [
                    {
                        "type": "function_call",
                        "id": "fc_1",
                        "call_id": _LONG,
                        "name": "f",
                        "arguments": "{}",
                    },
                    {"type": "function_call_output", "call_id": _LONG, "output": "1"},
                ]
            },
        ),
    ),
    good=(
        chat(USER, asks(call("call_1")), told("call_1")),
        chat(USER, asks(call("a" * 64)), told("a" * 64)),
        chat(USER, asks(call(_UUID)), told(_UUID)),
        chat(USER, asks(call(_LONG)), told(_LONG), target="xai"),
    ),
)
