"""A user message follows a result directly.

Some models require an assistant message first: "Unexpected role 'user' after role 'tool'". This
happens when a user interrupts while tools run, or when a program adds a reminder or an image after
the results.

The fix adds a short marked assistant message between the two, and nowhere else: it comes after all
results of the turn, so that no result is separated from its call.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from toolwire.conversation.json import JSON
from toolwire.conversation.parts import MARK, Message, Part, Result, Text
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.transforms import merge_same_roles
from toolwire.lint.rule import Example, FixedConversation, Problem, Rule


def _runs_before_user(facts: Facts) -> list[list[int]]:
    """Indexes of consecutive messages with results that the target gets before a user message."""
    if (
        not facts.profile.no_user_after_tool
        or not facts.results
        or facts.conversation.kind != "request"
    ):
        return []
    indexes = facts.message_indexes(facts.results)
    runs: list[list[int]] = []
    run: list[int] = []
    for index, message in enumerate(facts.messages):
        if index in indexes and message.role != "assistant":
            run.append(index)
            continue
        is_user = message.role in ("user", "tool")
        late_system = message.role == "system" and facts.profile.system_comes_first
        if run and (is_user or late_system or _has_parts_for_user(facts, run)):
            runs.append(run)
        run = []
    if run and _has_parts_for_user(facts, run):
        runs.append(run)
    return runs


def _has_parts_for_user(facts: Facts, run: list[int]) -> bool:
    return any(_parts_for_user(facts, facts.messages[index]) for index in run)


def _parts_for_user(facts: Facts, message: Message) -> list[Part]:
    """The parts of a message that a target on another wire gets as a user message after the
    results."""
    if facts.own_wire:
        return []
    return [part for part in message.parts if not isinstance(part, Result)]


def _check(facts: Facts) -> Iterable[Problem]:
    for run in _runs_before_user(facts):
        message = (
            f"a user message follows a result directly; {facts.profile.name} requires an assistant"
            " message in between"
        )
        following = facts.message_after(run[-1])
        if following is None or _has_parts_for_user(facts, run):
            following = facts.messages[run[-1]]
        yield following.path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    runs = _runs_before_user(facts)
    if not runs:
        return None
    run_of = {index: run for run in runs for index in run}
    messages: list[Message] = []
    for index, message in enumerate(facts.messages):
        run = run_of.get(index, [])
        messages.append(_without_parts_for_user(facts, message) if run else message)
        if run and index == run[-1]:
            messages.append(Message("assistant", (Text(f"{MARK} results received"),)))
            rest = [part for n in run for part in _parts_for_user(facts, facts.messages[n])]
            messages += [Message("user", tuple(rest))] if rest else []
    changes = tuple(
        (
            facts.messages[run[-1]].path,
            "added an assistant message between a result and the user message",
        )
        for run in runs
    )
    return FixedConversation(merge_same_roles(facts, messages), changes)


def _without_parts_for_user(facts: Facts, message: Message) -> Message:
    """The message with only its results."""
    if not _parts_for_user(facts, message):
        return message
    results = [part for part in message.parts if isinstance(part, Result)]
    return replace(message, parts=tuple(results))


_USER: JSON = {"role": "user", "content": "hi"}
_CALL: JSON = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {"id": "abcdefghi", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    ],
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
    concerns=lambda profile: profile.no_user_after_tool,
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
