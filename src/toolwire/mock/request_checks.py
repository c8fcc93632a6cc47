"""Check what every request needs, before its history: a key, a model, messages, roles.

The error texts are those of each provider. Violations that the rules of the history find are not
checked here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from urllib.parse import parse_qs

from msgspec import Struct

from toolwire.conversation.json import JSON, Object, get
from toolwire.mock.error_bodies import ErrorResponse
from toolwire.profiles.table import Profile

# --- keys -----------------------------------------------------------------------------------------


class KeyCheck(Struct, frozen=True):
    """The header fields of which one is required, the query fields that count as well, and the
    error text if all are missing."""

    headers: tuple[str, ...]
    refusal: ErrorResponse
    query: tuple[str, ...] = ()


_BEARER = ErrorResponse(
    "You didn't provide an API key. You need to provide your API key in an Authorization header"
    " using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
    401,
    code="invalid_api_key",
)
_CHAT = KeyCheck(("authorization",), _BEARER)
_AZURE = KeyCheck(
    ("api-key", "authorization"),
    ErrorResponse(
        "Access denied due to missing subscription key. Make sure to include subscription key when"
        " making requests to an API.",
        401,
        code="401",
    ),
)
_GOOGLE = KeyCheck(
    ("x-goog-api-key", "authorization"),
    ErrorResponse(
        "Method doesn't allow unregistered callers (callers without established identity). Please"
        " use API Key or other form of API consumer identity to call this API.",
        403,
    ),
    ("key", "access_token"),
)
KEYS: dict[str, KeyCheck | None] = {
    "openai-chat": _CHAT,
    "openai-responses": _CHAT,
    "text": None,
    "azure-openai": _AZURE,
    "azure-foundry": _AZURE,
    "vllm": None,
    "sglang": None,
    "llama.cpp": None,
    "lm-studio": None,
    "anthropic": KeyCheck(
        ("x-api-key", "authorization"), ErrorResponse("x-api-key header is required", 401)
    ),
    "gemini": _GOOGLE,
    "gemini-interactions": _GOOGLE,
    "bedrock": KeyCheck(
        ("authorization",),
        ErrorResponse(
            "Missing Authentication Token", 403, code="MissingAuthenticationTokenException"
        ),
    ),
    "mistral": KeyCheck(("authorization",), ErrorResponse("Unauthorized", 401)),
    "cohere": KeyCheck(("authorization",), ErrorResponse("no api key supplied", 401)),
    "ollama": None,
}
"""A profile or wire, and the key that it requires; None requires none. Any value is accepted."""


def check_key(
    names: tuple[str, ...], headers: Mapping[str, str], query: str
) -> ErrorResponse | None:
    """The refusal of a request without a key."""
    key = next(KEYS[name] for name in names if name in KEYS)
    if key is None or any(
        headers.get(name, "").strip().removeprefix("Bearer").strip() for name in key.headers
    ):
        return None
    given = parse_qs(query)
    return None if any(name in given for name in key.query) else key.refusal


# --- fields ---------------------------------------------------------------------------------------


class FieldCheck(Struct, frozen=True):
    """A required field, its type, and the error text if it is missing or of another type."""

    name: str
    type: type
    missing: ErrorResponse
    filled: bool = False
    """True if the value must not be empty."""


def _missing(name: str) -> ErrorResponse:
    return ErrorResponse(
        f"Missing required parameter: '{name}'.", param=name, code="missing_required_parameter"
    )


def _field_required(name: str) -> ErrorResponse:
    return ErrorResponse(f"{name}: Field required", param=name)


_CHAT_NEEDS = (
    FieldCheck("model", str, ErrorResponse("you must provide a model parameter"), filled=True),
    FieldCheck("messages", list, _missing("messages")),
)
NEEDS: dict[str, tuple[FieldCheck, ...]] = {
    "openai-chat": _CHAT_NEEDS,
    "text": (FieldCheck("messages", list, _missing("messages")),),
    "openai-responses": (FieldCheck("model", str, _missing("model"), filled=True),),
    "azure-foundry": (FieldCheck("model", str, _missing("model"), filled=True),),
    "anthropic": (
        FieldCheck("model", str, _field_required("model"), filled=True),
        FieldCheck("max_tokens", int, _field_required("max_tokens")),
        FieldCheck("messages", list, _field_required("messages")),
        FieldCheck(
            "messages",
            list,
            ErrorResponse("messages: at least one message is required"),
            filled=True,
        ),
    ),
    "gemini": (
        FieldCheck(
            "contents",
            list,
            ErrorResponse("* GenerateContentRequest.contents: contents is not specified\n"),
            filled=True,
        ),
    ),
    "gemini-interactions": (
        FieldCheck("model", str, ErrorResponse("`model` or `agent` is required."), filled=True),
    ),
    "bedrock": (
        FieldCheck(
            "messages",
            list,
            ErrorResponse(
                "1 validation error detected: Value null at 'messages' failed to satisfy"
                " constraint: Member must not be null"
            ),
            filled=True,
        ),
    ),
    "mistral": (
        FieldCheck("model", str, ErrorResponse("Field required", 422, param="model")),
        FieldCheck(
            "messages", list, ErrorResponse("Field required", 422, param="messages"), filled=True
        ),
    ),
    "cohere": (
        FieldCheck("model", str, ErrorResponse("invalid request: model is required."), filled=True),
        FieldCheck(
            "messages",
            list,
            ErrorResponse("invalid request: messages must be present and not empty."),
            filled=True,
        ),
    ),
    "ollama": (FieldCheck("model", str, ErrorResponse("model is required"), filled=True),),
}


class RoleCheck(Struct, frozen=True):
    """The roles that messages may have, the path of a role, and the error text for any other."""

    messages: str
    known: tuple[str, ...]
    words: str
    optional: bool = False


_ROLE = "Invalid value: '{role}'. Supported values are: {known}."
ROLES: dict[str, RoleCheck] = {
    "openai-chat": RoleCheck(
        "messages", ("system", "assistant", "user", "function", "tool", "developer"), _ROLE, True
    ),
    "anthropic": RoleCheck(
        "messages",
        ("user", "assistant"),
        "messages.{n}.role: Input should be 'user' or 'assistant'",
    ),
    "gemini": RoleCheck(
        "contents",
        ("user", "model", "function", "assistant", "system"),  # the rules know the last two
        "Please use a valid role: user, model.",
        True,
    ),
    "bedrock": RoleCheck(
        "messages",
        ("user", "assistant"),
        "1 validation error detected: Value '{role}' at 'messages.{m}.member.role' failed to"
        " satisfy constraint: Member must satisfy enum value set: [user, assistant]",
    ),
    "mistral": RoleCheck(
        "messages",
        ("system", "user", "assistant", "tool"),
        "Input tag '{role}' found using 'role' does not "
        "match any of the expected tags: 'system', 'user', 'assistant', 'tool'",
    ),
    "cohere": RoleCheck(
        "messages",
        ("system", "user", "assistant", "tool", "developer"),
        "invalid request: invalid role '{role}'.",
    ),
    "ollama": RoleCheck(
        "messages", ("system", "user", "assistant", "tool"), 'invalid role: "{role}"', True
    ),
}
"""`wrong-vocabulary` finds the roles of a history of items."""

UNREADABLE = {
    "openai-chat": (
        "We could not parse the JSON body of your request. (HINT: This likely means you aren't"
        " using your HTTP library correctly. The API expects a JSON payload, but what was sent was"
        " not valid JSON.)"
    ),
    "anthropic": "The request body is not valid JSON: {why}",
    "gemini": "Invalid JSON payload received. {why}",
    "gemini-interactions": "Invalid JSON payload received. {why}",
    "bedrock": "The request body is not valid JSON: {why}",
    "mistral": "Invalid JSON: {why}",
    "cohere": "invalid json syntax: {why}",
    "ollama": "invalid character in request body: {why}",
}


def unreadable_body(wire: str, why: str) -> ErrorResponse:
    """The refusal of a body that is not a JSON object."""
    return ErrorResponse(UNREADABLE.get(wire, UNREADABLE["openai-chat"]).format(why=why))


def check_fields(
    body: Object, profile: Profile, headers: Mapping[str, str]
) -> ErrorResponse | None:
    """The refusal of a request that lacks a field which every request needs."""
    for need in NEEDS.get(profile.wire, ()):
        value = body.get(need.name)
        fits = isinstance(value, need.type) and not (need.type is int and isinstance(value, bool))
        if not fits or (need.filled and not value):
            return need.missing
    return _role(body, profile.wire, headers) or _check_one_wire(body, profile)


def _role(body: Object, wire: str, headers: Mapping[str, str]) -> ErrorResponse | None:
    roles = ROLES.get(wire)
    messages = body.get(roles.messages) if roles is not None else None
    if roles is None or not isinstance(messages, list):
        return None
    for n, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role is None and (roles.optional or not isinstance(message, dict)):
            continue
        if role not in roles.known:
            if wire == "anthropic" and role == "system":
                if (refusal := _system_role(body, messages[:n], headers)) is None:
                    continue
                return refusal
            quoted = [f"'{role}'" for role in roles.known]
            known = f"{', '.join(quoted[:-1])}, and {quoted[-1]}"
            return ErrorResponse(
                roles.words.format(role=role, n=n, m=n + 1, known=known),
                param=f"{roles.messages}[{n}].role",
            )
    return None


_NO_SYSTEM_ROLE = re.compile(
    r"claude-(instant|[1-3]|(sonnet|haiku)-4|opus-4(-[0-7])?(-\d{8})?$)(?!\d)"
)
"""Models before Claude Opus 4.8, which introduced system messages in mid-conversation:
https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages"""


_SYSTEM_BETA = "mid-conversation-system-"
"""Older models take system messages in this beta, as Claude Code sends them: TokenHub#73."""


def _system_role(
    body: Object, before: list[JSON], headers: Mapping[str, str]
) -> ErrorResponse | None:
    """The refusal of a system message among the messages of Anthropic's API."""
    if not before or get(before[-1], ("role",)) != "user":
        return ErrorResponse(
            'messages: Unexpected role "system". The Messages API accepts a top-level'
            ' `system` parameter, not "system" as an input message role.'
        )
    beta = _SYSTEM_BETA in headers.get("anthropic-beta", "")
    if not beta and _NO_SYSTEM_ROLE.match(str(body.get("model"))):
        return ErrorResponse("role 'system' is not supported on this model")
    return None


def _check_one_wire(body: Object, profile: Profile) -> ErrorResponse | None:
    """The refusal of a request by a check that only one wire has."""
    if profile.wire in ("openai-responses", "azure-foundry"):
        if (
            body.get("input") is None
            and body.get("prompt") is None
            and body.get("previous_response_id") is None
        ):
            return ErrorResponse(
                "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' must"
                " be provided.",
                code="missing_required_parameter",
            )
    elif profile.wire == "gemini-interactions":
        if body.get("input") is None and body.get("previous_interaction_id") is None:
            return ErrorResponse("`input` is required.", code="invalid_request")
    elif profile.wire == "anthropic":
        budget, most = get(body, ("thinking", "budget_tokens")), body.get("max_tokens")
        if isinstance(budget, int) and isinstance(most, int):
            if budget < 1024:
                return ErrorResponse(
                    "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
                )
            if most <= budget:
                return ErrorResponse("`max_tokens` must be greater than `thinking.budget_tokens`.")
    return None


def check_turns(body: Object, profile: Profile) -> ErrorResponse | None:
    """The refusal of messages that do not alternate; checked after the rules of the history, whose
    findings are more specific."""
    messages = body.get("messages")
    roles = (
        [message.get("role") for message in messages if isinstance(message, dict)]
        if isinstance(messages, list)
        else []
    )
    if profile.must_start_with_user and roles[:1] == ["assistant"]:
        return ErrorResponse(
            "A conversation must start with a user message. Try again with a conversation that"
            " starts with a user message.",
            rule="history-starts-with-call",
        )
    if profile.rejects_same_role_twice and any(role == other for role, other in pairwise(roles)):
        return ErrorResponse(
            "A conversation must alternate between user and assistant roles. Make sure the"
            " conversation alternates between user and assistant roles and try again.",
            rule="same-role-twice",
        )
    return None
