"""Read OXP requests: the bytes and headers of a request as a value, or a rejection.

Two formats are accepted, `{"request": {...}}` and the bare request; the response uses the format of
the request. Unknown keys are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from json import JSONDecodeError, loads

from msgspec import Struct

from toolwire.conversation.json import DEEPEST, JSON, Object, dump, kind_of, parse, sorted_json
from toolwire.oxp.responses import OxpRejection, RejectionReason, reject

MAX_CALL_ID_LENGTH = 256
"""Characters of a call id, which is part of a database key."""
MAX_TEXT_LENGTH = 1024
"""Characters of tool ids, user ids and trace ids."""

# `urn:oxp:1`, the early `otc://1.0`, and the addresses of the specification
_VERSIONS = (
    re.compile(r"urn:oxp:([0-9]{1,9})(?:\.[0-9]+){0,2}"),
    re.compile(r"otc://([0-9]{1,9})\.[0-9]+"),
    re.compile(r"https?://.*/http/([0-9]{1,9})\.[0-9]+/openapi\.json"),
)
_HEADER = re.compile(r"([0-9]{1,9})(?:\.[0-9]+){0,2}")


class OxpRequest(Struct, frozen=True, kw_only=True):
    """A request to call a tool."""

    tool_id: str
    call_id: str | None = None
    """None if the client sent none. The executor generates one; repetitions are not detected."""
    input: Object = {}
    user_id: str | None = None
    tokens: Mapping[str, str] = {}
    secrets: Mapping[str, str] = {}
    trace_id: str | None = None
    enveloped: bool = False
    ignored: tuple[str, ...] = ()
    """Unknown keys. Their names may be logged, their values may not."""

    def __repr__(self) -> str:
        """The request without tokens and secrets, for logs."""
        return f"OxpRequest(tool_id={self.tool_id!r}, call_id={self.call_id!r})"

    __str__ = __repr__


class _InvalidRequest(Exception):
    """Why a request is rejected. Callers of this module get an OxpRejection."""

    def __init__(self, message: str, reason: RejectionReason = "malformed") -> None:
        super().__init__(message)
        self.reason = reason


_KNOWN_KEYS = frozenset({"tool_id", "call_id", "trace_id", "input", "inputs", "context", "$schema"})


def read_call(body: bytes, version: str | None = None) -> OxpRequest | OxpRejection:
    """Read the request in a body. `version` is the `OXP-Version` header."""
    enveloped = False
    try:
        value = _parse_body(body)
        if not isinstance(value, dict):
            raise _InvalidRequest(f"the body must be an object, not {kind_of(value)}")
        inner = value.get("request")
        if "request" in value:
            if not isinstance(inner, dict):
                raise _InvalidRequest(f"request must be an object, not {kind_of(inner)}")
            if "tool_id" in value:
                raise _InvalidRequest("the body has both request and tool_id: send one of them")
            enveloped = True
        elif "tool_id" in value:
            inner = value
        else:
            raise _InvalidRequest("expected request or tool_id")
        _check_schema(value)
        _check_version(version)
        assert isinstance(inner, dict)
        return _request(inner, enveloped)
    except _InvalidRequest as error:
        return reject(error.reason, str(error), enveloped=enveloped)


def check_list_request(body: bytes, version: str | None = None) -> OxpRejection | None:
    """Return the rejection of a request for the tool list; None if it is valid.

    A body that is not a JSON object is ignored.
    """
    try:
        value: JSON = None
        if body:
            try:
                value = parse(body.removeprefix(b"\xef\xbb\xbf"))
            except ValueError:
                value = None
        if isinstance(value, dict):
            _check_schema(value)
        _check_version(version)
    except _InvalidRequest as error:
        return reject(error.reason, str(error))
    return None


def _request(inner: Object, enveloped: bool) -> OxpRequest:
    tool_id = inner.get("tool_id")
    if not isinstance(tool_id, str) or not tool_id:
        raise _InvalidRequest("tool_id must be a non-empty string")
    if len(tool_id) > MAX_TEXT_LENGTH:
        raise _InvalidRequest(f"tool_id is longer than {MAX_TEXT_LENGTH} characters")
    context = inner.get("context")
    ignored: tuple[str, ...] = ()
    if not inner.keys() <= _KNOWN_KEYS:
        ignored = tuple(key for key in inner if key not in _KNOWN_KEYS)
    call_id = (_text(inner, "call_id", MAX_CALL_ID_LENGTH) or None) if "call_id" in inner else None
    trace_id = (_text(inner, "trace_id", MAX_TEXT_LENGTH) or None) if "trace_id" in inner else None
    if context is None:
        return OxpRequest(
            tool_id=tool_id,
            call_id=call_id,
            input=_input(inner),
            trace_id=trace_id,
            enveloped=enveloped,
            ignored=ignored,
        )
    if not isinstance(context, dict):
        raise _InvalidRequest(f"context must be an object, not {kind_of(context)}")
    return OxpRequest(
        tool_id=tool_id,
        call_id=call_id,
        input=_input(inner),
        user_id=_text(context, "user_id", MAX_TEXT_LENGTH, "context."),
        tokens=_credentials(context, "authorization", "token"),
        secrets=_credentials(context, "secrets", "value"),
        trace_id=trace_id,
        enveloped=enveloped,
        ignored=ignored
        + tuple(
            f"context.{key}"
            for key in context
            if key not in ("authorization", "secrets", "user_id")
        ),
    )


def _text(fields: Object, key: str, max_length: int, prefix: str = "") -> str | None:
    value = fields.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise _InvalidRequest(f"{prefix}{key} must be a string, not {kind_of(value)}")
    if len(value) > max_length:
        raise _InvalidRequest(f"{prefix}{key} is longer than {max_length} characters")
    if "\0" in value:  # part of a database key, and PostgreSQL cannot store it
        raise _InvalidRequest(f"{prefix}{key} contains a NUL character")
    return value


def _input(request: Object) -> Object:
    """The arguments, under either of their two names."""
    arguments = request.get("input")
    alias = request.get("inputs")
    if alias is not None:
        # Compared as text, so that 1, 1.0 and true differ
        if arguments is not None and sorted_json(arguments) != sorted_json(alias):
            raise _InvalidRequest("input and inputs differ: send one of them")
        arguments = alias
    if arguments is None:
        return {}
    if not isinstance(arguments, dict):
        raise _InvalidRequest(f"input must be an object, not {kind_of(arguments)}")
    return arguments


def _credentials(context: Object, kind: str, key: str) -> dict[str, str]:
    """Credentials by id. A repeated id is an error: the server must not choose one of them."""
    items = context.get(kind)
    if items is None:
        return {}
    if not isinstance(items, list):
        raise _InvalidRequest(f"context.{kind} must be a list, not {kind_of(items)}")
    credentials: dict[str, str] = {}
    for index, item in enumerate(items):
        path = f"context.{kind}[{index}]"
        if not isinstance(item, dict):
            raise _InvalidRequest(f"{path} must be an object, not {kind_of(item)}")
        id, value = item.get("id"), item.get(key)
        if not isinstance(id, str) or not id:
            raise _InvalidRequest(f"{path}.id must be a non-empty string")
        if not isinstance(value, str):
            raise _InvalidRequest(f"{path}.{key} must be a string, not {kind_of(value)}")
        if id in credentials:
            raise _InvalidRequest(f"{path}.id is repeated")
        credentials[id] = value
    return credentials


# --- versions -------------------------------------------------------------------------------------


def _check_schema(value: Object) -> None:
    """Check the version that `$schema` names. An address without a version is accepted."""
    if "$schema" not in value:
        return
    schema = value["$schema"]
    if not isinstance(schema, str):
        raise _InvalidRequest(f"$schema must be a string, not {kind_of(schema)}")
    for pattern in _VERSIONS:
        if match := pattern.fullmatch(schema):
            _check_major(match[1])


def _check_version(header: str | None) -> None:
    if header is not None and (match := _HEADER.fullmatch(header.strip())):
        _check_major(match[1])


def _check_major(text: str) -> None:
    if int(text) != 1:
        message = f"version {int(text)} is not supported; supported: 1.0"
        raise _InvalidRequest(message, "unsupported-version")


# --- JSON -----------------------------------------------------------------------------------------


def _parse_body(body: bytes) -> JSON:
    """Parse a JSON body: UTF-8 with an optional byte order mark, no NaN, no repeated keys, bounded
    depth."""
    body = body.removeprefix(b"\xef\xbb\xbf")
    try:
        value = parse(body)
    except ValueError as error:
        raise _InvalidRequest(_parse_error(body, error)) from None
    if body.count(b"{") + body.count(b"[") > DEEPEST and _too_deep(value):
        raise _InvalidRequest(f"nested deeper than {DEEPEST}")
    # The parser drops repeated keys, so the value then has fewer colons than the body. Counting is
    # much faster than a parser with a hook for pairs. Escapes can hide colons, so a body with
    # escapes takes the slow way.
    if (b"\\u" in body or dump(value).count(b":") != body.count(b":")) and (
        key := _find_repeated_key(body)
    ) is not None:
        raise _InvalidRequest(f"the key {key[:64]!r} is repeated in one object")
    return value


def _too_deep(value: JSON) -> bool:
    level: list[JSON] = [value]
    for _ in range(DEEPEST + 1):
        level = [
            inner
            for value in level
            if isinstance(value, dict | list)
            for inner in (value.values() if isinstance(value, dict) else value)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def _find_repeated_key(body: bytes) -> str | None:
    repeated: list[str] = []

    def check(pairs: list[tuple[str, object]]) -> None:
        if len(dict(pairs)) != len(pairs):
            keys = [key for key, _ in pairs]
            repeated.append(next(key for key in keys if keys.count(key) > 1))

    loads(body, object_pairs_hook=check)
    return repeated[0] if repeated else None


def _parse_error(body: bytes, error: ValueError) -> str:
    """Describe why a body is not JSON, with the position. The body is not quoted."""
    if not body.strip():
        return "the body is empty"
    try:
        loads(body)
    except UnicodeDecodeError as cause:
        return f"invalid JSON: byte {cause.start} is not UTF-8"
    except JSONDecodeError as cause:
        return f"invalid JSON: {cause.msg.lower()} at line {cause.lineno}, column {cause.colno}"
    except (RecursionError, ValueError):
        return "invalid JSON: nested too deeply, or a number with too many digits"
    if b"NaN" in body or b"Infinity" in body:  # the standard library accepts these
        return "invalid JSON: NaN and Infinity are not JSON numbers"
    return f"invalid JSON: {str(error).lower()}"
