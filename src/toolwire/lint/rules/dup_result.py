"""A call has two results.

OpenAI says "Duplicate value for 'tool_call_id'", Anthropic "each tool_use must have a single
result", Bedrock "toolResult blocks contain duplicate Ids". It happens when a call was cancelled and
its result came after all, when a tool was run again, or when part of a history was stored twice.

Results that say the same: the fix leaves one, and nothing is lost. Results that differ: one that
says that the call was aborted or was made up here goes first; then those that stand in another turn
than the call, where ids that start anew may have lost their own; of what is left the last one
stays. What is taken out is lost, so that is not safe.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from toolwire.conversation.json import JsonPath
from toolwire.conversation.model import Fix
from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Call, Result
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts, Turn
from toolwire.lint.id_edits import surplus_results, turns_by_part
from toolwire.lint.id_formats import shorten
from toolwire.lint.rule import Example, Fixed, Problem, Rule
from toolwire.lint.transforms import MARK, remove_parts

_ABORTED = re.compile(
    r"\W*(error\W+)?((the |this )?(tool|call|request|operation|execution|user)\b[\w' ]{0,40}?)?"
    r"(aborted|interrupted|cancell?ed|skipped|rejected|timed out|not executed)\b|\W*no"
    r" (result|output|response)\b",
    re.IGNORECASE,
)
_SHORT = 200
"""A longer text says more than that nothing was done."""


def _aborted(result: Result) -> bool:
    text = result.text
    return text.startswith(MARK) or (len(text) <= _SHORT and _ABORTED.match(text) is not None)


def _groups(facts: Facts) -> list[tuple[Call, Result, list[Result], Fix]]:
    """Each call with several results: the one that stays, the others, and how sure it is."""
    if not facts.profile.rejects_duplicate_results or not facts.unpaired_results:
        return []
    more = surplus_results(facts)
    all_of: dict[int, list[Result]] = {}
    calls: dict[int, Call] = {}
    for result in facts.results:
        one = more.get(id(result))
        if one is not None:
            calls[id(one)] = one
            all_of.setdefault(id(one), [facts.result_of[id(one)]]).append(result)
    found: list[tuple[Call, Result, list[Result], Fix]] = []
    turns = turns_by_part(facts) if all_of else {}
    for key, results in all_of.items():
        same = len({(result.text, result.error) for result in results}) == 1
        stays = results[0] if same else _best(calls[key], results, turns)
        found.append(
            (
                calls[key],
                stays,
                [result for result in results if result is not stays],
                "safe" if same else "unsafe",
            )
        )
    return found


def _best(tool_call: Call, results: list[Result], turns: Mapping[int, Turn]) -> Result:
    """The last one that says something, from the call's own turn if there is one."""
    real = [result for result in results if not _aborted(result)] or results
    own = [result for result in real if turns.get(id(result)) is turns.get(id(tool_call))]
    return (own or real)[-1]


def _check(facts: Facts) -> Iterable[Problem]:
    for one, stays, others, fix in _groups(facts):
        same = "the same as" if fix == "safe" else "something else than"
        for result in others:
            said = (
                f"the call {shorten(one.id)} of {one.name} has another result: this one says {same}"
            )
            yield result.path, f"{said} the one in message {facts.message_index(stays)}", fix


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    gone: set[int] = set()
    changes: list[tuple[JsonPath, str]] = []
    for one, _, others, fix in _groups(facts):
        for result in others if fix == "safe" or unsafe else ():
            gone.add(id(result))
            why = "said the same" if fix == "safe" else f"said: {shorten(result.text)}"
            changes.append((result.path, f"a result of {shorten(one.id)} was taken out; it {why}"))
    return Fixed(remove_parts(facts.conversation, gone), tuple(changes)) if gone else None


def _uses(*texts: str) -> Example:
    return blocks_example(
        USER,
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": text} for text in texts
            ],
        },
    )


RULE = Rule(
    "TW019",
    "dup-result",
    title="a call has two results",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=30,
    ruled_out_by=(Observation.RESULTS_IN_PLACE,),
    bad=(
        chat_example(
            USER,
            assistant(tool_call("c1")),
            tool_message("c1", "Tool execution aborted"),
            tool_message("c1", "ok"),
        ),
        chat_example(
            USER,
            assistant(tool_call("c1")),
            tool_message("c1", "ok"),
            tool_message("c1", "[toolwire] interrupted: no result of this call was recorded"),
        ),
        chat_example(
            USER,
            assistant(tool_call("c1")),
            tool_message("c1", "old"),
            tool_message("c1", "new"),
            USER,
        ),
        chat_example(
            USER, assistant(tool_call("c1")), tool_message("c1", "ok"), tool_message("c1", "ok")
        ),
        chat_example(
            USER,
            assistant(tool_call("c1")),
            tool_message("c1", "mine"),
            USER,
            assistant(tool_call("c2")),
            tool_message("c2"),
            tool_message("c1", "strange"),
        ),
        _uses("ok", "ok"),
        _uses("1", "2", "1"),
        Example(
            "bedrock",
            "bedrock",
            {
                "messages": [
                    {"role": "user", "content": [{"text": "hi"}]},
                    {
                        "role": "assistant",
                        "content": [{"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}],
                    },
                    {
                        "role": "user",
                        "content": (
                            [{"toolResult": {"toolUseId": "t1", "content": [{"text": "1"}]}}] * 2
                        ),
                    },
                ],
                "toolConfig": {
                    "tools": [
                        {"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}
                    ]
                },
            },
        ),
        Example(
            "openai-responses",
            "openai-responses",
            {
                "input": [
                    {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
                    {"type": "function_call_output", "call_id": "c1", "output": "1"},
                    {"type": "function_call_output", "call_id": "c1", "output": "1"},
                ]
            },
        ),
    ),
    good=(
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1")),
        chat_example(
            USER,
            assistant(tool_call("c1")),
            tool_message("c1", "1"),
            USER,
            assistant(tool_call("c1")),
            tool_message("c1", "2"),
        ),
        chat_example(
            USER, assistant(tool_call("c1")), tool_message("c1"), tool_message("c1"), target="xai"
        ),
        _uses("ok"),
    ),
)
