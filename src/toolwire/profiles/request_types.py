"""The types of each provider's requests, from its official SDK, and the fields that its servers
accept beyond them, each with its source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from toolwire.profiles.profile import Profile
from toolwire.profiles.request_schema import RequestSchema, Violation, request_schema

SAMPLING = {"temperature": "number", "top_p": "number", "top_k": "integer"}
"""Settings of the Messages API up to version 2023-06-01:
https://platform.claude.com/docs/en/api/versioning"""
WITHOUT_SAMPLING = "2026-10-21"


def _messages_api(headers: Mapping[str, str]) -> RequestSchema:
    """The types of the Messages API for a request with these headers: beta fields need a beta
    header, and the newest version has no sampling settings."""
    api = "anthropic-beta" if headers.get("anthropic-beta") else "anthropic"
    schema = request_schema(api, path_tags=("type",))
    if headers.get("anthropic-version", "") >= WITHOUT_SAMPLING:
        return schema
    return schema.with_fields(**SAMPLING)


SCHEMAS: dict[str, Callable[[Mapping[str, str]], RequestSchema]] = {
    **dict.fromkeys(
        ("openai-chat", "azure-openai", "openai-chat-legacy"),
        lambda headers: request_schema("openai-chat"),
    ),
    **dict.fromkeys(
        ("openai-responses", "azure-foundry"), lambda headers: request_schema("openai-responses")
    ),
    **dict.fromkeys(("anthropic", "vertex-anthropic"), _messages_api),
    **dict.fromkeys(
        ("gemini", "vertex-gemini", "vertex-gemini-v1"),
        lambda headers: request_schema("gemini", snake=True),
    ),
    "gemini-interactions": lambda headers: request_schema("gemini-interactions"),
    **dict.fromkeys(("bedrock", "bedrock-mistral"), lambda headers: request_schema("bedrock")),
    **dict.fromkeys(("mistral", "mistral-legacy"), lambda headers: request_schema("mistral")),
    "cohere": lambda headers: request_schema("cohere"),
    "ollama": lambda headers: request_schema("ollama"),
}
"""Profile → a function that returns the types of its requests. Other servers of a wire are known to
accept more than its author's, or have no published types."""

_RESPONSES_ACCEPTED = frozenset(
    {
        ("EasyInputMessage", "id"),
        ("EasyInputMessage", "status"),
        ("ResponseCustomToolCall", "status"),
        ("ResponseFunctionToolCall", "id"),
        ("ResponseInputImage", "detail"),
        ("ResponseReasoningItem", "id"),
        ("FunctionTool", "parameters"),
        ("FunctionTool", "strict"),
    }
)
ACCEPTED_FIELDS: dict[str, frozenset[tuple[str, str]]] = {
    "openai-chat": frozenset(
        {
            ("ChatCompletionToolMessage", "name"),
            ("ChatCompletionAssistantMessage", "annotations"),
            ("ImageURL", "format"),
        }
    ),
    "openai-responses": _RESPONSES_ACCEPTED,
    "azure-foundry": _RESPONSES_ACCEPTED
    | {("Request", name) for name in ("agent", "agent_reference", "structured_inputs")},
    "vertex-anthropic": frozenset({("Request", "anthropic_version"), ("Request", "model")}),
}
"""Fields in which servers are more lenient than the types: they may be present, absent or null. A
name in results and a message with annotations are in OpenAI's own examples; Strands and LiteLLM
send the media type of an image beside its address; only the prefix of message ids is checked
(codex#33176); agents send custom calls with a status and reasoning without an id (openai/codex);
tools need no parameters (litellm#13420); images need no detail in OpenAI's own examples. Vertex has
the version in the body and the model in the path. Foundry accepts an agent and its inputs
(azure-ai-projects 2.10.0)."""
FOUNDRY_ITEM_FIELDS = frozenset({"agent_reference", "response_id"})
"""Fields that Azure AI Foundry adds to each item of a response; items may be sent back with
them."""
FOUNDRY_TYPES: dict[str, frozenset[str]] = {
    "input": frozenset({"memory_search_call"}),
    "tools": frozenset(
        {
            "a2a",
            "a2a_preview",
            "azure_ai_search",
            "azure_function",
            "bing_custom_search_preview",
            "bing_grounding",
            "browser_automation",
            "browser_automation_preview",
            "capture_structured_outputs",
            "fabric_dataagent_preview",
            "fabric_iq_preview",
            "github_copilot_toolset_preview",
            "memory_search_preview",
            "microsoft_copilot_toolset_preview",
            "openapi",
            "sharepoint_grounding_preview",
            "web_iq_preview",
            "work_iq_preview",
        }
    ),
}
"""The types of items and tools that Azure AI Foundry accepts in addition to those of the Responses
API: tools as in azure-ai-projects 2.10.0; only one type of its items is input, the others are sent
by reference."""
ADDED_FIELDS = frozenset(
    {
        *("index", "streaming", "partial_json", "partialJson", "parsed", "parsed_arguments"),
        *("timestamp", "created", "created_at", "createdAt", "updated_at", "updatedAt"),
        *("duration", "duration_ms", "durationMs", "usage", "cost", "extra_content", "isError"),
        *("_id", "uuid", "message_id", "messageId", "is_streaming"),
        *("additional_kwargs", "response_metadata", "usage_metadata", "artifact", "example"),
        "meta",
    }
)
"""Fields that streams, helpers of SDKs and stores add to messages and blocks. No API has them in
its types."""
IGNORES_UNKNOWN_FIELDS = frozenset({"bedrock", "ollama"})
"""Wires whose servers ignore unknown fields, as the decoders of Smithy and Go do."""
NULL_IS_ABSENT = frozenset({"bedrock", "gemini", "gemini-interactions", "ollama"})
"""Wires whose servers treat null as an absent field, as Smithy, protobuf and Go do."""


def is_accepted(violation: Violation, profile: Profile) -> bool:
    """True if the servers of a provider accept a violation of the types of its SDK."""
    wire, value = profile.wire, violation.value
    field = (violation.owner, str(violation.path[-1]))
    lenient = violation.fault in ("unknown", "missing") or value is None
    if lenient and any(field in ACCEPTED_FIELDS.get(name, ()) for name in (profile.name, wire)):
        return True
    if wire == "azure-foundry" and _is_of_foundry(violation):
        return True
    if violation.fault == "unknown":
        return wire in IGNORES_UNKNOWN_FIELDS
    if value is None and wire in NULL_IS_ABSENT:
        return True
    if wire == "ollama":  # Go has a zero value for each field, and enums are plain strings
        return violation.fault != "type"
    if wire == "gemini":  # protobuf accepts enums in any case, and integers as text
        return str(value).upper() in violation.expected or (
            "integer" in violation.expected and str(value).isdecimal()
        )
    return False


def _is_of_foundry(violation: Violation) -> bool:
    """True if a field of an item, or a type of items or tools, exists only in Azure AI Foundry."""
    if violation.fault == "unknown":
        is_item = len(violation.path) == 3 and violation.path[0] == "input"
        return is_item and violation.path[-1] in FOUNDRY_ITEM_FIELDS
    types = FOUNDRY_TYPES.get(str(violation.path[0]), ())
    return violation.fault == "tag" and len(violation.path) == 3 and violation.value in types


@cache
def full_schema(profile: str) -> RequestSchema | None:
    """The types of a provider's requests, including everything that a header can enable."""
    find = SCHEMAS.get(profile)
    return None if find is None else find({"anthropic-beta": "all"})


@cache
def known_names() -> frozenset[str]:
    """The field names that some API has, or that programs are known to add.

    A field with any other name may be newer than the types.
    """
    schemas = filter(None, map(full_schema, SCHEMAS))
    return ADDED_FIELDS.union(*(schema.field_names() for schema in schemas))
