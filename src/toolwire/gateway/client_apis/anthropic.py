"""Anthropic messages as a client API. A continuation token is a redacted_thinking block."""

from __future__ import annotations

from toolwire.conversation.json import JsonPath, Object
from toolwire.gateway.client_apis.api import ApiPath, ClientApi, ResponseIdentity
from toolwire.streaming.events import Chunk


def _token_block(token: str) -> Object:
    return {"type": "redacted_thinking", "data": token}


def _add_token(body: Object, token: str) -> None:
    """Put the token before the last block: clients use the last block as the answer, and drop
    reasoning at the end of a message."""
    content = body.get("content")
    blocks = content if isinstance(content, list) else []
    body["content"] = [*blocks[:-1], _token_block(token), *blocks[-1:]]


def _add_token_chunks(last: list[Chunk], token: str, blocks: int) -> list[Chunk]:
    index = next(
        (n for n, chunk in enumerate(last) if chunk.get("type") == "message_delta"), len(last)
    )
    chunks: list[Chunk] = [
        {"type": "content_block_start", "index": blocks, "content_block": _token_block(token)},
        {"type": "content_block_stop", "index": blocks},
    ]
    return [*last[:index], *chunks, *last[index:]]


def _shift_block(chunk: Chunk, count: int) -> Chunk:
    index = chunk.get("index")
    return {**chunk, "index": index + count} if isinstance(index, int) else chunk


def _find_message(body: Object) -> JsonPath | None:
    if body.get("type") == "message_start" and isinstance(body.get("message"), dict):
        return ("message",)
    return () if body.get("type") == "message" else None


API = ClientApi(
    wire="anthropic",
    identity=ResponseIdentity(id_prefix="msg_", find=_find_message),
    ping={"type": "ping"},
    add_token=_add_token,
    add_token_chunks=_add_token_chunks,
    shift_block=_shift_block,
    token_may_come_last=False,
    signs_reasoning=True,
    forwarded_headers=(
        (b"anthropic-beta", "anthropic-beta"),
        (b"anthropic-version", "anthropic-version"),
    ),
    counted_chunk="content_block_start",
    paths=(
        ApiPath("POST", r"(?:/anthropic)?/v1/messages", "generate"),
        ApiPath("POST", r"(?:/anthropic)?/v1/messages/count_tokens", "count_tokens"),
        ApiPath("GET", r"/anthropic/v1/models", "list_models"),
        ApiPath("GET", r"/anthropic/v1/models/(?P<model>.+)", "get_model"),
    ),
)
