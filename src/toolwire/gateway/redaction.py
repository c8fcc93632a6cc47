"""Remove secrets from everything that a gateway logs, records and reports.

A secret is removed by its value only if it is long enough not to be an ordinary word: a local
server may have the key `none`. Fields that hold credentials are removed by their name.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON
from toolwire.execution.redaction import MASK, Redactor

MIN_SECRET_LENGTH = 12
_CREDENTIAL_FIELDS = frozenset(
    {
        "authorization",
        "authorization_token",
        "proxy-authorization",
        "api_key",
        "apikey",
        "x-api-key",
    }
)
_MAY_HOLD_CREDENTIALS = frozenset({"headers", "tools", "mcp_servers"})
"""Fields of a body in which credentials may be nested. Messages are not searched."""


def redactor(secrets: Iterable[str]) -> Redactor:
    """Removes these values from text, except those that are too short."""
    return Redactor([secret for secret in secrets if len(secret) >= MIN_SECRET_LENGTH])


def redact_credential_fields(body: JSON) -> JSON:
    """A body without the values of fields that hold credentials."""
    if isinstance(body, list):
        return [redact_credential_fields(item) for item in body]
    if not isinstance(body, dict):
        return body
    return {name: _redact_field(name, value) for name, value in body.items()}


def _redact_field(name: str, value: JSON) -> JSON:
    if name.lower() in _CREDENTIAL_FIELDS and isinstance(value, str):
        return MASK
    return redact_credential_fields(value) if name in _MAY_HOLD_CREDENTIALS else value
