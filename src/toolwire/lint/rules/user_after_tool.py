"""A user speaks directly after a result.

Some models want to answer first: "Unexpected role 'user' after role 'tool'". It happens when a user
interrupts while tools run, or when a program puts a reminder or a picture after the results.

The fix, which is not safe, puts a short marked message of the assistant between the two, and
nowhere else: after all results of the turn, so that no result is parted from its call.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON
from toolwire.conversation.parts import Message, Result, Text
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Example, Fixed, Problem, Rule
from toolwire.lint.transforms import MARK, merge_same_roles


def _places(facts: Facts) -> list[int]:
    """The places of the users' messages that follow a result directly."""
    if (
        not facts.profile.no_user_after_tool
        or not facts.results
        or facts.conversation.kind != "request"
    ):
        return []
    after = sorted({facts.message_index(result) + 1 for result in facts.results})
    known = (n for n in after if n < len(facts.messages))
    return [
        n
        for n in known
        if facts.messages[n].role == "user"
        and not any(isinstance(p, Result) for p in facts.messages[n].parts)
    ]


def _check(facts: Facts) -> Iterable[Problem]:
    for n in _places(facts):
        yield (
            facts.messages[n].path,
            (
                f"a user speaks directly after a result; {facts.profile.name} wants the assistant"
                " to answer it"
            ),
            "unsafe",
        )


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    places = _places(facts)
    if not unsafe or not places:
        return None
    between = Message("assistant", (Text(f"{MARK} the results are here"),))
    messages: list[Message] = []
    for n, message in enumerate(facts.messages):
        messages += [between, message] if n in places else [message]
    changes = tuple(
        (facts.messages[n].path, "a message of the assistant was put between a result and the user")
        for n in places
    )
    return Fixed(merge_same_roles(facts, messages), changes)


_USER: JSON = {"role": "user", "content": "hi"}
_ASKS: JSON = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"id": "abcdefghi", "function": {"name": "f", "arguments": "{}"}}],
}
_TOLD: JSON = {"role": "tool", "tool_call_id": "abcdefghi", "content": "1"}
RULE = Rule(
    "TW039",
    "user-after-tool",
    title="a user speaks directly after a result",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=47,
    applies=lambda profile: profile.no_user_after_tool,
    bad=(Example("mistral", "mistral-legacy", {"messages": [_USER, _ASKS, _TOLD, _USER]}),),
    good=(
        Example(
            "mistral",
            "mistral-legacy",
            {"messages": [_USER, _ASKS, _TOLD, {"role": "assistant", "content": "ok"}, _USER]},
        ),
        Example("mistral", "mistral-legacy", {"messages": [_USER, _ASKS, _TOLD]}),
        Example("openai-chat", "openai-chat", {"messages": [_USER, _ASKS, _TOLD, _USER]}),
    ),
)
