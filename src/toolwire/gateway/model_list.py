"""Lists and descriptions of models, as the clients of each API read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256

from toolwire.conversation.json import JSON

_CREATED_AT = "2026-01-01T00:00:00Z"
_CREATED = 1767225600


def _openai(name: str) -> JSON:
    return {"id": name, "object": "model", "created": _CREATED, "owned_by": "toolwire"}


def _anthropic(name: str) -> JSON:
    return {"type": "model", "id": name, "display_name": name, "created_at": _CREATED_AT}


def _gemini(name: str) -> JSON:
    return {
        "name": f"models/{name}",
        "displayName": name,
        "version": "1",
        "supportedGenerationMethods": ["generateContent", "streamGenerateContent", "countTokens"],
    }


def _ollama(name: str) -> JSON:
    return {
        "name": name,
        "model": name,
        "modified_at": _CREATED_AT,
        "size": 0,
        "digest": sha256(name.encode("utf-8", "replace")).hexdigest(),
        "details": {},
    }


def _mistral(name: str) -> JSON:
    return {
        "id": name,
        "object": "model",
        "created": _CREATED,
        "owned_by": "toolwire",
        "type": "base",
        "capabilities": {"completion_chat": True, "function_calling": True, "vision": True},
    }


_BODIES: dict[str, Callable[[str], JSON]] = {
    "anthropic": _anthropic,
    "gemini": _gemini,
    "mistral": _mistral,
    "ollama": _ollama,
}


def model_body(wire: str, name: str) -> JSON:
    """The description of one model."""
    return _BODIES.get(wire, _openai)(name)


def model_list(wire: str, names: Sequence[str]) -> JSON:
    """The list of all models."""
    rows: list[JSON] = [model_body(wire, name) for name in names]
    if wire == "anthropic":
        return {
            "data": rows,
            "has_more": False,
            "first_id": names[0] if names else None,
            "last_id": names[-1] if names else None,
        }
    if wire in ("gemini", "ollama"):
        return {"models": rows}
    return {"object": "list", "data": rows}


def model_details(name: str) -> JSON:
    """The details of a model, for clients that ask for its capabilities first."""
    return {
        "modelfile": "",
        "parameters": "",
        "template": "",
        "details": {"family": name, "format": ""},
        "model_info": {},
        "capabilities": ["completion", "tools", "vision", "thinking"],
        "modified_at": _CREATED_AT,
    }


def server_version() -> JSON:
    """A version of Ollama's server; its clients use the features of that version."""
    return {"version": "0.12.6"}
