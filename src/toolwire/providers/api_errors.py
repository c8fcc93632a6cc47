"""When there is no answer: the words in the body of a server's error, and such a body as the
clients of each front wire read it.

The tables are those of the providers' own servers. Knows no rule and no upstream.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from toolwire.conversation.json import JSON, dump, load
from toolwire.errors import InputError

TOLD = 2000
"""Of what a server says in a refusal, so many characters are told."""
_DEEPEST = 8
_MOST = 5
"""Of a list of errors, so many are told."""


class ApiError(Struct, frozen=True):
    """Why a request gets no answer."""

    message: str
    status: int = 400
    code: str | None = None
    """What providers call this fault, where they have a word for it beside the text."""


def _by(table: dict[int, str], status: int) -> str:
    return table.get(status) or table[500 if status >= 500 else 400]


_OPENAI = {
    400: "invalid_request_error",
    403: "permission_error",
    429: "rate_limit_error",
    500: "server_error",
}
_CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded"}
_ANTHROPIC = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_GOOGLE = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
    529: "UNAVAILABLE",
}


def _openai(no: ApiError) -> JSON:
    code: JSON = no.code or _CODES.get(no.status)
    return {
        "error": {
            "message": no.message,
            "type": _by(_OPENAI, no.status),
            "param": None,
            "code": code,
        }
    }


def _anthropic(no: ApiError) -> JSON:
    return {"type": "error", "error": {"type": _by(_ANTHROPIC, no.status), "message": no.message}}


def _gemini(no: ApiError) -> JSON:
    return {"error": {"code": no.status, "message": no.message, "status": _by(_GOOGLE, no.status)}}


SHAPES: dict[str, Callable[[ApiError], JSON]] = {
    "openai-chat": _openai,
    "openai-responses": _openai,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "ollama": lambda no: {"error": no.message},
}
"""A wire and the body of its errors; clients of the others show the text of the answer as it is."""


def shaped(wire: str, no: ApiError) -> tuple[bytes, str]:
    """The body of an error for the clients of a wire, and its media type."""
    shape = SHAPES.get(wire)
    if shape is None:
        return no.message.encode("utf-8", "replace"), "text/plain; charset=utf-8"
    return dump(shape(no)), "application/json"


# --- what others said -----------------------------------------------------------------------------


def said(data: bytes) -> str:
    """The words of a server's refusal; all of it, as far as it is told, if they are not where
    servers put them."""
    try:
        value, _ = load(data, "")
    except InputError:
        return data[:TOLD].decode("utf-8", "replace").strip()
    return (_words(value, _DEEPEST) or data[:TOLD].decode("utf-8", "replace"))[:TOLD]


def _words(value: JSON, deep: int) -> str:
    if isinstance(value, str):
        return value
    if deep and isinstance(value, list):
        return "; ".join(word for one in value[:_MOST] if (word := _words(one, deep - 1)))
    if deep and isinstance(value, dict):
        for key in ("error", "message", "msg", "detail", "errors"):
            if word := _words(value.get(key), deep - 1):
                return word
    return ""
