"""Two different calls of one turn have the same id.

Some servers give all parallel calls one id, and parsers that restart their counter in each message
produce the same number twice. Anthropic reports "`tool_use` ids must be unique", Kimi "tool call id
exec:2 is duplicated", Bedrock "toolUse blocks contain duplicate Ids", Gemini only "Request contains
an invalid argument.", and OpenAI refuses the two results that follow: "Duplicate value for
'tool_call_id'".

The fix keeps the id of the first call and gives the later calls new ids. The results with that id
are assigned to the calls in order; a result that names its tool is assigned to the call to that
tool. If only some of the calls have a result, that would be a guess: the results become user text
marked `[toolwire]`, and the calls get placeholder results. With unsafe fixes, they are still
assigned in order. `id-dup-call` handles two copies of the same call.
"""

from __future__ import annotations

from collections import Counter
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
from toolwire.lint.ids.duplicates import groups_to_separate, pairs_are_certain
from toolwire.lint.ids.edits import all_ids, describe_move, new_id, nth_id, reassign_ids, with_id
from toolwire.lint.ids.formats import describe_maker, shorten
from toolwire.lint.rule import Example, FixedConversation, Problem, Rule


def _groups(facts: Facts) -> list[list[Call]]:
    """The calls that share an id, for each turn and id."""
    groups = groups_to_separate(facts)
    return [group for group in groups if any(call.id != call.name for call in group)]


def _check(facts: Facts) -> Iterable[Problem]:
    for group in _groups(facts):
        certain = pairs_are_certain(facts, group)
        for call in group[1:]:
            message = (
                f"the call to {call.name} has the id {shorten(call.id)}{describe_maker(call.id)},"
                f" which the call to {group[0].name} before it already has"
            )
            if not certain:
                message += "; there are fewer results than calls"
            yield call.path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    groups = _groups(facts)
    uncertain = [group for group in groups if not pairs_are_certain(facts, group)]
    if uncertain and not unsafe:
        return rewrite_results_of_shared_ids(facts, uncertain)
    ids_in_use = all_ids(facts)
    calls: PartMap[Call, Call] = PartMap()
    changes: list[tuple[JsonPath, str]] = []
    copies: Counter[str] = Counter()  # of all turns, so that no number is tried twice
    for group in groups:
        for call in group[1:]:
            copies[call.id] += 1
            call_id = new_id(facts, call, nth_id(call.id, copies[call.id] + 1), ids_in_use)
            calls[call] = with_id(call, call_id)
            changes.append((call.path, describe_move(facts, call, call_id)))
    return FixedConversation(reassign_ids(facts, calls), tuple(changes)) if changes else None


_PAIR = (tool_call("x:0", "f"), tool_call("x:0", "g"))
RULE = Rule(
    "TW016",
    "id-dup-in-turn",
    title="two different calls of one turn have the same id",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=25,
    ruled_out_by=(Observation.UNIQUE_CALL_IDS,),
    bad=(
        chat_example(USER, assistant(*_PAIR), tool_message("x:0", "1"), tool_message("x:0", "2")),
        chat_example(
            USER,
            assistant(*_PAIR),
            tool_message("x:0", "1"),
            tool_message("x:0", "2"),
            target="kimi",
        ),
        chat_example(USER, assistant(*_PAIR), tool_message("x:0", "1"), USER),
        chat_example(USER, assistant(*_PAIR)),
        chat_example(
            USER,
            assistant(
                tool_call("x", "f", arguments='{"a": 1}'), tool_call("x", "f", arguments='{"a": 2}')
            ),
            tool_message("x", "1"),
            tool_message("x", "2"),
        ),
        blocks_example(
            USER,
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "x", "name": name, "input": {}} for name in "fg"
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "x", "content": text} for text in "12"
                ],
            },
        ),
        Example(
            "openai-responses",
            "openai-responses",
            body={
                "input": [
                    {"type": "function_call", "call_id": "x", "name": "f", "arguments": "{}"},
                    {"type": "function_call", "call_id": "x", "name": "g", "arguments": "{}"},
                    {"type": "function_call_output", "call_id": "x", "output": "1"},
                    {"type": "function_call_output", "call_id": "x", "output": "2"},
                ]
            },
        ),
    ),
    good=(
        chat_example(
            USER,
            assistant(tool_call("x:0", "f"), tool_call("x:1", "g")),
            tool_message("x:0"),
            tool_message("x:1"),
        ),
        chat_example(
            USER,
            assistant(*_PAIR),
            tool_message("x:0", "1"),
            tool_message("x:0", "2"),
            target="xai",
        ),
        chat_example(
            USER,
            assistant(_PAIR[0]),
            tool_message("x:0"),
            USER,
            assistant(_PAIR[1]),
            tool_message("x:0"),
        ),
    ),
)
