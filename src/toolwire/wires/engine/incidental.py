"""Settings and fields without which a conversation means the same: times, counts, names.

A wire that cannot hold one loses no meaning, so it is reported with the severity `info`. Knows no
wire by name.
"""

from __future__ import annotations

from collections.abc import Mapping

from toolwire.conversation.json import JsonPath
from toolwire.conversation.model import Kind, LossSeverity

_SETTINGS = frozenset(
    {
        *("id", "model", "created", "stream"),
        *("metadata", "prompt_cache_key", "safety_identifier", "service_tier"),
    }
)
"""Settings that name or date a body, choose its transport, or are about accounting. A wire without
a field for the model has it in the path of the request."""
_FIELDS: Mapping[Kind, frozenset[str]] = {
    "request": frozenset({"id", "messageId", "object", "status", "stream_options", "trigger"}),
    "response": frozenset(
        {
            "agent_reference",
            "avgLogprobs",
            "completed_at",
            "createTime",
            "created_at",
            "eval_duration",
            "id",
            "latencyMs",
            "load_duration",
            "metrics",
            "obfuscation",
            "object",
            "p",
            "prompt_eval_duration",
            "response_id",
            "service_tier",
            "status",
            "system_fingerprint",
            "total_duration",
            "usage",
            "usageMetadata",
            "usage_metadata",
        }
    ),
}
"""Fields without a neutral form, by their names."""


def setting_matters(name: str, value: object) -> bool:
    """Return True if a setting changes what a model does or what becomes of its answer."""
    return name not in _SETTINGS and not (name == "store" and value is False)


def severity_of_field(path: JsonPath, kind: Kind) -> LossSeverity:
    """Return how much the loss of a field without a neutral form matters."""
    fields = _FIELDS[kind]
    for step in path:
        if step in fields and (step == path[-1] or step in _OBJECTS):
            return "info"
    return "loss"


_OBJECTS = frozenset({"metrics", "usage", "usageMetadata", "usage_metadata"})
"""Those whose fields count as well."""
