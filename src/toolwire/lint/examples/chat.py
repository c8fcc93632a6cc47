"""Example bodies of Chat Completions requests. This module knows no rule."""

from __future__ import annotations

from toolwire.conversation.json import JSON, Object
from toolwire.lint.rule import Example

USER: JSON = {"role": "user", "content": "hi"}


def tool_call(call_id: JSON, name: str = "f", arguments: JSON = "{}") -> JSON:
    """A call."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def assistant(*calls: JSON, **more: JSON) -> JSON:
    """An assistant message with calls."""
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **more}


def tool_message(call_id: JSON, text: JSON = "1") -> JSON:
    """A tool message: the result of a call."""
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def chat_example(*messages: JSON, target: str = "openai-chat", **more: JSON) -> Example:
    """A Chat Completions request for a target."""
    body: Object = {"messages": list(messages), **more}
    return Example("openai-chat", target, body)


def blocks_example(*messages: JSON, target: str = "anthropic", **more: JSON) -> Example:
    """An Anthropic request for a target."""
    body: Object = {"max_tokens": 100, "messages": list(messages), **more}
    return Example("anthropic", target, body)
