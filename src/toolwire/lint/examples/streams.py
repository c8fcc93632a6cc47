"""Example streams of Chat Completions chunks. This module knows no rule."""

from __future__ import annotations

from toolwire.conversation.json import JSON, Object
from toolwire.lint.rule import Example


def call_fragment(arguments: str | None = None, **more: JSON) -> JSON:
    """A fragment of a call; `name`, `id` and `index` are present if given, even as None."""
    function: Object = {"name": more.pop("name")} if "name" in more else {}
    if arguments is not None:
        function["arguments"] = arguments
    return {**more, "function": function}


def chunk(*pieces: JSON, stop: str | None = None) -> JSON:
    """A chunk with fragments of calls."""
    delta: Object = {"tool_calls": list(pieces)} if pieces else {}
    return {
        "id": "r1",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": stop}],
    }


OVER = chunk(stop="tool_calls")


def stream_example(*events: JSON, target: str = "openai-chat") -> Example:
    """A recorded stream of a target."""
    return Example("openai-chat", target, list(events), "stream")
