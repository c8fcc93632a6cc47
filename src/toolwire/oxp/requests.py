"""What an OXP client asks for: the bytes and headers of a request as a value, or why they are
refused.

Two shapes are understood, `{"request": {...}}` and the bare request, and the answer takes the shape
that was asked in. Keys that the protocol does not know are ignored; credentials are never guessed.
Knows no tools: ids are looked up elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from json import JSONDecodeError, loads

from msgspec import Struct

from toolwire.conversation.json import DEEPEST, JSON, Object, dump, kind_of, parse
from toolwire.oxp.responses import OxpRejection, refused

LONGEST_ID = 256
"""Of a call id, in characters. It is a key of the record."""
LONGEST_WORD = 1024
"""Of every other text that is only carried: the id of a tool, a user or a trace."""

# `urn:oxp:1`, `otc://1.0` of the first weeks, and the address of the specification in any of the
# repositories it lived in.
_VERSIONS = (
    re.compile(r"urn:oxp:([0-9]{1,9})(?:\.[0-9]+){0,2}"),
    re.compile(r"otc://([0-9]{1,9})\.[0-9]+"),
    re.compile(r"https?://.*/http/([0-9]{1,9})\.[0-9]+/openapi\.json"),
)
_HEADER = re.compile(r"([0-9]{1,9})(?:\.[0-9]+){0,2}")


class OxpRequest(Struct, frozen=True, kw_only=True):
    """A call as it was asked for."""

    tool_id: str
    call_id: str | None = None
    """None if the client sent none: one is made, and nothing is promised about repeats."""
    input: Object = {}
    user_id: str | None = None
    tokens: Mapping[str, str] = {}
    secrets: Mapping[str, str] = {}
    trace_id: str | None = None
    enveloped: bool = False
    ignored: tuple[str, ...] = ()
    """Keys that nobody knows; their names may be logged, their values may not."""

    def __repr__(self) -> str:
        """Without tokens and secrets: this ends up in logs."""
        return f"Request(tool_id={self.tool_id!r}, call_id={self.call_id!r})"

    __str__ = __repr__


class _InvalidRequest(Exception):
    """Why a request is refused; becomes a value before anyone else sees it."""


_KNOWN = frozenset({"tool_id", "call_id", "trace_id", "input", "inputs", "context", "$schema"})


def read_call(body: bytes, version: str | None = None) -> OxpRequest | OxpRejection:
    """The request in a body; `version` is the header `OXP-Version`."""
    enveloped = False
    try:
        value = _parsed(body)
        if not isinstance(value, dict):
            raise _InvalidRequest(f"the body must be an object, not {kind_of(value)}")
        inner = value.get("request")
        if "request" in value:
            if not isinstance(inner, dict):
                raise _InvalidRequest(f"request must be an object, not {kind_of(inner)}")
            if "tool_id" in value:
                raise _InvalidRequest(
                    "request and tool_id stand side by side: send the one or the other"
                )
            enveloped = True
        elif "tool_id" in value:
            inner = value
        else:
            raise _InvalidRequest("expected request or tool_id")
        _schema(value)
        _version(version)
        assert isinstance(inner, dict)
        return _request(inner, enveloped)
    except _InvalidRequest as bad:
        return refused("malformed", str(bad), enveloped=enveloped)
    except _UnsupportedVersion as old:
        return refused("version", str(old), enveloped=enveloped)


def read_list(body: bytes, version: str | None = None) -> OxpRejection | None:
    """Why a request for the list is refused, if it is. A body that is no JSON object says
    nothing.
    """
    try:
        value: JSON = None
        if body:
            try:
                value = parse(body.removeprefix(b"\xef\xbb\xbf"))
            except ValueError:
                value = None
        if isinstance(value, dict):
            _schema(value)
        _version(version)
    except _InvalidRequest as bad:
        return refused("malformed", str(bad))
    except _UnsupportedVersion as old:
        return refused("version", str(old))
    return None


def _request(inner: Object, enveloped: bool) -> OxpRequest:
    tool_id = inner.get("tool_id")
    if not isinstance(tool_id, str) or not tool_id:
        raise _InvalidRequest("tool_id must be a text and not empty")
    if len(tool_id) > LONGEST_WORD:
        raise _InvalidRequest(f"tool_id is longer than {LONGEST_WORD} characters")
    context = inner.get("context")
    ignored: tuple[str, ...] = ()
    if not inner.keys() <= _KNOWN:
        ignored = tuple(key for key in inner if key not in _KNOWN)
    call_id = (_word(inner, "call_id", LONGEST_ID) or None) if "call_id" in inner else None
    trace_id = (_word(inner, "trace_id", LONGEST_WORD) or None) if "trace_id" in inner else None
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
        user_id=_word(context, "user_id", LONGEST_WORD, "context."),
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


def _word(held: Object, key: str, longest: int, before: str = "") -> str | None:
    value = held.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise _InvalidRequest(f"{before}{key} must be a text, not {kind_of(value)}")
    if len(value) > longest:
        raise _InvalidRequest(f"{before}{key} is longer than {longest} characters")
    if "\0" in value:  # a key of the record, and not every database can hold it
        raise _InvalidRequest(f"{before}{key} holds a NUL character")
    return value


def _input(inner: Object) -> Object:
    """The arguments under either of their names."""
    given = inner.get("input")
    other = inner.get("inputs")
    if other is not None:
        # As text, so that 1, 1.0 and true differ
        if (
            given is not None
            and dump(given) != dump(other)
            and dump(_sorted(given)) != dump(_sorted(other))
        ):
            raise _InvalidRequest("input and inputs differ: send one of them")
        given = other
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise _InvalidRequest(f"input must be an object, not {kind_of(given)}")
    return given


def _sorted(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return value


def _credentials(context: Object, kind: str, key: str) -> dict[str, str]:
    """By id. Two of one id are refused: which one is meant is not for us to choose."""
    held = context.get(kind)
    if held is None:
        return {}
    if not isinstance(held, list):
        raise _InvalidRequest(f"context.{kind} must be a list, not {kind_of(held)}")
    found: dict[str, str] = {}
    for n, item in enumerate(held):
        at = f"context.{kind}[{n}]"
        if not isinstance(item, dict):
            raise _InvalidRequest(f"{at} must be an object, not {kind_of(item)}")
        id, value = item.get("id"), item.get(key)
        if not isinstance(id, str) or not id:
            raise _InvalidRequest(f"{at}.id must be a text and not empty")
        if not isinstance(value, str):
            raise _InvalidRequest(f"{at}.{key} must be a text, not {kind_of(value)}")
        if id in found:
            raise _InvalidRequest(f"{at}.id stands there twice")
        found[id] = value
    return found


# --- versions -------------------------------------------------------------------------------------


class _UnsupportedVersion(Exception):
    """A version of the protocol that is not served."""


def _schema(value: Object) -> None:
    """A version that `$schema` names; an address that names none is no signal."""
    if "$schema" not in value:
        return
    schema = value["$schema"]
    if not isinstance(schema, str):
        raise _InvalidRequest(f"$schema must be a text, not {kind_of(schema)}")
    for pattern in _VERSIONS:
        if found := pattern.fullmatch(schema):
            _major(found[1])


def _version(header: str | None) -> None:
    if header is not None and (found := _HEADER.fullmatch(header.strip())):
        _major(found[1])


def _major(text: str) -> None:
    if int(text) != 1:
        raise _UnsupportedVersion(f"asked for version {int(text)}; supported: 1.0")


# --- JSON -----------------------------------------------------------------------------------------


def _parsed(body: bytes) -> JSON:
    """The value of a body: UTF-8, one mark at the front allowed, no NaN, no key twice, not nested
    without end."""
    body = body.removeprefix(b"\xef\xbb\xbf")
    try:
        value = parse(body)
    except ValueError as error:
        raise _InvalidRequest(_why(body, error)) from None
    if body.count(b"{") + body.count(b"[") > DEEPEST and _too_deep(value):
        raise _InvalidRequest(f"nested deeper than {DEEPEST}")
    # A key that stood there twice is gone from the value, and its colon with it. Written again the
    # value has as many colons as the body then, unless some were escaped. That takes a fraction of
    # the time of a parser that looks at every pair.
    if (b"\\u" in body or dump(value).count(b":") != body.count(b":")) and (
        key := _twice(body)
    ) is not None:
        raise _InvalidRequest(f"the key {key[:64]!r} stands in one object twice")
    return value


def _too_deep(value: JSON) -> bool:
    level: list[JSON] = [value]
    for _ in range(DEEPEST + 1):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def _twice(body: bytes) -> str | None:
    found: list[str] = []

    def pairs(items: list[tuple[str, object]]) -> None:
        if len(dict(items)) != len(items):
            keys = [key for key, _ in items]
            found.append(next(key for key in keys if keys.count(key) > 1))

    loads(body, object_pairs_hook=pairs)
    return found[0] if found else None


def _why(body: bytes, error: ValueError) -> str:
    """Why a body is no JSON, with the place; nothing of the body is quoted."""
    if not body.strip():
        return "the body is empty"
    try:
        loads(body)
    except UnicodeDecodeError as why:
        return f"broken JSON: byte {why.start} is not UTF-8"
    except JSONDecodeError as why:
        return f"broken JSON: {why.msg.lower()} at line {why.lineno}, column {why.colno}"
    except (RecursionError, ValueError):
        return "broken JSON: nested too deeply, or a number without end"
    if b"NaN" in body or b"Infinity" in body:  # the standard library takes these
        return "broken JSON: NaN and Infinity are not JSON numbers"
    return f"broken JSON: {str(error).lower()}"
