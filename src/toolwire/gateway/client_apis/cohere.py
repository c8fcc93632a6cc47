"""Cohere chat, version 2, as a client API. A continuation token is a block of thinking."""

from __future__ import annotations

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.gateway.client_apis.api import ApiPath, ClientApi, ResponseIdentity
from toolwire.streaming.events import Chunk


def _token_block(token: str) -> Object:
    return {"type": "thinking", "thinking": token}


def _add_token(body: Object, token: str) -> None:
    """Add the token as text: the official client drops every field that it does not know."""
    message = body.get("message")
    if isinstance(message, dict):
        content = message.get("content")
        blocks: list[JSON] = content if isinstance(content, list) else []
        message["content"] = [*blocks, _token_block(token)]


def _add_token_chunks(last: list[Chunk], token: str, blocks: int) -> list[Chunk]:
    index = next(
        (n for n, chunk in enumerate(last) if chunk.get("type") == "message-end"), len(last)
    )
    start: Chunk = {
        "type": "content-start",
        "index": blocks,
        "delta": {"message": {"content": _token_block(token)}},
    }
    return [*last[:index], start, {"type": "content-end", "index": blocks}, *last[index:]]


def _find_message(body: Object) -> JsonPath | None:
    return () if body.get("type") == "message-start" or "message" in body else None


API = ClientApi(
    wire="cohere",
    identity=ResponseIdentity(model="", find=_find_message),
    add_token=_add_token,
    add_token_chunks=_add_token_chunks,
    counted_chunk="content-start",
    paths=(ApiPath("POST", r"(?:/cohere)?/v2/chat", "generate"),),
)
