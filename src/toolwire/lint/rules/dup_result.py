"""A call has more than one result.

OpenAI reports "Duplicate value for 'tool_call_id'", Anthropic "each tool_use must have a single
result", Bedrock "toolResult blocks contain duplicate Ids". It happens when a call was cancelled and
its result arrived later, when a tool ran again, or when part of a history was stored twice.

If the results are equal, the fix keeps one and nothing is lost. If they differ, the fix is unsafe,
because the removed results are lost. It prefers results that neither report an aborted call nor
carry the toolwire mark, then results in the turn of the call (where ids restart, a result in
another turn may belong to a lost call), and keeps the last of those.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

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

_ABORT_NOTICE = re.compile(
    r"\W*(error\W+)?((the |this )?(tool|call|request|operation|execution|user)\b[\w' ]{0,40}?)?"
    r"(aborted|interrupted|cancell?ed|skipped|rejected|timed out|not executed)\b|\W*no"
    r" (result|output|response)\b",
    re.IGNORECASE,
)
_LONGEST_ABORT_NOTICE = 200
"""Characters; a longer text contains more than the notice that the call was aborted."""


class _Duplicates(Struct, frozen=True, eq=False):
    """A call with several results."""

    call: Call
    result: Result
    """The result to keep."""
    surplus: list[Result]
    """The results to remove."""
    fix: Fix
    """Safe if all results are equal."""


def _is_abort_notice(result: Result) -> bool:
    text = result.text
    if text.startswith(MARK):
        return True
    return len(text) <= _LONGEST_ABORT_NOTICE and _ABORT_NOTICE.match(text) is not None


def _duplicates(facts: Facts) -> list[_Duplicates]:
    if not facts.profile.rejects_duplicate_results or not facts.unpaired_results:
        return []
    call_of = surplus_results(facts)
    if not call_of:
        return []
    calls: dict[int, Call] = {}
    results_of: dict[int, list[Result]] = {}
    for result in facts.results:
        call = call_of.get(id(result))
        if call is not None:
            calls[id(call)] = call
            results_of.setdefault(id(call), [facts.result_of[id(call)]]).append(result)
    turns = turns_by_part(facts)
    duplicates: list[_Duplicates] = []
    for key, results in results_of.items():
        equal = len({(result.text, result.error) for result in results}) == 1
        best = results[0] if equal else _best_result(calls[key], results, turns=turns)
        surplus = [result for result in results if result is not best]
        fix: Fix = "safe" if equal else "unsafe"
        duplicates.append(_Duplicates(calls[key], best, surplus=surplus, fix=fix))
    return duplicates


def _best_result(call: Call, results: list[Result], *, turns: Mapping[int, Turn]) -> Result:
    """Return the last result that is not an abort notice, preferably from the turn of the call."""
    real = [result for result in results if not _is_abort_notice(result)] or results
    same_turn = [result for result in real if turns.get(id(result)) is turns.get(id(call))]
    return (same_turn or real)[-1]


def _check(facts: Facts) -> Iterable[Problem]:
    for duplicates in _duplicates(facts):
        call = duplicates.call
        relation = "equal to" if duplicates.fix == "safe" else "different from"
        message = (
            f"the call {shorten(call.id)} ({call.name}) has more than one result; this result is"
            f" {relation} the one in message {facts.message_index(duplicates.result)}"
        )
        for result in duplicates.surplus:
            yield result.path, message, duplicates.fix


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    parts_to_remove: set[int] = set()
    changes: list[tuple[JsonPath, str]] = []
    for duplicates in _duplicates(facts):
        if duplicates.fix != "safe" and not unsafe:
            continue
        for result in duplicates.surplus:
            parts_to_remove.add(id(result))
            what = "a copy" if duplicates.fix == "safe" else f"its text was: {shorten(result.text)}"
            call_id = shorten(duplicates.call.id)
            changes.append((result.path, f"removed a surplus result for {call_id}; {what}"))
    return (
        Fixed(remove_parts(facts.conversation, parts_to_remove), tuple(changes))
        if parts_to_remove
        else None
    )


def _blocks(*texts: str) -> Example:
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
    title="a call has more than one result",
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
            tool_message("c1", "first"),
            USER,
            assistant(tool_call("c2")),
            tool_message("c2"),
            tool_message("c1", "second"),
        ),
        _blocks("ok", "ok"),
        _blocks("1", "2", "1"),
        Example(
            "bedrock",
            "bedrock",
            body={
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
            body={
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
        _blocks("ok"),
    ),
)
