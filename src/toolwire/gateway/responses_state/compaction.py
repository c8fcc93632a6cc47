"""Compaction of a conversation: `POST /v1/responses/compact`.

A provider of the Responses API compacts with its own model, and its items are encrypted. For all
other models, the model writes a summary, and the item holds that text. When such an item comes
back, any model gets the summary as a message.
"""

from __future__ import annotations

import binascii
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode

from toolwire.conversation.ids import digest
from toolwire.conversation.json import JSON, Object, dump, parse_body
from toolwire.gateway.client_apis.openai_responses import input_items

PREFIX = "twc1."
_PREFIX_BYTES = PREFIX.encode()
_MAX_SUMMARY_BYTES = 4 * 1024 * 1024
"""Limit of a summary, decompressed. A few bytes can decompress to any number."""
_PROMPT = (
    "[toolwire] Summarize this conversation so that another model can continue it without seeing"
    " it: the task, decisions, facts and results of tools that matter, the state of the work, and"
    " what is left to do. Write only the summary. Call no tools."
)
_INTRODUCTION = "[toolwire] Summary of the conversation so far:\n\n"


def summary_request(body: Object) -> Object:
    """The request that asks a model for the summary of a conversation."""
    fields = {key: value for key, value in body.items() if key not in ("stream", "store")}
    items = [_expand_item(item) for item in input_items(body.get("input"))]
    return {**fields, "input": [*items, {"role": "user", "content": _PROMPT}]}


def compacted_response(response: Object, body: Object) -> Object:
    """The conversation after compaction: the user's messages, and the summary as one item.

    Args:
        response: the response of the model to `summary_request`.
        body: the request of the client.
    """
    summary = output_text(response)
    token = urlsafe_b64encode(zlib.compress(summary.encode("utf-8", "replace"), 6)).decode()
    item: Object = {
        "type": "compaction",
        "id": f"cmp_{digest(summary)}",
        "encrypted_content": PREFIX + token.rstrip("="),
    }
    items = input_items(body.get("input"))
    users = [_user_message(item, n) for n, item in enumerate(items) if _is_user(item)]
    return {
        "id": response.get("id"),
        "object": "response.compaction",
        "created_at": response.get("created_at", 0),
        "output": [*users, item],
        "usage": response.get("usage"),
    }


def output_text(response: Object) -> str:
    """The text of a response."""
    texts: list[str] = []
    output = response.get("output")
    for item in output if isinstance(output, list) else ():
        content = item.get("content") if isinstance(item, dict) else None
        for part in content if isinstance(content, list) else ():
            text = part.get("text") if isinstance(part, dict) else None
            if isinstance(text, str):
                texts.append(text)
    return "".join(texts)


def _is_user(item: JSON) -> bool:
    """True if an item is a message of the user, and no earlier summary: the new one covers it."""
    if not isinstance(item, dict) or item.get("role") != "user":
        return False
    content = item.get("content")
    return not (isinstance(content, str) and content.startswith(_INTRODUCTION))


def _user_message(item: JSON, number: int) -> JSON:
    assert isinstance(item, dict)
    content = item.get("content")
    if isinstance(content, str):
        content = [{"type": "input_text", "text": content}]
    made_id = f"msg_{digest(str(number), dump(content).decode())}"
    message: Object = {"type": "message", "id": made_id, "status": "completed", "role": "user"}
    return {**message, **{key: item[key] for key in ("id",) if item.get(key)}, "content": content}


def may_contain_summary(raw: bytes) -> bool:
    """False if a request body certainly has no item of `compacted_response`."""
    return _PREFIX_BYTES in raw


def expand_summaries(raw: bytes) -> bytes:
    """A request body with messages in place of the items of `compacted_response`."""
    try:
        body = parse_body(raw)
    except ValueError:
        return raw
    if not isinstance(body, dict) or not isinstance(items := body.get("input"), list):
        return raw
    return dump({**body, "input": [_expand_item(item) for item in items]})


def _expand_item(item: JSON) -> JSON:
    if not isinstance(item, dict) or item.get("type") != "compaction":
        return item
    content = item.get("encrypted_content")
    if not isinstance(content, str) or not content.startswith(PREFIX):
        return item
    encoded = content[len(PREFIX) :]
    try:
        data = urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
        decompressor = zlib.decompressobj()
        text = decompressor.decompress(data, _MAX_SUMMARY_BYTES).decode()
    except (zlib.error, binascii.Error, ValueError):
        return item
    if not decompressor.eof:  # cut off, or too large
        return item
    return {"role": "user", "content": f"{_INTRODUCTION}{text}"}
