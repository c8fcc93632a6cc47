"""A user message follows a result directly.

Some models require an assistant message first: "Unexpected role 'user' after role 'tool'". It
happens when a user interrupts while tools run, or when a program adds a reminder or an image after
the results.

The fix adds a short marked assistant message between the two, and nowhere else: it comes
after all results of the turn, so that no result is separated from its call.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON
from toolwire.conversation.parts import Message, Result, Text
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Example, Fixed, Problem, Rule
from toolwire.lint.transforms import MARK, merge_same_roles


def _user_indexes(facts: Facts) -> list[int]:
    """The indexes of user messages that follow a result directly."""
    if (
        not facts.profile.no_user_after_tool
        or not facts.results
        or facts.conversation.kind != "request"
    ):
        return []
    following = sorted({facts.message_index(result) + 1 for result in facts.results})
    return [
        index
        for index in following
        if index < len(facts.messages)
        and facts.messages[index].role == "user"
        and not any(isinstance(part, Result) for part in facts.messages[index].parts)
    ]


def _check(facts: Facts) -> Iterable[Problem]:
    for index in _user_indexes(facts):
        message = (
            f"a user message follows a result directly; {facts.profile.name} requires an assistant"
            " message in between"
        )
        yield facts.messages[index].path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    indexes = _user_indexes(facts)
    if not indexes:
        return None
    note = Message("assistant", (Text(f"{MARK} results received"),))
    messages: list[Message] = []
    for index, message in enumerate(facts.messages):
        messages += [note, message] if index in indexes else [message]
    changes = tuple(
        (
            facts.messages[index].path,
            "an assistant message was added between a result and the user message",
        )
        for index in indexes
    )
    return Fixed(merge_same_roles(facts, messages), changes)


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
