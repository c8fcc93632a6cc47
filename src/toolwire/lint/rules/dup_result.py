"""A call has more than one result.

OpenAI reports "Duplicate value for 'tool_call_id'", Anthropic "each tool_use must have a single
result", Bedrock "toolResult blocks contain duplicate Ids". This happens when a call was cancelled
and its result arrived later, when a tool ran again, or when part of a history was stored twice.

If the results are equal, the fix keeps one and nothing is lost. If they differ, it keeps one and
rewrites the others as user text marked `[toolwire]`, so that the model can still read them. It
prefers results that neither report an aborted call nor carry the toolwire mark, then results in the
turn of the call (where ids restart, a result in another turn may belong to a lost call), and keeps
the last of those. A result that toolwire added for an interrupted call is removed. Equal results of
a call that contains the arguments of several calls are kept, because each belongs to another call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from toolwire.conversation.json import JsonPath
from toolwire.conversation.observations import Observation
from toolwire.conversation.part_map import PartMap, PartSet
from toolwire.conversation.parts import MARK, Call, Part, Result
from toolwire.lint.arguments import merged_objects
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.transforms import remove_parts, results_as_text
from toolwire.lint.ids.edits import surplus_results
from toolwire.lint.ids.formats import shorten
from toolwire.lint.rule import Example, FixedConversation, Problem, Rule

_ABORT_NOTICE = re.compile(
    r"\W*(error\W+)?((the |this )?(tool|call|request|operation|execution|user)\b[\w' ]{0,40}?)?"
    r"(aborted|interrupted|cancell?ed|skipped|rejected|timed out|not executed)\b|\W*no"
    r" (result|output|response)\b",
    re.IGNORECASE,
)
ANOTHER_RESULT = "whose call has another result, too"
_LONGEST_ABORT_NOTICE = 200
"""In characters; a longer text contains more than the notice that the call was aborted."""


class _Duplicates(Struct, frozen=True, eq=False):
    """A call with several results."""

    call: Call
    result: Result
    """The result to keep."""
    surplus: list[Result]
    """The other results."""

    def is_redundant(self, result: Result) -> bool:
        """True if removing a surplus result loses nothing: it is a copy, or toolwire added it."""
        kept = self.result
        if merged_objects(self.call):  # each result belongs to another call
            return result.text.startswith(MARK)
        return result.text.startswith(MARK) or (result.text, result.error) == (
            kept.text,
            kept.error,
        )


def _is_abort_notice(result: Result) -> bool:
    text = result.text
    if text.startswith(MARK):
        return True
    return len(text) <= _LONGEST_ABORT_NOTICE and _ABORT_NOTICE.match(text) is not None


def _duplicates(facts: Facts) -> list[_Duplicates]:
    if not facts.profile.rejects_duplicate_results or not facts.results_without_call:
        return []
    call_of = surplus_results(facts)
    if not call_of:
        return []
    results_of: PartMap[Call, list[Result]] = PartMap()
    for result in facts.results:
        call = call_of.get(result)
        if call is not None:
            results_of.setdefault(call, [facts.result_of[call]]).append(result)
    duplicates: list[_Duplicates] = []
    for call, results in results_of.items():
        equal = len({(result.text, result.error) for result in results}) == 1
        best = results[0] if equal else _best_result(facts, call, results)
        surplus = [result for result in results if result is not best]
        duplicates.append(_Duplicates(call, best, surplus=surplus))
    return duplicates


def _best_result(facts: Facts, call: Call, results: list[Result]) -> Result:
    """Return the last result that is not an abort notice, preferably from the turn of the call.

    If a later call with the same id is open, later results may belong to it, so the first one
    stays.
    """
    if any(other.id == call.id and other is not call for other in facts.open_calls):
        return results[0]
    real = [result for result in results if not _is_abort_notice(result)] or results
    turn = facts.turn_of(call)
    same_turn = [result for result in real if facts.turn_of(result) is turn]
    return (same_turn or real)[-1]


def _check(facts: Facts) -> Iterable[Problem]:
    for duplicates in _duplicates(facts):
        call = duplicates.call
        for result in duplicates.surplus:
            relation = "equal to" if result.text == duplicates.result.text else "different from"
            message = (
                f"the call {shorten(call.id)} ({call.name}) has more than one result; this result"
                f" is {relation} the one in message {facts.message_index(duplicates.result)}"
            )
            yield result.path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    copies: PartSet[Part] = PartSet()
    others: list[Result] = []
    changes: list[tuple[JsonPath, str]] = []
    for duplicates in _duplicates(facts):
        call_id = shorten(duplicates.call.id)
        for result in duplicates.surplus:
            if duplicates.is_redundant(result):
                copies.add(result)
                changes.append((result.path, f"removed a copy of the result for {call_id}"))
            else:
                others.append(result)
    if copies:
        return FixedConversation(remove_parts(facts.conversation, copies), tuple(changes))
    if not others:
        return None
    changes = [
        (result.path, f"rewrote a surplus result for {shorten(result.call_id)} as text")
        for result in others
    ]
    return FixedConversation(results_as_text(facts, others, ANOTHER_RESULT), tuple(changes))


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
