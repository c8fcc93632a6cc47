"""Bedrock Converse as a client API. A continuation token is redacted reasoning content."""

from __future__ import annotations

from base64 import b64encode

from toolwire.conversation.json import JSON, Object
from toolwire.gateway.client_apis.api import ApiPath, ClientApi
from toolwire.streaming.events import Chunk

_MODEL_PATH = r"(?:/bedrock)?/model/(?P<model>.+)"


def _token_block(token: str) -> Object:
    return {"reasoningContent": {"redactedContent": b64encode(token.encode()).decode()}}


def _add_token(body: Object, token: str) -> None:
    """Put the token into the last block: programs use the first block as the answer."""
    output = body.get("output")
    message = output.get("message") if isinstance(output, dict) else None
    if isinstance(message, dict):
        content = message.get("content")
        blocks: list[JSON] = content if isinstance(content, list) else []
        message["content"] = [*blocks, _token_block(token)]


def _add_token_chunks(last: list[Chunk], token: str, blocks: int) -> list[Chunk]:
    index = next((n for n, chunk in enumerate(last) if "messageStop" in chunk), len(last))
    position = blocks + sum("contentBlockStop" in chunk for chunk in last[:index])
    chunks: list[Chunk] = [
        {"contentBlockDelta": {"delta": _token_block(token), "contentBlockIndex": position}},
        {"contentBlockStop": {"contentBlockIndex": position}},
    ]
    return [*last[:index], *chunks, *last[index:]]


API = ClientApi(
    wire="bedrock",
    add_token=_add_token,
    add_token_chunks=_add_token_chunks,
    counted_chunk="contentBlockStop",
    wants_stream=lambda body: False,
    paths=(
        ApiPath("POST", rf"{_MODEL_PATH}/converse", "generate"),
        ApiPath("POST", rf"{_MODEL_PATH}/converse-stream", "stream"),
    ),
)
