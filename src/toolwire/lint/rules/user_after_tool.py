"""A user message follows a result directly.

Some models require an assistant message first: "Unexpected role 'user' after role 'tool'". It
happens when a user interrupts while tools run, or when a program adds a reminder or an image after
the results.

The fix adds a short marked assistant message between the two, and nowhere else: it comes after all
results of the turn, so that no result is separated from its call.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from msgspec.structs import replace

from toolwire.conversation.json import JSON
from toolwire.conversation.parts import Media, Message, Opaque, Part, Result, Source, Text, describe
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Example, Fixed, Problem, Rule
from toolwire.lint.transforms import MARK, merge_same_roles
from toolwire.wires import wire


def _index_after_results(facts: Facts) -> dict[int, int]:
    """The index of each message with results before the user's turn, and of the next message."""
    if (
        not facts.profile.no_user_after_tool
        or not facts.results
        or facts.conversation.kind != "request"
    ):
        return {}
    indexes = {facts.message_index(result) for result in facts.results}
    following = dict(pairwise(facts.visible_indexes))
    return {
        index: following.get(index, len(facts.messages))
        for index in sorted(indexes)
        if facts.messages[index].role != "assistant" and following.get(index, -1) not in indexes
    }


def _violations(facts: Facts) -> list[int]:
    """The indexes of messages with results that the target gets directly before a user message."""
    return [
        index
        for index, following in _index_after_results(facts).items()
        if _parts_for_user(facts, facts.messages[index])
        or (following < len(facts.messages) and facts.messages[following].role == "user")
    ]


def _parts_for_user(facts: Facts, message: Message) -> list[Part]:
    """What a target on another wire gets as a user message after the results of a message."""
    if facts.own_wire:
        return []
    parts = [part for part in message.parts if not isinstance(part, Result | Opaque)]
    return parts + [part for result in message.parts for part in _media(facts, result)]


def _media(facts: Facts, part: Part) -> list[Media]:
    """The media of a result that are sent after it."""
    if wire(facts.profile.wire).capabilities.result_media != "after":
        return []
    if not isinstance(part, Result) or not isinstance(part.output, tuple):
        return []
    return [medium for medium in part.output if isinstance(medium, Media)]


def _check(facts: Facts) -> Iterable[Problem]:
    for index in _violations(facts):
        message = (
            f"a user message follows a result directly; {facts.profile.name} requires an assistant"
            " message in between"
        )
        yield facts.messages[index].path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    indexes = _violations(facts)
    if not indexes:
        return None
    messages: list[Message] = []
    for index, message in enumerate(facts.messages):
        if index in indexes:
            messages += _split_at_results(facts, message)
        else:
            messages.append(message)
    changes = tuple(
        (
            facts.messages[index].path,
            "an assistant message was added between a result and the user message",
        )
        for index in indexes
    )
    return Fixed(merge_same_roles(facts, messages), changes)


def _split_at_results(facts: Facts, message: Message) -> list[Message]:
    """The results of a message, a note of the assistant, and the rest as a user message."""
    note = Message("assistant", (Text(f"{MARK} results received"),))
    rest = _parts_for_user(facts, message)
    if not rest:
        return [message, note]
    results = [
        _without_media(part, _media(facts, part)) if isinstance(part, Result) else part
        for part in message.parts
        if isinstance(part, Result | Opaque)
    ]
    return [replace(message, parts=tuple(results)), note, Message("user", tuple(rest))]


def _without_media(result: Result, media: list[Media]) -> Result:
    """The result with a description in place of each of its media."""
    if not media or not isinstance(result.output, tuple):
        return result
    output = (
        Text(describe(part), source=Source(path=part.path)) if isinstance(part, Media) else part
        for part in result.output
    )
    return replace(result, output=tuple(output))


_USER: JSON = {"role": "user", "content": "hi"}
_CALL: JSON = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"id": "abcdefghi", "function": {"name": "f", "arguments": "{}"}}],
}
_RESULT: JSON = {"role": "tool", "tool_call_id": "abcdefghi", "content": "1"}
RULE = Rule(
    "TW039",
    "user-after-tool",
    title="a user message follows a result directly",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=47,
    applies=lambda profile: profile.no_user_after_tool,
    bad=(Example("mistral", "mistral-legacy", {"messages": [_USER, _CALL, _RESULT, _USER]}),),
    good=(
        Example(
            "mistral",
            "mistral-legacy",
            {"messages": [_USER, _CALL, _RESULT, {"role": "assistant", "content": "ok"}, _USER]},
        ),
        Example("mistral", "mistral-legacy", {"messages": [_USER, _CALL, _RESULT]}),
        Example("openai-chat", "openai-chat", {"messages": [_USER, _CALL, _RESULT, _USER]}),
    ),
)
