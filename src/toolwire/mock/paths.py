"""The paths of each provider's server, and its lists of models, as data."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Literal, TypeAlias

from msgspec import Struct

from toolwire.conversation.json import JSON, Object

Does: TypeAlias = Literal[
    "answer", "stream", "models", "model", "count", "stored", "delete", "compact"
]


class MockRoute(Struct, frozen=True):
    """A method, a path, and an operation. `model` and `id` in the path are groups."""

    method: str
    path: str
    does: Does


_BASE = r"(?:/[\w.~-]+)*?"
_MODELS = (
    MockRoute("GET", rf"{_BASE}/models", "models"),
    MockRoute("GET", rf"{_BASE}/models/(?P<model>[^:]+)", "model"),
)
_RESPONSES = (
    MockRoute("POST", rf"{_BASE}/responses", "answer"),
    MockRoute("POST", rf"{_BASE}/responses/compact", "compact"),
    MockRoute("POST", rf"{_BASE}/responses/input_tokens", "count"),
    MockRoute("GET", rf"{_BASE}/responses/(?P<id>[\w-]+)", "stored"),
    *_MODELS,
)
_CHAT = (
    MockRoute("POST", r"/openai/deployments/(?P<model>[^/]+)/chat/completions", "answer"),
    MockRoute("POST", rf"{_BASE}/chat/completions", "answer"),
    *_MODELS,
)
_MODEL = (
    r"(?:/v1\w*)?(?:/projects/[^/]+/locations/[^/]+)?(?:/publishers/\w+)?"
    r"/(?:models|tunedModels)/(?P<model>[^/:]+(?:/[^/:]+)?)"
)
ROUTES: dict[str, tuple[MockRoute, ...]] = {
    "openai-chat": _CHAT,
    "text": _CHAT,
    "openai-responses": _RESPONSES,
    "azure-foundry": _RESPONSES,
    "anthropic": (
        MockRoute("POST", rf"{_BASE}/messages", "answer"),
        MockRoute("POST", rf"{_BASE}/messages/count_tokens", "count"),
        *_MODELS,
    ),
    "gemini": (
        MockRoute("POST", rf"{_MODEL}:generateContent", "answer"),
        MockRoute("POST", rf"{_MODEL}:streamGenerateContent", "stream"),
        MockRoute("POST", rf"{_MODEL}:countTokens", "count"),
        *_MODELS,
    ),
    "gemini-interactions": (
        MockRoute("POST", rf"{_BASE}/interactions", "answer"),
        MockRoute("GET", rf"{_BASE}/interactions/(?P<id>[\w-]+)", "stored"),
        MockRoute("DELETE", rf"{_BASE}/interactions/(?P<id>[\w-]+)", "delete"),
        *_MODELS,
    ),
    "bedrock": (
        MockRoute("POST", r"/model/(?P<model>.+)/converse", "answer"),
        MockRoute("POST", r"/model/(?P<model>.+)/converse-stream", "stream"),
        MockRoute("POST", r"/model/(?P<model>.+)/count-tokens", "count"),
        MockRoute("GET", r"/foundation-models", "models"),
    ),
    "mistral": _CHAT,
    "cohere": (MockRoute("POST", rf"{_BASE}/v2/chat", "answer"), *_MODELS),
    "ollama": (MockRoute("POST", r"/api/chat", "answer"), MockRoute("GET", r"/api/tags", "models")),
}
"""A wire and its paths. The prefix of a path is ignored, because base URLs differ."""

SERVER_PROFILES = {
    "openai-chat": ("openai-chat", "openai-responses"),
    "openai-responses": ("openai-responses", "openai-chat"),
    "azure-openai": ("azure-openai", "azure-foundry"),
    "azure-foundry": ("azure-foundry", "azure-openai"),
    "gemini": ("gemini", "gemini-interactions", "gemini-openai"),
    "gemini-interactions": ("gemini-interactions", "gemini", "gemini-openai"),
    "deepseek": ("deepseek", "deepseek-responses"),
    "deepseek-responses": ("deepseek-responses", "deepseek"),
    "minimax": ("minimax", "minimax-anthropic"),
    "minimax-anthropic": ("minimax-anthropic", "minimax"),
}
"""The profiles of one server; the requested one comes first."""

TOKEN_COUNTS: dict[str, tuple[str, Object]] = {
    "anthropic": ("input_tokens", {}),
    "openai-responses": ("input_tokens", {"object": "response.input_tokens"}),
    "azure-foundry": ("input_tokens", {"object": "response.input_tokens"}),
    "gemini": ("totalTokens", {}),
    "bedrock": ("inputTokens", {}),
}
"""A wire, the field with the number of tokens, and the other fields of that response."""

MODEL = "toolwire-demo"


def find_route(wire: str, method: str, path: str) -> tuple[MockRoute, dict[str, str]] | bool:
    """The route of a request and what its path names; True if the path is known under another
    method, False if it is not."""
    known = False
    for route in ROUTES.get(wire, ()):
        match = re.fullmatch(route.path, path.rstrip("/"))
        if match is None:
            continue
        if route.method == method:
            return route, {key: value for key, value in match.groupdict().items() if value}
        known = True
    return known


def model_list(wire: str, created: int) -> JSON:
    """The list of models as a wire writes it."""
    if wire == "anthropic":
        return {
            "data": [model(wire, MODEL, created)],
            "has_more": False,
            "first_id": MODEL,
            "last_id": MODEL,
        }
    if wire == "bedrock":
        return {"modelSummaries": [model(wire, MODEL, created)]}
    if wire in ("gemini", "gemini-interactions", "ollama", "cohere"):
        return {"models": [model(wire, MODEL, created)]}
    return {"object": "list", "data": [model(wire, MODEL, created)]}


def model(wire: str, name: str, created: int) -> JSON:
    """One model as a wire writes it."""
    if wire == "anthropic":
        return {
            "type": "model",
            "id": name,
            "display_name": "The offline model",
            "created_at": "2025-10-09T08:53:20Z",
        }
    if wire in ("gemini", "gemini-interactions"):
        return {
            "name": f"models/{name}",
            "displayName": "The offline model",
            "version": "1",
            "inputTokenLimit": 1048576,
            "outputTokenLimit": 65536,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        }
    if wire == "bedrock":
        arn = f"arn:aws:bedrock:us-east-1::foundation-model/{name}"
        return {
            "modelArn": arn,
            "modelId": name,
            "modelName": "The offline model",
            "providerName": "toolwire",
        }
    if wire == "ollama":
        return {
            "name": name,
            "model": name,
            "modified_at": "2025-10-09T08:53:20Z",
            "size": 0,
            "digest": sha256(name.encode("utf-8", "replace")).hexdigest(),
            "details": {},
        }
    if wire == "cohere":
        return {"name": name, "endpoints": ["chat"], "finetuned": False, "context_length": 1048576}
    return {"id": name, "object": "model", "created": created, "owned_by": "toolwire"}
