"""Several calls use the name of their tool as their id.

Adapters for servers without ids use the name of the tool instead. That fails as soon as a tool is
called twice: two calls of one turn have the same id ("toolUse blocks contain duplicate Ids:
http_request"), or two calls of different turns where ids must be unique in the whole request
("`tool_use` ids must be unique"). A single call with the name of its tool as id is valid.

The fix keeps the id of the first call and gives each later call and its result a new id. Calls of
different turns have their own results, so that is safe. Within one turn, only the order shows which
result belongs to which call. If the wire does not guarantee that order, or if there are fewer
results than calls, the results become user text marked `[toolwire]`, and the calls get placeholder
results. With unsafe fixes, as many results as calls are still assigned in order.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JsonPath
from toolwire.conversation.observations import Observation
from toolwire.conversation.part_map import PartMap
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
from toolwire.lint.fixes.uncertain_results import rewrite_results_of_shared_ids
from toolwire.lint.ids.duplicates import calls_reusing_an_id, groups_to_separate, has_repeated_ids
from toolwire.lint.ids.edits import all_ids, describe_move, new_id, nth_id, reassign_ids, with_id
from toolwire.lint.rule import Example, FixedConversation, Problem, Rule


def _groups(facts: Facts) -> list[list[Call]]:
    """For each turn and id, the calls that share the name of their tool as id."""
    groups = groups_to_separate(facts)
    return [group for group in groups if group[0].id == group[0].name]


def _calls_reusing_a_name(facts: Facts) -> list[tuple[Call, int]]:
    """The calls with an id of an earlier turn, and the number of each among the calls with that
    id."""
    if not facts.profile.ids_unique_in_request or not has_repeated_ids(facts):
        return []
    return [(call, number) for call, number in calls_reusing_an_id(facts) if call.id == call.name]


def _pairs_are_certain(facts: Facts, group: list[Call], *, unsafe: bool = False) -> bool:
    results = [facts.result_of[call] for call in group if call in facts.result_of]
    if not results:
        return True
    if len(results) < len(group):
        return False
    is_equal = len({(result.text, result.error) for result in results}) == 1
    return is_equal or unsafe or facts.conversation.ordered


def _check(facts: Facts) -> Iterable[Problem]:
    message = (
        "the id of this call to {} is the name of the tool, and another call to it has the same id"
    )
    for group in _groups(facts):
        doubt = ""
        if not _pairs_are_certain(facts, group):
            doubt = "; the ids do not show which result belongs to which call"
        for call in group[1:]:
            yield call.path, message.format(call.name) + doubt, "safe"
    for call, _ in _calls_reusing_a_name(facts):
        yield call.path, message.format(call.name), "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    groups = _groups(facts)
    uncertain = [group for group in groups if not _pairs_are_certain(facts, group, unsafe=unsafe)]
    if uncertain:
        return rewrite_results_of_shared_ids(facts, uncertain)
    renamed = [(call, number) for group in groups for number, call in enumerate(group) if number]
    renamed += _calls_reusing_a_name(facts)
    ids_in_use = all_ids(facts)
    calls: PartMap[Call, Call] = PartMap()
    changes: list[tuple[JsonPath, str]] = []
    for call, number in renamed:
        call_id = new_id(facts, call, nth_id(call.id, number), ids_in_use)
        calls[call] = with_id(call, call_id)
        changes.append((call.path, describe_move(facts, call, call_id)))
    return FixedConversation(reassign_ids(facts, calls), tuple(changes)) if changes else None


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
