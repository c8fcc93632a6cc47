"""The body, status and header fields of an error, as each provider's server writes them."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from toolwire.conversation.json import JSON, JsonPath


class ErrorResponse(Struct, frozen=True):
    """Why a request is refused, as its provider writes it."""

    message: str
    status: int = 400
    param: str | None = None
    code: str | None = None
    """The provider's code for this error, if it has one beside the text."""
    rule: str = ""
    """The rule that found the violation, if any."""
    violation_path: JsonPath = ()
    """The path of the violation in the body."""
    path: JsonPath = ()
    """The path as the server writes it, for servers that list the steps of a path."""
    value: JSON = None
    """The value at the path, for servers that quote it."""


def _lookup(table: dict[int, str], status: int) -> str:
    return table.get(status) or table[500 if status >= 500 else 400]


_OPENAI = {
    400: "invalid_request_error",
    401: "invalid_request_error",
    403: "permission_error",
    404: "invalid_request_error",
    413: "invalid_request_error",
    429: "requests",
    500: "server_error",
    503: "server_error",
}
_ANTHROPIC = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}
_GOOGLE = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_AWS = {
    400: "ValidationException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    424: "ModelErrorException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
}
_MISTRAL = {
    400: "invalid_request_message_order",
    401: "unauthorized",
    404: "invalid_model",
    422: "invalid_request_error",
    429: "rate_limited",
    500: "internal_server_error",
}
AWS_NAMES = frozenset(_AWS.values())


def _chat(refusal: ErrorResponse) -> JSON:
    code: JSON = refusal.code or None
    if not code and refusal.status == 429:
        code = "rate_limit_exceeded"
    elif not code and refusal.status >= 500:
        code = "server_error"
    return {
        "error": {
            "message": refusal.message,
            "type": _lookup(_OPENAI, refusal.status),
            "param": refusal.param,
            "code": code,
        }
    }


def _azure(refusal: ErrorResponse) -> JSON:
    code = refusal.code or str(refusal.status)
    return {
        "error": {
            "message": refusal.message,
            "type": _lookup(_OPENAI, refusal.status),
            "param": refusal.param,
            "code": code,
        }
    }


def _anthropic(refusal: ErrorResponse) -> JSON:
    return {
        "type": "error",
        "error": {"type": _lookup(_ANTHROPIC, refusal.status), "message": refusal.message},
        "request_id": "req_mock",
    }


def _gemini(refusal: ErrorResponse) -> JSON:
    return {
        "error": {
            "code": refusal.status,
            "message": refusal.message,
            "status": _lookup(_GOOGLE, refusal.status),
        }
    }


def _interactions(refusal: ErrorResponse) -> JSON:
    code = refusal.code or _lookup(_GOOGLE, refusal.status).lower()
    return {"error": {"code": code, "message": refusal.message}}


def _mistral(refusal: ErrorResponse) -> JSON:
    if refusal.status == 422:
        return {
            "detail": [
                {
                    "type": refusal.code or "missing",
                    "loc": ["body", *(refusal.path or (refusal.param or "",))],
                    "msg": refusal.message,
                    "input": {} if refusal.value is None else refusal.value,
                }
            ]
        }
    return {
        "object": "error",
        "message": refusal.message,
        "type": _lookup(_MISTRAL, refusal.status),
        "param": refusal.param,
        "code": refusal.code,
    }


def _cerebras(refusal: ErrorResponse) -> JSON:
    kind = "wrong_api_format" if refusal.status == 400 else _lookup(_OPENAI, refusal.status)
    return {
        "message": refusal.message,
        "type": _lookup(_OPENAI, refusal.status),
        "param": refusal.param,
        "code": kind,
    }


def _minimax(refusal: ErrorResponse) -> JSON:
    return {
        "type": "error",
        "error": {
            "type": "bad_request_error",
            "message": refusal.message,
            "http_code": str(refusal.status),
        },
    }


SHAPES: dict[str, Callable[[ErrorResponse], JSON]] = {
    "openai-chat": _chat,
    "openai-responses": _chat,
    "text": _chat,
    "azure-openai": _azure,
    "azure-foundry": _azure,
    "cerebras": _cerebras,
    "minimax": _minimax,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "gemini-interactions": _interactions,
    "bedrock": lambda refusal: {"message": refusal.message},
    "mistral": _mistral,
    "cohere": lambda refusal: {"id": "mock", "message": refusal.message},
    "ollama": lambda refusal: {"error": refusal.message},
}
"""A profile or wire, and the body of its errors."""


def write_error(names: tuple[str, ...], refusal: ErrorResponse) -> tuple[JSON, dict[str, str]]:
    """The body of a refusal in the format of the first of these names that has one, with its header
    fields."""
    shape = next(SHAPES[name] for name in names if name in SHAPES)
    headers: dict[str, str] = {}
    if "bedrock" in names:
        name = (
            refusal.code
            if refusal.code in AWS_NAMES or (refusal.code or "").endswith("Exception")
            else _lookup(_AWS, refusal.status)
        )
        headers["x-amzn-errortype"] = str(name)
    if refusal.status in (429, 503, 529):
        headers["retry-after"] = "0"
    return shape(refusal), headers


_EXHAUSTED = "Resource has been exhausted (e.g. check quota)."
_INTERNAL = "An internal error has occurred. Please retry or report the problem."
_BUSY = {
    "openai-chat": (
        "Rate limit reached for {model} on requests per min (RPM). Please try again later."
    ),
    "openai-responses": (
        "Rate limit reached for {model} on requests per min (RPM). Please try again later."
    ),
    "anthropic": (
        "This request would exceed your organization's rate limit. Please try again later."
    ),
    "gemini": _EXHAUSTED,
    "gemini-interactions": _EXHAUSTED,
    "bedrock": "Too many requests, please wait before trying again.",
    "mistral": "Rate limit exceeded",
    "cohere": "You are past the rate limit of this key. Please wait and try again later.",
    "ollama": "server busy, please try again. maximum pending requests exceeded",
}
_BROKEN = {
    "openai-chat": "The server had an error while processing your request. Sorry about that!",
    "openai-responses": "The server had an error while processing your request. Sorry about that!",
    "anthropic": "Internal server error",
    "gemini": _INTERNAL,
    "gemini-interactions": _INTERNAL,
    "bedrock": (
        "The system encountered an unexpected error during processing. Try your request again."
    ),
    "mistral": "Service unavailable.",
    "cohere": "internal server error",
    "ollama": "internal server error",
}


def error_for_status(wire: str, status: int, model: str) -> ErrorResponse:
    """The refusal with a status that the question asked for."""
    if status == 529:
        return ErrorResponse("Overloaded", 529)
    if status == 429 or (status == 503 and wire == "ollama"):
        return ErrorResponse(_BUSY.get(wire, _BUSY["openai-chat"]).format(model=model), status)
    if status >= 500:
        return ErrorResponse(_BROKEN.get(wire, _BROKEN["openai-chat"]), status)
    return ErrorResponse(f"The request was refused, as it asked to be ({status}).", status)
