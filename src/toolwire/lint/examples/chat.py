"""Small histories of the commonest shape, for the examples of rules. Knows no rule."""

from __future__ import annotations

from toolwire.conversation.json import JSON, Object
from toolwire.lint.rule import Example

USER: JSON = {"role": "user", "content": "hi"}


def tool_call(one: JSON, name: str = "f", arguments: JSON = "{}") -> JSON:
    """A call."""
    return {"id": one, "type": "function", "function": {"name": name, "arguments": arguments}}


def assistant(*calls: JSON, **more: JSON) -> JSON:
    """An assistant that calls tools."""
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **more}


def tool_message(one: JSON, text: JSON = "1") -> JSON:
    """The result of a call."""
    return {"role": "tool", "tool_call_id": one, "content": text}


def chat_example(*messages: JSON, target: str = "openai-chat", **more: JSON) -> Example:
    """A history of the chat shape, and who it goes to."""
    body: Object = {"messages": list(messages), **more}
    return Example("openai-chat", target, body)


def blocks_example(*messages: JSON, target: str = "anthropic", **more: JSON) -> Example:
    """A history of blocks, and who it goes to."""
    body: Object = {"max_tokens": 100, "messages": list(messages), **more}
    return Example("anthropic", target, body)
