"""An id does not have the one length that the target takes.

Mistral's models take ids of exactly nine letters or digits, and so does whatever speaks with their
templates: "Tool call id was X but must be a-z, A-Z, 0-9, with a length of 9." An id of any other
provider, and one that is too short, stops the conversation.

The fix is nine characters of a hash of the whole id, for the call and its result alike, and never
one that is taken. The first nine letters and digits would make all ids of a provider equal. Only
ids change.
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


def _amiss(facts: Facts) -> list[Call]:
    rule = accepted_ids(facts)
    return (
        [one for one in unexplained_refusals(facts) if len(one.id) != rule.longest]
        if rule.exact and facts.refused_ids
        else []
    )


def _check(facts: Facts) -> Iterable[Problem]:
    for one in _amiss(facts):
        said = (
            f"the id {shorten(one.id)} of the call of {one.name}{describe_maker(one.id)} has {len(one.id)}"
            " characters"
        )
        yield (
            one.path,
            f"{said}; {facts.profile.name} takes exactly {accepted_ids(facts).longest}",
            "safe",
        )


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    return fit_refused_ids(facts, _amiss(facts))


def _mistral(one: str) -> Example:
    return Example(
        "mistral", "mistral", {"messages": [USER, assistant(tool_call(one)), tool_message(one)]}
    )


_SIBLINGS = ("tooluse_bpAAAAAAAAAAAAAAAAAAAA", "tooluse_bpBBBBBBBBBBBBBBBBBBBB")
RULE = Rule(
    "TW005",
    "id-wrong-length",
    title="an id does not have the length that the target takes",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=20,
    handled_by="fit",
    bad=(
        _mistral("a"),
        _mistral("call_abcdefghijklmnopqrstuvwx"),
        Example(
            "mistral",
            "mistral",
            {
                "messages": [
                    USER,
                    assistant(*map(tool_call, _SIBLINGS)),
                    *map(tool_message, _SIBLINGS),
                ]
            },
        ),
        Example(
            "bedrock",
            "bedrock-mistral",
            {
                "messages": [
                    {"role": "user", "content": [{"text": "hi"}]},
                    {
                        "role": "assistant",
                        "content": [
                            {"toolUse": {"toolUseId": _SIBLINGS[0], "name": "f", "input": {}}}
                        ],
                    },
                    {
                        "role": "user",
                        "content": [
                            {"toolResult": {"toolUseId": _SIBLINGS[0], "content": [{"text": "1"}]}}
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
