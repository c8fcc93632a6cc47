"""Validate values against schemas, and convert results to JSON.

Runs only if the fast conversion rejected a value, to find where and why. Nothing is coerced, except
that an integral float counts as an integer. A problem never quotes the value, which may be a
secret. `docs/decisions/013-tool-schemas.md` says why this is not jsonschema-rs.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TypeAlias

import msgspec
from msgspec import to_builtins

from toolwire.conversation.json import JSON, Dumps, JsonPath, Object, kind_of, require_json, text_of
from toolwire.errors import DecodeError, pointer
from toolwire.tools.errors import InvalidResult

MAX_PROBLEMS = 20
"""The maximum number of problems in the report of one parameter."""
Problem: TypeAlias = "tuple[JsonPath, str]"

_TYPES: dict[str, tuple[str, Callable[[JSON], bool]]] = {
    "null": ("null", lambda value: value is None),
    "boolean": ("a boolean", lambda value: isinstance(value, bool)),
    "string": ("a string", lambda value: isinstance(value, str)),
    "array": ("a list", lambda value: isinstance(value, list)),
    "object": ("an object", lambda value: isinstance(value, dict)),
    "number": (
        "a number",
        lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    ),
    "integer": ("an integer", lambda value: _is_integral(value)),
}
_Check: TypeAlias = "Callable[[JSON, JSON], str | None]"


def _is_integral(value: JSON) -> bool:
    return not isinstance(value, bool) and (
        isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    )


def _number_check(test: Callable[[float, float], bool], text: str) -> _Check:
    def check(limit: JSON, value: JSON) -> str | None:
        if (
            isinstance(value, bool)
            or not isinstance(value, (int, float))
            or not isinstance(limit, (int, float))
        ):
            return None
        return None if test(value, limit) else f"{text} {limit}"

    return check


def _size_check(kind: type, test: Callable[[int, int], bool], text: str) -> _Check:
    def check(limit: JSON, value: JSON) -> str | None:
        if (
            not isinstance(limit, int)
            or not isinstance(value, kind)
            or not isinstance(value, (str, list, dict))
        ):
            return None
        return None if test(len(value), limit) else text.format(limit)

    return check


def _check_pattern(pattern: JSON, value: JSON) -> str | None:
    if not isinstance(value, str) or not isinstance(pattern, str):
        return None
    compiled = _compile(pattern)
    if compiled is None or compiled.search(value):
        return None
    return f"does not match the pattern {pattern}"


@cache
def _compile(pattern: str) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern)
    except re.error:
        return None  # another dialect: the conversion decides


def _check_unique(unique: JSON, value: JSON) -> str | None:
    if unique is not True or not isinstance(value, list):
        return None
    distinct = {
        (item.__class__ is bool, item) if isinstance(item, int | float) else text_of(item)
        for item in value
    }
    return "has a repeated item" if len(distinct) < len(value) else None


_CHECKS: dict[str, _Check] = {
    "minimum": _number_check(lambda value, limit: value >= limit, "must be at least"),
    "maximum": _number_check(lambda value, limit: value <= limit, "must be at most"),
    "exclusiveMinimum": _number_check(lambda value, limit: value > limit, "must be more than"),
    "exclusiveMaximum": _number_check(lambda value, limit: value < limit, "must be less than"),
    "multipleOf": _number_check(lambda value, limit: value % limit == 0, "must be a multiple of"),
    "minLength": _size_check(
        str, lambda size, limit: size >= limit, "must have at least {} characters"
    ),
    "maxLength": _size_check(
        str, lambda size, limit: size <= limit, "must have at most {} characters"
    ),
    "minItems": _size_check(list, lambda size, limit: size >= limit, "must have at least {} items"),
    "maxItems": _size_check(list, lambda size, limit: size <= limit, "must have at most {} items"),
    "minProperties": _size_check(
        dict, lambda size, limit: size >= limit, "must have at least {} fields"
    ),
    "maxProperties": _size_check(
        dict, lambda size, limit: size <= limit, "must have at most {} fields"
    ),
    "pattern": _check_pattern,
    "uniqueItems": _check_unique,
}


def equal_json(a: JSON, b: JSON) -> bool:
    """True if two values are equal as JSON: 1 equals 1.0, but not true."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(equal_json, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal_json(a[key], b[key]) for key in a)
    return a == b


def validate(schema: JSON, value: JSON, path: JsonPath, problems: list[Problem]) -> JSON:
    """Return the value with the types of the schema (5.0 as 5 for an integer), and add its problems
    to `problems`."""
    if schema is False:
        problems.append((path, "is not allowed"))
    if not isinstance(schema, dict):
        return value
    if "type" in schema:
        types = _type_names(schema["type"])
        if not any(_TYPES[name][1](value) for name in types):
            expected = " or ".join(_TYPES[name][0] for name in types)
            problems.append((path, f"expected {expected}, got {kind_of(value)}"))
            return value
        if isinstance(value, float) and "integer" in types and "number" not in types:
            value = int(value)
    allowed = _options_of(schema)
    if allowed is not None:
        match = [option for option in allowed if equal_json(option, value)]
        if not match:
            problems.append((path, f"must be {_describe_options(schema, allowed)}"))
            return value
        value = match[0]
    for keyword, check in _CHECKS.items():
        if keyword in schema and (problem := check(schema[keyword], value)):
            problems.append((path, problem))
    if isinstance(value, dict):
        value = _validate_object(schema, value, path, problems)
    elif isinstance(value, list):
        value = _validate_array(schema, value, path, problems)
    for keyword in ("anyOf", "oneOf"):
        options = schema.get(keyword)
        if isinstance(options, list):
            value = _validate_any(options, value, path, problems)
    parts = schema.get("allOf")
    for part in parts if isinstance(parts, list) else ():
        value = validate(part, value, path, problems)
    return value


def _type_names(types: JSON) -> list[str]:
    names = types if isinstance(types, list) else [types]
    return [name for name in names if isinstance(name, str) and name in _TYPES]


def _options_of(schema: Object) -> list[JSON] | None:
    options = schema.get("enum")
    if isinstance(options, list):
        return options
    return [schema["const"]] if "const" in schema else None


def _describe_options(schema: Object, options: list[JSON]) -> str:
    if "enum" not in schema:
        return _option_text(options[0])
    shown = ", ".join(map(_option_text, options[: 2 * MAX_PROBLEMS]))
    return f"one of {shown}{', …' if len(options) > 2 * MAX_PROBLEMS else ''}"


def _option_text(option: JSON) -> str:
    if option is None:
        return "null"
    return option if isinstance(option, str) and option else str(option)


def _validate_object(
    schema: Object, value: Object, path: JsonPath, problems: list[Problem]
) -> Object:
    properties, required = schema.get("properties"), schema.get("required")
    additional = schema.get("additionalProperties", True)
    known = properties if isinstance(properties, dict) else {}
    for name in required if isinstance(required, list) else ():
        if name not in value:
            problems.append(((*path, str(name)), "is missing"))
    out: Object = {}
    for name, item in value.items():
        if name not in known and additional is False:
            problems.append(((*path, name), f"is unknown; {_describe_known(known)}"))
        else:
            out[name] = validate(known.get(name, additional), item, (*path, name), problems)
    return out


def _describe_known(known: Iterable[str]) -> str:
    names = sorted(known)
    if not names:
        return "the tool has no parameters"
    return f"known: {', '.join(names[:MAX_PROBLEMS])}{', …' if len(names) > MAX_PROBLEMS else ''}"


def _validate_array(
    schema: Object, value: list[JSON], path: JsonPath, problems: list[Problem]
) -> JSON:
    prefix, items = schema.get("prefixItems"), schema.get("items", True)
    heads = prefix if isinstance(prefix, list) else []
    out: list[JSON] = []
    for n, item in enumerate(value):
        out.append(validate(heads[n] if n < len(heads) else items, item, (*path, n), problems))
        if len(problems) > 10 * MAX_PROBLEMS:
            break
    return out if len(out) == len(value) else value


def _validate_any(
    options: list[JSON], value: JSON, path: JsonPath, problems: list[Problem]
) -> JSON:
    """Validate against the first option that matches; else report the problems of the likeliest
    one."""
    rejected: list[list[Problem]] = []
    for option in options:
        found: list[Problem] = []
        validated = validate(option, value, path, found)
        if not found:
            return validated
        rejected.append(found)
    types = [option.get("type") if isinstance(option, dict) else None for option in options]
    same_type = [
        found
        for name, found in zip(types, rejected, strict=True)
        if isinstance(name, str) and name in _TYPES and _TYPES[name][1](value)
    ]
    names = [name for name in types if isinstance(name, str)]
    if len(same_type) == 1:
        problems += same_type[0]
    elif not same_type and len(names) == len(options):
        expected = list(dict.fromkeys(_TYPES[name][0] for name in names if name in _TYPES))
        problems.append((path, f"expected {' or '.join(expected)}, got {kind_of(value)}"))
    else:
        problems.append((path, "matches none of the alternatives"))
    return value


def by_parameter(problems: Iterable[Problem]) -> dict[str, str]:
    """The problems of each parameter as text. The path inside the parameter is part of it."""
    texts: dict[str, list[str]] = {}
    for path, problem in problems:
        name = str(path[0]) if path else "input"
        texts.setdefault(name, []).append(
            f"{pointer(path[1:])}: {problem}" if len(path) > 1 else problem
        )
    names = list(texts)[: 5 * MAX_PROBLEMS]
    out = {name: "; ".join(_limit(texts[name])) for name in names}
    if len(texts) > len(out):
        out.setdefault("input", f"and {len(texts) - len(out)} more")
    return out


def problem_text(problems: Iterable[Problem]) -> str:
    """The problems of all parameters as one text."""
    return "; ".join(f"{name}: {text}" for name, text in by_parameter(problems).items())


def _limit(texts: list[str]) -> list[str]:
    if len(texts) <= MAX_PROBLEMS:
        return texts
    return [*texts[:MAX_PROBLEMS], f"and {len(texts) - MAX_PROBLEMS} more"]


def hide_value(problem: str, value: object) -> str:
    """The problem, without its text if that quotes the value."""
    return "is not accepted" if any(text in problem for text in _texts(value)) else problem


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif value is not None and not isinstance(value, bool) and str(value):
        yield str(value)


def to_json(value: object) -> JSON:
    """Convert the result of a tool to JSON.

    Raises:
        InvalidResult: JSON cannot express it: NaN, infinity, a value that contains itself, an
            object of an unknown class.
    """
    if value is None or value.__class__ is str or value.__class__ is bool or value.__class__ is int:
        return value
    try:
        return require_json(to_builtins(value, str_keys=True, enc_hook=_dump_model), "")
    except DecodeError as error:
        location = f"{error.pointer}: " if error.path else ""
        raise InvalidResult(location + error.why) from None
    except RecursionError:
        raise InvalidResult("nested too deeply") from None
    except (TypeError, msgspec.ValidationError, msgspec.EncodeError):
        raise InvalidResult(f"a value of type {type(value).__name__} has no JSON form") from None


def _dump_model(value: object) -> object:
    """Convert a pydantic model. This module never imports pydantic."""
    base = getattr(sys.modules.get("pydantic"), "BaseModel", None)
    if isinstance(base, type) and isinstance(value, base) and isinstance(value, Dumps):
        return value.model_dump(mode="json", by_alias=True, exclude_none=False)
    raise TypeError(f"{type(value).__name__} has no JSON form")
