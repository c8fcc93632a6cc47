"""One call contains the arguments of several calls, concatenated.

Streams send parallel calls in pieces and mark each piece with the index of its call. If the index
is missing or always zero, a client appends the arguments of all calls to the first one:
`{"a":1}{"a":2}`. That is not valid JSON, and servers that parse arguments refuse it. For other
servers the finding is information only: the model reads one call where it made two, and repeats the
pattern.

The fix stores the text in an object under `_raw`, so that nothing is lost. If unsafe fixes are
allowed, it gives each call its own arguments, in order. That applies only if the calls that lost
their arguments are still in the history: directly after the first call, to the same tool, with
empty arguments, and exactly as many as there are surplus argument objects. That is a guess, so it
is unsafe. For servers that do not parse arguments, there is no other fix. No result is removed: a
second result of such a call belongs to another call, even if both are equal.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, JsonPath, put
from toolwire.conversation.model import Fix
from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Call
from toolwire.lint.arguments import ArgumentFault, accepted_merges, faults_of_kind, fix_arguments
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.rule import FixedBody, FixedConversation, Problem, Rule


def _calls_without_arguments(facts: Facts, fault: ArgumentFault) -> list[Call]:
    """Return the calls that lost their arguments to the faulty call; empty if they are not
    certain."""
    message = facts.messages[facts.message_index(fault.call)]
    calls = [part for part in message.parts if isinstance(part, Call) and part.executor == "client"]
    start = next((n for n, call in enumerate(calls, 1) if call is fault.call), len(calls))
    empty_calls: list[Call] = []
    for call in calls[start:]:
        if call.name != fault.call.name or call.input not in ({}, None) or call.args.broken:
            break
        empty_calls.append(call)
    return empty_calls if len(empty_calls) == len(fault.pieces) - 1 else []


def _check(facts: Facts) -> Iterable[Problem]:
    refused = faults_of_kind(facts, "merged")
    for fault in refused or accepted_merges(facts):
        message = f"{fault.subject} contains the arguments of {len(fault.pieces)} calls"
        fix: Fix | None
        if _calls_without_arguments(facts, fault):
            message += "; the calls after it have no arguments"
            fix = "safe" if refused else "unsafe"
        else:
            message += ", and the other calls are missing"
            fix = "safe" if refused else None
        yield fault.path, message, fix


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | FixedBody | None:
    split = _split_arguments(facts) if unsafe and facts.own_wire else None
    return split or fix_arguments(facts, "merged", "")


def _split_arguments(facts: Facts) -> FixedBody | None:
    """Give each call its own arguments, if the calls that lost theirs are known."""
    body: JSON = facts.body
    changes: list[tuple[JsonPath, str]] = []
    for fault in faults_of_kind(facts, "merged") or accepted_merges(facts):
        empty_calls = _calls_without_arguments(facts, fault)
        if not empty_calls:
            continue
        field = fault.path[len(fault.call.path) :]
        for call, arguments in zip((fault.call, *empty_calls), fault.pieces, strict=True):
            path = (*call.path, *field)
            body = put(body, path, fault.to_wire(arguments))
            changes.append((path, f"gave the call {call.id} ({call.name}) its own arguments"))
    return FixedBody(body, tuple(changes)) if changes else None


_MERGED_ARGUMENTS = '{"a":1}{"a":2}'
_MERGED_CALL = tool_call("c1", arguments=_MERGED_ARGUMENTS)
_USE: JSON = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": _MERGED_ARGUMENTS}],
}
_RESULT: JSON = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}],
}
RULE = Rule(
    "TW057",
    "args-merged",
    title="one call contains the arguments of several calls",
    cost="lossy",
    info_for=lambda profile: profile.arguments_format in ("text", ""),
    check=_check,
    fix=_fix,
    order=13,
    ruled_out_on_own_wire_by=(Observation.ACCEPTED_ARGUMENTS,),
    applies=lambda profile: profile.arguments_format == "json",
    bad=(
        chat_example(USER, assistant(_MERGED_CALL), tool_message("c1"), target="minimax"),
        chat_example(
            USER,
            assistant(_MERGED_CALL, tool_call("c2", arguments="")),
            tool_message("c1"),
            tool_message("c2"),
            target="minimax",
        ),
        blocks_example(USER, _USE, _RESULT),
        chat_example(USER, assistant(_MERGED_CALL), tool_message("c1")),
    ),
    good=(
        chat_example(
            USER,
            assistant(tool_call("c1", arguments='{"a":[{},{}]}')),
            tool_message("c1"),
            target="minimax",
        ),
        chat_example(USER, assistant(tool_call("c1", arguments='{"a":"}{"}')), tool_message("c1")),
    ),
)
