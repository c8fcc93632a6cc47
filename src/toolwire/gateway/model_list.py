"""The list of models as each front wire's clients read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from toolwire.conversation.json import JSON

_DAY = "2026-01-01T00:00:00Z"
_SECOND = 1767225600


def _openai(name: str) -> JSON:
    return {"id": name, "object": "model", "created": _SECOND, "owned_by": "toolwire"}


def _anthropic(name: str) -> JSON:
    return {"type": "model", "id": name, "display_name": name, "created_at": _DAY}


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
        "modified_at": _DAY,
        "size": 0,
        "digest": "0" * 64,
        "details": {},
    }


_ONE: dict[str, Callable[[str], JSON]] = {
    "anthropic": _anthropic,
    "gemini": _gemini,
    "ollama": _ollama,
}


def one_model(wire: str, name: str) -> JSON:
    """One model."""
    return _ONE.get(wire, _openai)(name)


def listed(wire: str, names: Sequence[str]) -> JSON:
    """All models."""
    rows: list[JSON] = [one_model(wire, name) for name in names]
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


def shown(name: str) -> JSON:
    """What is known of a model, for clients that ask before they use it."""
    return {
        "modelfile": "",
        "parameters": "",
        "template": "",
        "details": {"family": name, "format": ""},
        "model_info": {},
        "capabilities": ["completion", "tools", "vision", "thinking"],
        "modified_at": _DAY,
    }
