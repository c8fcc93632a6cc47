"""A system message follows other messages, but the server accepts it only at the start.

Coding agents send system messages in mid-conversation, such as reminders and the output of hooks.
OpenAI and Cohere accept them anywhere. Mistral reports "Unexpected role 'system' after role
'assistant'", and servers that use the chat template of a model, such as vLLM and llama.cpp, report
"System message must be at the beginning".

The fix rewrites it as a user message and wraps its text in `<system>`, so that the model does not
mistake it for the words of the user.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON
from toolwire.conversation.observations import Observation
from toolwire.conversation.part_map import PartSet
from toolwire.conversation.parts import Call, Message
from toolwire.lint.examples.chat import USER, assistant, chat_example, tool_call, tool_message
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.transforms import with_messages
from toolwire.lint.rule import Example, FixedConversation, Problem, Rule
from toolwire.wires.engine.part_lowering import mark_system_text


def _late_messages(facts: Facts) -> list[Message]:
    if not facts.profile.system_comes_first:
        return []
    messages = facts.messages
    roles = [message.role for message in messages]
    start = next((n for n, role in enumerate(roles) if role != "system"), len(roles))
    return [message for message in messages[start:] if message.role == "system"]


def _check(facts: Facts) -> Iterable[Problem]:
    for message in _late_messages(facts):
        reason = f"a system message follows other messages; {facts.profile.name} requires it first"
        yield message.path, reason, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    late = PartSet(_late_messages(facts))
    if not late:
        return None
    messages = [_rewrite(message) if message in late else message for message in facts.messages]
    changes = tuple(
        (message.path, "rewrote the system message as a user message marked with <system>")
        for message in facts.messages
        if message in late
    )
    return FixedConversation(with_messages(facts.conversation, messages), changes)


def _rewrite(message: Message) -> Message:
    """The message with another role; calls always belong to the assistant."""
    has_calls = any(isinstance(part, Call) for part in message.parts)
    parts = tuple(map(mark_system_text, message.parts))
    return Message("assistant" if has_calls else "user", parts)


_SYSTEM: JSON = {"role": "system", "content": "be brief"}
_TURN = (assistant(tool_call("c1aaaaaaa")), tool_message("c1aaaaaaa"))


def _example(*messages: JSON, target: str = "llama.cpp") -> Example:
    return chat_example(*messages, target=target)


RULE = Rule(
    "TW075",
    "late-system-message",
    title="a system message follows other messages",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=46,
    handled_by="lower",
    applies=lambda profile: profile.system_comes_first,
    ruled_out_by=(Observation.PLAIN,),
    bad=(
        _example(USER, *_TURN, _SYSTEM, USER),
        _example(_SYSTEM, USER, {"role": "assistant", "content": "hi"}, _SYSTEM, target="vllm"),
        Example(
            "mistral",
            "mistral",
            body={"messages": [USER, {"role": "assistant", "content": "hi"}, _SYSTEM, USER]},
        ),
    ),
    good=(_example(_SYSTEM, USER, *_TURN, USER), chat_example(USER, *_TURN, _SYSTEM, USER)),
)
