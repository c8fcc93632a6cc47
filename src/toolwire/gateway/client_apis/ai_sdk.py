"""The chat endpoint of the AI SDK's `useChat`. A continuation token is a data part."""

from __future__ import annotations

from toolwire.conversation.json import Object
from toolwire.gateway.client_apis.api import ApiPath, ClientApi
from toolwire.streaming.events import Chunk

TOKEN_PART = "data-toolwire"
_LAST_CHUNKS = ("finish-step", "finish")


def _token_part(token: str) -> Object:
    return {"type": TOKEN_PART, "data": {"token": token}}


def _add_token(body: Object, token: str) -> None:
    parts = body.get("parts")
    body["parts"] = [*(parts if isinstance(parts, list) else []), _token_part(token)]


def _add_token_chunks(last: list[Chunk], token: str, blocks: int) -> list[Chunk]:
    index = next(
        (n for n, chunk in enumerate(last) if chunk.get("type") in _LAST_CHUNKS), len(last)
    )
    return [*last[:index], _token_part(token), *last[index:]]


def _continue_last_message(chunk: Chunk, body: Object) -> Chunk:
    """Give a response the id of the page's last message if it continues that message: the page
    recognizes it by the id."""
    messages = body.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    if not isinstance(last, dict) or last.get("role") != "assistant":
        return chunk
    message_id = last.get("id")
    return {**chunk, "messageId": message_id} if isinstance(message_id, str) else chunk


API = ClientApi(
    wire="ai-sdk",
    add_token=_add_token,
    add_token_chunks=_add_token_chunks,
    wants_stream=lambda body: True,
    counted_chunk="start",
    edit_counted_chunk=_continue_last_message,
    paths=(ApiPath("POST", r"/ai-sdk/chat", "generate"),),
)
