"""A request ends with the assistant's own words.

Some providers want the last word to be a user's or a tool's: "Expected last role to be one of:
[tool, user]". It happens when an answer is stored and the next request goes out before the user has
spoken. A message that is marked as the beginning of the answer (`prefix`) is meant so, and calls at
the end wait for their results: neither is found.

The fix, which is not safe, adds a short marked message of the user that asks to go on. Better let
the user speak.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.parts import Call, Message
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Example, Fixed, Problem, Rule
from toolwire.lint.transforms import user_note, with_messages


def _last(facts: Facts) -> Message | None:
    last = (
        facts.messages[-1]
        if facts.messages
        and facts.profile.must_end_with_user_or_tool
        and facts.conversation.kind == "request"
        else None
    )
    if (
        last is None
        or last.role != "assistant"
        or any(isinstance(part, Call) for part in last.parts)
    ):
        return None
    return None if isinstance(last.raw, dict) and last.raw.get("prefix") else last


def _check(facts: Facts) -> Iterable[Problem]:
    last = _last(facts)
    if last is not None:
        yield (
            last.path,
            f"the assistant speaks last; {facts.profile.name} wants a user or a result at the end",
            "unsafe",
        )


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    last = _last(facts)
    if last is None or not unsafe:
        return None
    messages = (*facts.messages, user_note("please go on"))
    return Fixed(
        with_messages(facts.conversation, messages),
        ((last.path, "a message of the user was added at the end"),),
    )


_USER: JSON = {"role": "user", "content": "hi"}
_SAID: Object = {"role": "assistant", "content": "hello"}
RULE = Rule(
    "TW040",
    "trailing-assistant",
    title="a request ends with the assistant's own words",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=48,
    applies=lambda profile: profile.must_end_with_user_or_tool,
    bad=(Example("mistral", "mistral", {"messages": [_USER, _SAID]}),),
    good=(
        Example("mistral", "mistral", {"messages": [_USER, _SAID, _USER]}),
        Example("mistral", "mistral", {"messages": [_USER, {**_SAID, "prefix": True}]}),
        Example("openai-chat", "openai-chat", {"messages": [_USER, _SAID]}),
    ),
)
