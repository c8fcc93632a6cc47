"""Values against schemas: every problem of an input with its place, and what a tool gave as JSON.

Only walked when the fast way refused a value, to say where and why. Nothing is coerced; a whole
number is an integer however it is written, and a boolean is no number. A rejected value is never
quoted: it may be a secret.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TypeAlias

from msgspec import to_builtins

from toolwire.conversation.json import JSON, Dumps, JsonPath, Object, kind_of, require_json, text_of
from toolwire.errors import DecodeError, pointer

MOST = 20
"""So many problems of one parameter are told; of a list of a million wrong items nobody reads more.
"""
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
    "integer": ("an integer", lambda value: _whole(value)),
}
_Check: TypeAlias = "Callable[[JSON, JSON], str | None]"


def _whole(value: JSON) -> bool:
    return not isinstance(value, bool) and (
        isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    )


def _number(test: Callable[[float, float], bool], words: str) -> _Check:
    def check(limit: JSON, value: JSON) -> str | None:
        if (
            isinstance(value, bool)
            or not isinstance(value, (int, float))
            or not isinstance(limit, (int, float))
        ):
            return None
        return None if test(value, limit) else f"{words} {limit}"

    return check


def _size(kind: type, test: Callable[[int, int], bool], words: str) -> _Check:
    def check(limit: JSON, value: JSON) -> str | None:
        if (
            not isinstance(limit, int)
            or not isinstance(value, kind)
            or not isinstance(value, (str, list, dict))
        ):
            return None
        return None if test(len(value), limit) else words.format(limit)

    return check


def _pattern(wanted: JSON, value: JSON) -> str | None:
    if not isinstance(value, str) or not isinstance(wanted, str):
        return None
    found = _compiled(wanted)
    return None if found is None or found.search(value) else f"does not match the pattern {wanted}"


@cache
def _compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern)
    except re.error:
        return None  # of another dialect; whoever converts the value decides


def _unique(wanted: JSON, value: JSON) -> str | None:
    if wanted is not True or not isinstance(value, list):
        return None
    seen = {
        (one.__class__ is bool, one) if isinstance(one, int | float) else text_of(one)
        for one in value
    }
    return "holds an item twice" if len(seen) < len(value) else None


_CHECKS: dict[str, _Check] = {
    "minimum": _number(lambda value, limit: value >= limit, "must be at least"),
    "maximum": _number(lambda value, limit: value <= limit, "must be at most"),
    "exclusiveMinimum": _number(lambda value, limit: value > limit, "must be more than"),
    "exclusiveMaximum": _number(lambda value, limit: value < limit, "must be less than"),
    "multipleOf": _number(lambda value, limit: value % limit == 0, "must be a multiple of"),
    "minLength": _size(str, lambda size, limit: size >= limit, "must have at least {} characters"),
    "maxLength": _size(str, lambda size, limit: size <= limit, "must have at most {} characters"),
    "minItems": _size(list, lambda size, limit: size >= limit, "must have at least {} items"),
    "maxItems": _size(list, lambda size, limit: size <= limit, "must have at most {} items"),
    "minProperties": _size(dict, lambda size, limit: size >= limit, "must have at least {} fields"),
    "maxProperties": _size(dict, lambda size, limit: size <= limit, "must have at most {} fields"),
    "pattern": _pattern,
    "uniqueItems": _unique,
}


def same(one: JSON, two: JSON) -> bool:
    """Whether two values are the same to JSON: 1 and 1.0 are, 1 and true are not."""
    if isinstance(one, bool) or isinstance(two, bool):
        return one is two
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(same(a, b) for a, b in zip(one, two, strict=True))
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    return one == two


def settle(schema: JSON, value: JSON, at: JsonPath, told: list[Problem]) -> JSON:
    """The value as the schema means it (5.0 as 5 where it wants an integer); what is wrong with it
    is added to `told`."""
    if schema is False:
        told.append((at, "nothing may stand here"))
    if not isinstance(schema, dict):
        return value
    wanted = schema.get("type")
    if wanted is not None:
        names = [str(name) for name in wanted] if isinstance(wanted, list) else [str(wanted)]
        if not any(_TYPES[name][1](value) for name in names if name in _TYPES):
            words = " or ".join(_TYPES[name][0] for name in names if name in _TYPES)
            told.append((at, f"expected {words}, got {kind_of(value)}"))
            return value
        if isinstance(value, float) and "integer" in names and "number" not in names:
            value = int(value)
    for key, options in (
        ("enum", schema.get("enum")),
        ("const", [schema["const"]] if "const" in schema else None),
    ):
        if isinstance(options, list):
            found = [one for one in options if same(one, value)]
            if not found:
                told.append(
                    (
                        at,
                        f"must be {_listed(options)}"
                        if key == "enum"
                        else f"must be {_said(options[0])}",
                    )
                )
                return value
            value = found[0]
    told += [
        (at, why)
        for key, check in _CHECKS.items()
        if key in schema and (why := check(schema[key], value))
    ]
    if isinstance(value, dict):
        value = _fields(schema, value, at, told)
    elif isinstance(value, list):
        value = _elements(schema, value, at, told)
    for key in ("anyOf", "oneOf"):
        options = schema.get(key)
        if isinstance(options, list):
            value = _any(options, value, at, told)
    every = schema.get("allOf")
    for one in every if isinstance(every, list) else ():
        value = settle(one, value, at, told)
    return value


def _fields(schema: Object, value: Object, at: JsonPath, told: list[Problem]) -> Object:
    properties, more, names = (
        schema.get("properties"),
        schema.get("additionalProperties", True),
        schema.get("required"),
    )
    known = properties if isinstance(properties, dict) else {}
    told += [
        ((*at, str(name)), "is missing")
        for name in (names if isinstance(names, list) else ())
        if name not in value
    ]
    out: Object = {}
    for name, item in value.items():
        place = (*at, name)
        if name not in known and more is False:
            told.append((place, f"is unknown; {_known(known)}"))
        else:
            out[name] = settle(known.get(name, more), item, place, told)
    return out


def _known(names: Iterable[str]) -> str:
    found = sorted(names)
    return (
        f"known: {', '.join(found[:MOST])}{', …' if len(found) > MOST else ''}"
        if found
        else "none is known"
    )


def _elements(schema: Object, value: list[JSON], at: JsonPath, told: list[Problem]) -> JSON:
    first, rest = schema.get("prefixItems"), schema.get("items", True)
    heads = first if isinstance(first, list) else []
    out: list[JSON] = []
    for n, item in enumerate(value):
        out.append(settle(heads[n] if n < len(heads) else rest, item, (*at, n), told))
        if len(told) > 10 * MOST:
            break
    return out if len(out) == len(value) else value


def _any(options: list[JSON], value: JSON, at: JsonPath, told: list[Problem]) -> JSON:
    """The value by the first alternative it fits; else what the likeliest of them finds wrong."""
    failed: list[list[Problem]] = []
    for option in options:
        problems: list[Problem] = []
        found = settle(option, value, at, problems)
        if not problems:
            return found
        failed.append(problems)
    kinds = [
        option["type"]
        for option in options
        if isinstance(option, dict) and isinstance(option.get("type"), str)
    ]
    fitting = [
        problems
        for option, problems in zip(options, failed, strict=True)
        if isinstance(option, dict)
        and (test := _TYPES.get(str(option.get("type"))))
        and test[1](value)
    ]
    if len(fitting) == 1:
        told += fitting[0]
    elif not fitting and len(kinds) == len(options):
        words = list(dict.fromkeys(_TYPES[str(kind)][0] for kind in kinds if str(kind) in _TYPES))
        told.append((at, f"expected {' or '.join(words)}, got {kind_of(value)}"))
    else:
        told.append((at, "fits none of the alternatives"))
    return value


def _listed(options: list[JSON]) -> str:
    return (
        "one of "
        + ", ".join(map(_said, options[: 2 * MOST]))
        + (", …" if len(options) > 2 * MOST else "")
    )


def _said(value: JSON) -> str:
    return value if isinstance(value, str) and value else "null" if value is None else str(value)


def by_parameter(told: Iterable[Problem]) -> dict[str, str]:
    """Problems by the parameter they are in; the place inside it is part of the text."""
    found: dict[str, list[str]] = {}
    for at, why in told:
        found.setdefault(str(at[0]) if at else "input", []).append(
            f"{pointer(at[1:])}: {why}" if len(at) > 1 else why
        )
    out = {name: "; ".join(_few(whys)) for name, whys in list(found.items())[: 5 * MOST]}
    if len(found) > len(out):
        out.setdefault("input", f"and {len(found) - len(out)} more")
    return out


def _few(whys: list[str]) -> list[str]:
    return [*whys[:MOST], f"and {len(whys) - MOST} more"] if len(whys) > MOST else whys


def unquoted(why: str, value: object) -> str:
    """Words about a value, unless they quote it."""
    return "is not accepted" if any(text in why for text in _texts(value)) else why


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)
    elif value is not None and not isinstance(value, bool) and str(value):
        yield str(value)


def plain(value: object) -> JSON:
    """What a tool gave as JSON.

    Raises ValueError or TypeError if JSON cannot say it: NaN, infinity, a value that contains
    itself, an object of some class.
    """
    if value is None or value.__class__ is str or value.__class__ is bool or value.__class__ is int:
        return value
    try:
        return require_json(to_builtins(value, str_keys=True, enc_hook=_model), "")
    except DecodeError as error:
        place = f"{error.pointer}: " if error.path else ""
        raise ValueError(place + error.why) from None
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _model(value: object) -> object:
    """A model of the library that programs often have; this package never imports it."""
    base = getattr(sys.modules.get("pydantic"), "BaseModel", None)
    if isinstance(base, type) and isinstance(value, base) and isinstance(value, Dumps):
        return value.model_dump(mode="json", by_alias=True, exclude_none=False)
    raise TypeError(f"{type(value).__name__} has no JSON form")
