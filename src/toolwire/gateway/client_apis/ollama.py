"""Ollama chat as a client API. A continuation token is the last line of the thinking text."""

from __future__ import annotations

from toolwire.conversation.json import Object
from toolwire.gateway.client_apis.api import ApiPath, ClientApi, ResponseIdentity, whole_body_with
from toolwire.streaming.events import Chunk


def _add_token(body: Object, token: str) -> None:
    """Add the token as text: the official client drops every field that it does not know."""
    message = body.get("message")
    if isinstance(message, dict):
        thinking = message.get("thinking")
        message["thinking"] = f"{thinking if isinstance(thinking, str) else ''}\n{token}"


def _add_token_chunks(last: list[Chunk], token: str, blocks: int) -> list[Chunk]:
    chunks = [dict(chunk) for chunk in last]
    for chunk in chunks:
        message = chunk.get("message")
        if chunk.get("done") is True and isinstance(message, dict):
            chunk["message"] = {**message, "thinking": f"\n{token}"}
    return chunks


API = ClientApi(
    wire="ollama",
    identity=ResponseIdentity(
        id="", time="created_at", time_is_text=True, find=whole_body_with("message")
    ),
    add_token=_add_token,
    add_token_chunks=_add_token_chunks,
    wants_stream=lambda body: body.get("stream") is not False,
    paths=(
        ApiPath("POST", r"/api/chat", "generate"),
        ApiPath("GET", r"/api/tags", "list_models"),
        ApiPath("POST", r"/api/show", "show_model"),
        ApiPath("GET", r"/api/version", "get_version"),
    ),
)
