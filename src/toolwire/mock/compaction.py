"""`POST /responses/compact` of the Responses API: a shorter conversation, with an opaque item."""

from __future__ import annotations

from toolwire.conversation.json import JSON, Object, dump
from toolwire.mock.answers import CREATED
from toolwire.mock.demo_ids import token


def compacted(body: Object, items: list[JSON]) -> Object:
    """The conversation of a request after compaction: the user's messages, and one opaque item."""
    seed = dump(body).decode()
    kept: list[JSON] = [
        _user_message(item, f"msg_{token(24, seed, n)}")
        for n, item in enumerate(items)
        if isinstance(item, dict) and item.get("role") == "user"
    ]
    tokens = max(1, len(seed) // 4)
    return {
        "id": f"resp_{token(24, seed)}",
        "object": "response.compaction",
        "created_at": CREATED,
        "output": [
            *kept,
            {
                "type": "compaction",
                "id": f"cmp_{token(24, seed)}",
                "encrypted_content": token(64, seed, "content"),
            },
        ],
        "usage": {
            "input_tokens": tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 16,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens + 16,
        },
    }


def _user_message(item: Object, message_id: str) -> Object:
    content = item.get("content")
    if isinstance(content, str):
        content = [{"type": "input_text", "text": content}]
    message: Object = {"type": "message", "id": message_id, "status": "completed"}
    return {**message, **item, "content": content}
