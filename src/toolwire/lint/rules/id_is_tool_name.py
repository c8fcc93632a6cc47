"""Calls have the name of their tool for an id, and the tool was called more than once.

Adapters for servers without ids take the name of the tool for one. That works until a tool is
called twice: then two calls have one id, in one turn ("toolUse blocks contain duplicate Ids:
http_request") or, where ids must be unique in the whole request, in two turns ("`tool_use` ids must
be unique"). A single call under the name of its tool is fine, and not found.

The fix keeps the first and gives a new id to each later call and its result. Calls of different
turns have their own results. In one turn nothing but their order tells the results apart: where the
wire promises it the fix is safe, else it is not, and with fewer results than calls nobody can say.
Only ids change.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JsonPath
from toolwire.conversation.model import Fix
from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Call
from toolwire.lint.duplicate_ids import (
    distinct_calls_sharing_an_id,
    has_repeated_ids,
    ids_must_differ,
    reused_ids,
)
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.id_edits import (
    describe_move,
    new_id,
    numbered_id,
    reassign_ids,
    used_ids,
    with_id,
)
from toolwire.lint.rule import Example, Fixed, Problem, Rule


def _named(facts: Facts) -> list[tuple[Call, int, Fix | None]]:
    """The calls that need a new id, the how manieth of their name they are in the turn or history,
    and how sure it is."""
    if not has_repeated_ids(facts) or not ids_must_differ(facts):
        return []
    found: list[tuple[Call, int, Fix | None]] = []
    for group in distinct_calls_sharing_an_id(facts):
        if group[0].id != group[0].name:
            continue
        answered = sum(id(one) in facts.result_of for one in group)
        sure: Fix | None = "unsafe" if answered == len(group) else None
        if not answered or (sure and facts.conversation.ordered):
            sure = "safe"
        found += [(one, n, sure) for n, one in enumerate(group) if n]
    if facts.profile.ids_unique_in_request:
        found += [(one, n, "safe") for one, n in reused_ids(facts) if one.id == one.name]
    return found


def _check(facts: Facts) -> Iterable[Problem]:
    for one, _, fix in _named(facts):
        said = (
            f"the id of this call of {one.name} is the name of the tool, and another call of it has"
            " the same"
        )
        if fix is None:
            said += (
                "; there are fewer results than calls, and nothing tells which call is unanswered:"
                " say it by hand"
            )
        elif fix == "unsafe":
            said += "; their results can only be told apart by their order"
        yield one.path, said, fix


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    taken = used_ids(facts)
    new: dict[int, Call] = {}
    changes: list[tuple[JsonPath, str]] = []
    for one, n, fix in _named(facts):
        if fix == "safe" or (unsafe and fix is not None):
            new[id(one)] = made = with_id(one, new_id(facts, one, numbered_id(one.id, n), taken))
            changes.append((one.path, describe_move(facts, one, made.id)))
    return Fixed(reassign_ids(facts, new), tuple(changes)) if new else None


_F, _G = tool_call("f", "f", '{"a": 1}'), tool_call("f", "f", '{"a": 2}')
RULE = Rule(
    "TW010",
    "id-is-tool-name",
    title="calls have the name of their tool for an id",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=25,
    ruled_out_by=(Observation.UNIQUE_CALL_IDS,),
    bad=(
        chat_example(USER, assistant(_F, _G), tool_message("f", "1"), tool_message("f", "2")),
        chat_example(USER, assistant(_F, _G), tool_message("f", "1")),
        chat_example(USER, assistant(_F, _G)),
        blocks_example(
            USER,
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "f", "name": "f", "input": {}}],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "f", "content": "1"}],
            },
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "f", "name": "f", "input": {}}],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "f", "content": "2"}],
            },
        ),
        Example(
            "bedrock",
            "bedrock",
            {
                "messages": [
                    {"role": "user", "content": [{"text": "hi"}]},
                    {
                        "role": "assistant",
                        "content": [
                            {"toolUse": {"toolUseId": "f", "name": "f", "input": {"a": n}}}
                            for n in (1, 2)
                        ],
                    },
                    {
                        "role": "user",
                        "content": [
                            {"toolResult": {"toolUseId": "f", "content": [{"text": n}]}}
                            for n in "12"
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
        chat_example(USER, assistant(tool_call("f")), tool_message("f")),
        chat_example(
            USER,
            assistant(tool_call("f")),
            tool_message("f"),
            USER,
            assistant(tool_call("f")),
            tool_message("f"),
        ),
        chat_example(
            USER, assistant(_F, _G), tool_message("f", "1"), tool_message("f", "2"), target="xai"
        ),
    ),
)
