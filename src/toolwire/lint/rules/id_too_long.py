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
from toolwire.lint.examples.chat import USER, assistant, chat_example, tool_call, tool_message
from toolwire.lint.facts import Facts
from toolwire.lint.id_edits import accepted_ids
from toolwire.lint.id_fitting import fit_refused_ids, unexplained_refusals
from toolwire.lint.id_formats import describe_maker, shorten
from toolwire.lint.rule import Example, Fixed, Problem, Rule


def _long(facts: Facts) -> list[Call]:
    rule = accepted_ids(facts)
    if not rule.longest or rule.exact or not facts.refused_ids:
        return []
    return [one for one in unexplained_refusals(facts) if len(one.id) > rule.longest]


def _check(facts: Facts) -> Iterable[Problem]:
    for one in _long(facts):
        said = (
            f"the id {shorten(one.id)} of the call of {one.name}{describe_maker(one.id)} has {len(one.id)}"
            " characters"
        )
        yield one.path, f"{said}; {facts.profile.name} takes {accepted_ids(facts).longest}", "safe"


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    return fit_refused_ids(facts, _long(facts))


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
        chat_example(USER, assistant(tool_call(_LONG)), tool_message(_LONG)),
        chat_example(USER, assistant(tool_call(_LONG)), tool_message(_LONG), USER),
        chat_example(
            USER,
            assistant(tool_call(_LONG + "1"), tool_call(_LONG + "2")),
            tool_message(_LONG + "2"),
            tool_message(_LONG + "1"),
        ),
        chat_example(
            USER, assistant(tool_call(_UUID)), tool_message(_UUID), target="openai-chat-legacy"
        ),
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
        chat_example(USER, assistant(tool_call("call_1")), tool_message("call_1")),
        chat_example(USER, assistant(tool_call("a" * 64)), tool_message("a" * 64)),
        chat_example(USER, assistant(tool_call(_UUID)), tool_message(_UUID)),
        chat_example(USER, assistant(tool_call(_LONG)), tool_message(_LONG), target="xai"),
    ),
)
