"""An outcome as the bytes a ledger keeps, and back.

What is read equals what was written: integers of any size, text with half a surrogate pair. Knows
no database.
"""

from __future__ import annotations

import json

from msgspec import Raw, Struct
from msgspec.json import Decoder, Encoder

from toolwire.conversation.json import parse
from toolwire.execution.ledger.base import Failure, Outcome


class _Failure(Struct):
    """A failure whose `extra` is still text: msgspec does not read into recursive types."""

    message: str
    developer_message: str | None = None
    can_retry: bool = False
    retry_after_ms: int | None = None
    additional_prompt_content: str | None = None
    kind: str | None = None
    extra: Raw = Raw(b"{}")


class _Outcome(Struct):
    value: Raw = Raw(b"null")
    failure: _Failure | None = None
    duration_ms: float = 0.0


_encode = Encoder().encode
_decode = Decoder(_Outcome).decode


def pack(outcome: Outcome) -> bytes:
    """The bytes of an outcome.

    Raises TypeError if it holds what is not JSON.
    """
    try:
        return _encode(outcome)
    except (
        UnicodeEncodeError
    ):  # half a surrogate pair has no UTF-8, only an escape, which msgspec neither writes nor reads
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
    """The outcome that was packed."""
    try:
        held = _decode(data)
        value = parse(bytes(held.value))
        failure = None if held.failure is None else _failure(held.failure)
    except ValueError:
        whole = json.loads(data)
        fields = whole["failure"]
        return Outcome(
            whole["value"], None if fields is None else Failure(**fields), whole["duration_ms"]
        )
    return Outcome(value, failure, held.duration_ms)


def _failure(held: _Failure) -> Failure:
    extra = parse(bytes(held.extra))
    return Failure(
        held.message,
        held.developer_message,
        held.can_retry,
        held.retry_after_ms,
        held.additional_prompt_content,
        held.kind,
        extra if isinstance(extra, dict) else {},
    )
