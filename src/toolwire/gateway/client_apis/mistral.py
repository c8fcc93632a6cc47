"""Mistral chat completions as a client API. A continuation token is the signature of a thought.

Its paths begin with `/mistral`: the others belong to OpenAI chat, whose bodies look alike.
"""

from __future__ import annotations

from toolwire.conversation.json import JSON, Object
from toolwire.gateway.client_apis.api import ApiPath, ClientApi, ResponseIdentity, whole_body_with
from toolwire.streaming.events import Chunk


def _token_block(token: str) -> Object:
    return {"type": "thinking", "thinking": [], "signature": token}


def _add_token(body: Object, token: str) -> None:
    """Put the token before all other content, where thoughts are."""
    match body:
        case {"choices": [{"message": dict(message)}, *_]}:
            content = message.get("content")
            blocks: list[JSON] = content if isinstance(content, list) else []
            if isinstance(content, str) and content:
                blocks = [{"type": "text", "text": content}]
            message["content"] = [_token_block(token), *blocks]


def _add_token_chunks(last: list[Chunk], token: str, blocks: int) -> list[Chunk]:
    """Add the token as a separate chunk before the one with the finish reason."""
    index = next((n for n, chunk in enumerate(last) if _has_finish_reason(chunk)), len(last))
    template = last[index] if index < len(last) else {}
    delta: Object = {"content": [_token_block(token)]}
    chunk: Chunk = {**template, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    chunk.pop("usage", None)
    return [*last[:index], chunk, *last[index:]]


def _has_finish_reason(chunk: Chunk) -> bool:
    match chunk:
        case {"choices": [{"finish_reason": str()}, *_]}:
            return True
    return False


API = ClientApi(
    wire="mistral",
    identity=ResponseIdentity(time="created", find=whole_body_with("choices")),
    add_token=_add_token,
    add_token_chunks=_add_token_chunks,
    paths=(
        ApiPath("POST", r"/mistral/v1/chat/completions", "generate"),
        ApiPath("GET", r"/mistral/v1/models", "list_models"),
        ApiPath("GET", r"/mistral/v1/models/(?P<model>.+)", "get_model"),
    ),
)
