"""A call as it is sent to a worker on another machine, and what it came to as it is sent back.

Bytes of our own, so that what arrives equals what was sent whatever converter the engine puts
around it. An answer says which call it is of: an engine joins calls by their id alone. Knows no
engine.
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
from toolwire.execution.failures import ExecutorBusy, raised
from toolwire.execution.ledger.base import Failure, Outcome
from toolwire.execution.ledger.outcome_codec import pack, unpack
from toolwire.tools.errors import NoEffect
from toolwire.tools.runnable import ToolContext

Ended: TypeAlias = Literal["ended", "nothing", "busy"]
"""The body came to something; it promises that nothing happened; it did not begin for want of room.
"""


class PayloadError(ToolwireError):
    """Bytes that are no such sending, or one of another call."""


def mark_of(tool: str, arguments: Object) -> str:
    """What tells two calls under one id apart."""
    return sha256(canonical([tool, arguments])).hexdigest()


def call(arguments: Object, context: ToolContext) -> bytes:
    """What a worker needs. Tokens and secrets are in it as they are: the engine's codec has to hide
    them."""
    return dump(
        {
            "arguments": arguments,
            "call_id": context.call_id,
            "attempt": context.attempt,
            "user_id": context.user_id,
            "tokens": dict(context.tokens),
            "secrets": dict(context.secrets),
            "trace_id": context.trace_id,
        }
    )


def called(data: bytes, tool: str) -> tuple[Object, ToolContext]:
    """Arguments and context of a call. Raises Strange."""
    try:
        match _parsed(data):
            case {
                "arguments": dict(arguments),
                "call_id": str(call_id),
                "attempt": int(attempt),
                "user_id": str() | None as user_id,
                "tokens": dict(tokens),
                "secrets": dict(secrets),
                "trace_id": str() | None as trace_id,
            } if _texts(tokens) and _texts(secrets):
                return arguments, ToolContext(
                    call_id, tool, attempt, user_id, tokens, secrets, trace_id
                )
    except ValueError as error:
        raise PayloadError(
            f"expected a call, got {len(data)} bytes that are not JSON: {error}"
        ) from None
    raise PayloadError(f"expected a call, got {len(data)} bytes of something else")


def _parsed(data: bytes) -> JSON:
    try:
        return parse(data)
    except (
        ValueError
    ):  # half a surrogate pair is written as an escape, which only the standard library reads
        found: JSON = json.loads(data)
        return found


def _texts(value: Mapping[str, JSON]) -> TypeGuard[Mapping[str, str]]:
    return all(isinstance(one, str) for one in value.values())


def answer(mark: str, outcome: Outcome | NoEffect | ExecutorBusy, largest: int) -> bytes:
    """What a worker sends back. A result that is too large, or is not JSON, becomes a failure that
    says so."""
    head: Ended = "ended"
    if isinstance(outcome, NoEffect):
        head, outcome = "nothing", Outcome(None, raised(outcome))
    elif isinstance(outcome, ExecutorBusy):
        head, outcome = "busy", Outcome(None, Failure(str(outcome)))
    try:
        packed = pack(outcome)
        why = (
            f"it has {len(packed)} bytes, and the engine takes {largest} at most"
            if len(packed) > largest
            else None
        )
    except (TypeError, ValueError, RecursionError) as error:
        why = str(error)
    if why is not None:
        failure = Failure(
            "the result could not be kept", developer_message=why, kind="result_not_kept"
        )
        packed = pack(replace(outcome, value=None, failure=failure))
    return f"{head} {mark}\n".encode() + packed


def answered(data: object, mark: str) -> Outcome:
    """What the body came to. Raises NoEffect and Busy as the worker met them, and Strange."""
    if not isinstance(data, bytes):
        raise PayloadError(f"expected the answer of a worker, got a {type(data).__name__}")
    head, _, packed = data.partition(b"\n")
    kind, _, whose = head.decode("ascii", "replace").partition(" ")
    if kind not in ("ended", "nothing", "busy"):
        raise PayloadError("expected the answer of a worker, got bytes of something else")
    if whose != mark:
        raise PayloadError(
            "the engine has another call under this id: give each ledger that shares a namespace a"
            " scope of its own"
        )
    try:
        outcome = unpack(packed)
    except (ValueError, KeyError, TypeError) as error:
        raise PayloadError(
            f"expected an outcome, got {len(packed)} bytes of something else: {error}"
        ) from None
    failure = outcome.failure
    if failure is not None and kind == "nothing":
        raise NoEffect(
            failure.message,
            developer_message=failure.developer_message,
            kind=failure.kind,
            extra=failure.extra,
        )
    if failure is not None and kind == "busy":
        raise ExecutorBusy(failure.message)
    return outcome
