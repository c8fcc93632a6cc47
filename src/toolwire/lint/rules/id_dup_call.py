"""The same call stands twice in one turn.

A history that was kept in two forms at once has it as a `tool_use` block and in `tool_calls`; a
request for approval and its outcome are both stored as calls; a replayed stream is added again. The
id, the tool and the arguments are the same. Providers refuse the second id: "`tool_use` ids must be
unique", "Duplicate item found".

The fix takes out the copy, with its result if that says the same as the first. Nothing is lost. Two
calls of one id that differ, or whose results differ, are two calls, and another rule's.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, JsonPath
from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Call, Opaque
from toolwire.lint.duplicate_ids import calls_sharing_an_id, copies_of_calls, ids_must_differ
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.id_formats import shorten
from toolwire.lint.rule import Example, Fixed, Problem, Rule
from toolwire.lint.transforms import remove_parts


def _again(facts: Facts) -> list[Call]:
    return [one for group in calls_sharing_an_id(facts) for one in copies_of_calls(facts, group)]


def _blocks(facts: Facts) -> list[tuple[Opaque, Call]]:
    """Blocks of another form that hold a call which their message has in its own form too."""
    found: list[tuple[Opaque, Call]] = []
    for message in facts.messages:
        if len(message.parts) > 1 and any(part.__class__ is Opaque for part in message.parts):
            calls = [part for part in message.parts if isinstance(part, Call)]
            others = [part for part in message.parts if isinstance(part, Opaque)]
            found += [(part, one) for part in others for one in calls if _holds(part.value, one)]
    return found


def _holds(value: JSON, one: Call) -> bool:
    if not isinstance(value, dict) or (value.get("id"), value.get("name")) != (one.id, one.name):
        return False
    return value.get("input") == one.input


def _check(facts: Facts) -> Iterable[Problem]:
    if not ids_must_differ(facts):
        return
    for one in _again(facts):
        yield (
            one.path,
            f"the call {shorten(one.id)} of {one.name} stands here again, with the same arguments",
            "safe",
        )
    for part, one in _blocks(facts):
        yield (
            part.path,
            f"the call {shorten(one.id)} of {one.name} stands here again as a {part.type} block",
            "safe",
        )


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    gone: set[int] = set()
    changes: list[tuple[JsonPath, str]] = []
    for one in _again(facts):
        result = facts.result_of.get(id(one))
        gone |= {id(one)} if result is None else {id(one), id(result)}
        changes.append(
            (one.path, f"the copy of the call {shorten(one.id)} of {one.name} was taken out")
        )
    for part, one in _blocks(facts):
        gone.add(id(part))
        changes.append(
            (part.path, f"the copy of the call {shorten(one.id)} of {one.name} was taken out")
        )
    return Fixed(remove_parts(facts.conversation, gone), tuple(changes)) if gone else None


RULE = Rule(
    "TW017",
    "id-dup-call",
    title="the same call stands twice in one turn",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=18,
    ruled_out_by=(Observation.UNIQUE_CALL_IDS | Observation.PLAIN,),
    bad=(
        chat_example(USER, assistant(tool_call("c1"), tool_call("c1")), tool_message("c1")),
        chat_example(
            USER,
            assistant(
                tool_call("c1", "f", '{"a": 1, "b": 2}'), tool_call("c1", "f", '{"b":2,"a":1}')
            ),
            tool_message("c1"),
            tool_message("c1"),
        ),
        chat_example(
            USER, assistant(tool_call("c1")), assistant(tool_call("c1")), tool_message("c1")
        ),
        chat_example(
            USER,
            assistant(
                tool_call("t1"),
                content=[{"type": "tool_use", "id": "t1", "name": "f", "input": {}}],
            ),
            tool_message("t1"),
        ),
        blocks_example(
            USER,
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}] * 2,
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}],
            },
        ),
        Example(
            "openai-responses",
            "openai-responses",
            {
                "input": [
                    {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
                    {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
                    {"type": "function_call_output", "call_id": "c1", "output": "1"},
                ]
            },
        ),
    ),
    good=(
        chat_example(
            USER,
            assistant(tool_call("c1"), tool_call("c2")),
            tool_message("c1"),
            tool_message("c2"),
        ),
        chat_example(
            USER,
            assistant(tool_call("c1", "f", '{"a": 1}'), tool_call("c1", "f", '{"a": 2}')),
            tool_message("c1"),
            tool_message("c1"),
        ),
        chat_example(
            USER,
            assistant(tool_call("c1"), tool_call("c1")),
            tool_message("c1", "1"),
            tool_message("c1", "2"),
        ),
        chat_example(
            USER, assistant(tool_call("c1"), tool_call("c1")), tool_message("c1"), target="xai"
        ),
    ),
)
