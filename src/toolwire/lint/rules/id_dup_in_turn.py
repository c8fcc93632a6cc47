"""Two different calls of one turn have the same id.

Some servers give all parallel calls one id, and parsers that restart their counter in each message
produce the same number twice. Anthropic reports "`tool_use` ids must be unique", Kimi "tool call id
exec:2 is duplicated", Bedrock "toolUse blocks contain duplicate Ids", and OpenAI refuses the two
results that follow: "Duplicate value for 'tool_call_id'".

The fix keeps the id of the first call and gives the later calls new ids. The results with that id
are assigned to the calls in order; a result that names its tool is assigned to the call to that
tool. The fix is safe if every call or no call has a result. Otherwise it is unsafe, because the
call without a result is a guess. Only ids change. `id-dup-call` handles two copies of the same
call.
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
from toolwire.lint.id_formats import describe_maker, shorten
from toolwire.lint.rule import Example, Fixed, Problem, Rule


def _groups(facts: Facts) -> list[tuple[list[Call], Fix]]:
    """Return the calls that share an id, for each turn and id, and the kind of their fix."""
    if not has_repeated_ids(facts) or not ids_must_differ(facts):
        return []
    return [
        (group, _fix_kind(facts, group))
        for group in distinct_calls_sharing_an_id(facts)
        if any(call.id != call.name for call in group)
    ]


def _fix_kind(facts: Facts, group: list[Call]) -> Fix:
    results = [facts.result_of[id(call)] for call in group if id(call) in facts.result_of]
    if len(results) in (0, len(group)):
        return "safe"
    names_differ = len({call.name for call in group}) == len(group)
    return "safe" if names_differ and all(result.name for result in results) else "unsafe"


def _check(facts: Facts) -> Iterable[Problem]:
    for group, fix in _groups(facts):
        for call in group[1:]:
            message = (
                f"the call to {call.name} has the id {shorten(call.id)}{describe_maker(call.id)},"
                f" which the call to {group[0].name} before it already has"
            )
            if fix == "unsafe":
                message += "; there are fewer results than calls, and the fix assigns them in order"
            yield call.path, message, fix


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    ids_in_use = used_ids(facts)
    calls: dict[int, Call] = {}
    changes: list[tuple[JsonPath, str]] = []
    for group, fix in _groups(facts):
        if fix != "safe" and not unsafe:
            continue
        for position, call in enumerate(group[1:], 2):
            call_id = new_id(facts, call, numbered_id(call.id, position), ids_in_use)
            calls[id(call)] = with_id(call, call_id)
            changes.append((call.path, describe_move(facts, call, call_id)))
    return Fixed(reassign_ids(facts, calls), tuple(changes)) if calls else None


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
