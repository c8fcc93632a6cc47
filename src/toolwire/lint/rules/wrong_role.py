"""A call is in a message of the user, or a result in a message of the assistant.

Models call tools, and clients answer. A program that stores a whole exchange under one role breaks
that: "`tool_result` blocks can only be in `user` messages". On wires where a message of that role
has no place for calls or results, the half would be lost and its counterpart left alone.

The fix gives the call or the result a message of the right role, in its place. Nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from msgspec.structs import replace

from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Call, Message, Opaque, Part, Reasoning, Result, Role
from toolwire.lint.examples.blocks import (
    assistant_blocks,
    call_part,
    contents_example,
    model_parts,
    response_part,
    text_block,
    tool_result,
    tool_use,
    user_blocks,
    user_parts,
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
from toolwire.lint.fixes.transforms import merge_same_roles
from toolwire.lint.rule import FixedConversation, Problem, Rule


def _misplaced(message: Message) -> list[Call | Result]:
    """The calls and results of the client that a message of this role cannot hold."""
    wrong = Result if message.role == "assistant" else Call
    return [
        part
        for part in message.parts
        if isinstance(part, Call | Result) and part.__class__ is wrong and part.executor == "client"
    ]


def _check(facts: Facts) -> Iterable[Problem]:
    profile = facts.profile
    if not (facts.calls or facts.results) or facts.conversation.kind != "request":
        return
    refuses = profile.rejects_orphan_results or profile.rejects_missing_results
    if facts.own_wire and not refuses:
        return  # another wire may have no place for it in a message of this role
    for message in facts.messages:
        for part in _misplaced(message):
            if isinstance(part, Call):
                text = f"the call {part.id} ({part.name}) stands in a message of the {message.role}"
            else:
                text = f"the result for {part.call_id} stands in a message of the assistant"
            yield part.path, text, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    messages: list[Message] = []
    changes = []
    for message in facts.messages:
        misplaced = _misplaced(message)
        if not misplaced:
            messages.append(message)
            continue
        messages += _split(message, misplaced, facts)
        for part in misplaced:
            call_id = part.id if isinstance(part, Call) else part.call_id
            half, role = ("call", "assistant") if isinstance(part, Call) else ("result", "user")
            changes.append((part.path, f"moved the {half} {call_id} to a message of the {role}"))
    return FixedConversation(merge_same_roles(facts, messages), tuple(changes)) if changes else None


def _is_of_assistant(message: Message) -> bool:
    """True if a message of another role holds what a model sends beside its calls, or an unknown
    part.
    """
    return message.role != "assistant" and any(
        isinstance(part, Reasoning | Opaque)
        or (isinstance(part, Call | Result) and part.executor != "client")
        for part in message.parts
    )


def _split(message: Message, misplaced: list[Call | Result], facts: Facts) -> list[Message]:
    """The message as several of the right roles, in the order of the parts."""
    wire = facts.conversation.wire
    if len(misplaced) == len(message.parts) or _is_of_assistant(message):
        role: Role = "user" if message.role == "assistant" else "assistant"
        return [replace(message, role=role)]

    def is_misplaced(part: Part) -> bool:
        return any(part is other for other in misplaced)

    messages: list[Message] = []
    original: Message | None = message
    """The message as it was read; its JSON goes to the first part of it that stays."""
    for moved, run in groupby(message.parts, key=is_misplaced):
        parts = tuple(run)
        if not moved:
            rest = Message(message.role, parts, None, wire)
            messages.append(rest if original is None else replace(original, parts=parts))
            original = None
        elif message.role != "assistant":
            messages.append(Message("assistant", parts, None, wire))
        elif facts.profile.results_share_one_message:
            messages.append(Message("user", parts, None, wire))
        else:
            messages += [Message("tool", (part,), None, wire) for part in parts]
    return messages


RULE = Rule(
    "TW071",
    "wrong-role",
    title="a call stands in a message of the user, or a result in one of the assistant",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=12,
    ruled_out_by=(Observation.ROLES_FIT,),
    bad=(
        blocks_example(USER, assistant_blocks(tool_use("t1")), assistant_blocks(tool_result("t1"))),
        blocks_example(
            USER, assistant_blocks(tool_use("t1"), tool_result("t1"), text_block("done")), USER
        ),
        blocks_example(
            user_blocks(text_block("hi"), tool_use("t1")), user_blocks(tool_result("t1"))
        ),
        chat_example(
            {"role": "user", "content": "hi", "tool_calls": [tool_call("c1")]}, tool_message("c1")
        ),
        contents_example(
            user_parts({"text": "hi"}, call_part("f")), user_parts(response_part("f"))
        ),
        contents_example(
            user_parts({"text": "hi"}), model_parts(call_part("f")), model_parts(response_part("f"))
        ),
    ),
    good=(
        blocks_example(USER, assistant_blocks(tool_use("t1")), user_blocks(tool_result("t1"))),
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1")),
        chat_example(
            {"role": "user", "tool_calls": [tool_call("c1")]}, tool_message("c1"), target="xai"
        ),
    ),
)
