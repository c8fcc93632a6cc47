"""A later turn reuses the id of an earlier call.

Many servers restart their ids in each response: `call_0`, `functions.f:0`, or the name of the tool.
That is enough within one turn, but Anthropic requires ids that are unique in the whole request
("`tool_use` ids must be unique"), Kimi too ("tool call id write:12 is duplicated"), and frameworks
that look up calls by id skip the second call or overwrite the result of the first.

The fix keeps the id of the first call and gives each later call and its result a new id: the old id
with a hash, or the next id in the target's own format. Only ids change. The rule does not apply to
targets that require unique ids only within a turn.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, JsonPath
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
from toolwire.lint.ids.duplicates import calls_reusing_an_id, uncertain_calls
from toolwire.lint.ids.edits import all_ids, describe_move, new_id, nth_id, reassign_ids, with_id
from toolwire.lint.ids.formats import describe_maker, shorten
from toolwire.lint.rule import FixedConversation, Problem, Rule


def _calls_with_reused_id(facts: Facts) -> list[tuple[Call, int]]:
    """Return the calls with a reused id, and the number of each among the calls with that id."""
    if not facts.profile.ids_unique_in_request:
        return []
    # A new id would decide to which of several open calls an ambiguous result belongs.
    uncertain = uncertain_calls(facts)
    return [
        (call, number)
        for call, number in calls_reusing_an_id(facts)
        if call.id != call.name and call not in uncertain
    ]


def _check(facts: Facts) -> Iterable[Problem]:
    for call, _ in _calls_with_reused_id(facts):
        message = (
            f"the call to {call.name} has the id {shorten(call.id)}{describe_maker(call.id)}, which"
            f" a call of an earlier turn already has; {facts.profile.name} requires unique ids"
        )
        yield call.path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    ids_in_use = all_ids(facts)
    calls: PartMap[Call, Call] = PartMap()
    changes: list[tuple[JsonPath, str]] = []
    for call, number in _calls_with_reused_id(facts):
        call_id = new_id(facts, call, nth_id(call.id, number), ids_in_use)
        calls[call] = with_id(call, call_id)
        changes.append((call.path, describe_move(facts, call, call_id)))
    return FixedConversation(reassign_ids(facts, calls), tuple(changes)) if changes else None


_TURNS = (
    assistant(tool_call("call_0")),
    tool_message("call_0", "1"),
    USER,
    assistant(tool_call("call_0")),
    tool_message("call_0", "2"),
)
_USE: JSON = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "call_0", "name": "f", "input": {}}],
}
_RESULT: JSON = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "call_0", "content": "1"}],
}
RULE = Rule(
    "TW018",
    "id-reused-across-turns",
    title="a later turn reuses the id of an earlier call",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=25,
    concerns=lambda profile: profile.ids_unique_in_request,
    ruled_out_on_own_wire_by=(Observation.UNIQUE_CALL_IDS,),
    handled_by="fit",
    bad=(
        chat_example(USER, *_TURNS, target="kimi"),
        blocks_example(USER, _USE, _RESULT, _USE, _RESULT, _USE, _RESULT),
        blocks_example(USER, _USE, _RESULT, _USE),
    ),
    good=(
        chat_example(USER, *_TURNS),
        chat_example(USER, *_TURNS, target="xai"),
        blocks_example(USER, _USE, _RESULT),
    ),
)
