"""Ledger keys and fingerprints of calls, and the business keys of tools.

The key identifies the caller and the call. The fingerprint detects that a call id is reused for
another call: inputs that are equal as JSON have the same fingerprint, all others differ. Trace ids,
tokens and secrets are not part of it, because a legitimate retry may send other ones.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct

from toolwire.conversation.json import JSON, Object, sorted_json
from toolwire.execution.ledger.base import CallKey
from toolwire.tools.runnable import ToolId

MAX_KEY_LENGTH = 200
"""Longer texts are stored as their SHA-256: database indexes limit the size of a key."""
_SCALARS = frozenset((str, bool, int, type(None)))


def key_of(principal: str, user_id: str | None, call_id: str) -> CallKey:
    """The ledger key of a call, unique for each (principal, user, call id)."""
    return CallKey(tenant(principal, user_id), _database_text(call_id))


@lru_cache(maxsize=1024)
def tenant(principal: str, user_id: str | None) -> str:
    """Principal and user as one text. The length prefix makes it unambiguous."""
    name = _database_text(principal)
    if user_id is None:
        return f"{len(name)}:{name}"
    return f"{len(name)}:{name}:{_database_text(user_id)}"


def _database_text(text: str) -> str:
    """The text as printable ASCII of bounded length. Most texts stay unchanged."""
    if len(text) > MAX_KEY_LENGTH:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return f"\\sha256-{digest}"  # no escape sequence starts with \s
    if text.isascii() and text.isprintable() and "\\" not in text:
        return text
    return text.encode("unicode_escape").decode("ascii")


def fingerprint(key: bytes, tool: ToolId, input: Object) -> bytes:
    """The HMAC of the tool id, its resolved version and the input, with the key of the ledger."""
    digest = _hmac(key).copy()
    digest.update(b"%b%b]" % (_tool_prefix(tool), canonical(input)))
    return digest.digest()


@lru_cache(maxsize=1024)
def _tool_prefix(tool: ToolId) -> bytes:
    """The canonical JSON of `[tool, version, input]`, up to the input."""
    return canonical([tool.plain, str(tool.version)])[:-1] + b","


@lru_cache(maxsize=16)
def _hmac(key: bytes) -> hmac.HMAC:
    """An HMAC to copy: creating one takes longer than using it."""
    return hmac.new(key, digestmod="sha256")


class BusinessKey(Struct, frozen=True):
    """A business key as the ledger stores it."""

    key: CallKey
    fingerprint: bytes

    @property
    def idempotency_key(self) -> str:
        """The key as text, for a service that the tool calls."""
        return self.key.call_id


def business_key(secret: bytes, owner: str, tool: ToolId, value: JSON) -> BusinessKey:
    """The ledger key of everything that a tool does for one owner (`tenant`) under one value.

    The version of the tool is not part of it, so that a new version does not repeat the effect. The
    value is stored as an HMAC with the key of the ledger.
    """
    digest = _hmac(secret).copy()
    digest.update(canonical(["key", owner, tool.plain, value]))
    # No tenant of a call id starts with a letter, so no client can claim a business key by an id
    return BusinessKey(CallKey(f"key:{owner}", digest.hexdigest()), digest.digest())


def canonical(value: JSON) -> bytes:
    """The same bytes for equal JSON: sorted keys, 1.0 as 1. Unicode text is not normalized."""
    return sorted_json(_normalize_numbers(value))


def _normalize_numbers(value: JSON) -> JSON:
    """The value with integral floats as integers. Values without floats are returned as they
    are."""
    if type(value) in _SCALARS:
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, Mapping):
        for item in value.values():
            if type(item) not in _SCALARS:
                return {name: _normalize_numbers(inner) for name, inner in value.items()}
        return value
    if isinstance(value, list):
        return [_normalize_numbers(inner) for inner in value]
    return value
