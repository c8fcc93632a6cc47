"""Check the fields and types of a request against the provider's official SDK.

The types are in `schemas/`, one file per API; `scripts/request_schemas.py` generates them from the
SDKs and describes their notation. This module knows no wire and imports no code that does.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias

from msgspec import Struct, json

from toolwire.conversation.json import JSON, JsonPath, Object

TAGS = ("type", "role")
"""The fields that distinguish the types of a union."""
_SCALARS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}
Fault: TypeAlias = Literal["unknown", "missing", "type", "value", "tag", "empty", "count"]


class Violation(Struct, frozen=True):
    """One violation of the types of an API."""

    fault: Fault
    path: JsonPath
    value: JSON
    expected: tuple[str, ...] = ()
    """The types, or the literals, that would have been accepted."""
    tagged: JsonPath = ()
    """The path, with the tag of each type that was selected from a union."""
    owner: str = ""
    """The type of the object that has the field."""


class TypeRef(Struct, frozen=True):
    """One alternative of a type: a scalar, a literal, a list, an object with any keys, or a named
    type."""

    kind: Literal["scalar", "literal", "list", "map", "object", "any"]
    name: str = ""
    items: tuple[TypeRef, ...] = ()
    filled: bool = False
    """True if the value must not be empty."""


class Field(Struct, frozen=True):
    """A field of an object."""

    required: bool
    types: tuple[TypeRef, ...]

    @property
    def literals(self) -> tuple[str, ...]:
        """The allowed values of the field, if all alternatives are literals."""
        if any(ref.kind != "literal" and ref.name != "null" for ref in self.types):
            return ()
        return tuple(ref.name for ref in self.types if ref.kind == "literal")


def parse(text: str) -> tuple[TypeRef, ...]:
    """The alternatives of a type, from the notation of the files."""
    return tuple(_parse_one(part) for part in _split(text))


def _split(text: str) -> Iterator[str]:
    depth, start = 0, 0
    for n, character in enumerate(text):
        depth += (character in "[{") - (character in "]}")
        if character == "|" and not depth:
            yield text[start:n]
            start = n + 1
    yield text[start:]


def _parse_one(text: str) -> TypeRef:
    filled, text = text.endswith("+"), text.removesuffix("+")
    if text.startswith("'"):
        return TypeRef("literal", text[1:-1])
    if text.startswith(("[", "{")):
        kind: Literal["list", "map"] = "list" if text[0] == "[" else "map"
        return TypeRef(kind, items=parse(text[1:-1]), filled=filled)
    if text == "any":
        return TypeRef("any")
    return TypeRef("scalar" if text in _SCALARS else "object", text, filled=filled)


class RequestSchema:
    """The types of the requests of one API."""

    def __init__(
        self,
        types: dict[str, dict[str, str]],
        *,
        snake: bool = False,
        path_tags: tuple[str, ...] = TAGS,
    ) -> None:
        """Parse the types. With `snake`, fields may also be named in snake case. `path_tags` are
        the tags that become steps of a path."""
        self._snake, self._path_tags = snake, path_tags
        self._types = {
            name: {
                key.removesuffix("!"): Field(key.endswith("!"), parse(value))
                for key, value in fields.items()
                if key != "*"
            }
            for name, fields in types.items()
        }
        self._counts = {name: fields["*"] for name, fields in types.items() if "*" in fields}

    def with_fields(self, **fields: str) -> RequestSchema:
        """The same types, with additional fields of the request."""
        extended = RequestSchema({}, snake=self._snake, path_tags=self._path_tags)
        more = {name: Field(False, parse(value)) for name, value in fields.items()}
        extended._counts = self._counts
        extended._types = {**self._types, "Request": {**self._types["Request"], **more}}
        return extended

    def field_names(self) -> Iterator[str]:
        """The names of all fields of all types."""
        for fields in self._types.values():
            yield from fields

    def is_required(self, violation: Violation) -> bool:
        """True if the type of an object requires the field of a violation."""
        field = self._types.get(violation.owner, {}).get(str(violation.path[-1]))
        return field is not None and field.required

    def violations(self, body: Object) -> Iterator[Violation]:
        """The violations of the types. In each object, missing fields come before unknown ones."""
        return self._object(body, "Request", (), ())

    def _field(self, name: str, fields: dict[str, Field]) -> Field | None:
        if name in fields or not self._snake:
            return fields.get(name)
        first, *others = name.split("_")
        return fields.get(first + "".join(map(str.capitalize, others)))

    def _object(
        self, value: Object, name: str, path: JsonPath, tagged: JsonPath
    ) -> Iterator[Violation]:
        fields = self._types[name]
        yield from self._count(value, name, path, tagged)
        for key, field in fields.items():
            if field.required and key not in value:
                yield Violation(
                    "missing", (*path, key), value, _names(field.types), (*tagged, key), name
                )
        known = {key: self._field(key, fields) for key in value}
        for key, found in known.items():
            if found is None:
                yield Violation("unknown", (*path, key), value[key], (), (*tagged, key), name)
        for key, found in known.items():
            if found is not None:
                yield from self._value(
                    value[key], found.types, (*path, key), (*tagged, key), owner=name
                )

    def _count(
        self, value: Object, name: str, path: JsonPath, tagged: JsonPath
    ) -> Iterator[Violation]:
        """Yield a violation if an object does not have the number of fields that its type
        requires."""
        wanted = self._counts.get(name)
        present = [key for key, item in value.items() if item is not None]
        if (wanted == "some" and not present) or (wanted == "one" and len(present) != 1):
            yield Violation("count", path, value, tuple(self._types[name]), tagged, name)

    def _value(
        self,
        value: JSON,
        types: tuple[TypeRef, ...],
        path: JsonPath,
        tagged: JsonPath,
        *,
        owner: str,
    ) -> Iterator[Violation]:
        if any(_is_plain(value, ref) for ref in types):
            return
        if any(ref.filled and ref.kind in ("list", "scalar") for ref in types) and value in (
            "",
            [],
        ):
            yield Violation("empty", path, value, _names(types), tagged, owner)
        elif isinstance(value, list) and (lists := [ref for ref in types if ref.kind == "list"]):
            items = tuple(item for ref in lists for item in ref.items)
            for n, item in enumerate(value):
                yield from self._value(item, items, (*path, n), (*tagged, n), owner=owner)
        elif isinstance(value, dict) and any(ref.kind == "object" for ref in types):
            yield from self._union(value, types, path, tagged, owner=owner)
        elif isinstance(value, dict) and (maps := [ref for ref in types if ref.kind == "map"]):
            for key, item in value.items():
                yield from self._value(
                    item, maps[0].items, (*path, key), (*tagged, key), owner=owner
                )
        else:
            literals = tuple(ref.name for ref in types if ref.kind == "literal")
            fault: Fault = "value" if literals and isinstance(value, str) else "type"
            yield Violation(fault, path, value, literals or _names(types), tagged, owner)

    def _union(
        self,
        value: Object,
        types: tuple[TypeRef, ...],
        path: JsonPath,
        tagged: JsonPath,
        *,
        owner: str,
    ) -> Iterator[Violation]:
        """Check an object against the type that its tags select; if there are several, against the
        one with the fewest violations. If the alternatives include an object with any keys, any
        object is accepted."""
        if any(ref.kind == "map" and ref.items[0].kind == "any" for ref in types):
            return
        names = [ref.name for ref in types if ref.kind == "object"]
        selected = [name for name in names if self._fits_tags(value, name)]
        if not selected:
            yield self._tag_violation(value, names, path, tagged)
            return
        tag = self._tag(value, selected[0]) if len(names) > 1 else None
        inner = tagged if tag is None else (*tagged, tag)
        found = [list(self._object(value, name, path, inner)) for name in selected]
        yield from min(
            found,
            key=lambda violations: (
                len(violations),
                [-len(violation.path) for violation in violations],
            ),
        )

    def _fits_tags(self, value: Object, name: str) -> bool:
        fields = self._types[name]
        for key in TAGS:
            literals = fields[key].literals if key in fields else ()
            if literals and key in value and value[key] not in literals:
                return False
            if literals and key not in value and fields[key].required:
                return False
            if key in value and key not in fields:
                return False
        return True

    def _tag(self, value: Object, name: str) -> str | None:
        """The tag by which a type was selected; if it is absent, the first literal of the type."""
        for key in self._path_tags:
            if key in self._types[name] and (literals := self._types[name][key].literals):
                tag = value.get(key)
                return tag if isinstance(tag, str) else literals[0]
        return None

    def _tag_violation(
        self, value: Object, names: list[str], path: JsonPath, tagged: JsonPath
    ) -> Violation:
        for key in TAGS:
            tags = [self._types[name][key] for name in names if key in self._types[name]]
            expected = tuple(dict.fromkeys(literal for tag in tags for literal in tag.literals))
            if key in value and expected and value[key] not in expected:
                return Violation("tag", (*path, key), value[key], expected, (*tagged, key))
            if key not in value and expected and all(tag.required for tag in tags):
                return Violation("missing", (*path, key), value, expected, (*tagged, key))
        return Violation("type", path, value, tuple(names), tagged)


def _is_plain(value: JSON, ref: TypeRef) -> bool:
    """True if a type without inner types accepts a value."""
    if ref.kind == "any":
        return True
    if ref.kind == "literal":
        return value == ref.name
    if ref.kind != "scalar" or (isinstance(value, bool) and ref.name != "boolean"):
        return False
    if ref.name == "integer" and isinstance(value, float) and value.is_integer():
        return True
    return isinstance(value, _SCALARS[ref.name]) and not (ref.filled and value == "")


def _names(types: tuple[TypeRef, ...]) -> tuple[str, ...]:
    """The names of the alternatives; `object` for a named type."""
    names = {"list": "list", "map": "object", "object": "object", "any": "any"}
    found = [names.get(ref.kind, ref.name) for ref in types if ref.name != "null"]
    return tuple(dict.fromkeys(found))


@cache
def request_schema(
    api: str, *, snake: bool = False, path_tags: tuple[str, ...] = TAGS
) -> RequestSchema:
    """The types of an API, read from the file with its name."""
    data = (files("toolwire.profiles") / "schemas" / f"{api}.json").read_bytes()
    types = json.decode(data, type=dict[str, str | dict[str, dict[str, str]]])["types"]
    assert isinstance(types, dict)
    return RequestSchema(types, snake=snake, path_tags=path_tags)
