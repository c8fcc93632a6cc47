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
from toolwire.conversation.parts import Media, Message, Opaque, Part, Result, Source, Text, describe
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.transforms import MARK, merge_same_roles
from toolwire.lint.rule import Example, FixedConversation, Problem, Rule
from toolwire.wires import wire


def _runs_before_user(facts: Facts) -> list[list[int]]:
    """Indexes of consecutive messages with results that the target gets before a user message."""
    if (
        not facts.profile.no_user_after_tool
        or not facts.results
        or facts.conversation.kind != "request"
    ):
        return []
    indexes = {
        facts.message_index(result) for result in facts.results if _stays_result(facts, result)
    }
    runs: list[list[int]] = []
    run: list[int] = []
    for index in facts.visible_indexes:
        message = facts.messages[index]
        if index in indexes and message.role != "assistant":
            run.append(index)
            continue
        is_user = message.role in ("user", "tool")  # no result is left in the latter
        late_system = message.role == "system" and facts.profile.system_comes_first
        if run and (is_user or late_system or _has_parts_for_user(facts, run)):
            runs.append(run)
        run = []
    if run and not facts.pending_calls and _has_parts_for_user(facts, run):
        runs.append(run)  # while calls are pending, their turn goes on and no media are sent
    return runs


def _has_parts_for_user(facts: Facts, run: list[int]) -> bool:
    return any(_parts_for_user(facts, facts.messages[index]) for index in run)


def _parts_for_user(facts: Facts, message: Message) -> list[Part]:
    """What a target on another wire gets as a user message after the results of a message."""
    if facts.own_wire:
        return []
    parts = [
        part
        for part in message.parts
        if not isinstance(part, Opaque) and not _stays_result(facts, part)
    ]
    return parts + [part for result in message.parts for part in _media(facts, result)]


def _stays_result(facts: Facts, part: Part) -> bool:
    """True for a result that is one for the target: on another wire, a provider's becomes text."""
    return isinstance(part, Result) and (facts.own_wire or part.executor == "client")


def _media(facts: Facts, part: Part) -> list[Media]:
    """The media of a result that are sent after it."""
    if wire(facts.profile.wire).capabilities.result_media != "after":
        return []
    if not isinstance(part, Result) or not isinstance(part.output, tuple):
        return []
    return [medium for medium in part.output if isinstance(medium, Media)]


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
    """The message with its results only."""
    if not _parts_for_user(facts, message):
        return message
    results = [
        _without_media(part, _media(facts, part)) if isinstance(part, Result) else part
        for part in message.parts
        if isinstance(part, Result | Opaque)
    ]
    return replace(message, parts=tuple(results))


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
