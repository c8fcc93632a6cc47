"""An id is longer than the target accepts.

Providers limit ids (40 characters at older OpenAI-compatible servers, 64 at newer ones and at
Bedrock) and refuse the whole request, turn after turn: "string too long. Expected a string with
maximum length 40, but got a string with length 41". A prefix before a UUID is enough to exceed the
limit, and some servers themselves generate ids of 69 characters.

The fix keeps a readable beginning and appends a hash of the whole id, in both the call and its
result, and avoids ids that are in use. Truncation alone would make similar ids equal. Only ids
change. Other rules handle an id that is too long because it is something else: two ids, a
signature, or the output of the tool.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Call
from toolwire.lint.examples.chat import USER, assistant, chat_example, tool_call, tool_message
from toolwire.lint.facts import Facts
from toolwire.lint.ids.edits import id_rule_for
from toolwire.lint.ids.fitting import calls_with_id_to_fit, fit_refused_ids
from toolwire.lint.ids.formats import describe_maker, shorten
from toolwire.lint.rule import Example, FixedConversation, Problem, Rule


def _calls(facts: Facts) -> list[Call]:
    rule = id_rule_for(facts)
    if not rule.longest or rule.exact or not facts.invalid_ids:
        return []
    return [call for call in calls_with_id_to_fit(facts) if len(call.id) > rule.longest]


def _check(facts: Facts) -> Iterable[Problem]:
    for call in _calls(facts):
        message = (
            f"the id {shorten(call.id)}{describe_maker(call.id)} of the call to {call.name} has"
            f" {len(call.id)} characters; {facts.profile.name} accepts at most"
            f" {id_rule_for(facts).longest}"
        )
        yield call.path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    return fit_refused_ids(facts, _calls(facts))


_LONG = "call_" + "a" * 80
_UUID = "call_0b6b9c1e-3f60-4a5e-9a55-6f6c3b2a1d00"
RULE = Rule(
    "TW004",
    "id-too-long",
    title="an id is longer than the target accepts",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=20,
    ruled_out_on_own_wire_by=(Observation.ACCEPTED_IDS,),
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
            body={
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
