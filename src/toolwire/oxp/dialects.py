"""What OXP servers of every dialect send, as one shape: definitions, answers, refusals.

Lists come as `items`, `tools` or a bare array, answers in a `result` or bare, errors as the
protocol says or as web frameworks do. Liberal in what it takes; what it cannot make sense of is a
BrokenAnswer. Opens no connection.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from email.utils import parsedate_to_datetime

from msgspec import Struct

from toolwire.conversation.fitting import fit
from toolwire.conversation.id_rules import IdRule
from toolwire.conversation.json import JSON, Object, parse
from toolwire.execution.tool_call import MissingRequirement
from toolwire.oxp.errors import (
    BadRequest,
    InvalidInput,
    InvalidResponse,
    MissingRequirements,
    OxpError,
    ServerUnavailable,
    ToolCallFailed,
    ToolNotFound,
    Unauthenticated,
)
from toolwire.oxp.protocol import AuthChallenge
from toolwire.tools.runnable import Authorization, Requirements, ToolId, Version

LEGAL = IdRule("A-Za-z0-9_", longest=64)
"""What either half of a tool id is made of."""
_VERSION = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,9}))?(?:\.([0-9]{1,9}))?")
_ERROR_FIELDS = {
    "message",
    "developer_message",
    "can_retry",
    "retry_after_ms",
    "additional_prompt_content",
    "kind",
}
_LONGEST_TEXT = 500


class RawResponse(Struct, frozen=True):
    """An HTTP answer, read whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> JSON:
        """The body; None if it is not JSON."""
        try:
            return parse(self.body)
        except ValueError:
            return None


class ToolDefinition(Struct, frozen=True):
    """A tool as a server lists it. `called` is its id as that server spells it."""

    called: str
    id: ToolId
    description: str
    input_schema: Object
    output_schema: JSON
    needs: Requirements = Requirements()
    read_only: bool = False
    idempotent: bool = False
    deprecated: str | None = None


class CallResponse(Struct, frozen=True):
    """The answer to a call that succeeded."""

    call_id: str
    value: JSON
    duration_ms: float | None = None
    replayed: bool = False


# --- tools ----------------------------------------------------------------------------------------


def definitions(raw: RawResponse, kit: str) -> tuple[ToolDefinition, ...]:
    """The tools of a list. Ids without a toolkit belong to `kit`."""
    body = raw.json()
    found = body
    if isinstance(body, dict):
        found = next(
            (body[key] for key in ("items", "tools") if isinstance(body.get(key), list)), None
        )
    if not isinstance(found, list):
        raise InvalidResponse("the list of tools is no list", status=raw.status)
    taken: set[str] = set()
    return tuple(
        _definition(item, kit, taken) for item in found if isinstance(item, dict) and _called(item)
    )


def _called(item: Object) -> str:
    """What a tool is called by; nothing if it says nothing."""
    said = item.get("id") or item.get("name")
    return said if isinstance(said, str) else ""


def _definition(item: Object, kit: str, taken: set[str]) -> ToolDefinition:
    called, description = _called(item), item.get("description")
    schema, output = _bare(item.get("input_schema")), item.get("output_schema", {})
    hint = schema.get("x-deprecated") if schema.get("deprecated") is True else None
    id = _id(called, item.get("version"), kit, taken)
    taken.add(str(id))
    return ToolDefinition(
        called,
        id,
        description if isinstance(description, str) else "",
        {"type": "object", **schema},
        _bare(output) if isinstance(output, dict) else None,
        _needs(item.get("requirements")),
        schema.get("x-read-only") is True,
        schema.get("x-idempotent") is True,
        hint if isinstance(hint, str) else None,
    )


def _bare(schema: JSON) -> Object:
    """A schema out of its wrapper: a parameter of that name would stand under `properties`."""
    if not isinstance(schema, dict):
        return {}
    inner = schema.get("parameters")
    return inner if len(schema) == 1 and isinstance(inner, dict) else schema


def _id(called: str, version: JSON, kit: str, taken: set[str]) -> ToolId:
    """The id of a tool, made legal where it is not, and never that of another one."""
    bare, _, said = called.partition("@")
    numbers = _VERSION.fullmatch(said or (version if isinstance(version, str) else ""))
    made = Version(*(int(number or 0) for number in numbers.groups())) if numbers else Version(0)
    read = ToolId.read(bare)
    if read is not None and str(ToolId(read.kit, read.name, made)) not in taken:
        return ToolId(read.kit, read.name, made)
    first, dot, rest = bare.partition(".")
    if dot:
        kit, bare = fit(first, LEGAL), rest
    used = {
        id.name
        for text in taken
        if (id := ToolId.read(text)) and id.kit == kit and id.version == made
    }
    return ToolId(kit, fit(bare if bare not in used else f"{bare} ", LEGAL, used), made)


def _needs(said: JSON) -> Requirements:
    if not isinstance(said, dict):
        return Requirements()
    return Requirements(
        _authorizations(said.get("authorization")),
        _ids(said.get("secrets")),
        said.get("user_id") is True,
    )


def _authorizations(items: JSON) -> tuple[Authorization, ...]:
    found: list[Authorization] = []
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict) and isinstance(id := item.get("id"), str):
            oauth = item.get("oauth2")
            scopes = oauth.get("scopes") if isinstance(oauth, dict) else None
            found.append(
                Authorization(
                    id, tuple(str(one) for one in scopes) if isinstance(scopes, list) else ()
                )
            )
    return tuple(found)


def _ids(items: JSON) -> tuple[str, ...]:
    found = (
        [item.get("id") if isinstance(item, dict) else item for item in items]
        if isinstance(items, list)
        else []
    )
    return tuple(id for id in found if isinstance(id, str))


# --- answers --------------------------------------------------------------------------------------


def answered(raw: RawResponse, call_id: str) -> CallResponse:
    """The answer to a call. Raises ToolCallFailed, MissingRequirements or BrokenAnswer."""
    body = raw.json()
    if isinstance(body, dict) and isinstance(inner := body.get("result"), dict):
        body = inner
    if not isinstance(body, dict) or not isinstance(success := body.get("success"), bool):
        raise InvalidResponse("the server's answer is no answer to a call", status=raw.status)
    said = body.get("call_id")
    if isinstance(said, str) and said and said != call_id:
        raise InvalidResponse(
            "the server answered another call",
            developer_message=f"asked {call_id}, got {said}",
            status=raw.status,
        )
    if not success:
        raise _failure(body.get("error"), call_id)
    duration = body.get("duration")
    replayed = raw.headers.get("Idempotent-Replayed", "").lower() == "true"
    return CallResponse(call_id, body.get("value"), _number(duration), replayed)


def _number(value: JSON) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _failure(error: JSON, call_id: str) -> OxpError:
    error = error if isinstance(error, dict) else {}
    message = _str(error.get("message")) or "the tool failed and said nothing"
    developer = _str(error.get("developer_message"))
    lacks = error.get("missing_requirements")
    if isinstance(lacks, dict):  # the other place for it, in a draft of the protocol
        return _missing(lacks, message, developer, 200)
    delay = _number(error.get("retry_after_ms"))
    return ToolCallFailed(
        message,
        call_id=call_id,
        can_retry=error.get("can_retry") is True,
        retry_after_ms=None if delay is None else int(delay),
        additional_prompt_content=_str(error.get("additional_prompt_content")),
        developer_message=developer,
        kind=_str(error.get("kind")),
        extra={key: value for key, value in error.items() if key not in _ERROR_FIELDS},
    )


def _str(value: JSON) -> str | None:
    return value if isinstance(value, str) else None


# --- refusals -------------------------------------------------------------------------------------


def refused(raw: RawResponse) -> OxpError:
    """Why a server did not run a call."""
    body = raw.json()
    said = body if isinstance(body, dict) else {}
    message, developer = _message(said, raw), _str(said.get("developer_message"))
    lacks, errors = said.get("missing_requirements"), _parameters(said)
    if isinstance(lacks, dict):
        return _missing(lacks, message, developer, raw.status)
    if raw.status == 422 or errors:
        return InvalidInput(message, errors, developer_message=developer, status=raw.status)
    if again(raw):
        after = wait_ms(raw.headers)
        return ServerUnavailable(
            message, status=raw.status, retry_after_ms=after, developer_message=developer
        )
    return _BY_STATUS.get(raw.status, BadRequest if raw.status < 500 else _ToolUnavailable)(
        message, developer_message=developer, status=raw.status
    )


class _ToolUnavailable(ServerUnavailable):
    def __init__(
        self, message: str, *, developer_message: str | None = None, status: int | None = None
    ) -> None:
        super().__init__(message, status=status, developer_message=developer_message)


_BY_STATUS: dict[int, type[BadRequest | Unauthenticated | _ToolUnavailable]] = {
    401: Unauthenticated,
    403: ToolNotFound,  # servers with auth on say so of a tool that the caller may not see
    404: ToolNotFound,
}
AGAIN = frozenset({408, 409, 429})


def again(raw: RawResponse) -> bool:
    """Whether the same bytes may be sent again: what the server says, or else what the status
    means."""
    said = raw.headers.get("x-should-retry", "").lower()
    return said == "true" if said in ("true", "false") else raw.status in AGAIN or raw.status >= 500


def wait_ms(headers: Mapping[str, str]) -> int | None:
    """How long the server asks to wait. A date is read by the server's own clock."""
    for name, unit in (("retry-after-ms", 1), ("Retry-After", 1000)):
        try:
            return max(0, int(float(headers.get(name, "")) * unit))
        except (ValueError, OverflowError):
            continue
    try:
        until, now = (
            parsedate_to_datetime(headers.get(name, "")) for name in ("Retry-After", "Date")
        )
        return max(0, int((until - now).total_seconds() * 1000))
    except (ValueError, TypeError):  # no date, or one with a zone and one without
        return None


def _message(said: Object, raw: RawResponse) -> str:
    """What is fit to be shown. Web frameworks echo the arguments beside their sentence: only the
    sentence is taken."""
    if message := _str(said.get("message")):
        return message
    detail = said.get("detail")
    if isinstance(detail, list):
        lines = [one.get("msg") if isinstance(one, dict) else one for one in detail]
        detail = "; ".join(line for line in lines if isinstance(line, str))
    if isinstance(detail, str) and detail:
        return detail
    text = (
        ""
        if said
        else raw.body[: 4 * _LONGEST_TEXT].decode(errors="replace").strip()[:_LONGEST_TEXT]
    )
    return text or f"the server answered with status {raw.status}"


def _parameters(said: Object) -> dict[str, str]:
    """By parameter, what is wrong: as the protocol says it, or by the place that a web framework
    names."""
    errors = said.get("parameter_errors")
    if isinstance(errors, dict):
        return {name: why if isinstance(why, str) else "invalid" for name, why in errors.items()}
    found: dict[str, str] = {}
    detail = said.get("detail")
    for one in detail if isinstance(detail, list) else ():
        place, why = (one.get("loc"), one.get("msg")) if isinstance(one, dict) else (None, None)
        if isinstance(place, list) and "input" in place[:-1] and isinstance(why, str):
            found[str(place[place.index("input") + 1])] = why
    return found


def _missing(
    lacks: Object, message: str, developer: str | None, status: int
) -> MissingRequirements:
    tokens = _authorizations(lacks.get("required_authorization"))
    missing = MissingRequirement(tokens, _ids(lacks.get("secrets")), lacks.get("user_id") is True)
    items = lacks.get("authorization")
    challenges = _challenges(items if isinstance(items, list) else [])
    return MissingRequirements(
        message, missing, challenges, developer_message=developer, status=status
    )


def _challenges(items: Iterable[JSON]) -> list[AuthChallenge]:
    found: list[AuthChallenge] = []
    for item in items:
        if isinstance(item, dict) and isinstance(url := item.get("url"), str):
            found.append(AuthChallenge(str(item.get("id", "")), url, _str(item.get("check_url"))))
    return found
