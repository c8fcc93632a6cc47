"""Parse, write, check and patch JSON.

Integers of any size keep every digit, text stays text, and a value that JSON cannot hold is an
error, never replaced. Knows no wire.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from types import NoneType
from typing import Protocol, TypeAlias, runtime_checkable

from msgspec import UNSET, UnsetType
from msgspec.json import Decoder, Encoder
from orjson import (
    OPT_PASSTHROUGH_DATACLASS,
    OPT_PASSTHROUGH_DATETIME,
    OPT_PASSTHROUGH_SUBCLASS,
    OPT_SORT_KEYS,
    dumps,
)

from toolwire.conversation.parse_errors import TOO_MANY_DIGITS, describe_parse_error
from toolwire.errors import DecodeError, UsageError

JSON: TypeAlias = "None | bool | int | float | str | list[JSON] | dict[str, JSON]"
Object: TypeAlias = "dict[str, JSON]"
JsonPath: TypeAlias = "tuple[str | int, ...]"

_TOO_DEEP = "nested too deeply"
DEEPEST = 400
"""The maximum nesting of a value. No conversation needs more, and the stack is finite."""

_ONLY_JSON_TYPES = OPT_PASSTHROUGH_DATACLASS | OPT_PASSTHROUGH_DATETIME | OPT_PASSTHROUGH_SUBCLASS
"""orjson writes only the types of JSON; `_dump_any` handles any other value."""
_decoder: Decoder[JSON] = Decoder()
decode_text = _decoder.decode
"""Parse JSON. Unlike `parse`, it lets the RecursionError of a value nested too deeply pass."""
_encode = Encoder().encode


@runtime_checkable
class Dumps(Protocol):
    """An SDK object with `model_dump`, as pydantic models have it."""

    def model_dump(self, *, mode: str, by_alias: bool, exclude_none: bool) -> JSON: ...


@runtime_checkable
class ToDict(Protocol):
    """An SDK object with `to_dict`."""

    def to_dict(self) -> JSON: ...


Body: TypeAlias = (
    "bytes | bytearray | memoryview | JSON | Mapping[str, JSON] | Sequence[JSON] | Dumps | ToDict"
)
"""What the library accepts as a body: JSON as bytes or text, the parsed value, or an official SDK
object."""


def parse(text: bytes | str) -> JSON:
    """Return the value of a JSON text.

    Raises:
        ValueError: The text is not JSON.
    """
    try:
        return decode_text(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def parse_text(text: str) -> JSON:
    """Return the value of a JSON text, including lone surrogates.

    Raises:
        ValueError: The text is not JSON.
    """
    try:
        return decode_text(text)
    except (ValueError, RecursionError):
        return _parse_surrogates(text)


def parse_body(body: bytes) -> JSON:
    """Return the value of a body, including lone surrogates, as `load` does.

    Raises:
        ValueError: The text is not JSON.
    """
    try:
        return load(body, "")[0]
    except DecodeError as error:
        raise ValueError(error.why) from None


def dump(value: JSON) -> bytes:
    """Return compact JSON. A lone surrogate, which UTF-8 cannot hold, is written as an escape."""
    try:
        return dumps(value, None, _ONLY_JSON_TYPES)
    except TypeError:
        # orjson rejects integers beyond 64 bits, lone surrogates and more than 254 levels.
        return _dump_any(value)


def _dump_any(value: JSON) -> bytes:
    try:
        return _encode(require_json(value, ""))
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()
    except ValueError:
        raise UsageError(TOO_MANY_DIGITS) from None
    except DecodeError as error:
        if error.why != _TOO_DEEP:
            raise UsageError(f"not JSON: {error.why}", path=error.path) from None
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    except (RecursionError, ValueError, TypeError):
        raise UsageError(_TOO_DEEP) from None


def sorted_json(value: JSON) -> bytes:
    """Return compact JSON with sorted keys. Values that differ only in the order of keys are
    equal."""
    try:
        return dumps(value, None, OPT_SORT_KEYS)
    except TypeError:  # integers beyond 64 bits, lone surrogates, more than 254 levels
        return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def text_of(value: JSON) -> str:
    """Return compact JSON as text."""
    return dump(value).decode()


def load(body: object, wire: str) -> tuple[JSON, bytes | None]:
    """Return the JSON value of a body, and its bytes if the body is bytes or text.

    A dict or list is used as it is and never changed.

    Raises:
        DecodeError: The body is not JSON.
        UsageError: The body has a type that is not supported.
    """
    if body.__class__ is not bytes:
        if isinstance(body, ParsedBytes):
            return body.value, body
        if isinstance(body, str):
            body = body.encode("utf-8", "surrogatepass")
        elif isinstance(body, (bytearray, memoryview)):
            body = bytes(body)
    if isinstance(body, bytes):
        body = body.removeprefix(b"\xef\xbb\xbf")
        try:
            return parse(body), body
        except ValueError as error:
            return _parse_lone_surrogates(body, wire, error), SurrogateBytes(body)
    if isinstance(body, Mapping | list | tuple):
        return require_json(body, wire), None
    if isinstance(body, ToDict):
        return require_json(body.to_dict(), wire), None
    if isinstance(body, Dumps):
        return require_json(
            body.model_dump(mode="json", by_alias=True, exclude_none=True), wire
        ), None
    raise UsageError(
        f"expected bytes, text, a dict, a list or an SDK object, got {type(body).__name__}",
        wire=wire,
    )


class ParsedBytes(bytes):
    """The bytes of a body with their parsed value, so that no stage parses them again.

    The value must not be changed.
    """

    value: JSON


class SurrogateBytes(bytes):
    """The bytes of a body that contains a lone surrogate, which strict parsers refuse."""


_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "\ufffd"
_NO_NAMES: Mapping[str, str] = {}


def has_lone_surrogate(text: str) -> bool:
    """True if a text contains a lone surrogate. ASCII texts, the most common, cost one check."""
    return not text.isascii() and _LONE_SURROGATE.search(text) is not None


def find_lone_surrogates(value: JSON) -> Iterator[JsonPath]:
    """The paths of all texts and keys in a value that contain a lone surrogate."""
    try:
        dumps(value, None, _ONLY_JSON_TYPES)
    except TypeError:  # also for integers beyond 64 bits and more than 254 levels
        yield from _find_lone_surrogates(value, ())


def _find_lone_surrogates(value: JSON, path: JsonPath) -> Iterator[JsonPath]:
    if isinstance(value, str):
        if has_lone_surrogate(value):
            yield path
    elif isinstance(value, list):
        for n, item in enumerate(value):
            yield from _find_lone_surrogates(item, (*path, n))
    elif isinstance(value, dict):
        for key, item in value.items():
            if has_lone_surrogate(key):
                yield (*path, key)
            yield from _find_lone_surrogates(item, (*path, key))


def replace_lone_surrogates(value: JSON, names: Mapping[str, str] = _NO_NAMES) -> JSON:
    """Return a value with U+FFFD for each lone surrogate; the same object if it contains none.

    A text with a lone surrogate that is a key of `names` is replaced by its entry there.
    """
    if isinstance(value, str):
        if not has_lone_surrogate(value):
            return value
        return names.get(value) or _LONE_SURROGATE.sub(_REPLACEMENT, value)
    if isinstance(value, list):
        items = [replace_lone_surrogates(item, names) for item in value]
        return value if all(map(operator.is_, items, value)) else items
    if isinstance(value, dict):
        fields: Object = {}
        for key, item in value.items():
            fields[_replace_in_key(key, value, fields)] = replace_lone_surrogates(item, names)
        is_same = all(map(operator.is_, (*fields, *fields.values()), (*value, *value.values())))
        return value if is_same else fields
    return value


def join_surrogates(value: JSON) -> JSON:
    """Return a value with one character for each pair of surrogates, as joined texts have that were
    cut inside an emoji; the same object if it contains no surrogates."""
    if next(find_lone_surrogates(value), None) is None:
        return value
    joined: JSON = json.loads(json.dumps(value))
    return joined


def _replace_in_key(key: str, original: Object, fields: Object) -> str:
    """Return a key without lone surrogates that is unique in its object."""
    if not has_lone_surrogate(key):
        return key
    key = _LONE_SURROGATE.sub(_REPLACEMENT, key)
    if key in original or key in fields:
        key += str(len(fields))
    while key in original or key in fields:
        key += _REPLACEMENT
    return key


def _parse_lone_surrogates(body: bytes, wire: str, error: Exception) -> JSON:
    """Parse a body whose only error is a lone surrogate, as in text cut inside an emoji."""
    try:
        return _parse_surrogates(body.decode("utf-8", "surrogatepass"))
    except ValueError:
        raise DecodeError(describe_parse_error(body, error), wire=wire) from None


def _parse_surrogates(text: str) -> JSON:
    """Parse JSON with a lone surrogate; raise ValueError for any other error, or if it has none."""
    if "\\u" not in text and not has_lone_surrogate(text):
        raise ValueError("not JSON")
    try:
        return require_json(json.loads(text, parse_constant=_reject_constant), "")
    except (ValueError, RecursionError, DecodeError):
        raise ValueError("not JSON") from None


def _reject_constant(name: str) -> JSON:
    raise ValueError(name)


def kind_of(value: object) -> str:
    """Return the JSON type of a value with its article, for messages: "a string"."""
    for types, word in _TYPE_NAMES:
        if isinstance(value, types):
            return word
    return type(value).__name__


_TYPE_NAMES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (type(None), "null"),
    (bool, "a boolean"),
    ((int, float), "a number"),
    (str, "a string"),
    (list, "a list"),
    (dict, "an object"),
    (UnsetType, "nothing"),
)


def require_json(value: object, wire: str) -> JSON:
    """Return a value as plain dicts, lists and scalars: the same object if it already is one.

    Raises:
        DecodeError: The value holds something that is not JSON.
    """
    out: list[JSON] = []
    _require_json(value, wire, (), out)
    return out[0]


_PLAIN = frozenset((str, int, bool, NoneType))
"""The classes of most values: those that are JSON as they are."""


def _require_json(value: object, wire: str, path: JsonPath, out: list[JSON]) -> None:
    """Append the plain value to `out`."""
    if value.__class__ in _PLAIN:
        out.append(value)  # type: ignore[arg-type]
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise DecodeError(f"{value} is not a JSON number", wire=wire, path=path)
        out.append(float(value))
    elif len(path) > DEEPEST:
        raise DecodeError(_TOO_DEEP, wire=wire, path=path[:8])
    elif isinstance(value, (dict, Mapping)):
        out.append(_require_object(value, wire, path))
    elif isinstance(value, list | tuple):
        items: list[JSON] = []
        for i, item in enumerate(value):
            if item.__class__ in _PLAIN:
                items.append(item)
            else:
                _require_json(item, wire, path + (i,), items)
        is_plain = value.__class__ is list and all(map(operator.is_, value, items))
        out.append(value if is_plain else items)  # type: ignore[arg-type]
    elif isinstance(value, str):
        out.append(str.__str__(value))  # the text of an enum member, not its name
    elif isinstance(value, int):
        out.append(int(value))
    elif isinstance(value, ToDict):
        _require_json(value.to_dict(), wire, path, out)
    elif isinstance(value, Dumps):
        _require_json(
            value.model_dump(mode="json", by_alias=True, exclude_none=True), wire, path, out
        )
    else:
        raise DecodeError(f"expected a JSON value, got {kind_of(value)}", wire=wire, path=path)


def _require_object(value: Mapping[object, object], wire: str, path: JsonPath) -> Object:
    is_plain = value.__class__ is dict
    items: list[JSON] = []
    for key, item in value.items():
        if key.__class__ is not str:
            if not isinstance(key, str):
                why = f"expected keys that are strings, got {kind_of(key)}"
                raise DecodeError(why, wire=wire, path=path)
            is_plain = False
        if item.__class__ in _PLAIN:
            items.append(item)  # type: ignore[arg-type]
        else:
            _require_json(item, wire, path + (key,), items)
    if is_plain and all(map(operator.is_, value.values(), items)):
        return value  # type: ignore[return-value]
    return dict(zip(map(str.__str__, value), items, strict=True))


def get(value: JSON, path: JsonPath) -> JSON | UnsetType:
    """Return the value at a path, or UNSET."""
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
    """Return the value with `new` at a path. Only the containers on the path are copied; missing
    ones are created."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(value, list) and isinstance(step, int):
        return [*value[:step], put(value[step], rest, new), *value[step + 1 :]]
    old = value if isinstance(value, dict) else {}
    return {**old, str(step): put(old.get(str(step)), rest, new)}


def patch(raw: JSON, old: JSON, new: JSON, *, snake_case: bool = False) -> JSON:
    """Return the raw value with only the difference between `old` and `new` applied.

    Everything else stays: unknown fields, the spelling of keys, nulls. With `snake_case`, fields
    are also found under their snake_case names, which protobuf's JSON treats as the same.
    """
    if old == new:
        return raw
    if not (isinstance(raw, dict) and isinstance(old, dict) and isinstance(new, dict)):
        return new
    out = dict(raw)
    for key in {**old, **new}:
        if old.get(key, UNSET) == new.get(key, UNSET):
            continue
        name = snake(key) if snake_case and key not in raw and snake(key) in raw else key
        if key not in new:
            out.pop(name, None)
        else:
            out[name] = patch(raw.get(name), old.get(key), new[key], snake_case=snake_case)
    return out


@lru_cache(maxsize=1024)
def snake(name: str) -> str:
    """Convert camelCase to snake_case: `thoughtSignature` to `thought_signature`."""
    return "".join("_" + c.lower() if c.isupper() else c for c in name)
