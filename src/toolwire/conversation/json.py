"""JSON behind one door: parse, print, hold, patch.

Numbers keep every digit (integers of any size), text stays text, and what JSON cannot say is
refused, never replaced. Knows no wire.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from msgspec import UNSET, DecodeError, UnsetType
from msgspec.json import Decoder, Encoder
from orjson import (
    OPT_PASSTHROUGH_DATACLASS,
    OPT_PASSTHROUGH_DATETIME,
    OPT_PASSTHROUGH_SUBCLASS,
    dumps,
)

from toolwire.errors import LocalError, RemoteError

JSON: TypeAlias = "None | bool | int | float | str | list[JSON] | dict[str, JSON]"
Object: TypeAlias = "dict[str, JSON]"
JsonPath: TypeAlias = "tuple[str | int, ...]"

_TOO_DEEP = "nested too deeply"
DEEPEST = 400
"""Nesting beyond this is refused: no conversation needs it, and a stack is finite."""

_PLAIN = OPT_PASSTHROUGH_DATACLASS | OPT_PASSTHROUGH_DATETIME | OPT_PASSTHROUGH_SUBCLASS
"""Nothing but JSON's own types is written; the rest is looked at one by one."""
_decoder: Decoder[JSON] = Decoder()
_decode = _decoder.decode
_encode = Encoder().encode


@runtime_checkable
class Dumps(Protocol):
    """An official SDK object of one make."""

    def model_dump(self, *, mode: str, by_alias: bool, exclude_none: bool) -> JSON: ...


@runtime_checkable
class ToDict(Protocol):
    """An official SDK object of another make."""

    def to_dict(self) -> JSON: ...


Body: TypeAlias = (
    "bytes | bytearray | memoryview | JSON | Mapping[str, JSON] | Sequence[JSON] | Dumps | ToDict"
)
"""What the library takes as a body: JSON as bytes or text, the parsed value, or an official SDK
object."""


def parse(text: bytes | str) -> JSON:
    """The value of a JSON text.

    Raises ValueError (which DecodeError is) when it is not one.
    """
    try:
        return _decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def dump(value: JSON) -> bytes:
    """Compact JSON. What UTF-8 cannot hold (a lone surrogate) is written as an escape."""
    try:
        return dumps(value, None, _PLAIN)
    except (
        TypeError
    ):  # it takes neither integers beyond 64 bits nor lone surrogates nor more than 254 levels
        return _dump_any(value)


def _dump_any(value: JSON) -> bytes:
    try:
        return _encode(require_json(value, ""))
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()
    except RemoteError as error:
        if error.why != _TOO_DEEP:
            raise LocalError("", error.path, f"not JSON: {error.why}") from None
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    except (RecursionError, ValueError, TypeError):
        raise LocalError("", (), _TOO_DEEP) from None


def text_of(value: JSON) -> str:
    """Compact JSON as text."""
    return dump(value).decode()


def load(body: object, wire: str) -> tuple[JSON, bytes | None]:
    """The JSON value of a body in any of the forms the library takes, and its bytes if it came as
    bytes or text.

    A dict or list is taken as it is and never changed.
    """
    if isinstance(body, str):
        body = body.encode("utf-8", "surrogatepass")
    if isinstance(body, (bytearray, memoryview)):
        body = bytes(body)
    if isinstance(body, bytes):
        body = body.removeprefix(b"\xef\xbb\xbf")
        try:
            return parse(body), body
        except (ValueError, DecodeError) as error:
            return _lenient(body, wire, error), body
    if isinstance(body, Mapping | list | tuple):
        return require_json(body, wire), None
    if isinstance(body, ToDict):
        return require_json(body.to_dict(), wire), None
    if isinstance(body, Dumps):
        return require_json(
            body.model_dump(mode="json", by_alias=True, exclude_none=True), wire
        ), None
    raise LocalError(
        wire,
        (),
        f"expected bytes, text, a dict, a list or an SDK object, got {type(body).__name__}",
    )


def _lenient(body: bytes, wire: str, error: Exception) -> JSON:
    """The value of a body whose only fault is half a surrogate pair: text cut inside an emoji is
    still text."""
    if b"\\u" in body or b"\xed" in body:
        try:
            value: JSON = json.loads(
                body.decode("utf-8", "surrogatepass"), parse_constant=_no_constant
            )
            return require_json(value, wire)
        except (ValueError, RecursionError):
            pass
    raise RemoteError(wire, (), _why(body, error)) from None


def _no_constant(name: str) -> JSON:
    raise ValueError(name)


def kind_of(value: object) -> str:
    """What JSON calls a value, with its article, for messages."""
    for types, word in _WORDS:
        if isinstance(value, types):
            return word
    return type(value).__name__


_WORDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (type(None), "null"),
    (bool, "a boolean"),
    ((int, float), "a number"),
    (str, "a string"),
    (list, "a list"),
    (dict, "an object"),
    (UnsetType, "nothing"),
)


def _why(body: bytes, error: Exception) -> str:
    """Why a body could not be parsed, in words and with a place where there is one."""
    if not body.strip():
        return "broken JSON: the input is empty"
    try:
        json.loads(body)
    except UnicodeDecodeError as why:
        return f"broken JSON: byte {why.start} is not UTF-8"
    except json.JSONDecodeError as why:
        return f"broken JSON: {why.msg.lower()} at line {why.lineno}, column {why.colno}"
    except RecursionError:
        return "broken JSON: nested too deeply"
    # The standard library is laxer; what only it takes is this.
    if b"NaN" in body or b"Infinity" in body:
        return "broken JSON: NaN and Infinity are not JSON numbers"
    return f"broken JSON: {str(error).lower()}"


def require_json(value: object, wire: str) -> JSON:
    """A value of plain dicts, lists and scalars: the very same object if it already is one.

    Raises RemoteError at the first thing JSON cannot say.
    """
    found: list[JSON] = []
    _require_json(value, wire, (), found)
    return found[0]


def _require_json(value: object, wire: str, at: JsonPath, out: list[JSON]) -> None:
    kind = value.__class__
    if kind is str or kind is int or kind is bool or value is None:
        out.append(value)  # type: ignore[arg-type]
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise RemoteError(wire, at, f"{value} is not a JSON number")
        out.append(value)
    elif len(at) > DEEPEST:
        raise RemoteError(wire, at[:8], _TOO_DEEP)
    elif isinstance(value, Mapping):
        items: list[JSON] = []
        for key, item in value.items():
            if not isinstance(key, str):
                raise RemoteError(wire, at, f"expected keys that are strings, got {kind_of(key)}")
            _require_json(item, wire, at + (key,), items)
        same = kind is dict and all(a is b for a, b in zip(value.values(), items, strict=True))
        out.append(value if same else dict(zip(value, items, strict=True)))  # type: ignore[arg-type]
    elif isinstance(value, list | tuple):
        items = []
        for i, item in enumerate(value):
            _require_json(item, wire, at + (i,), items)
        same = kind is list and all(a is b for a, b in zip(value, items, strict=True))
        out.append(value if same else items)  # type: ignore[arg-type]
    elif isinstance(value, (str, int)):
        out.append(value)
    elif isinstance(value, ToDict):
        _require_json(value.to_dict(), wire, at, out)
    elif isinstance(value, Dumps):
        _require_json(
            value.model_dump(mode="json", by_alias=True, exclude_none=True), wire, at, out
        )
    else:
        raise RemoteError(wire, at, f"expected a JSON value, got {kind_of(value)}")


def get(value: JSON, path: JsonPath) -> JSON | UnsetType:
    """What stands at a path, or UNSET."""
    for step in path:
        if isinstance(value, dict):
            if step not in value:
                return UNSET
            value = value[str(step)]
        elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return UNSET
    return value


def put(value: JSON, path: JsonPath, new: JSON) -> JSON:
    """The value with `new` at a path; only the containers on the way are copied, missing ones are
    made."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(value, list) and isinstance(step, int):
        return [*value[:step], put(value[step], rest, new), *value[step + 1 :]]
    old = value if isinstance(value, dict) else {}
    return {**old, str(step): put(old.get(str(step)), rest, new)}


def patch(raw: JSON, old: JSON, new: JSON) -> JSON:
    """The raw value with just the difference between `old` and `new` applied.

    What neither mentions stays: unknown fields, spelling, nulls. A field is found under its own
    name or under its snake_case spelling, which protobuf's JSON reads as the same.
    """
    if old == new:
        return raw
    if not (isinstance(raw, dict) and isinstance(old, dict) and isinstance(new, dict)):
        return new
    out = dict(raw)
    for key in {**old, **new}:
        if old.get(key, UNSET) == new.get(key, UNSET):
            continue
        name = key if key in raw or snake(key) not in raw else snake(key)
        if key not in new:
            out.pop(name, None)
        else:
            out[name] = patch(raw.get(name), old.get(key), new[key])
    return out


def snake(name: str) -> str:
    """`thoughtSignature` as `thought_signature`."""
    return "".join("_" + c.lower() if c.isupper() else c for c in name)
