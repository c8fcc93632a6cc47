"""Encode a call for a worker on another machine, and its outcome on the way back.

The payloads are bytes, so that the converter of the engine cannot change them. A result contains
the fingerprint of its call, because an engine identifies calls by their id alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Literal, TypeAlias, TypeGuard

from msgspec.structs import replace

from toolwire.conversation.json import JSON, Object, dump, parse
from toolwire.errors import ToolwireError
from toolwire.execution.call_key import canonical
from toolwire.execution.failures import ExecutorBusy, failure_from
from toolwire.execution.ledger.base import Failure, Outcome
from toolwire.execution.ledger.outcome_codec import pack, unpack
from toolwire.tools.errors import NoEffect
from toolwire.tools.runnable import ToolContext

ResultKind: TypeAlias = Literal["outcome", "no-effect", "busy"]
"""The tool has an outcome, the tool had no effect, or the worker had no free slot."""


class PayloadError(ToolwireError, ValueError):
    """Bytes that are not a payload, or the payload of another call."""


def call_fingerprint(tool: str, arguments: Object) -> str:
    """A digest that differs for two calls under one id."""
    return sha256(canonical([tool, arguments])).hexdigest()


def encode_call(arguments: Object, context: ToolContext) -> bytes:
    """Encode a call. Tokens and secrets are in clear text: the engine's codec must encrypt them."""
    return dump(
        {
            "arguments": arguments,
            "call_id": context.call_id,
            "attempt": context.attempt,
            "user_id": context.user_id,
            "tokens": dict(context.tokens),
            "secrets": dict(context.secrets),
            "trace_id": context.trace_id,
            "idempotency_key": context.idempotency_key,
        }
    )


def decode_call(data: bytes, tool: str) -> tuple[Object, ToolContext]:
    """Decode the arguments and the context of a call. Raises PayloadError."""
    try:
        match _parse(data):
            case {
                "arguments": dict(arguments),
                "call_id": str(call_id),
                "attempt": int(attempt),
                "user_id": str() | None as user_id,
                "tokens": dict(tokens),
                "secrets": dict(secrets),
                "trace_id": str() | None as trace_id,
                "idempotency_key": str(idempotency_key),
            } if _all_strings(tokens) and _all_strings(secrets):
                return arguments, ToolContext(
                    call_id,
                    tool,
                    attempt,
                    user_id=user_id,
                    tokens=tokens,
                    secrets=secrets,
                    trace_id=trace_id,
                    idempotency_key=idempotency_key,
                )
    except ValueError as error:
        raise PayloadError(f"expected a call, got {len(data)} bytes: not JSON: {error}") from None
    raise PayloadError(f"expected a call, got {len(data)} bytes of another format")


def _parse(data: bytes) -> JSON:
    try:
        return parse(data)
    except ValueError:  # only the standard library reads the escape of a lone surrogate
        value: JSON = json.loads(data)
        return value


def _all_strings(value: Mapping[str, JSON]) -> TypeGuard[Mapping[str, str]]:
    return all(isinstance(item, str) for item in value.values())


def encode_result(
    fingerprint: str, outcome: Outcome | NoEffect | ExecutorBusy, *, max_bytes: int
) -> bytes:
    """Encode the result of a call. A result that is too large or not JSON becomes a failure."""
    kind: ResultKind = "outcome"
    if isinstance(outcome, NoEffect):
        kind, outcome = "no-effect", Outcome(None, failure_from(outcome))
    elif isinstance(outcome, ExecutorBusy):
        kind, outcome = "busy", Outcome(None, Failure(str(outcome)))
    problem = None
    try:
        packed = pack(outcome)
        if len(packed) > max_bytes:
            problem = f"it has {len(packed)} bytes, and the engine accepts at most {max_bytes}"
    except (TypeError, ValueError, RecursionError):
        problem = "it is not JSON"
    if problem is not None:
        failure = Failure(
            "the result could not be stored", developer_message=problem, kind="result_not_kept"
        )
        packed = pack(replace(outcome, value=None, failure=failure))
    return f"{kind} {fingerprint}\n".encode() + packed


def decode_result(data: object, fingerprint: str) -> Outcome:
    """Decode the result of a call.

    Raises:
        NoEffect: the tool had no effect.
        ExecutorBusy: the worker had no free slot.
        PayloadError: the bytes are not the result of this call.
    """
    if not isinstance(data, bytes):
        raise PayloadError(f"expected the result of a worker, got a {type(data).__name__}")
    head, _, packed = data.partition(b"\n")
    kind, _, actual = head.decode("ascii", "replace").partition(" ")
    if kind not in ("outcome", "no-effect", "busy"):
        raise PayloadError("expected the result of a worker, got bytes of another format")
    if actual != fingerprint:
        raise PayloadError(
            "the engine has another call under this id: give each ledger that shares a namespace"
            " its own scope"
        )
    try:
        outcome = unpack(packed)
    except (ValueError, KeyError, TypeError) as error:
        raise PayloadError(
            f"expected an outcome, got {len(packed)} bytes of another format: {error}"
        ) from None
    failure = outcome.failure
    if failure is not None and kind == "no-effect":
        raise NoEffect(
            failure.message,
            developer_message=failure.developer_message,
            kind=failure.kind,
            extra=failure.extra,
        )
    if failure is not None and kind == "busy":
        raise ExecutorBusy(failure.message)
    return outcome
