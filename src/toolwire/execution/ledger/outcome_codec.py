"""Encode outcomes as the bytes that ledgers store.

Decoding returns an equal value, also for integers of any size and text with lone surrogates.
"""

from __future__ import annotations

import json

from msgspec import Raw, Struct
from msgspec.json import Decoder, Encoder

from toolwire.conversation.json import parse
from toolwire.execution.ledger.base import Failure, Outcome


class _StoredFailure(Struct):
    """A failure with `extra` as text: msgspec does not decode recursive types."""

    message: str
    developer_message: str | None = None
    can_retry: bool = False
    retry_after_ms: int | None = None
    additional_prompt_content: str | None = None
    kind: str | None = None
    extra: Raw = Raw(b"{}")


class _StoredOutcome(Struct):
    value: Raw = Raw(b"null")
    failure: _StoredFailure | None = None
    duration_ms: float = 0.0


_encode = Encoder().encode
_decode = Decoder(_StoredOutcome).decode


def pack(outcome: Outcome) -> bytes:
    """Encode an outcome. Raises TypeError if a value is not JSON."""
    try:
        return _encode(outcome)
    except UnicodeEncodeError:  # msgspec neither writes nor reads the escape of a lone surrogate
        failure = outcome.failure
        fields = (
            None
            if failure is None
            else {name: getattr(failure, name) for name in failure.__struct_fields__}
        )
        return json.dumps(
            {"value": outcome.value, "failure": fields, "duration_ms": outcome.duration_ms}
        ).encode()


def unpack(data: bytes) -> Outcome:
    """Decode an outcome."""
    try:
        stored = _decode(data)
        value = parse(bytes(stored.value))
        failure = None if stored.failure is None else _failure(stored.failure)
    except ValueError:
        whole = json.loads(data)
        fields = whole["failure"]
        return Outcome(
            whole["value"], None if fields is None else Failure(**fields), whole["duration_ms"]
        )
    return Outcome(value, failure, stored.duration_ms)


def _failure(stored: _StoredFailure) -> Failure:
    extra = parse(bytes(stored.extra))
    return Failure(
        stored.message,
        stored.developer_message,
        stored.can_retry,
        stored.retry_after_ms,
        stored.additional_prompt_content,
        stored.kind,
        extra if isinstance(extra, dict) else {},
    )
