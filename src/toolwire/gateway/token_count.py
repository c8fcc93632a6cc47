"""Where a model's server counts the tokens of a request, and what it is asked. One row per wire
that has such a place."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from toolwire.conversation.json import Object


class TokenCountEndpoint(Struct, frozen=True):
    """How tokens are counted on one wire."""

    path: Callable[[str], str]
    """From the path of answers to that of counts."""
    field: str
    """What holds the number."""
    asks: Callable[[Object, str], Object]
    """A request for an answer as one for a count; the text is the name of the model."""


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


COUNTS = {
    "anthropic": TokenCountEndpoint(
        lambda path: f"{path}/count_tokens",
        "input_tokens",
        _only("model", "messages", "system", "tools", "tool_choice", "thinking"),
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
