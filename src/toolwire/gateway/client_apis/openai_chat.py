"""OpenAI chat completions. A continuation token is an encrypted reasoning detail."""

from __future__ import annotations

from toolwire.conversation.json import JSON, Object
from toolwire.gateway.client_apis.api import ApiPath, ClientApi, ResponseIdentity, whole_body_with
from toolwire.streaming.events import Chunk

TOKEN_FIELD = "reasoning_details"


def _token_details(token: str) -> list[JSON]:
    return [{"type": "reasoning.encrypted", "format": "toolwire", "index": 0, "data": token}]


def _first_message(body: Object) -> Object:
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    return message if isinstance(message, dict) else {}


def _add_token(body: Object, token: str) -> None:
    _first_message(body)[TOKEN_FIELD] = _token_details(token)


def _add_token_chunks(last: list[Chunk], token: str, blocks: int) -> list[Chunk]:
    """Add the token as a separate chunk before the one with the finish reason."""
    index = next((n for n, chunk in enumerate(last) if _has_finish_reason(chunk)), len(last))
    template = last[index] if index < len(last) else {}
    chunk: Chunk = {
        **template,
        "choices": [
            {"index": 0, "delta": {TOKEN_FIELD: _token_details(token)}, "finish_reason": None}
        ],
    }
    chunk.pop("usage", None)
    return [*last[:index], chunk, *last[index:]]


def _has_finish_reason(chunk: Chunk) -> bool:
    choices = chunk.get("choices")
    return isinstance(choices, list) and any(
        isinstance(choice, dict) and choice.get("finish_reason") for choice in choices
    )


def _edit_last_chunks(last: list[Chunk], body: Object) -> list[Chunk]:
    """Leave out the chunk that has usage and no choice unless the client asked for it: clients that
    did not ask look for a choice in every chunk."""
    options = body.get("stream_options")
    if isinstance(options, dict) and options.get("include_usage") is True:
        return last
    return [chunk for chunk in last if chunk.get("choices") != []]


API = ClientApi(
    wire="openai-chat",
    identity=ResponseIdentity(
        id_prefix="chatcmpl-", time="created", find=whole_body_with("choices"), content="choices"
    ),
    add_token=_add_token,
    add_token_chunks=_add_token_chunks,
    edit_last_chunks=_edit_last_chunks,
    paths=(
        ApiPath("POST", r"(?:/v1|/openai/v1)?/chat/completions", "generate"),
        ApiPath("POST", r"/openai/deployments/(?P<model>[^/]+)/chat/completions", "generate"),
        ApiPath("POST", r"(?:/v1|/openai/v1)?/embeddings", "embed"),
        ApiPath("POST", r"/openai/deployments/(?P<model>[^/]+)/embeddings", "embed"),
        ApiPath("GET", r"(?:/openai)?/v1/models", "list_models"),
        ApiPath("GET", r"(?:/openai)?/v1/models/(?P<model>.+)", "get_model"),
    ),
)
