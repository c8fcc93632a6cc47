"""What an OXP client is told: status, headers and body for everything that can become of a call.

Once a tool has begun it is 200, whatever it came to; everything before is an error of the request.
Two tables say which. Knows no sockets: a reply is a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from toolwire.conversation.json import JSON, Object
from toolwire.execution.ledger.base import Failure, Outcome
from toolwire.execution.tool_call import MissingRequirement, ToolCallResult
from toolwire.tools.runnable import Authorization, Runnable

SCHEMA = "urn:oxp:1.0"
RETRY_MS = 1000
"""How long a client is asked to wait if nobody knows better."""

Cause: TypeAlias = Literal[
    "malformed",
    "version",
    "tool",
    "missing",
    "mismatch",
    "unavailable",
    "running",
    "too-old",
    "credentials",
    "input",
    "path",
    "method",
    "slow",
    "large",
    "host",
    "media",
    "bug",
]


class StatusRow(Struct, frozen=True):
    """How a cause is told: the status, the sentence for people, and whether the same bytes may be
    sent again."""

    status: int
    message: str
    again: bool | None = None


CAUSES: dict[Cause, StatusRow] = {
    "malformed": StatusRow(400, "The request could not be understood."),
    "version": StatusRow(400, "This version of the protocol is not supported."),
    "tool": StatusRow(400, "There is no such tool."),
    "missing": StatusRow(400, "This tool needs more than it was given."),
    "mismatch": StatusRow(400, "This call_id already belongs to a different call."),
    # The protocol wants 400 here, which clients do not repeat unless they are told to; then they
    # do, with the same call_id.
    "unavailable": StatusRow(
        400, "The server cannot take the call right now. It was not run.", True
    ),
    # Not a failure of the tool that may be retried: that would be a new call_id, and the tool would
    # run twice.
    "running": StatusRow(400, "The call is still running. Ask again with the same call_id.", True),
    "too-old": StatusRow(
        400, "This call_id is older than the record of calls. The call was not run."
    ),
    "credentials": StatusRow(401, "Authentication is required."),
    "path": StatusRow(404, "There is nothing here."),
    "method": StatusRow(405, "This method is not allowed here."),
    "slow": StatusRow(408, "The request took too long to arrive."),
    "large": StatusRow(413, "The request is too large."),
    "media": StatusRow(415, "The body must be sent as application/json."),
    "host": StatusRow(421, "This server does not answer under that name."),
    "input": StatusRow(422, "The input does not fit the tool."),
    "bug": StatusRow(500, "The server made a mistake.", False),
}
"""Every way to be refused. 409 is not among them: clients repeat it on their own."""


class OxpResponse(Struct, frozen=True):
    """An answer: the status, the body, and headers beside those that every answer has."""

    status: int
    body: Object
    headers: tuple[tuple[bytes, bytes], ...] = ()


class OxpRejection(OxpResponse, frozen=True):
    """An answer to something that was not run."""


class AuthChallenge(Struct, frozen=True):
    """Where a user can go to give the authorization that a tool needs. `id` names the challenge,
    not the provider."""

    id: str
    url: str
    check_url: str | None = None

    def json(self) -> Object:
        """As the protocol writes it: a closed object."""
        found: Object = {"id": self.id, "url": self.url}
        return found if self.check_url is None else {**found, "check_url": self.check_url}


def refused(
    cause: Cause,
    developer_message: str | None = None,
    *,
    enveloped: bool = False,
    message: str | None = None,
    extra: Mapping[str, JSON] | None = None,
    retry_after_ms: int | None = None,
    headers: tuple[tuple[bytes, bytes], ...] = (),
) -> OxpRejection:
    """The refusal for a cause."""
    row = CAUSES[cause]
    body: Object = {"$schema": SCHEMA} if enveloped else {}
    body["message"] = message or row.message
    if developer_message:
        body["developer_message"] = developer_message
    return OxpRejection(
        row.status, {**body, **(extra or {})}, headers + _again(row.again, retry_after_ms)
    )


def _again(again: bool | None, retry_after_ms: int | None) -> tuple[tuple[bytes, bytes], ...]:
    if again is None:
        return ()
    if not again:
        return ((b"x-should-retry", b"false"),)
    wait = RETRY_MS if retry_after_ms is None else max(0, retry_after_ms)
    # Whole seconds for everybody, and the exact time for clients that know the second header
    return (
        (b"x-should-retry", b"true"),
        (b"retry-after", str(-(-wait // 1000)).encode()),
        (b"retry-after-ms", str(wait).encode()),
    )


def invalid(
    errors: Mapping[str, str], *, enveloped: bool = False, call_id: str | None = None
) -> OxpRejection:
    """The refusal of arguments, by parameter."""
    extra: Object = {"parameter_errors": dict(errors)}
    if call_id is not None:
        extra["call_id"] = call_id
    message = f"The input does not fit the tool: {', '.join(errors)}." if errors else None
    return refused("input", enveloped=enveloped, message=message, extra=extra)


def lacking(
    tool: Runnable,
    missing: MissingRequirement,
    challenges: Sequence[AuthChallenge] = (),
    *,
    enveloped: bool = False,
) -> OxpRejection:
    """The refusal of a call that lacks something, all of it at once.

    The protocol has a place for challenges, which need an address, and for the user; what else is
    missing stands beside them.
    """
    found: Object = {}
    if challenges:
        found["authorization"] = [one.json() for one in challenges]
    if missing.authorization:
        found["required_authorization"] = [authorization(one) for one in missing.authorization]
    if missing.secrets:
        found["secrets"] = [{"id": one} for one in missing.secrets]
    if missing.user_id:
        found["user_id"] = True
    words = [f"authorization for {one.id}" for one in missing.authorization]
    words += [f"the secret {one}" for one in missing.secrets] + ["a user id"] * missing.user_id
    places = [f"context.authorization[id={one.id}]" for one in missing.authorization]
    places += [f"context.secrets[id={one}]" for one in missing.secrets] + [
        "context.user_id"
    ] * missing.user_id
    sentence = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
    return refused(
        "missing",
        f"{tool.id}: {', '.join(places)}",
        enveloped=enveloped,
        message=f"This tool needs {sentence}.",
        extra={"missing_requirements": found},
    )


def authorization(one: Authorization) -> Object:
    """A requirement as a definition lists it."""
    return {"id": one.id, "oauth2": {"scopes": list(one.scopes)}} if one.scopes else {"id": one.id}


# --- answers --------------------------------------------------------------------------------------

TOLD: dict[str, Cause] = {
    "mismatch": "mismatch",
    "running": "running",
    "unavailable": "unavailable",
    "too-old": "too-old",
}
"""States that are an error of the request: nothing was run for it."""

WITHOUT_OUTCOME: dict[str, tuple[str, str]] = {
    "lost": (
        "outcome_unknown",
        "The call was started, and how it ended is not known. It may have had its effect.",
    ),
    "gone": ("result_expired", "The call was made, and its result is no longer kept."),
}
"""States of a call that has begun and has no outcome to show: a kind for programs, a sentence for
people. Never to be retried."""

_REPLAYED = ((b"idempotent-replayed", b"true"),)
_UNRECORDED = ((b"toolwire-recorded", b"false"),)


def reply(answer: ToolCallResult, *, enveloped: bool = False) -> OxpResponse:
    """What a client is told of the answer to its call."""
    state = answer.state
    if (cause := TOLD.get(state)) is not None:
        return refused(
            cause,
            f"call_id {answer.call_id}",
            enveloped=enveloped,
            retry_after_ms=answer.retry_after_ms,
        )
    told: Object
    if (known := WITHOUT_OUTCOME.get(state)) is not None:
        kind, message = known
        error: Object = {
            "message": message,
            "can_retry": False,
            "kind": kind,
            "attempt": answer.attempt,
        }
        if answer.started_at is not None:
            error["started_at"] = answer.started_at
        told = {"call_id": answer.call_id, "success": False, "error": error}
    else:
        told = _outcome(answer.call_id, answer.outcome or Outcome())
    headers: tuple[tuple[bytes, bytes], ...] = _REPLAYED if answer.replayed else ()
    if not answer.recorded:
        headers += _UNRECORDED
    return OxpResponse(200, {"$schema": SCHEMA, "result": told} if enveloped else told, headers)


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
    """An open object: what a tool adds stands beside the known fields, and never in their place.
    Nothing is null."""
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
