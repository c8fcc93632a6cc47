"""An assistant message with tool calls has no `reasoning_content`.

DeepSeek and Kimi require the reasoning text that their thinking models returned with a call: "The
`reasoning_content` in the thinking mode must be passed back", "thinking is enabled but
reasoning_content is missing in assistant tool call message at index 3". The field is not part of
the original chat format, so most clients drop it.

The fix copies the text if the message has it under another name. Otherwise it writes an empty
string, which the providers accept. The rule applies only to models that are known to require the
field, or if the request enables thinking.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, put
from toolwire.conversation.parts import Call, Message, Reasoning
from toolwire.lint.examples.chat import USER, assistant, chat_example, tool_call, tool_message
from toolwire.lint.facts import Facts
from toolwire.lint.reasoning import (
    current_turn_start,
    is_reasoning_model,
    needs_every_turn,
    thinking_switch,
)
from toolwire.lint.rule import FixedBody, FixedConversation, Problem, Rule

_FIELD = "reasoning_content"
_ALIASES = ("reasoning", "reasoning_text", "thinking")
"""Other names of the same field."""


def _messages_without_reasoning(facts: Facts) -> list[tuple[Message, Object]]:
    """Messages with calls and without the field, each with its JSON if it was read from this
    wire."""
    if (
        facts.profile.reasoning_to_return != _FIELD
        or facts.conversation.kind != "request"
        or not facts.calls
    ):
        return []
    switch = thinking_switch(facts)
    if switch == "disabled" or not (switch == "enabled" or is_reasoning_model(facts)):
        return []
    start = 0 if needs_every_turn(facts) else current_turn_start(facts)
    messages = [
        message
        for message in facts.messages[start:]
        if message.role == "assistant" and _has_calls(message)
    ]
    if not facts.own_wire:
        return [(message, {}) for message in messages if not _has_reasoning(message)]
    return [
        (message, message.raw)
        for message in messages
        if isinstance(message.raw, dict) and not isinstance(message.raw.get(_FIELD), str)
    ]


def _has_reasoning(message: Message) -> bool:
    return any(isinstance(part, Reasoning) for part in message.parts)


def _has_calls(message: Message) -> bool:
    return any(isinstance(part, Call) for part in message.parts)


def _check(facts: Facts) -> Iterable[Problem]:
    for message, _ in _messages_without_reasoning(facts):
        call_ids = ", ".join(part.id for part in message.parts if isinstance(part, Call))
        text = (
            f"the message with calls ({call_ids}) has no `{_FIELD}`, which {facts.profile.name}"
            " requires"
        )
        yield message.path, text, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | FixedBody | None:
    if not facts.own_wire:
        return _add_reasoning(facts)
    body: JSON = facts.body
    changes: list[tuple[JsonPath, str]] = []
    for message, raw in _messages_without_reasoning(facts):
        alias = next((name for name in _ALIASES if isinstance(raw.get(name), str)), None)
        text = raw[alias] if alias is not None else ""
        body = put(body, (*message.path, _FIELD), text)
        if text:
            changes.append((message.path, f"added `{_FIELD}`, copied from `{alias}`"))
        else:
            changes.append((message.path, f"added an empty `{_FIELD}`"))
    return FixedBody(body, tuple(changes)) if changes else None


def _add_reasoning(facts: Facts) -> FixedConversation | None:
    targets = [message for message, _ in _messages_without_reasoning(facts)]
    messages = tuple(
        replace(message, parts=(Reasoning(""), *message.parts))
        if any(message is target for target in targets)
        else message
        for message in facts.messages
    )
    changes = tuple((message.path, f"added an empty `{_FIELD}`") for message in targets)
    return (
        FixedConversation(replace(facts.conversation, messages=messages), changes)
        if targets
        else None
    )


_CALL = assistant(tool_call("call_00_x"))
_HISTORY = (USER, _CALL, tool_message("call_00_x"))
_ENABLED: JSON = {"type": "enabled"}
RULE = Rule(
    "TW052",
    "reasoning-content-missing",
    title="an assistant message with tool calls has no `reasoning_content`",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=60,
    concerns=lambda profile: profile.reasoning_to_return == "reasoning_content",
    bad=(
        chat_example(*_HISTORY, target="deepseek", model="deepseek-reasoner"),
        chat_example(*_HISTORY, target="deepseek", model="deepseek-chat", thinking=_ENABLED),
        chat_example(
            USER,
            assistant(tool_call("f:0"), reasoning="hm"),
            tool_message("f:0"),
            USER,
            target="kimi",
            model="kimi-k2-thinking",
        ),
    ),
    good=(
        chat_example(*_HISTORY, target="deepseek", model="deepseek-chat"),
        chat_example(
            *_HISTORY,
            {"role": "assistant", "content": "ok"},
            USER,
            target="deepseek",
            model="deepseek-reasoner",
        ),
        chat_example(
            USER,
            assistant(tool_call("call_00_x"), reasoning_content=""),
            tool_message("call_00_x"),
            target="deepseek",
            thinking=_ENABLED,
        ),
        chat_example(*_HISTORY, target="kimi", model="kimi-k2.5", thinking={"type": "disabled"}),
        chat_example(*_HISTORY, target="openai-chat", model="deepseek-reasoner"),
    ),
)
