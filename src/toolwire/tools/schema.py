"""JSON Schemas of tools without references, from a Python type or from a given schema.

Several providers reject references, so each `$ref` is replaced by the schema it names. A schema
that contains itself cannot be written that way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from urllib.parse import unquote

from msgspec import UNSET, UnsetType, ValidationError, convert, defstruct
from msgspec.json import schema_components

from toolwire.conversation.json import JSON, Object, get
from toolwire.tools.errors import ToolDefinitionError

NO_PARAMETERS: Object = {"type": "object", "properties": {}, "additionalProperties": False}
MAX_SUBSCHEMAS = 20_000
"""The maximum size of a schema without references: nested references can grow exponentially."""
_LATEST_DRAFT = "https://json-schema.org/draft/2020-12/schema"

_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas"})
_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_SINGLE = frozenset(
    "items additionalProperties not if then else contains propertyNames unevaluatedItems"
    " unevaluatedProperties additionalItems contentSchema".split()
)
_TARGETS = frozenset({"$defs", "definitions", "$id", "id", "$anchor"})
"""Keywords for targets of references: not needed in a schema without references."""
_DYNAMIC = frozenset({"$dynamicRef", "$recursiveRef", "$dynamicAnchor", "$recursiveAnchor"})
_ANNOTATIONS = frozenset(
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
"""Keywords that constrain nothing."""


class CircularSchema(ValueError):
    """A schema that contains itself."""


class UnsupportedType(ValueError):
    """A type or a reference that has no supported schema."""


def subschemas(schema: JSON) -> Iterator[Object]:
    """A schema and every schema inside it."""
    if not isinstance(schema, dict):
        return
    yield schema
    for inner in _children(schema):
        yield from subschemas(inner)


def _children(schema: Object) -> Iterator[JSON]:
    for key, value in schema.items():
        if key in _MAPS and isinstance(value, dict):
            yield from value.values()
        elif (key in _LISTS or key in _SINGLE) and isinstance(value, list):
            yield from value
        elif key in _SINGLE:
            yield value


def inline_references(schema: JSON, *, titles: bool = True) -> JSON:
    """The schema with every reference replaced by the schema it names.

    Raises:
        CircularSchema: the schema contains itself.
        UnsupportedType: a reference leads out of the schema, or its target is missing.
    """
    return _Inliner(schema, titles=titles).walk(schema, ())


class _Inliner:
    def __init__(self, root: JSON, *, titles: bool) -> None:
        self.root = root
        self.titles = titles
        self.count = 0

    def walk(self, schema: JSON, open_refs: tuple[str, ...]) -> JSON:
        if not isinstance(schema, dict):
            return schema
        self.count += 1
        if self.count > MAX_SUBSCHEMAS:
            raise UnsupportedType("it is too large without references")
        dynamic = _DYNAMIC & schema.keys()
        if dynamic:
            raise UnsupportedType(f"{min(dynamic)} is not supported: use plain schemas")
        walk: Callable[[JSON], JSON] = lambda inner: self.walk(inner, open_refs)
        out: Object = {}
        for key, value in schema.items():
            if self.is_dropped(key, value):
                continue
            if key in _MAPS and isinstance(value, dict):
                out[key] = {name: walk(inner) for name, inner in value.items()}
            elif (key in _LISTS or key in _SINGLE) and isinstance(value, list):
                out[key] = [walk(inner) for inner in value]
            else:
                out[key] = walk(value) if key in _SINGLE else value
        ref = schema.get("$ref")
        return out if ref is None else self.merge(self.follow(ref, open_refs), out)

    def is_dropped(self, key: str, value: JSON) -> bool:
        if key in ("$defs", "definitions"):
            return isinstance(value, dict)
        if key in _TARGETS:
            return isinstance(value, str)
        return key == "$ref" or (key == "title" and not self.titles)

    def follow(self, ref: JSON, open_refs: tuple[str, ...]) -> JSON:
        if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
            raise UnsupportedType(
                f"the reference {ref!r} leads out of the schema: replace it by its target"
            )
        if ref in open_refs or ref == "#":
            raise CircularSchema(f"{ref} contains itself")
        target = _look_up(self.root, ref)
        if isinstance(target, UnsetType):
            raise UnsupportedType(f"the reference {ref!r} has no target")
        return self.walk(target, (*open_refs, ref))

    @staticmethod
    def merge(target: JSON, siblings: Object) -> JSON:
        """The target of a reference together with the keywords beside the reference."""
        if not siblings:
            return target
        if isinstance(target, dict) and not any(
            key in target and key not in _ANNOTATIONS for key in siblings
        ):
            return {**target, **siblings}
        annotations = {key: value for key, value in siblings.items() if key in _ANNOTATIONS}
        constraints = {key: value for key, value in siblings.items() if key not in _ANNOTATIONS}
        return {**annotations, "allOf": [target, constraints]}


def _look_up(root: JSON, ref: str) -> JSON | UnsetType:
    steps = [unquote(step).replace("~1", "/").replace("~0", "~") for step in ref[2:].split("/")]
    current: JSON = root
    for step in steps:
        if isinstance(current, list):
            if not step.isdecimal():
                return UNSET
            inner = get(current, (int(step),))
        else:
            inner = get(current, (step,))
        if isinstance(inner, UnsetType):
            return UNSET
        current = inner
    return current


def schema_of_type(annotation: object) -> JSON:
    """The schema of a Python type that msgspec supports.

    Raises CircularSchema or UnsupportedType.
    """
    try:
        (schema,), defs = schema_components(
            [annotation], schema_hook=_schema_of_class, ref_template="#/$defs/{name}"
        )
        _check_convertible(annotation)
        return simplify(inline_references({**schema, "$defs": defs}, titles=False))
    except (CircularSchema, UnsupportedType):
        raise
    except NameError as error:
        raise UnsupportedType(
            f"the annotation {error.name!r} inside it cannot be resolved"
        ) from None
    except RecursionError:
        raise CircularSchema("the type contains itself") from None
    except Exception as error:  # annotations are code and may raise anything
        raise UnsupportedType(str(error).splitlines()[0]) from None


def _check_convertible(annotation: object) -> None:
    """Raise msgspec's error for a type that has a schema but cannot be converted, such as some
    unions."""
    with suppress(ValidationError):
        convert(None, defstruct("Value", [("value", annotation)]))


def _schema_of_class(cls: type) -> Object:
    if cls is object:
        # msgspec takes an empty schema for a missing one; titles are removed later
        return {"title": "any"}
    name = getattr(cls, "__name__", str(cls))
    raise UnsupportedType(
        f"{name} has no JSON form: use builtins, dataclasses, TypedDicts, msgspec Structs or"
        " pydantic models"
    )


def simplify(schema: JSON) -> JSON:
    """The schema as a person would write it: `number` instead of integer or number, and no
    `discriminator` with references."""
    if not isinstance(schema, dict):
        return schema
    out: Object = {}
    for key, value in schema.items():
        if key == "discriminator":  # its mapping refers to $defs; the alternatives have the tags
            continue
        if key in _MAPS and isinstance(value, dict):
            out[key] = {name: simplify(inner) for name, inner in value.items()}
        elif (key in _LISTS or key in _SINGLE) and isinstance(value, list):
            out[key] = [simplify(inner) for inner in value]
        else:
            out[key] = simplify(value) if key in _SINGLE else value
    options = out.get("anyOf")
    if (
        isinstance(options, list)
        and {"type": "integer"} in options
        and {"type": "number"} in options
    ):
        options = [option for option in options if option != {"type": "integer"}]
        out["anyOf"] = options
        if len(options) == 1 and isinstance(options[0], dict):
            del out["anyOf"]
            out = {**options[0], **out}
    return out


def inline_input_schema(tool: str, schema: JSON) -> Object:
    """A given input schema without references. Raises ToolDefinitionError."""
    inlined = inline_schema(tool, "input", schema)
    if not isinstance(inlined, dict):
        raise ToolDefinitionError(
            tool, "the input schema must be an object, not true, false or another value"
        )
    if inlined.get("type", "object") != "object":
        raise ToolDefinitionError(
            tool, 'the input schema must have `"type": "object"`: arguments have names'
        )
    properties = inlined.get("properties", {})
    if not isinstance(properties, dict):
        raise ToolDefinitionError(
            tool, "`properties` of the input schema must be an object with a schema per parameter"
        )
    return {"type": "object", "properties": properties, **inlined}


def inline_schema(tool: str, which: str, schema: JSON) -> JSON:
    """A given schema without references and without the default `$schema`.

    Raises ToolDefinitionError.
    """
    if isinstance(schema, dict) and str(schema.get("$schema", "")).rstrip("#") == _LATEST_DRAFT:
        schema = {key: value for key, value in schema.items() if key != "$schema"}
    try:
        return inline_references(schema)
    except RecursionError:
        raise ToolDefinitionError(tool, f"the {which} schema is nested too deeply") from None
    except CircularSchema as error:
        raise ToolDefinitionError(
            tool, f"the {which} schema cannot be written without references: {error}"
        ) from None
    except UnsupportedType as error:
        raise ToolDefinitionError(tool, f"the {which} schema: {error}") from None
