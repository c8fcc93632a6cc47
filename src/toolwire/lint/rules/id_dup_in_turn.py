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
from toolwire.lint.duplicate_ids import distinct, once, repeated
from toolwire.lint.examples.chat import USER, asks, blocks, call, chat, told
from toolwire.lint.facts import Facts
from toolwire.lint.id_edits import again, anew, moved, retied, under, used
from toolwire.lint.id_formats import like, short
from toolwire.lint.rule import Example, Fixed, Problem, Rule


def _groups(facts: Facts) -> list[tuple[list[Call], Fix]]:
    if not repeated(facts) or not once(facts):
        return []
    return [
        (group, _sure(facts, group))
        for group in distinct(facts)
        if any(one.id != one.name for one in group)
    ]


def _sure(facts: Facts, group: list[Call]) -> Fix:
    results = [facts.answer[id(one)] for one in group if id(one) in facts.answer]
    told_apart = len({one.name for one in group}) == len(group) and all(
        result.name for result in results
    )
    return "safe" if len(results) in (0, len(group)) or told_apart else "unsafe"


def _check(facts: Facts) -> Iterable[Problem]:
    for group, fix in _groups(facts):
        for one in group[1:]:
            said = (
                f"the call of {one.name} has the id {short(one.id)}{like(one.id)}, as the call of"
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
    taken = used(facts)
    new: dict[int, Call] = {}
    changes: list[tuple[JsonPath, str]] = []
    for group, fix in _groups(facts):
        for n, one in enumerate(group[1:], 2) if fix == "safe" or unsafe else ():
            new[id(one)] = made = under(one, anew(facts, one, again(one.id, n), taken))
            changes.append((one.path, moved(facts, one, made.id)))
    return Fixed(retied(facts, new), tuple(changes)) if new else None


_PAIR = (call("x:0", "f"), call("x:0", "g"))
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
        chat(USER, asks(*_PAIR), told("x:0", "1"), told("x:0", "2")),
        chat(USER, asks(*_PAIR), told("x:0", "1"), told("x:0", "2"), target="kimi"),
        chat(USER, asks(*_PAIR), told("x:0", "1"), USER),
        chat(USER, asks(*_PAIR)),
        chat(
            USER,
            asks(call("x", "f", '{"a": 1}'), call("x", "f", '{"a": 2}')),
            told("x", "1"),
            told("x", "2"),
        ),
        blocks(
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
        chat(USER, asks(call("x:0", "f"), call("x:1", "g")), told("x:0"), told("x:1")),
        chat(USER, asks(*_PAIR), told("x:0", "1"), told("x:0", "2"), target="xai"),
        chat(USER, asks(_PAIR[0]), told("x:0"), USER, asks(_PAIR[1]), told("x:0")),
    ),
)
