"""JSON Schemas of tools, without references: of a Python type, or as somebody gave one.

Every reference is replaced by what it stands for, so that a reader needs to look nothing up; a
schema that contains itself cannot be written that way and is refused. Knows which keywords hold
schemas, and takes no default and no name for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from urllib.parse import unquote

from msgspec import UNSET, UnsetType, ValidationError, convert, defstruct
from msgspec.json import schema_components

from toolwire.conversation.json import JSON, Object, get
from toolwire.tools.errors import ToolDefinitionError

NOTHING: Object = {"type": "object", "properties": {}, "additionalProperties": False}
"""The schema of no parameters at all."""
MOST = 20_000
"""A schema of more places than this is refused: references to references grow without end."""

_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas"})
_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_SINGLE = frozenset(
    "items additionalProperties not if then else contains propertyNames unevaluatedItems"
    " unevaluatedProperties additionalItems contentSchema".split()
)
_STORES = frozenset({"$defs", "definitions", "$id", "id", "$anchor"})
"""Where referenced schemas are kept, and the names by which they are found: not needed once there
are no references."""
_ELSEWHERE = frozenset({"$dynamicRef", "$recursiveRef", "$dynamicAnchor", "$recursiveAnchor"})
_ABOUT = frozenset(
    {
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "$comment",
    }
)
"""Keywords that say something of a value and demand nothing."""


class CircularSchema(ValueError):
    """A schema that contains itself."""


class UnsupportedType(ValueError):
    """A type or a reference that has no schema here, and why."""


def nodes(schema: JSON) -> Iterator[Object]:
    """A schema and every schema inside it."""
    if not isinstance(schema, dict):
        return
    yield schema
    for _, inner in _inner(schema):
        yield from nodes(inner)


def _inner(schema: Object) -> Iterator[tuple[tuple[str | int, ...], JSON]]:
    for key, value in schema.items():
        if key in _MAPS and isinstance(value, dict):
            yield from (((key, name), one) for name, one in value.items())
        elif (key in _LISTS or key in _SINGLE) and isinstance(value, list):
            yield from (((key, n), one) for n, one in enumerate(value))
        elif key in _SINGLE:
            yield (key,), value


def inlined(schema: JSON, *, titles: bool = True) -> JSON:
    """The schema with every reference replaced by what it stands for.

    Raises Circular, or NoSchema for a reference that leads elsewhere or nowhere.
    """
    return _Inliner(schema, titles).walk(schema, ())


class _Inliner:
    def __init__(self, root: JSON, titles: bool) -> None:
        self.root = root
        self.titles = titles
        self.count = 0

    def walk(self, schema: JSON, open: tuple[str, ...]) -> JSON:
        if not isinstance(schema, dict):
            return schema
        self.count += 1
        if self.count > MOST:
            raise UnsupportedType(
                "it is too large once every reference is replaced by what it stands for"
            )
        odd = _ELSEWHERE & schema.keys()
        if odd:
            raise UnsupportedType(
                f"{min(odd)} cannot be replaced by what it stands for; use plain schemas"
            )
        walk: Callable[[JSON], JSON] = lambda one: self.walk(one, open)
        out: Object = {}
        for key, value in schema.items():
            if (
                key == "$ref"
                or (key in _STORES and self.stored(key, value))
                or (key == "title" and not self.titles)
            ):
                continue
            if key in _MAPS and isinstance(value, dict):
                out[key] = {name: walk(one) for name, one in value.items()}
            elif (key in _LISTS or key in _SINGLE) and isinstance(value, list):
                out[key] = [walk(one) for one in value]
            else:
                out[key] = walk(value) if key in _SINGLE else value
        ref = schema.get("$ref")
        return out if ref is None else self.merged(self.followed(ref, open), out)

    @staticmethod
    def stored(key: str, value: JSON) -> bool:
        return (
            isinstance(value, dict) if key in ("$defs", "definitions") else isinstance(value, str)
        )

    def followed(self, ref: JSON, open: tuple[str, ...]) -> JSON:
        if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
            raise UnsupportedType(
                f"the reference {ref!r} leads out of the schema; put what it stands for in its"
                " place"
            )
        if ref in open or ref == "#":
            raise CircularSchema(f"{ref} contains itself")
        found = _looked_up(self.root, ref)
        if isinstance(found, UnsetType):
            raise UnsupportedType(f"the reference {ref!r} leads nowhere")
        return self.walk(found, (*open, ref))

    @staticmethod
    def merged(target: JSON, beside: Object) -> JSON:
        """What a reference stands for together with what stood beside it."""
        if not beside:
            return target
        if isinstance(target, dict) and not any(
            key in target and key not in _ABOUT for key in beside
        ):
            return {**target, **beside}
        about: Object = {key: beside[key] for key in beside if key in _ABOUT}
        return {
            **about,
            "allOf": [target, {key: beside[key] for key in beside if key not in _ABOUT}],
        }


def _looked_up(root: JSON, ref: str) -> JSON | UnsetType:
    steps = [unquote(step).replace("~1", "/").replace("~0", "~") for step in ref[2:].split("/")]
    at: JSON = root
    for step in steps:
        if isinstance(at, list):
            if not step.isdecimal():
                return UNSET
            found = get(at, (int(step),))
        else:
            found = get(at, (step,))
        if isinstance(found, UnsetType):
            return UNSET
        at = found
    return at


def of_type(annotation: object) -> JSON:
    """The schema of a Python type that msgspec can convert to.

    Raises Circular or NoSchema.
    """
    try:
        (schema,), defs = schema_components(
            [annotation], schema_hook=_custom, ref_template="#/$defs/{name}"
        )
        _convertible(annotation)
        return tidy(inlined({**schema, "$defs": defs}, titles=False))
    except (CircularSchema, UnsupportedType):
        raise
    except NameError as error:
        raise UnsupportedType(
            f"the annotation {error.name!r} inside it cannot be resolved"
        ) from None
    except RecursionError:
        raise CircularSchema("the type contains itself") from None
    except Exception as error:  # a type is code, and so are its annotations
        raise UnsupportedType(str(error).splitlines()[0]) from None


def _convertible(annotation: object) -> None:
    """Raise what the conversion has against a type as such; it knows kinds of unions that a schema
    can say and it cannot tell."""
    with suppress(ValidationError):
        convert(None, defstruct("Value", [("value", annotation)]))


def _custom(one: type) -> Object:
    if one is object:
        return {"title": "any"}  # an empty one is taken for none; titles are left out later
    name = getattr(one, "__name__", str(one))
    raise UnsupportedType(
        f"{name} has no JSON form; use builtins, dataclasses, TypedDicts, msgspec Structs or"
        " pydantic models"
    )


def tidy(schema: JSON) -> JSON:
    """The schema as a person would write it: a whole number or a number is a number, and no table
    of names that are gone."""
    if not isinstance(schema, dict):
        return schema
    out: Object = {}
    for key, value in schema.items():
        if key == "discriminator":
            # its mapping points at definitions; the tags are in the alternatives themselves
            continue
        if key in _MAPS and isinstance(value, dict):
            out[key] = {name: tidy(one) for name, one in value.items()}
        elif (key in _LISTS or key in _SINGLE) and isinstance(value, list):
            out[key] = [tidy(one) for one in value]
        else:
            out[key] = tidy(value) if key in _SINGLE else value
    options = out.get("anyOf")
    if (
        isinstance(options, list)
        and {"type": "integer"} in options
        and {"type": "number"} in options
    ):
        options = [one for one in options if one != {"type": "integer"}]
        out["anyOf"] = options
        if len(options) == 1 and isinstance(options[0], dict):
            del out["anyOf"]
            out = {**options[0], **out}
    return out


def of_input(tool: str, schema: JSON) -> Object:
    """A given schema as that of a tool's input: an object, without references."""
    found = given(tool, "input", schema)
    if not isinstance(found, dict):
        raise ToolDefinitionError(
            tool, "the input schema is a JSON Schema of an object; true and false are none"
        )
    if found.get("type", "object") != "object":
        raise ToolDefinitionError(
            tool, 'the input schema says `"type": "object"`: arguments always come by name'
        )
    properties = found.get("properties", {})
    if not isinstance(properties, dict):
        raise ToolDefinitionError(
            tool, "`properties` of the input schema is an object: a schema by parameter"
        )
    return {"type": "object", "properties": properties, **found}


def given(tool: str, which: str, schema: JSON) -> JSON:
    """A schema as somebody gave it, without references. Raises ToolDefinitionError."""
    try:
        return inlined(schema)
    except RecursionError:
        raise ToolDefinitionError(tool, f"the {which} schema is nested too deeply") from None
    except CircularSchema as error:
        raise ToolDefinitionError(
            tool, f"the {which} schema cannot be written without references: {error}"
        ) from None
    except UnsupportedType as error:
        raise ToolDefinitionError(tool, f"the {which} schema: {error}") from None
