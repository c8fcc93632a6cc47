"""Types of pydantic as parameters and results: their schemas, and values in and out.

This module never imports pydantic. A parameter that uses a pydantic type anywhere is handled by
pydantic as a whole, in strict mode: nothing is coerced.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated, Protocol, get_args, get_origin

from msgspec import Meta

from toolwire.conversation.json import JSON, JsonPath, dump
from toolwire.tools.schema import UnsupportedType
from toolwire.tools.validate import Problem, hide_value

_LIBRARY = "pydantic"
_CONSTRAINTS = ("pydantic", "annotated_types")
"""Packages whose classes are constraints inside `Annotated`, which msgspec would ignore."""


class Adapter(Protocol):
    """pydantic's TypeAdapter."""

    def json_schema(self, *, mode: str) -> dict[str, JSON]: ...

    def validate_json(self, text: bytes, /, *, strict: bool) -> object: ...

    def dump_python(
        self, value: object, /, *, mode: str, by_alias: bool, warnings: str
    ) -> object: ...


def _types_in(annotation: object) -> Iterator[object]:
    """A type and every type inside it."""
    yield annotation
    for argument in get_args(annotation):
        if get_origin(annotation) is not Annotated or argument is not annotation:
            yield from _types_in(argument)


def adapter(annotation: object) -> Adapter | None:
    """The adapter for a type that uses pydantic; None for any other type."""
    types = list(_types_in(annotation))
    has_models = any(
        isinstance(entry, type) and hasattr(entry, "__pydantic_core_schema__") for entry in types
    )
    has_constraints = any(
        type(entry).__module__.partition(".")[0] in _CONSTRAINTS
        for entry in types
        if not isinstance(entry, type)
    )
    if not has_models and not has_constraints:
        return None
    if any(isinstance(entry, Meta) for entry in types):
        raise UnsupportedType("it mixes msgspec.Meta with pydantic's types: use one of the two")
    library = sys.modules.get(_LIBRARY)
    if library is None:
        raise UnsupportedType(
            "its constraints need pydantic, which is not imported: use msgspec.Meta(...)"
        )
    try:
        made: Adapter = library.TypeAdapter(annotation)
        made.json_schema(mode="validation")
    except Exception as error:  # pydantic has many error classes
        raise UnsupportedType(str(error).splitlines()[0]) from None
    return made


def read(handler: Adapter, value: JSON) -> object:
    """Convert a JSON value to the type. Raises ValueError."""
    return handler.validate_json(dump(value), strict=True)


def problems(error: ValueError, path: JsonPath, value: JSON) -> list[Problem]:
    """The problems that pydantic found, without the values."""
    errors = getattr(error, "errors", None)
    if not callable(errors):
        return [(path, hide_value(str(error), value))]
    return [
        ((*path, *item["loc"]), hide_value(str(item["msg"]), value))
        for item in errors(include_url=False, include_input=False)
    ]
