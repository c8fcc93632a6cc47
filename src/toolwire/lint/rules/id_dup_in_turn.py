"""Two calls of one turn have the same id.

Some servers give all parallel calls one id, and parsers that count anew in each message give the
same number twice. Anthropic says "`tool_use` ids must be unique", Kimi "tool call id exec:2 is
duplicated", Bedrock "toolUse blocks contain duplicate Ids", and OpenAI refuses the two results that
follow: "Duplicate value for 'tool_call_id'".

The fix keeps the first and gives the later calls new ids; the first result under that id goes to
the first call, the second to the second, and one that names its tool to the call of that tool. That
is safe if there are as many results as calls, or none. With fewer, which call is unanswered is a
guess. Only ids change. The same call twice is another rule's.
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
    if not has_repeated_ids(facts) or not ids_must_differ(facts):
        return []
    return [
        (group, _sure(facts, group))
        for group in distinct_calls_sharing_an_id(facts)
        if any(one.id != one.name for one in group)
    ]


def _sure(facts: Facts, group: list[Call]) -> Fix:
    results = [facts.result_of[id(one)] for one in group if id(one) in facts.result_of]
    told_apart = len({one.name for one in group}) == len(group) and all(
        result.name for result in results
    )
    return "safe" if len(results) in (0, len(group)) or told_apart else "unsafe"


def _check(facts: Facts) -> Iterable[Problem]:
    for group, fix in _groups(facts):
        for one in group[1:]:
            said = (
                f"the call of {one.name} has the id {shorten(one.id)}{describe_maker(one.id)}, as the call of"
                f" {group[0].name} before it"
            )
            why = (
                ""
                if fix == "safe"
                else (
                    "; there are fewer results than calls, and the first call is taken to have them"
                )
            )
            yield one.path, said + why, fix


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    taken = used_ids(facts)
    new: dict[int, Call] = {}
    changes: list[tuple[JsonPath, str]] = []
    for group, fix in _groups(facts):
        for n, one in enumerate(group[1:], 2) if fix == "safe" or unsafe else ():
            new[id(one)] = made = with_id(one, new_id(facts, one, numbered_id(one.id, n), taken))
            changes.append((one.path, describe_move(facts, one, made.id)))
    return Fixed(reassign_ids(facts, new), tuple(changes)) if new else None


_PAIR = (tool_call("x:0", "f"), tool_call("x:0", "g"))
RULE = Rule(
    "TW016",
    "id-dup-in-turn",
    title="two calls of one turn have the same id",
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
            assistant(tool_call("x", "f", '{"a": 1}'), tool_call("x", "f", '{"a": 2}')),
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
            {
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
