"""A turn contains the same call twice under the same id.

A history that was stored in two formats contains a call both as a `tool_use` block and in
`tool_calls`; a request for approval and its outcome are both stored as calls; or a replayed stream
is appended again. The id, the tool and the arguments are the same. Providers refuse the second id:
"`tool_use` ids must be unique", "Duplicate item found".

The fix removes the copy, together with its result if that equals the result of the first call.
Nothing is lost. Calls that share an id but differ in arguments or results are different calls;
`id-dup-in-turn` handles them.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, JsonPath
from toolwire.conversation.observations import Observation
from toolwire.conversation.part_map import PartSet
from toolwire.conversation.parts import Call, Opaque, Part
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.transforms import remove_parts
from toolwire.lint.ids.duplicates import calls_sharing_an_id, copies_of_calls, ids_must_differ
from toolwire.lint.ids.formats import shorten
from toolwire.lint.rule import Example, FixedConversation, Problem, Rule


def _copies(facts: Facts) -> list[Call]:
    """Return the calls that repeat an earlier call of their turn."""
    return [call for group in calls_sharing_an_id(facts) for call in copies_of_calls(facts, group)]


def _opaque_copies(facts: Facts) -> list[tuple[Opaque, Call]]:
    """Return the opaque blocks that repeat a call of their message in another format."""
    copies: list[tuple[Opaque, Call]] = []
    for message in facts.messages:
        if len(message.parts) > 1 and any(type(part) is Opaque for part in message.parts):
            calls = [part for part in message.parts if isinstance(part, Call)]
            blocks = [part for part in message.parts if isinstance(part, Opaque)]
            copies += [
                (block, call) for block in blocks for call in calls if _matches(block.value, call)
            ]
    return copies


def _matches(value: JSON, call: Call) -> bool:
    if not isinstance(value, dict) or (value.get("id"), value.get("name")) != (call.id, call.name):
        return False
    return value.get("input") == call.input


def _check(facts: Facts) -> Iterable[Problem]:
    if not ids_must_differ(facts):
        return
    for call in _copies(facts):
        message = f"the call {shorten(call.id)} ({call.name}) is a copy of an earlier call"
        yield call.path, f"{message} with the same id and arguments", "safe"
    for block, call in _opaque_copies(facts):
        message = f"this {block.type} block is a copy of the call {shorten(call.id)} ({call.name})"
        yield block.path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    parts_to_remove: PartSet[Part] = PartSet()
    changes: list[tuple[JsonPath, str]] = []
    for call in _copies(facts):
        parts_to_remove.add(call)
        changes.append((call.path, _describe_removal(call)))
        result = facts.result_of.get(call)
        if result is not None:
            parts_to_remove.add(result)
            message = f"removed the result of a copy of the call {shorten(call.id)} ({call.name})"
            changes.append((result.path, message))
    for block, call in _opaque_copies(facts):
        parts_to_remove.add(block)
        changes.append((block.path, _describe_removal(call)))
    return (
        FixedConversation(remove_parts(facts.conversation, parts_to_remove), tuple(changes))
        if parts_to_remove
        else None
    )


def _describe_removal(call: Call) -> str:
    return f"removed a copy of the call {shorten(call.id)} ({call.name})"


RULE = Rule(
    "TW017",
    "id-dup-call",
    title="a turn contains the same call twice under the same id",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=18,
    ruled_out_by=(Observation.UNIQUE_CALL_IDS | Observation.ONLY_TEXT_AND_TOOLS,),
    bad=(
        chat_example(USER, assistant(tool_call("c1"), tool_call("c1")), tool_message("c1")),
        chat_example(
            USER,
            assistant(
                tool_call("c1", "f", arguments='{"a": 1, "b": 2}'),
                tool_call("c1", "f", arguments='{"b":2,"a":1}'),
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
            body={
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
            assistant(
                tool_call("c1", "f", arguments='{"a": 1}'),
                tool_call("c1", "f", arguments='{"a": 2}'),
            ),
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
