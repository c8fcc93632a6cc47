"""Gemini generateContent as a client API. A continuation token is a thought signature."""

from __future__ import annotations

from base64 import b64encode

from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.gateway.client_apis.api import ApiPath, ClientApi, ResponseIdentity, whole_body_with
from toolwire.streaming.events import Chunk

_EMPTY_PART: Object = {"text": ""}
_MODEL_PATH = r"(?:/gemini)?/v1(?:beta|alpha)?\d?/(?:models|tunedModels)/(?P<model>.+)"


def _token_part(token: str, part: Object) -> Object:
    return {**part, "thoughtSignature": b64encode(token.encode()).decode()}


def _add_token(body: Object, token: str) -> None:
    """Put the token into the last part, where Gemini puts signatures: chats of google-genai up to
    1.45 drop a turn that has an empty text."""
    candidates = body.get("candidates")
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    content = first.get("content") if isinstance(first, dict) else None
    if not isinstance(content, dict):
        return
    parts = content.get("parts")
    parts = list(parts) if isinstance(parts, list) else []
    last = parts.pop() if parts and _can_hold_token(parts[-1]) else _EMPTY_PART
    assert isinstance(last, dict)
    content["parts"] = [*parts, _token_part(token, last)]


def _can_hold_token(part: JSON) -> bool:
    return isinstance(part, dict) and "thoughtSignature" not in part


def _add_token_chunks(last: list[Chunk], token: str, blocks: int) -> list[Chunk]:
    """Put the token into the chunk with the finish reason, which may have the calls of the turn."""
    index = next((n for n, chunk in enumerate(last) if "candidates" in chunk), None)
    if index is None:
        content: Object = {"role": "model", "parts": [_token_part(token, _EMPTY_PART)]}
        return [*last, {"candidates": [{"index": 0, "content": content}]}]
    end: Object = {**last[index]}
    candidates = end["candidates"]
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    if isinstance(first, dict) and isinstance(candidates, list):
        content = {"role": "model", **_content_of(first)}
        end["candidates"] = [{**first, "content": content}, *candidates[1:]]
        _add_token(end, token)
    return [*last[:index], end, *last[index + 1 :]]


def _content_of(candidate: Object) -> Object:
    content = candidate.get("content")
    return content if isinstance(content, dict) else {}


_CALL_FIELDS = ("functionCall", "function_call")


def _call_paths(body: Object) -> list[JsonPath]:
    candidates = body.get("candidates")
    paths: list[JsonPath] = []
    for i, candidate in enumerate(candidates if isinstance(candidates, list) else ()):
        parts = get(candidate, ("content", "parts"))
        for j, part in enumerate(parts if isinstance(parts, list) else ()):
            if isinstance(part, dict):
                part_path: JsonPath = ("candidates", i, "content", "parts", j)
                paths += [(*part_path, field) for field in _CALL_FIELDS if field in part]
    return paths


API = ClientApi(
    wire="gemini",
    identity=ResponseIdentity(
        id="responseId", model="modelVersion", find=whole_body_with("candidates")
    ),
    call_paths=_call_paths,
    call_marks=tuple(field.encode() for field in _CALL_FIELDS),
    add_token=_add_token,
    add_token_chunks=_add_token_chunks,
    wants_stream=lambda body: False,
    sse_query=b"alt=sse",
    token_count=lambda count: {"totalTokens": count},
    paths=(
        ApiPath("POST", rf"{_MODEL_PATH}:generateContent", "generate"),
        ApiPath("POST", rf"{_MODEL_PATH}:streamGenerateContent", "stream"),
        ApiPath("POST", rf"{_MODEL_PATH}:countTokens", "count_tokens"),
        ApiPath("GET", r"(?:/gemini)?/v1(?:beta|alpha)\d?/models", "list_models"),
        ApiPath("GET", r"(?:/gemini)?/v1(?:beta|alpha)\d?/models/(?P<model>.+)", "get_model"),
    ),
)
