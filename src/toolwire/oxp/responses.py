"""OXP responses: status, headers and body for every result of a call.

A call whose tool has started is answered with status 200, also if the tool failed. Everything that
happens before is an error of the request. Two tables hold the mapping.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from toolwire.conversation.json import JSON, Object
from toolwire.execution.ledger.base import Failure, Outcome
from toolwire.execution.tool_call import ToolCallResult
from toolwire.tools.runnable import Authorization, Requirements, Runnable

SCHEMA = "urn:oxp:1.0"
RETRY_MS = 1000
"""The default of `Retry-After`, in milliseconds."""
Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]

RejectionReason: TypeAlias = Literal[
    "malformed",
    "unsupported-version",
    "unknown-tool",
    "missing-requirements",
    "mismatch",
    "unavailable",
    "running",
    "too-old",
    "unauthorized",
    "invalid-input",
    "unknown-path",
    "method-not-allowed",
    "timeout",
    "too-large",
    "unknown-host",
    "foreign-origin",
    "media-type",
    "internal-error",
]


class Rejection(Struct, frozen=True):
    """The response for a reason: status, message for users, and the `x-should-retry` header."""

    status: int
    message: str
    should_retry: bool | None = None


REJECTIONS: dict[RejectionReason, Rejection] = {
    "malformed": Rejection(400, "The request could not be understood."),
    "unsupported-version": Rejection(400, "This version of the protocol is not supported."),
    "unknown-tool": Rejection(400, "There is no such tool."),
    "missing-requirements": Rejection(
        400, "The request lacks tokens, secrets or a user id that this tool needs."
    ),
    "mismatch": Rejection(400, "This call_id already belongs to a different call."),
    # The protocol requires 400, after which clients retry only if a header asks for it. The retry
    # has the same call_id.
    "unavailable": Rejection(
        400, "The server cannot take the call right now. It was not run.", should_retry=True
    ),
    # Not a retryable failure of the tool: the client would choose a new call_id, and the tool would
    # run twice.
    "running": Rejection(
        400, "The call is still running. Repeat it with the same call_id.", should_retry=True
    ),
    "too-old": Rejection(
        400, "This call_id is older than the retention of the ledger. The call was not run."
    ),
    "unauthorized": Rejection(401, "Authentication is required."),
    "foreign-origin": Rejection(403, "A page of this origin may not use this server."),
    "unknown-path": Rejection(404, "There is nothing at this path."),
    "method-not-allowed": Rejection(405, "This method is not allowed here."),
    "timeout": Rejection(408, "The request took too long to arrive."),
    "too-large": Rejection(413, "The request is too large."),
    "media-type": Rejection(415, "The body must be sent as application/json."),
    "unknown-host": Rejection(421, "This server does not serve that host name."),
    "invalid-input": Rejection(422, "The input does not match the tool's input schema."),
    "internal-error": Rejection(500, "The server failed.", should_retry=False),
}
"""Every rejection. None has status 409, after which clients retry without being asked."""


class OxpResponse(Struct, frozen=True):
    """Status, body, and headers in addition to those of every response."""

    status: int
    body: Object
    headers: Headers = ()


class OxpRejection(OxpResponse, frozen=True):
    """The response to a request that ran no tool."""


class AuthChallenge(Struct, frozen=True):
    """An address where a user can grant a missing authorization.

    `id` names the challenge, not the provider.
    """

    id: str
    url: str
    check_url: str | None = None

    def json(self) -> Object:
        """The challenge as OXP writes it: a closed object."""
        fields: Object = {"id": self.id, "url": self.url}
        if self.check_url is not None:
            fields["check_url"] = self.check_url
        return fields


def reject(
    reason: RejectionReason,
    developer_message: str | None = None,
    *,
    enveloped: bool = False,
    message: str | None = None,
    extra: Mapping[str, JSON] | None = None,
    retry_after_ms: int | None = None,
    headers: Headers = (),
) -> OxpRejection:
    """Return the response for a rejected request."""
    row = REJECTIONS[reason]
    body: Object = {"$schema": SCHEMA} if enveloped else {}
    body["message"] = message or row.message
    if developer_message:
        body["developer_message"] = developer_message
    retry_headers = _retry_headers(row.should_retry, retry_after_ms)
    return OxpRejection(row.status, {**body, **(extra or {})}, headers + retry_headers)


def _retry_headers(should_retry: bool | None, retry_after_ms: int | None) -> Headers:
    if should_retry is None:
        return ()
    if not should_retry:
        return ((b"x-should-retry", b"false"),)
    delay = RETRY_MS if retry_after_ms is None else max(0, retry_after_ms)
    # Retry-After takes whole seconds; the second header is exact, for clients that know it
    return (
        (b"x-should-retry", b"true"),
        (b"retry-after", str(-(-delay // 1000)).encode()),
        (b"retry-after-ms", str(delay).encode()),
    )


def invalid_input(
    errors: Mapping[str, str], *, enveloped: bool = False, call_id: str | None = None
) -> OxpRejection:
    """Reject the arguments of a call. `errors` has the problem of each invalid parameter."""
    extra: Object = {"parameter_errors": dict(errors)}
    if call_id is not None:
        extra["call_id"] = call_id
    message = None
    if errors:
        message = f"The input does not match the tool's input schema: {', '.join(errors)}."
    return reject("invalid-input", enveloped=enveloped, message=message, extra=extra)


def missing_requirements(
    tool: Runnable,
    missing: Requirements,
    challenges: Sequence[AuthChallenge] = (),
    *,
    enveloped: bool = False,
) -> OxpRejection:
    """Reject a call that lacks requirements of its tool, and list all of them.

    The protocol has fields for challenges (which need an address) and for the user id. Other
    missing requirements are in additional fields.
    """
    fields: Object = {}
    if challenges:
        fields["authorization"] = [challenge.json() for challenge in challenges]
    if missing.authorization:
        fields["required_authorization"] = [authorization(need) for need in missing.authorization]
    if missing.secrets:
        fields["secrets"] = [{"id": id} for id in missing.secrets]
    if missing.user_id:
        fields["user_id"] = True
    names = [f"authorization for {need.id}" for need in missing.authorization]
    names += [f"the secret {id}" for id in missing.secrets]
    paths = [f"context.authorization[id={need.id}]" for need in missing.authorization]
    paths += [f"context.secrets[id={id}]" for id in missing.secrets]
    if missing.user_id:
        names.append("a user id")
        paths.append("context.user_id")
    sentence = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return reject(
        "missing-requirements",
        f"{tool.id}: {', '.join(paths)}",
        enveloped=enveloped,
        message=f"This tool needs {sentence}.",
        extra={"missing_requirements": fields},
    )


def authorization(needed: Authorization) -> Object:
    """An authorization as tool definitions list it."""
    if not needed.scopes:
        return {"id": needed.id}
    return {"id": needed.id, "oauth2": {"scopes": list(needed.scopes)}}


# --- results of calls -----------------------------------------------------------------------------

REJECTED_STATES: dict[str, RejectionReason] = {
    "mismatch": "mismatch",
    "running": "running",
    "unavailable": "unavailable",
    "too-old": "too-old",
}
"""States that are errors of the request: this request ran no tool."""

WITHOUT_OUTCOME: dict[str, tuple[str, str]] = {
    "lost": (
        "outcome_unknown",
        "The call started, and its outcome is unknown. It may have had its effect.",
    ),
    "gone": ("result_expired", "The call ran, and its result has expired."),
}
"""States of calls that started and have no outcome, with the error kind and the message. Clients
must not retry them."""

_REPLAYED = ((b"idempotent-replayed", b"true"),)
_UNRECORDED = ((b"toolwire-recorded", b"false"),)


def call_response(result: ToolCallResult, *, enveloped: bool = False) -> OxpResponse:
    """Return the response for the result of a call."""
    state = result.state
    if (reason := REJECTED_STATES.get(state)) is not None:
        return reject(
            reason,
            f"call_id {result.call_id}",
            enveloped=enveloped,
            retry_after_ms=result.retry_after_ms,
        )
    body: Object
    if state in WITHOUT_OUTCOME:
        kind, message = WITHOUT_OUTCOME[state]
        error: Object = {
            "message": message,
            "can_retry": False,
            "kind": kind,
            "attempt": result.attempt,
        }
        if result.started_at is not None:
            error["started_at"] = result.started_at
        body = {"call_id": result.call_id, "success": False, "error": error}
    else:
        body = _outcome(result.call_id, result.outcome or Outcome())
    headers: Headers = _REPLAYED if result.replayed else ()
    if not result.recorded:
        headers += _UNRECORDED
    return OxpResponse(200, {"$schema": SCHEMA, "result": body} if enveloped else body, headers)


def _outcome(call_id: str, outcome: Outcome) -> Object:
    duration = round(max(0.0, outcome.duration_ms), 3)
    if outcome.failure is None:
        return {"call_id": call_id, "success": True, "duration": duration, "value": outcome.value}
    return {
        "call_id": call_id,
        "success": False,
        "duration": duration,
        "error": _failure(outcome.failure),
    }


def _failure(failure: Failure) -> Object:
    """The `error` object of a failed call.

    The object is open: the tool's `extra` fields are added, and cannot replace the known fields. No
    value is null.
    """
    error: Object = {"message": failure.message, "can_retry": failure.can_retry}
    for key, value in (
        ("developer_message", failure.developer_message),
        ("additional_prompt_content", failure.additional_prompt_content),
        ("retry_after_ms", failure.retry_after_ms),
        ("kind", failure.kind),
    ):
        if value is not None:
            error[key] = value
    return {**failure.extra, **error} if failure.extra else error
