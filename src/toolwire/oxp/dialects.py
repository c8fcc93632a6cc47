"""Read the responses of OXP servers in every known dialect: tool lists, call results, errors.

A tool list comes as `items`, `tools` or a bare array; a call result in `result` or bare; an error
as the protocol writes it or as web frameworks do. A response of no known shape raises
InvalidResponse.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from toolwire.conversation.fitting import fit
from toolwire.conversation.id_rules import IdRule
from toolwire.conversation.json import JSON, Object, parse
from toolwire.oxp.errors import (
    AuthenticationError,
    BadRequest,
    InvalidInput,
    InvalidResponse,
    MissingRequirements,
    OxpError,
    ServerUnavailable,
    ToolCallFailed,
    ToolNotFound,
)
from toolwire.oxp.protocol import AuthChallenge
from toolwire.providers.http.policy import retry_after
from toolwire.tools.runnable import Authorization, Requirements, ToolId, Version

TOOL_NAME_RULE = IdRule("A-Za-z0-9_", longest=64)
"""The rule for toolkit names and tool names."""
_VERSION = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,9}))?(?:\.([0-9]{1,9}))?")
_ERROR_FIELDS = {
    "message",
    "developer_message",
    "can_retry",
    "retry_after_ms",
    "additional_prompt_content",
    "kind",
}
_MAX_TEXT_LENGTH = 500
_TITLE = re.compile(r"<title[^>]*>([^<]{1,80})</title>", re.IGNORECASE)


class RawResponse(Struct, frozen=True):
    """An HTTP response with its whole body."""

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
    """A tool as a server lists it. `server_id` is its id as the server writes it."""

    server_id: str
    id: ToolId
    description: str
    input_schema: Object
    output_schema: JSON
    needs: Requirements = Requirements()
    read_only: bool = False
    idempotent: bool = False
    deprecated: str | None = None


class CallResponse(Struct, frozen=True):
    """The result of a call that succeeded."""

    call_id: str
    value: JSON
    duration_ms: float | None = None
    replayed: bool = False


# --- tools ----------------------------------------------------------------------------------------


def read_tool_list(response: RawResponse, default_toolkit: str) -> tuple[ToolDefinition, ...]:
    """Read a tool list. Ids without a toolkit get `default_toolkit`."""
    body = response.json()
    items = body
    if isinstance(body, dict):
        items = next(
            (body[key] for key in ("items", "tools") if isinstance(body.get(key), list)), None
        )
    if not isinstance(items, list):
        problem = _describe_page(response) or "the response has no list of tools"
        raise InvalidResponse(problem, status=response.status)
    used: set[str] = set()
    return tuple(
        _definition(item, default_toolkit, used)
        for item in items
        if isinstance(item, dict) and _server_id(item)
    )


def _server_id(item: Object) -> str:
    """The id of a listed tool; empty if it has none."""
    id = item.get("id") or item.get("name")
    return id if isinstance(id, str) else ""


def _definition(item: Object, default_toolkit: str, used: set[str]) -> ToolDefinition:
    server_id, description = _server_id(item), item.get("description")
    input_schema, output_schema = _unwrap(item.get("input_schema")), item.get("output_schema", {})
    deprecated = None
    if input_schema.get("deprecated") is True:
        deprecated = input_schema.get("x-deprecated")
    id = _tool_id(server_id, item.get("version"), default_toolkit, used)
    used.add(str(id))
    return ToolDefinition(
        server_id,
        id,
        description=description if isinstance(description, str) else "",
        input_schema={"type": "object", **input_schema},
        output_schema=_unwrap(output_schema) if isinstance(output_schema, dict) else None,
        needs=_requirements(item.get("requirements")),
        read_only=input_schema.get("x-read-only") is True,
        idempotent=input_schema.get("x-idempotent") is True,
        deprecated=deprecated if isinstance(deprecated, str) else None,
    )


def _unwrap(schema: JSON) -> Object:
    """The schema, without the `{"parameters": ...}` wrapper of some servers.

    A parameter named `parameters` would be under `properties`.
    """
    if not isinstance(schema, dict):
        return {}
    inner = schema.get("parameters")
    return inner if len(schema) == 1 and isinstance(inner, dict) else schema


def _tool_id(server_id: str, listed_version: JSON, toolkit: str, used: set[str]) -> ToolId:
    """A valid id for a listed tool, different from the ids in `used`."""
    name, _, version_text = server_id.partition("@")
    if not version_text and isinstance(listed_version, str):
        version_text = listed_version
    numbers = _VERSION.fullmatch(version_text)
    version = Version(*(int(number or 0) for number in numbers.groups())) if numbers else Version(0)
    parsed = ToolId.read(name)
    if parsed is not None and str(ToolId(parsed.toolkit, parsed.name, version)) not in used:
        return ToolId(parsed.toolkit, parsed.name, version)
    prefix, dot, rest = name.partition(".")
    if dot:
        toolkit, name = fit(prefix, TOOL_NAME_RULE), rest
    used_names = {
        id.name
        for text in used
        if (id := ToolId.read(text)) and id.toolkit == toolkit and id.version == version
    }
    # A name with a space never matches the rule, so that `fit` adds a hash to it
    wanted = name if name not in used_names else f"{name} "
    return ToolId(toolkit, fit(wanted, TOOL_NAME_RULE, used_names), version)


def _requirements(listed: JSON) -> Requirements:
    if not isinstance(listed, dict):
        return Requirements()
    return Requirements(
        _authorizations(listed.get("authorization")),
        _ids(listed.get("secrets")),
        listed.get("user_id") is True,
    )


def _authorizations(items: JSON) -> tuple[Authorization, ...]:
    authorizations: list[Authorization] = []
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict) and isinstance(id := item.get("id"), str):
            oauth = item.get("oauth2")
            scopes = oauth.get("scopes") if isinstance(oauth, dict) else None
            names = tuple(map(str, scopes)) if isinstance(scopes, list) else ()
            authorizations.append(Authorization(id, names))
    return tuple(authorizations)


def _ids(items: JSON) -> tuple[str, ...]:
    if not isinstance(items, list):
        return ()
    ids = [item.get("id") if isinstance(item, dict) else item for item in items]
    return tuple(id for id in ids if isinstance(id, str))


# --- call results ---------------------------------------------------------------------------------


def read_call_response(response: RawResponse, call_id: str) -> CallResponse:
    """Read the result of a call.

    Raises:
        ToolCallFailed: the tool failed.
        MissingRequirements: the tool needs more credentials.
        InvalidResponse: the body is not a result of this call.
    """
    body = response.json()
    if isinstance(body, dict) and isinstance(inner := body.get("result"), dict):
        body = inner
    if not isinstance(body, dict) or not isinstance(success := body.get("success"), bool):
        problem = _describe_page(response) or "the response has no call result"
        raise InvalidResponse(problem, status=response.status)
    actual_id = body.get("call_id")
    if isinstance(actual_id, str) and actual_id and actual_id != call_id:
        raise InvalidResponse(
            "the response belongs to another call",
            developer_message=f"expected call_id {call_id}, got {actual_id}",
            status=response.status,
        )
    if not success:
        raise _failure(body.get("error"), call_id)
    return CallResponse(
        call_id,
        body.get("value"),
        duration_ms=_number(body.get("duration")),
        replayed=response.headers.get("idempotent-replayed", "").lower() == "true",
    )


def _number(value: JSON) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _failure(error: JSON, call_id: str) -> OxpError:
    error = error if isinstance(error, dict) else {}
    message = _str(error.get("message")) or "the tool failed without a message"
    developer = _str(error.get("developer_message"))
    missing = error.get("missing_requirements")
    if isinstance(missing, dict):  # a draft of the protocol reports them here
        return _missing_requirements(missing, message, developer, status=200)
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


# --- errors ---------------------------------------------------------------------------------------


def read_error(response: RawResponse) -> OxpError:
    """Return the error of a response whose status is not 200."""
    body = response.json()
    fields = body if isinstance(body, dict) else {}
    message, developer = _message(fields, response), _str(fields.get("developer_message"))
    status = response.status
    missing, errors = fields.get("missing_requirements"), _parameter_errors(fields)
    if isinstance(missing, dict):
        return _missing_requirements(missing, message, developer, status=status)
    if status == 422 or errors:
        return InvalidInput(message, errors, developer_message=developer, status=status)
    if status >= 500 or should_retry(response):
        return ServerUnavailable(
            message,
            status=status,
            retry_after_ms=retry_after_ms(response.headers) if should_retry(response) else None,
            developer_message=developer,
        )
    error = _BY_STATUS.get(status, BadRequest)
    return error(message, developer_message=developer, status=status)


_BY_STATUS: dict[int, type[BadRequest | AuthenticationError]] = {
    401: AuthenticationError,
    403: ToolNotFound,  # servers with authentication send it for tools that the caller may not see
    404: ToolNotFound,
}
RETRYABLE = frozenset({408, 409, 429})


def should_retry(response: RawResponse) -> bool:
    """True if the request may be repeated: by the `x-should-retry` header, or else by the
    status."""
    header = response.headers.get("x-should-retry", "").lower()
    if header in ("true", "false"):
        return header == "true"
    return response.status in RETRYABLE or response.status >= 500


def retry_after_ms(headers: Mapping[str, str]) -> int | None:
    """The delay that the server asks for, in milliseconds."""
    seconds = retry_after(headers)
    return None if seconds is None else int(seconds * 1000)


def _message(fields: Object, response: RawResponse) -> str:
    """A message that may be shown to users.

    Web frameworks repeat the arguments beside their message, so only the message is read.
    """
    if message := _str(fields.get("message")):
        return message
    detail = fields.get("detail")
    if isinstance(detail, list):
        lines = [item.get("msg") if isinstance(item, dict) else item for item in detail]
        detail = "; ".join(line for line in lines if isinstance(line, str))
    if isinstance(detail, str) and detail:
        return detail
    if page := _describe_page(response):
        return page
    text = ""
    if not fields:
        start = response.body[: 4 * _MAX_TEXT_LENGTH].decode(errors="replace")
        text = start.strip()[:_MAX_TEXT_LENGTH]
    return text or f"the server responded with status {response.status}"


def _describe_page(response: RawResponse) -> str:
    """What is wrong with a response that is an HTML page; empty for any other response.

    The page is not quoted, apart from its title: it comes from a proxy or from another server.
    """
    if response.body.lstrip()[:1] != b"<":
        return ""
    title = _TITLE.search(response.body[: 4 * _MAX_TEXT_LENGTH].decode(errors="replace"))
    page = f"an HTML page ({' '.join(title[1].split())})" if title else "an HTML page"
    return (
        f"the server sent {page} instead of an OXP response (status {response.status}); check the"
        " address"
    )


def _parameter_errors(fields: Object) -> dict[str, str]:
    """The problem of each parameter: `parameter_errors` of the protocol, or `detail` of web
    frameworks."""
    reported = fields.get("parameter_errors")
    if isinstance(reported, dict):
        return {
            name: problem if isinstance(problem, str) else "invalid"
            for name, problem in reported.items()
        }
    errors: dict[str, str] = {}
    detail = fields.get("detail")
    for item in detail if isinstance(detail, list) else ():
        if not isinstance(item, dict):
            continue
        path, problem = item.get("loc"), item.get("msg")
        if isinstance(path, list) and "input" in path[:-1] and isinstance(problem, str):
            errors[str(path[path.index("input") + 1])] = problem
    return errors


def _missing_requirements(
    fields: Object, message: str, developer: str | None, *, status: int
) -> MissingRequirements:
    missing = Requirements(
        _authorizations(fields.get("required_authorization")),
        _ids(fields.get("secrets")),
        fields.get("user_id") is True,
    )
    items = fields.get("authorization")
    challenges = _challenges(items if isinstance(items, list) else [])
    return MissingRequirements(
        message, missing, challenges, developer_message=developer, status=status
    )


def _challenges(items: Iterable[JSON]) -> list[AuthChallenge]:
    return [
        AuthChallenge(str(item.get("id", "")), url, _str(item.get("check_url")))
        for item in items
        if isinstance(item, dict) and isinstance(url := item.get("url"), str)
    ]
