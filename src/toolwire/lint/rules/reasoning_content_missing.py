"""A message that calls tools does not say what the model thought.

DeepSeek and Kimi want the text back that their thinking models gave with a call: "The
`reasoning_content` in the thinking mode must be passed back", "thinking is enabled but
reasoning_content is missing in assistant tool call message at index 3". The field is not part of
the chat shape, so most clients drop it.

The fix writes the text if the message has it under another name, else an empty one, which is taken.
Told only of models that are known to ask for it, or if the request switches thinking on.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, put
from toolwire.conversation.parts import Call, Message, Reasoning
from toolwire.lint.examples.chat import USER, assistant, chat_example, tool_call, tool_message
from toolwire.lint.facts import Facts
from toolwire.lint.reasoning import current_turn_start, is_reasoning_model, thinking_switch
from toolwire.lint.rule import Fixed, FixedBody, Problem, Rule

_FIELD = "reasoning_content"
_OTHERS = ("reasoning", "reasoning_text", "thinking")
"""Other names for the same."""


def _silent(facts: Facts) -> list[tuple[Message, Object]]:
    if (
        facts.profile.reasoning_to_return != _FIELD
        or facts.conversation.kind != "request"
        or not facts.calls
    ):
        return []
    said = thinking_switch(facts)
    if said == "disabled" or not (said == "enabled" or is_reasoning_model(facts)):
        return []
    start = 0 if facts.profile.reasoning_needed_in_every_turn else current_turn_start(facts)
    messages = [
        message
        for message in facts.messages[start:]
        if message.role == "assistant" and _calls(message)
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


def _calls(message: Message) -> bool:
    return any(isinstance(part, Call) for part in message.parts)


def _check(facts: Facts) -> Iterable[Problem]:
    for message, _ in _silent(facts):
        called = ", ".join(part.id for part in message.parts if isinstance(part, Call))
        yield message.path, f"the message that calls {called} has no `{_FIELD}`", "safe"


def _fix(facts: Facts, unsafe: bool) -> Fixed | FixedBody | None:
    if not facts.own_wire:
        return _add_reasoning(facts)
    body: JSON = facts.body
    changes: list[tuple[JsonPath, str]] = []
    for message, raw in _silent(facts):
        text = next((said for key in _OTHERS if isinstance(said := raw.get(key), str)), "")
        body = put(body, (*message.path, _FIELD), text)
        changes.append(
            (
                message.path,
                f"`{_FIELD}` was put in, {'as the message says it elsewhere' if text else 'empty'}",
            )
        )
    return FixedBody(body, tuple(changes)) if changes else None


def _add_reasoning(facts: Facts) -> Fixed | None:
    silent = [message for message, _ in _silent(facts)]
    messages = tuple(
        replace(message, parts=(Reasoning(""), *message.parts))
        if any(message is other for other in silent)
        else message
        for message in facts.messages
    )
    changes = tuple((message.path, f"an empty `{_FIELD}` was added") for message in silent)
    return Fixed(replace(facts.conversation, messages=messages), changes) if silent else None


_ASKS = assistant(tool_call("call_00_x"))
_HISTORY = (USER, _ASKS, tool_message("call_00_x"))
_ON: JSON = {"type": "enabled"}
RULE = Rule(
    "TW052",
    "reasoning-content-missing",
    title="a message that calls tools does not say what the model thought",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=60,
    applies=lambda profile: profile.reasoning_to_return == "reasoning_content",
    bad=(
        chat_example(*_HISTORY, target="deepseek", model="deepseek-reasoner"),
        chat_example(*_HISTORY, target="deepseek", model="deepseek-chat", thinking=_ON),
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
            thinking=_ON,
        ),
        chat_example(*_HISTORY, target="kimi", model="kimi-k2.5", thinking={"type": "disabled"}),
        chat_example(*_HISTORY, target="openai-chat", model="deepseek-reasoner"),
    ),
)
