"""An id does not have the exact length that the target requires.

Mistral's models accept ids of exactly nine letters or digits, and so do servers that use their chat
templates: "Tool call id was X but must be a-z, A-Z, 0-9, with a length of 9." An id of any other
provider, or one that is too short, stops the conversation.

The fix replaces the id with nine characters of a hash of the whole id, in both the call and its
result, and avoids ids that are in use. The first nine letters and digits would make all ids of a
provider equal. Only ids change.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON
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
    if not rule.exact or not facts.invalid_ids:
        return []
    return [call for call in calls_with_id_to_fit(facts) if len(call.id) != rule.longest]


def _check(facts: Facts) -> Iterable[Problem]:
    for call in _calls(facts):
        message = (
            f"the id {shorten(call.id)}{describe_maker(call.id)} of the call to {call.name} has"
            f" {len(call.id)} characters; {facts.profile.name} requires exactly"
            f" {id_rule_for(facts).longest}"
        )
        yield call.path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    return fit_refused_ids(facts, _calls(facts))


def _mistral(*ids: str) -> Example:
    messages: list[JSON] = [USER, assistant(*map(tool_call, ids)), *map(tool_message, ids)]
    return Example("mistral", "mistral", body={"messages": messages})


_BEDROCK_IDS = ("tooluse_bpAAAAAAAAAAAAAAAAAAAA", "tooluse_bpBBBBBBBBBBBBBBBBBBBB")
RULE = Rule(
    "TW005",
    "id-wrong-length",
    title="an id does not have the length that the target requires",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=20,
    ruled_out_on_own_wire_by=(Observation.ACCEPTED_IDS,),
    handled_by="fit",
    bad=(
        _mistral("a"),
        _mistral("call_abcdefghijklmnopqrstuvwx"),
        _mistral(*_BEDROCK_IDS),
        Example(
            "bedrock",
            "bedrock-mistral",
            body={
                "messages": [
                    {"role": "user", "content": [{"text": "hi"}]},
                    {
                        "role": "assistant",
                        "content": [
                            {"toolUse": {"toolUseId": _BEDROCK_IDS[0], "name": "f", "input": {}}}
                        ],
                    },
                    {
                        "role": "user",
                        "content": [
                            {
                                "toolResult": {
                                    "toolUseId": _BEDROCK_IDS[0],
                                    "content": [{"text": "1"}],
                                }
                            }
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
    good=(_mistral("D681PevKs"), chat_example(USER, assistant(tool_call("a")), tool_message("a"))),
)
