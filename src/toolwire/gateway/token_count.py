"""The endpoints that count the tokens of a request: one row for each wire that has one."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from toolwire.conversation.json import Object, load


class TokenCountEndpoint(Struct, frozen=True):
    """How a provider counts tokens."""

    path: Callable[[str], str]
    """The path of the endpoint, from the path of responses."""
    field: str
    """The field of the response that holds the number."""
    body: Callable[[Object, str], Object]
    """The request body, from that of a response and the name of the model."""


def _only(*keys: str) -> Callable[[Object, str], Object]:
    return lambda body, model: {key: body[key] for key in keys if key in body}


def _gemini(body: Object, model: str) -> Object:
    kept: Object = {
        key: body[key]
        for key in ("contents", "systemInstruction", "tools", "toolConfig")
        if key in body
    }
    return (
        {"generateContentRequest": {"model": f"models/{model}", **kept}} if len(kept) > 1 else kept
    )


def _bedrock(body: Object, model: str) -> Object:
    fields = ("messages", "system", "toolConfig", "additionalModelRequestFields")
    return {"input": {"converse": {key: body[key] for key in fields if key in body}}}


TOKEN_COUNT_ENDPOINTS = {
    "anthropic": TokenCountEndpoint(
        lambda path: f"{path}/count_tokens",
        "input_tokens",
        _only("model", "messages", "system", "tools", "tool_choice", "thinking"),
    ),
    "bedrock": TokenCountEndpoint(
        lambda path: path.replace("/converse", "/count-tokens"), "inputTokens", _bedrock
    ),
    "gemini": TokenCountEndpoint(
        lambda path: path.replace(":generateContent", ":countTokens"), "totalTokens", _gemini
    ),
    "openai-responses": TokenCountEndpoint(
        lambda path: f"{path}/input_tokens",
        "input_tokens",
        _only(
            "model",
            "input",
            "instructions",
            "tools",
            "tool_choice",
            "parallel_tool_calls",
            "reasoning",
            "text",
            "truncation",
        ),
    ),
}


def read_token_count(endpoint: TokenCountEndpoint, data: bytes) -> int | None:
    """The number of tokens in a response; None if there is none. Raises InputError."""
    value, _ = load(data, "")
    count = value.get(endpoint.field) if isinstance(value, dict) else None
    return count if isinstance(count, int) else None
