"""The id of a result is the output of the tool.

A bridge wrote the output into the field of the call id: `{"tool_call_id": "Sum: 15", "content":
"Sum: 15"}`. Short outputs match no call ("'tool_call_id' of 'Sum: 15' not found in 'tool_calls' of
previous message"), longer ones and JSON exceed the length limit ("Expected a string with maximum
length 40, but got a string with length 1721"). Genkit's Go plugin did this to every tool.

The rule recognizes an id that equals the content or a beginning of it, or that contains characters
of prose or JSON. If exactly one call of the turn is open, the fix gives the result the id of that
call; nothing but the id changes. With several open calls, the right call is unknown, and assignment
by position could swap results: the fix rewrites the result as user text marked `[toolwire]`. If the
call itself has the output as its id and the target refuses that id, the call and its result get a
new id.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.ids import mint
from toolwire.conversation.json import JsonPath
from toolwire.conversation.observations import Observation
from toolwire.conversation.part_map import PartMap, PartSet
from toolwire.conversation.parts import Call, Result
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.uncertain_results import rewrite_uncertain_results
from toolwire.lint.ids.edits import (
    all_ids,
    calls_with_invalid_id,
    describe_move,
    new_id,
    reassign_ids,
    with_id,
)
from toolwire.lint.ids.formats import is_composite, shorten
from toolwire.lint.ids.output_as_id import has_output_as_id, results_with_output_as_id
from toolwire.lint.rule import Example, FixedConversation, Problem, Rule


def _results_to_assign(facts: Facts) -> list[tuple[Result, list[Call], int]]:
    """Return the unpaired results with output as id, the open calls of their turn, and their count.

    The count is zero if the turn also has unpaired results with other ids.
    """
    if not facts.rejects_orphans:
        return []
    return results_with_output_as_id(facts) if facts.results_without_call else []


def _calls_to_rename(facts: Facts) -> list[Call]:
    """Return the calls whose id is the output of their result, if the target refuses it."""
    return [
        call
        for call in calls_with_invalid_id(facts)
        if not is_composite(call.id) and has_output_as_id(facts, call)
    ]


def _check(facts: Facts) -> Iterable[Problem]:
    for result, calls, count in _results_to_assign(facts):
        message = (
            f"the id of the result in message {facts.message_index(result)} is the output of the"
            f" tool: {shorten(result.call_id)}"
        )
        if len(calls) == count == 1:
            call = calls[0]
            advice = f"the open call is {shorten(call.id)} ({call.name})"
            yield result.path, f"{message}; {advice}", "safe"
        else:
            problem = f"{len(calls)} calls are open, and the right one is unknown"
            yield result.path, f"{message}; {problem}", "safe"
    for call in _calls_to_rename(facts):
        message = f"the id of the call to {call.name} is the output of its tool"
        yield call.path, f"{message}, and {facts.profile.name} refuses it", "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    ids_in_use = all_ids(facts)
    calls: PartMap[Call, Call] = PartMap()
    call_of_result: PartMap[Result, Call] = PartMap()
    changes: list[tuple[JsonPath, str]] = []
    for result, open_calls, count in _results_to_assign(facts):
        if len(open_calls) != 1 or count != 1:
            continue
        call = call_of_result[result] = open_calls[0]
        if call.origin != "wire" or _shares_id(facts, call):
            calls[call] = with_id(call, new_id(facts, call, call.id, ids_in_use))
        call_id = calls.get(call, call).id
        change = f"assigned the result to the call {shorten(call_id)} ({call.name})"
        changes.append((result.path, change))
    for index, call in enumerate(_calls_to_rename(facts)):
        call_id = new_id(facts, call, mint("", index, call.id), ids_in_use)
        calls[call] = with_id(call, call_id)
        changes.append((call.path, describe_move(facts, call, call_id)))
    if changes:
        return FixedConversation(reassign_ids(facts, calls, call_of_result), tuple(changes))
    return _uncertain_results_as_text(facts)


def _shares_id(facts: Facts, call: Call) -> bool:
    """True if another call of the turn has the same id: its result could be taken for that of this
    call."""
    turn = facts.turn_of(call)
    return turn is not None and sum(other.id == call.id for other in turn.calls) > 1


def _uncertain_results_as_text(facts: Facts) -> FixedConversation | None:
    matches = _results_to_assign(facts)
    if not matches:
        return None
    results = [result for result, _, _ in matches]
    calls = PartSet(call for _, open_calls, _ in matches for call in open_calls)
    changes = tuple(
        (
            result.path,
            "rewrote the result as text: its id is its output, and several calls are open",
        )
        for result in results
    )
    return FixedConversation(rewrite_uncertain_results(facts, calls, results), changes)


_DOCS = "Found comprehensive documentation on S3: 3 it"
_JSON = '{"items": [' + ", ".join(['{"path": "/var/log/syslog", "size": 1048576}'] * 38) + "]}"
RULE = Rule(
    "TW011",
    "id-is-result-content",
    title="the id of a result is the output of the tool",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=20,
    ruled_out_on_own_wire_by=(Observation.RESULTS_IN_PLACE | Observation.ACCEPTED_IDS,),
    ruled_out_by=(Observation.RESULTS_IN_PLACE,),
    ruled_out_on="other wires",
    bad=(
        chat_example(
            USER, assistant(tool_call("call_1", "add")), tool_message("Sum: 15", "Sum: 15")
        ),
        chat_example(
            USER, assistant(tool_call("search_docs", "search_docs")), tool_message(_DOCS, _DOCS)
        ),
        chat_example(
            USER,
            assistant(tool_call("call_1", "ls")),
            tool_message(_JSON, _JSON),
            target="openai-chat-legacy",
        ),
        chat_example(
            USER,
            assistant(tool_call("call_1")),
            tool_message('"Tool response content"', "Tool response content"),
        ),
        chat_example(
            USER,
            assistant(tool_call("call_1"), tool_call("call_2")),
            tool_message("Sum: 15", "Sum: 15"),
            tool_message("Sum: 16", "Sum: 16"),
        ),
        chat_example(
            USER,
            assistant(tool_call("call_1"), tool_call("call_2")),
            tool_message("Sum: 15", "Sum: 15"),
            USER,
        ),
        chat_example(USER, assistant(tool_call(_JSON)), tool_message(_JSON, _JSON)),
        blocks_example(
            USER,
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "toolu_1", "name": "add", "input": {}}],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "Sum: 15", "content": "Sum: 15"}
                ],
            },
        ),
        Example(
            "openai-responses",
            "openai-responses",
            body={
                "input": [
                    USER,
                    {
                        "type": "function_call",
                        "call_id": "call_1",
                        "name": "add",
                        "arguments": "{}",
                    },
                    {"type": "function_call_output", "call_id": "Sum: 15", "output": "Sum: 15"},
                ]
            },
        ),
    ),
    good=(
        chat_example(USER, assistant(tool_call("call_1")), tool_message("call_1", "call_1")),
        chat_example(
            USER, assistant(tool_call("Sum: 15", "add")), tool_message("Sum: 15", "Sum: 15")
        ),
        chat_example(USER, assistant(tool_call("call_1")), tool_message("call_9", "Sum: 15")),
        chat_example(
            USER, assistant(tool_call("call_1")), tool_message("Sum: 15", "Sum: 15"), target="xai"
        ),
    ),
)
