"""A call is in a user message, a result is in an assistant message, or one of them is in a system
message.

Calls belong in assistant messages, and results in user or tool messages. A program that stores a
whole exchange under one role breaks this: "`tool_result` blocks can only be in `user` messages". On
wires where such a message has no place for a call or a result, one half of the pair would be lost.

The fix moves the call or the result to a separate message with the right role. It stays in its
place, but calls of a user message that has none of their results follow its other content, directly
before the results; calls and results of a system message follow it. Nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from msgspec.structs import replace

from toolwire.conversation.observations import Observation
from toolwire.conversation.part_map import PartSet
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

_MISPLACED: dict[Role, tuple[type[Call | Result], ...]] = {
    "assistant": (Result,),
    "user": (Call,),
    "tool": (Call,),
    "system": (Call, Result),
}
"""What the messages of a role cannot hold."""


def _misplaced(message: Message) -> list[Call | Result]:
    """The calls and results of the client that a message of this role cannot hold."""
    wrong = _MISPLACED[message.role]
    return [part for part in message.parts if isinstance(part, wrong) and part.executor == "client"]


def _check(facts: Facts) -> Iterable[Problem]:
    profile = facts.profile
    if not (facts.calls or facts.results) or facts.conversation.kind != "request":
        return
    refuses = profile.rejects_orphan_results or profile.rejects_missing_results
    if facts.own_wire and not refuses:
        return  # another wire may not be able to hold it in a message of this role
    for message in facts.messages:
        for part in _misplaced(message):
            if isinstance(part, Call):
                text = f"the call {part.id} ({part.name}) is in a {message.role} message"
            else:
                role = "an assistant" if message.role == "assistant" else "a system"
                text = f"the result for {part.call_id} is in {role} message"
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
            changes.append((part.path, f"moved the {half} {call_id} to a separate {role} message"))
    return FixedConversation(merge_same_roles(facts, messages), tuple(changes)) if changes else None


def _is_of_assistant(message: Message) -> bool:
    """True if a message of another role holds content that a model sends beside its calls, or an
    unknown part."""
    return message.role != "assistant" and any(
        isinstance(part, Reasoning | Opaque)
        or (isinstance(part, Call | Result) and part.executor != "client")
        for part in message.parts
    )


def _split(message: Message, misplaced: list[Call | Result], facts: Facts) -> list[Message]:
    """Split the message into several with the right roles, in the order of the parts."""
    wire = facts.conversation.wire
    if message.role == "system":
        staying = tuple([part for part in message.parts if part not in PartSet[Part](misplaced)])
        others = [Message(_role_for(part, facts), (part,), None, wire) for part in misplaced]
        return [replace(message, parts=staying), *others] if staying else others
    if len(misplaced) == len(message.parts) or _is_of_assistant(message):
        role: Role = "user" if message.role == "assistant" else "assistant"
        return [replace(message, role=role)]

    is_misplaced = PartSet[Part](misplaced).__contains__
    if _may_follow(message, misplaced, facts):
        staying = tuple([part for part in message.parts if not is_misplaced(part)])
        return [replace(message, parts=staying), *_messages_of(misplaced, message, facts)]

    messages: list[Message] = []
    original: Message | None = message
    """The original message; its JSON goes to the first remaining part of it."""
    for moved, run in groupby(message.parts, key=is_misplaced):
        parts = tuple(run)
        if not moved:
            rest = Message(message.role, parts, None, wire)
            messages.append(rest if original is None else replace(original, parts=parts))
            original = None
        else:
            messages += _messages_of(parts, message, facts)
    return messages


def _messages_of(parts: Sequence[Part], message: Message, facts: Facts) -> list[Message]:
    """New messages of the right role for parts that a message cannot hold."""
    wire = facts.conversation.wire
    if message.role != "assistant":
        return [Message("assistant", tuple(parts), None, wire)]
    if facts.profile.results_share_one_message:
        return [Message("user", tuple(parts), None, wire)]
    return [Message("tool", (part,), None, wire) for part in parts]


def _role_for(part: Call | Result, facts: Facts) -> Role:
    """The role of a message that holds only this part."""
    if isinstance(part, Call):
        return "assistant"
    return "user" if facts.profile.results_share_one_message else "tool"


def _may_follow(message: Message, misplaced: list[Call | Result], facts: Facts) -> bool:
    """True if the misplaced parts may follow their message together.

    So may calls, unless a result in the message belongs to one of them: before a result with the
    same id, a call could be paired with it; before a text, it would be separated from its result,
    which could go to another call. So may results without a call: between two calls of one id,
    they would decide which of them gets the next result. But behind calls with its id, a result
    that came before them would be the result of one of them.
    """
    if message.role == "assistant":
        call_ids = {part.id for part in message.parts if isinstance(part, Call)}
        results = [part for part in misplaced if isinstance(part, Result)]
        return not any(part in facts.call_of or part.call_id in call_ids for part in results)
    moved: PartSet[Part] = PartSet(misplaced)
    owners = [facts.call_of.get(part) for part in message.parts if isinstance(part, Result)]
    return not any(owner in moved for owner in owners if owner is not None)


RULE = Rule(
    "TW071",
    "wrong-role",
    title="a call or a result is in a message of a role that cannot hold it",
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
        contents_example(
            user_parts({"text": "hi"}),
            model_parts(call_part("f")),
            user_parts(response_part("f")),
            systemInstruction={"parts": [{"text": "Be kind."}, response_part("g")]},
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
