"""Two messages in a row have the same role, but the target requires roles to alternate.

This happens when a user writes twice before the model answers, and when a message between the two
was removed: "A conversation must alternate between user and assistant roles". If the two messages
contain the calls or the results of one batch, other rules report them.

The fix merges the messages into one and keeps the order of their content; results stay first.
Nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from toolwire.conversation.json import JSON
from toolwire.conversation.parts import Call, Message, Result
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.transforms import follows_same_side, merge_neighbours
from toolwire.lint.rule import Example, FixedConversation, Problem, Rule


def _messages_of_same_side(facts: Facts) -> list[Message]:
    """The messages that follow a message of the same side."""
    profile = facts.profile
    if not profile.rejects_same_role_twice or facts.conversation.kind != "request":
        return []
    return [
        message
        for previous, message in pairwise(facts.messages)
        if follows_same_side(previous, message) and not _are_one_batch(previous, message)
    ]


def _are_one_batch(previous: Message, message: Message) -> bool:
    """True if both messages hold calls, or both hold results."""
    return any(
        any(isinstance(part, kind) for part in previous.parts)
        and any(isinstance(part, kind) for part in message.parts)
        for kind in (Call, Result)
    )


def _check(facts: Facts) -> Iterable[Problem]:
    for message in _messages_of_same_side(facts):
        side = "assistant" if message.role == "assistant" else "user"
        reason = f"this message follows another one of the {side}"
        yield message.path, f"{reason}; {facts.profile.name} requires roles to alternate", "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    repeated = _messages_of_same_side(facts)
    if not repeated:
        return None
    changes = tuple(
        (message.path, "merged the message with the one before it") for message in repeated
    )
    return FixedConversation(merge_neighbours(facts), changes)


def _bedrock(*messages: JSON) -> Example:
    return Example("bedrock", "bedrock", body={"messages": list(messages)})


_USER: JSON = {"role": "user", "content": [{"text": "hi"}]}
_ASSISTANT: JSON = {"role": "assistant", "content": [{"text": "hello"}]}
RULE = Rule(
    "TW076",
    "same-role-twice",
    title="two messages in a row have the same role",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=47,
    scope="body",
    concerns=lambda profile: profile.rejects_same_role_twice,
    bad=(_bedrock(_USER, _USER), _bedrock(_USER, _ASSISTANT, _ASSISTANT, _USER)),
    good=(_bedrock(_USER, _ASSISTANT, _USER),),
)
