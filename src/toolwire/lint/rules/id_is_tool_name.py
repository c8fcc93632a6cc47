"""Several calls have the name of their tool as id.

Adapters for servers without ids use the name of the tool as id. That fails as soon as a tool is
called twice: two calls of one turn have the same id ("toolUse blocks contain duplicate Ids:
http_request"), or two calls of different turns where ids must be unique in the whole request
("`tool_use` ids must be unique"). A single call with the name of its tool as id is valid.

The fix keeps the id of the first call and gives each later call and its result a new id. Calls of
different turns have their own results, so that is safe. Within one turn, only the order shows which
result belongs to which call: the fix is safe if the wire guarantees that order or if there are no
results, and unsafe otherwise. With fewer results than calls, the pairs are unknown and there is no
fix. Only ids change.
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


def _calls_to_rename(facts: Facts) -> list[tuple[Call, int, Fix | None]]:
    """Return the calls that need a new id, their number among those with the id, and their fix."""
    if not has_repeated_ids(facts) or not ids_must_differ(facts):
        return []
    calls: list[tuple[Call, int, Fix | None]] = []
    for group in distinct_calls_sharing_an_id(facts):
        if group[0].id == group[0].name:
            fix = _fix_kind(facts, group)
            calls += [(call, number, fix) for number, call in enumerate(group) if number]
    if facts.profile.ids_unique_in_request:
        calls += [
            (call, number, "safe") for call, number in reused_ids(facts) if call.id == call.name
        ]
    return calls


def _fix_kind(facts: Facts, group: list[Call]) -> Fix | None:
    result_count = sum(id(call) in facts.result_of for call in group)
    if result_count == 0:
        return "safe"
    if result_count < len(group):
        return None
    return "safe" if facts.conversation.ordered else "unsafe"


def _check(facts: Facts) -> Iterable[Problem]:
    for call, _, fix in _calls_to_rename(facts):
        message = (
            f"the id of this call to {call.name} is the name of the tool, and another call to it"
            " has the same id"
        )
        if fix is None:
            message += (
                "; there are fewer results than calls, and the call without a result is unknown:"
                " set the ids by hand"
            )
        elif fix == "unsafe":
            message += "; only their order shows which result belongs to which call"
        yield call.path, message, fix


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    ids_in_use = used_ids(facts)
    calls: dict[int, Call] = {}
    changes: list[tuple[JsonPath, str]] = []
    for call, number, fix in _calls_to_rename(facts):
        if fix == "safe" or (unsafe and fix is not None):
            call_id = new_id(facts, call, numbered_id(call.id, number), ids_in_use)
            calls[id(call)] = with_id(call, call_id)
            changes.append((call.path, describe_move(facts, call, call_id)))
    return Fixed(reassign_ids(facts, calls), tuple(changes)) if calls else None


_CALL_1, _CALL_2 = (
    tool_call("f", "f", arguments='{"a": 1}'),
    tool_call("f", "f", arguments='{"a": 2}'),
)
RULE = Rule(
    "TW010",
    "id-is-tool-name",
    title="several calls have the name of their tool as id",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=25,
    ruled_out_by=(Observation.UNIQUE_CALL_IDS,),
    bad=(
        chat_example(
            USER, assistant(_CALL_1, _CALL_2), tool_message("f", "1"), tool_message("f", "2")
        ),
        chat_example(USER, assistant(_CALL_1, _CALL_2), tool_message("f", "1")),
        chat_example(USER, assistant(_CALL_1, _CALL_2)),
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
            body={
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
            USER,
            assistant(_CALL_1, _CALL_2),
            tool_message("f", "1"),
            tool_message("f", "2"),
            target="xai",
        ),
    ),
)
