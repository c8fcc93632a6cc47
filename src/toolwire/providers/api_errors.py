"""Error bodies: read the message of a server's error, and write an error for the clients of a wire.

The tables are those of the providers' own servers.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from toolwire.conversation.json import JSON, dump, load
from toolwire.errors import InputError

MAX_MESSAGE = 2000
"""Characters of a server's message that are passed on."""
_MAX_DEPTH = 8
_MAX_ERRORS = 5
"""Messages of a list of errors that are passed on."""


class ApiError(Struct, frozen=True):
    """Why a request is refused."""

    message: str
    status: int = 400
    code: str | None = None
    """The provider's code of this error, if it has one."""


def _lookup(table: dict[int, str], status: int) -> str:
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
_MISTRAL = {
    400: "invalid_request_error",
    401: "unauthorized",
    404: "invalid_model",
    429: "rate_limited",
    500: "internal_server_error",
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


_AWS = {
    400: "ValidationException",
    401: "UnrecognizedClientException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
    504: "ModelTimeoutException",
    529: "ServiceUnavailableException",
}


def _openai(error: ApiError) -> JSON:
    code: JSON = error.code or _CODES.get(error.status)
    return {
        "error": {
            "message": error.message,
            "type": _lookup(_OPENAI, error.status),
            "param": None,
            "code": code,
        }
    }


def _anthropic(error: ApiError) -> JSON:
    return {
        "type": "error",
        "error": {"type": _lookup(_ANTHROPIC, error.status), "message": error.message},
    }


def _gemini(error: ApiError) -> JSON:
    return {
        "error": {
            "code": error.status,
            "message": error.message,
            "status": _lookup(_GOOGLE, error.status),
        }
    }


def _interactions(error: ApiError) -> JSON:
    code = error.code or _lookup(_GOOGLE, error.status).lower()
    return {"error": {"code": code, "message": error.message}}


def _mistral(error: ApiError) -> JSON:
    return {
        "object": "error",
        "message": error.message,
        "type": _lookup(_MISTRAL, error.status),
        "param": None,
        "code": error.code,
    }


SHAPES: dict[str, Callable[[ApiError], JSON]] = {
    "openai-chat": _openai,
    "openai-responses": _openai,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "gemini-interactions": _interactions,
    # The type of an AWS error may stand in the body instead of a header field:
    # https://smithy.io/2.0/aws/protocols/aws-restjson1-protocol.html#operation-error-serialization
    "bedrock": lambda error: {"__type": _lookup(_AWS, error.status), "message": error.message},
    "mistral": _mistral,
    "cohere": lambda error: {"message": error.message},
    "ollama": lambda error: {"error": error.message},
}
"""The error body of each wire. Clients of the others show the text of the response."""


def write_error(wire: str, error: ApiError) -> tuple[bytes, str]:
    """Return the body of an error for the clients of a wire, and its media type."""
    shape = SHAPES.get(wire)
    if shape is None:
        return error.message.encode("utf-8", "replace"), "text/plain; charset=utf-8"
    return dump(shape(error)), "application/json"


_HTML = "HTML instead of JSON, as from a proxy or another server; check the base URL"


def read_error_message(body: bytes) -> str:
    """Return the message of a server's error; the whole body if it has no known form, unless it
    is an HTML page."""
    try:
        value, _ = load(body, "")
    except InputError:
        if body.lstrip()[:1] == b"<":
            return _HTML
        return body[:MAX_MESSAGE].decode("utf-8", "replace").strip()
    message = _find_message(value, _MAX_DEPTH) or body[:MAX_MESSAGE].decode("utf-8", "replace")
    return message[:MAX_MESSAGE]


def _find_message(value: JSON, depth: int) -> str:
    if isinstance(value, str):
        return value
    if depth and isinstance(value, list):
        found = (_find_message(item, depth - 1) for item in value[:_MAX_ERRORS])
        return "; ".join(message for message in found if message)
    if depth and isinstance(value, dict):
        for key in ("error", "message", "msg", "detail", "errors"):
            if message := _find_message(value.get(key), depth - 1):
                return message
    return ""
