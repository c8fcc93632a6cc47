"""Settings and fields that do not affect the meaning of a conversation: times, counts, names.

If a wire cannot hold them, the loss has the severity `info`. Knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, JsonPath
from toolwire.conversation.model import Choice, Kind, LossSeverity

_SETTINGS = frozenset(
    {
        *("id", "model", "created", "stream"),
        *("metadata", "prompt_cache_key", "safety_identifier", "service_tier", "user"),
    }
)
"""Settings that name or date a body, choose its transport, or serve accounting. The model is among
them because a wire without a field for it has it in the URL of the request."""
_DEFAULT_SETTINGS: Mapping[str, object] = {
    "budget": -1,
    "candidates": 1,
    "choice": Choice("auto"),
    "frequency_penalty": 0,
    "parallel": True,
    "presence_penalty": 0,
    "store": False,
    "verbosity": "medium",
}
"""The default value of settings that clients send explicitly."""
_DEFAULT_FIELDS: Mapping[str, JSON] = {
    "logprobs": False,
    "responseModalities": ["TEXT"],
    "response_format": {"type": "text"},
}
"""The same for fields of requests that have no neutral form."""
_DETAILS: tuple[JsonPath, ...] = (
    ("client_metadata",),
    ("generationConfig", "thinkingConfig", "includeThoughts"),
    ("include",),
    ("reasoning", "summary"),
    ("session_id",),
)
"""Fields of requests that name the client, or ask for details that a response may show."""
_FIELDS: Mapping[Kind, frozenset[str]] = {
    "request": frozenset(
        {
            "agent_reference",
            "id",
            "messageId",
            "object",
            "response_id",
            "status",
            "stream_options",
            "trigger",
        }
    ),
    "response": frozenset(
        {
            "agent_reference",
            "avgLogprobs",
            "billing",
            "completed_at",
            "conversation",
            "createTime",
            "created_at",
            "eval_duration",
            "id",
            "latencyMs",
            "load_duration",
            "metadata",
            "metrics",
            "native_finish_reason",
            "obfuscation",
            "object",
            "p",
            "prompt_eval_duration",
            "provider",
            "response_id",
            "service_tier",
            "status",
            "system_fingerprint",
            "time_info",
            "tool_usage",
            "total_duration",
            "usage",
            "usageMetadata",
            "usage_breakdown",
            "usage_metadata",
        }
    ),
}
"""Incidental fields without a neutral form, by the kind of the body."""


def setting_matters(name: str, value: object) -> bool:
    """Return True if a setting affects the model or the handling of its response."""
    return name not in _SETTINGS and (
        name not in _DEFAULT_SETTINGS or value != _DEFAULT_SETTINGS[name]
    )


def severity_of_field(path: JsonPath, kind: Kind, value: JSON | UnsetType = UNSET) -> LossSeverity:
    """Return the severity of the loss of a field without a neutral form.

    Args:
        path: The path of the field.
        kind: The kind of the body.
        value: Its value, if known. An empty field has no effect.
    """
    is_setting = kind == "request" and 0 < len(path) < _DEEPEST_SETTING
    if is_setting and _asks_for_nothing(path, value):
        return "info"
    if kind == "response" and _says_nothing(value):
        return "info"
    fields = _FIELDS[kind]
    for step in path:
        if step in fields and (step == path[-1] or step in _OBJECTS):
            return "info"
    return "loss"


def _asks_for_nothing(path: JsonPath, value: JSON | UnsetType) -> bool:
    """Return True for a field of a request that is empty, has its default value, or only asks for
    details of the response; and for an object of such fields."""
    if value is None or value in ("", []) or path in _DETAILS:
        return True
    if str(path[-1]) in _DEFAULT_FIELDS and _DEFAULT_FIELDS[str(path[-1])] == value:
        return True
    return isinstance(value, dict) and all(
        _asks_for_nothing((*path, key), inner) for key, inner in value.items()
    )


def _says_nothing(value: JSON | UnsetType) -> bool:
    """Return True for an empty value, and for an object in which every value is empty or zero."""
    if isinstance(value, dict):
        return all(inner == 0 or _says_nothing(inner) for inner in value.values())
    return value is None or value in ("", [])


_DEEPEST_SETTING = 4
"""Settings of a request have shorter paths than this."""
_OBJECTS = frozenset({"metrics", "usage", "usageMetadata", "usage_metadata"})
"""Incidental fields whose inner fields are incidental, too."""
