"""Types of pydantic, where a program uses them: their schema, and values in and out. Never imports
it.

A parameter that names such a type anywhere belongs to it as a whole. Strict, as everywhere: nothing
is coerced.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated, Protocol, get_args, get_origin

from msgspec import Meta

from toolwire.conversation.json import JSON, JsonPath, dump
from toolwire.tools.schema import UnsupportedType
from toolwire.tools.validate import Problem, unquoted

_LIBRARY = "pydantic"
_CONSTRAINTS = ("pydantic", "annotated_types")
"""Packages whose classes mean something inside `Annotated` that msgspec would pass over in silence.
"""


class Adapter(Protocol):
    """The library's own way to handle any of its types."""

    def json_schema(self, *, mode: str) -> dict[str, JSON]: ...

    def validate_json(self, text: bytes, /, *, strict: bool) -> object: ...

    def dump_python(
        self, value: object, /, *, mode: str, by_alias: bool, warnings: str
    ) -> object: ...


def _named(annotation: object) -> Iterator[object]:
    """A type and every type inside it."""
    yield annotation
    for one in get_args(annotation):
        if get_origin(annotation) is not Annotated or one is not annotation:
            yield from _named(one)


def adapter(annotation: object) -> Adapter | None:
    """What handles a type in which the library has a part; None if it has none."""
    named = list(_named(annotation))
    models = any(
        isinstance(one, type) and hasattr(one, "__pydantic_core_schema__") for one in named
    )
    constraints = any(
        type(one).__module__.partition(".")[0] in _CONSTRAINTS
        for one in named
        if not isinstance(one, type)
    )
    if not models and not constraints:
        return None
    if any(isinstance(one, Meta) for one in named):
        raise UnsupportedType(
            "it mixes msgspec.Meta with pydantic's types; say it in one of the two"
        )
    library = sys.modules.get(_LIBRARY)
    if library is None:
        raise UnsupportedType(
            "its constraints are pydantic's, which is not in use here; write msgspec.Meta(...)"
        )
    try:
        made: Adapter = library.TypeAdapter(annotation)
        made.json_schema(mode="validation")
    except Exception as error:  # of its own many classes
        raise UnsupportedType(str(error).splitlines()[0]) from None
    return made


def read(handler: Adapter, value: JSON) -> object:
    """A value as the type wants it. Raises ValueError."""
    return handler.validate_json(dump(value), strict=True)


def problems(error: ValueError, at: JsonPath, value: JSON) -> list[Problem]:
    """What the library finds wrong, without the values."""
    listed = getattr(error, "errors", None)
    if not callable(listed):
        return [(at, unquoted(str(error), value))]
    return [
        ((*at, *one["loc"]), unquoted(str(one["msg"]), value))
        for one in listed(include_url=False, include_input=False)
    ]
