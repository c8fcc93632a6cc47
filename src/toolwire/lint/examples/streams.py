"""Small streams of the commonest shape, for the examples of rules. Knows no rule."""

from __future__ import annotations

from toolwire.conversation.json import JSON, Object
from toolwire.lint.rule import Example


def piece(arguments: str | None = None, **more: JSON) -> JSON:
    """A piece of a call: `name`, `id` and `index` are there if they are given, null or not."""
    inner: Object = {"name": more.pop("name")} if "name" in more else {}
    return {
        **more,
        "function": {**inner, **({} if arguments is None else {"arguments": arguments})},
    }


def chunk(*pieces: JSON, stop: str | None = None) -> JSON:
    """An event with pieces of calls."""
    delta: Object = {"tool_calls": list(pieces)} if pieces else {}
    return {
        "id": "r1",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": stop}],
    }


OVER = chunk(stop="tool_calls")


def streamed(*events: JSON, target: str = "openai-chat") -> Example:
    """A recorded stream, and whose rules apply."""
    return Example("openai-chat", target, list(events), "stream")
