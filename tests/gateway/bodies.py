"""Whole answers and streams of a few wires, written by hand: one short text, or one call."""

from __future__ import annotations

import json

from toolwire.conversation.json import JSON, Object

CHAT: Object = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "up",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
}
MESSAGE: Object = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "up",
    "content": [{"type": "text", "text": "Hi"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 2},
}
GEMINI: Object = {
    "candidates": [
        {
            "index": 0,
            "content": {"role": "model", "parts": [{"text": "Hi"}]},
            "finishReason": "STOP",
        }
    ],
    "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2, "totalTokenCount": 3},
    "modelVersion": "up",
    "responseId": "r1",
}
RESPONSE: Object = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "up",
    "status": "completed",
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "output": [
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Hi", "annotations": []}],
        }
    ],
    "usage": {
        "input_tokens": 1,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 2,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 3,
    },
}
OLLAMA: Object = {
    "model": "up",
    "created_at": "2026-01-01T00:00:00Z",
    "message": {"role": "assistant", "content": "Hi"},
    "done": True,
    "done_reason": "stop",
    "prompt_eval_count": 1,
    "eval_count": 2,
}
WHOLE = {
    "openai-chat": CHAT,
    "openai-responses": RESPONSE,
    "anthropic": MESSAGE,
    "gemini": GEMINI,
    "ollama": OLLAMA,
}


def event(value: JSON, name: str = "") -> bytes:
    """A server-sent event."""
    return (
        (f"event: {name}\n" if name else "").encode()
        + b"data: "
        + json.dumps(value).encode()
        + b"\n\n"
    )


def chat_chunk(delta: Object, reason: str | None = None) -> bytes:
    """A chunk of a chat stream."""
    choice: Object = {"index": 0, "delta": delta, "finish_reason": reason}
    return event(
        {
            "id": "c1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "up",
            "choices": [choice],
        }
    )


CHAT_STREAM = (
    chat_chunk({"role": "assistant", "content": ""}),
    chat_chunk({"content": "Hel"}),
    chat_chunk({"content": "lo"}),
    chat_chunk({}, "stop"),
    b"data: [DONE]\n\n",
)


def block(index: int, kind: Object, *deltas: Object) -> list[bytes]:
    """A block of a message."""
    events: list[Object] = [{"type": "content_block_start", "index": index, "content_block": kind}]
    events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    events += [{"type": "content_block_stop", "index": index}]
    return [event(one, str(one["type"])) for one in events]


def message_stream(*blocks: bytes, stop: str = "end_turn") -> tuple[bytes, ...]:
    """The events of a message."""
    start: Object = {
        **MESSAGE,
        "content": [],
        "stop_reason": None,
        "usage": {"input_tokens": 1, "output_tokens": 0},
    }
    over: Object = {
        "type": "message_delta",
        "delta": {"stop_reason": stop, "stop_sequence": None},
        "usage": {"output_tokens": 2},
    }
    return (
        event({"type": "message_start", "message": start}, "message_start"),
        *blocks,
        event(over, "message_delta"),
        event({"type": "message_stop"}, "message_stop"),
    )


def text_block(*texts: str) -> list[bytes]:
    """A block of text in pieces."""
    deltas: list[Object] = [{"type": "text_delta", "text": text} for text in texts]
    return block(0, {"type": "text", "text": ""}, *deltas)


ANTHROPIC_STREAM = message_stream(*text_block("Hel", "lo"))
ASKED: dict[str, tuple[str, Object]] = {
    "openai-chat": (
        "/v1/chat/completions",
        {"model": "m", "messages": [{"role": "user", "content": "hi"}]},
    ),
    "openai-responses": ("/v1/responses", {"model": "m", "input": "hi"}),
    "anthropic": (
        "/v1/messages",
        {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]},
    ),
    "gemini": (
        "/v1beta/models/m:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
    ),
    "ollama": (
        "/api/chat",
        {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": False},
    ),
}
"""A request on each wire that has whole responses: its path and body."""
