"""The arguments of several calls stand one after the other in one.

Streams send parallel calls in pieces, told apart by an index; where it is missing or always nought,
a client appends the arguments of all to the first: `{"a":1}{"a":2}`. That is no JSON, and is
refused where arguments are parsed.

If the calls that lost their arguments are still there (of the same tool, directly after it, with
nothing in them, as many as are wanted), the unsafe fix gives each its own, in their order.
Otherwise nobody can say which calls were made: ask for the turn again, or write the calls as they
were.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, JsonPath, put
from toolwire.conversation.parts import Call
from toolwire.lint.argument_fixes import ArgumentFault, argument_faults
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Fixed, FixedBody, Problem, Rule


def _robbed(facts: Facts, fault: ArgumentFault) -> list[Call]:
    """The calls after it whose arguments it has; none if that is not certain."""
    found: list[Call] = []
    message = facts.messages[facts.message_index(fault.call)]
    calls = [part for part in message.parts if isinstance(part, Call) and part.executor == "client"]
    after = next((n for n, one in enumerate(calls, 1) if one is fault.call), len(calls))
    for one in calls[after:]:
        if one.name != fault.call.name or one.input not in ({}, None) or one.args.broken:
            break
        found.append(one)
    return found if len(found) == len(fault.pieces) - 1 else []


def _check(facts: Facts) -> Iterable[Problem]:
    for fault in argument_faults(facts, "merged"):
        many = f"{fault.who} has the arguments of {len(fault.pieces)} calls"
        if _robbed(facts, fault):
            yield fault.path, f"{many}; the calls after it have none", "unsafe"
        else:
            yield (
                fault.path,
                (
                    f"{many}, and the others are not there: ask for this turn again, or write the"
                    " calls as they were"
                ),
                None,
            )


def _fix(facts: Facts, unsafe: bool) -> Fixed | FixedBody | None:
    body: JSON = facts.body
    changes: list[tuple[JsonPath, str]] = []
    for fault in argument_faults(facts, "merged") if unsafe and facts.own_wire else ():
        robbed = _robbed(facts, fault)
        if robbed:
            inside = fault.path[len(fault.call.path) :]
            for one, piece in zip((fault.call, *robbed), fault.pieces, strict=True):
                body = put(body, (*one.path, *inside), fault.written(piece))
                changes.append(
                    (
                        (*one.path, *inside),
                        f"the call {one.id} of {one.name} has arguments of its own",
                    )
                )
    return FixedBody(body, tuple(changes)) if changes else None


_BOTH = '{"a":1}{"a":2}'
_ONE = tool_call("c1", arguments=_BOTH)
_USE: JSON = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": _BOTH}],
}
_TOLD: JSON = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}],
}
RULE = Rule(
    "TW057",
    "args-merged",
    title="the arguments of several calls stand in one",
    cost="refuse",
    check=_check,
    fix=_fix,
    order=13,
    applies=lambda profile: profile.arguments_format == "json",
    bad=(
        chat_example(USER, assistant(_ONE), tool_message("c1"), target="minimax"),
        chat_example(
            USER,
            assistant(_ONE, tool_call("c2", arguments="")),
            tool_message("c1"),
            tool_message("c2"),
            target="minimax",
        ),
        blocks_example(USER, _USE, _TOLD),
    ),
    good=(
        chat_example(
            USER,
            assistant(tool_call("c1", arguments='{"a":[{},{}]}')),
            tool_message("c1"),
            target="minimax",
        ),
        chat_example(USER, assistant(_ONE), tool_message("c1")),
    ),
)
