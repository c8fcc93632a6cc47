"""Write the schema of each provider's requests, from its official SDK: `python
scripts/request_schemas.py`. With --check, fail if a file is stale: if it differs although it was
written from the installed version of the SDK.

The checks read these files, because they run without the SDKs. A file has one type per object
of the API, with the type of each field: `string`, `[T]` a list, `[T]+` a list that is not empty,
`{T}` an object with any keys, `A|B` either, `'auto'` a literal, `any`. A name that ends in `!` is
required. The field `*` says of an object that it has `some` of its fields, or exactly `one`.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

from anthropic.types.beta.message_create_params import MessageCreateParamsNonStreaming as BetaCreate
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming as Create
from botocore.model import ListShape, MapShape, Shape, StringShape, StructureShape  # type: ignore[import-untyped]
from botocore.session import get_session  # type: ignore[import-untyped]
from cohere.v2.client import V2Client
from google.genai import models, types
from google.genai._gaos.types.interactions import CreateModelInteraction
from mistralai.client.models import ChatCompletionRequest
from ollama._types import ChatRequest
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import ConfigDict, TypeAdapter, create_model

from toolwire.conversation.json import JSON, Object

FILES = Path(__file__).parent.parent / "src" / "toolwire" / "profiles" / "schemas"
SCALARS = ("string", "number", "integer", "boolean", "null")


class Types:
    """The types of one API, from the JSON Schema of its SDK's types."""

    def __init__(self, schema: Object, *, responses: bool = False, tagged: bool = False) -> None:
        """Collect the types. With `responses`, a union also takes the SDK's classes for responses,
        which it lists next to those for requests so that users may send a response back. With
        `tagged`, the types of a union require the field that distinguishes them, whatever its
        default."""
        definitions = schema.get("$defs")
        self._definitions: Object = definitions if isinstance(definitions, dict) else {}
        self._responses = responses
        self._names = self._short_names()
        if tagged:
            self._require_tags(schema)
        self.types: dict[str, dict[str, str]] = {}
        self.types["Request"] = self.fields(schema)

    def _require_tags(self, schema: JSON) -> None:
        if isinstance(schema, list):
            for item in schema:
                self._require_tags(item)
        if not isinstance(schema, dict):
            return
        for item in schema.values():
            self._require_tags(item)
        options = schema.get("oneOf", schema.get("anyOf"))
        listed = (
            [option for option in options if isinstance(option, dict)]
            if isinstance(options, list)
            else []
        )
        names = [str(option["$ref"]).rsplit("/", 1)[-1] for option in listed if "$ref" in option]
        for name in names if len(names) > 1 else ():
            self._require_tag(name)

    def _require_tag(self, full: str) -> None:
        definition = self._definitions[full]
        assert isinstance(definition, dict)
        properties, required = definition.get("properties"), definition.get("required")
        held = properties if isinstance(properties, dict) else {}
        tags: list[JSON] = [
            name
            for name in ("role", "type")
            if name in held and self.expression(held[name]).replace("|null", "").startswith("'")
        ]
        definition["required"] = [*(required if isinstance(required, list) else []), *tags]

    def _short_names(self) -> dict[str, str]:
        names: dict[str, str] = {}
        for full in sorted(self._definitions):
            short = full.rsplit("__", 1)[-1].removesuffix("Param")
            while short in names.values() or short == "Request":
                short += "_"
            names[full] = short
        return names

    def fields(self, schema: Object) -> dict[str, str]:
        required, properties = schema.get("required"), schema.get("properties")
        needed = required if isinstance(required, list) else []
        held = properties if isinstance(properties, dict) else {}
        return {
            f"{name}!" if name in needed else name: self.expression(value)
            for name, value in held.items()
        }

    def expression(self, schema: JSON) -> str:
        """The type that a schema describes."""
        return "|".join(join(self._alternatives(schema)))

    def _alternatives(self, schema: JSON) -> Iterator[str]:
        if not isinstance(schema, dict) or not schema.keys() - {"title", "description", "default"}:
            yield "any"
            return
        if isinstance(reference := schema.get("$ref"), str):
            yield from self._reference(reference.rsplit("/", 1)[-1])
            return
        for key in ("anyOf", "oneOf", "allOf"):
            options = schema.get(key)
            for option in options if isinstance(options, list) else []:
                yield from self._alternatives(option)
        if "const" in schema:
            yield literal(schema["const"])
            return
        if isinstance(values := schema.get("enum"), list):
            yield from map(literal, values)
            return
        kind = schema.get("type")
        if kind == "array":
            yield f"[{self.expression(schema.get('items', {}))}]"
        elif kind == "object":
            yield f"{{{self.expression(self._values(schema))}}}"
        elif kind in SCALARS:
            yield str(kind)

    def _values(self, schema: Object) -> JSON:
        values = schema.get("additionalProperties", {})
        return values if isinstance(values, dict) else {}

    def _reference(self, full: str) -> Iterator[str]:
        definition = self._definitions[full]
        assert isinstance(definition, dict)
        if "properties" not in definition:
            yield from self._alternatives(definition)
            return
        if full == "Unset" or (
            definition.get("additionalProperties") is True and not self._responses
        ):
            return
        name = self._names[full]
        if name not in self.types:
            self.types[name] = {}
            self.types[name] = self.fields(definition)
        yield name


def literal(value: JSON) -> str:
    return "null" if value is None else f"'{value}'"


def join(alternatives: Iterator[str]) -> list[str]:
    """The alternatives, without those that another includes."""
    found = list(dict.fromkeys(alternatives))
    if "any" in found:
        return ["any"]
    if "string" in found:
        found = [name for name in found if not name.startswith("'")]
    if "number" in found:
        found = [name for name in found if name != "integer"]
    return found


# --- one function per API --------------------------------------------------------------------------


def typed_dict(params: type) -> dict[str, dict[str, str]]:
    """The types of a request that is a TypedDict, for whole responses and for streams."""
    found = Types(TypeAdapter(params).json_schema()).types
    found["Request"]["stream"] = "boolean|null"
    return found


def anthropic_beta() -> dict[str, dict[str, str]]:
    found = typed_dict(BetaCreate)
    del found["Request"]["betas"]  # a header
    return found


def mistral() -> dict[str, dict[str, str]]:
    schema = ChatCompletionRequest.model_json_schema()
    return Types(schema, responses=True, tagged=True).types


def cohere() -> dict[str, dict[str, str]]:
    """The arguments of the client's method: the SDK has no type for the whole request."""
    signature = inspect.signature(V2Client.chat, eval_str=True)
    fields = {
        name: (parameter.annotation, ... if parameter.default is parameter.empty else None)
        for name, parameter in signature.parameters.items()
        if name not in ("self", "request_options")
    }
    model = create_model("Request", __config__=ConfigDict(arbitrary_types_allowed=True), **fields)  # type: ignore[call-overload]
    found = Types(model.model_json_schema(), responses=True).types
    found["Request"]["stream"] = "boolean"
    return found


def ollama() -> dict[str, dict[str, str]]:
    """The client's type, with images as base64 as on the wire, and ids, which only the server
    knows."""
    found = Types(ChatRequest.model_json_schema(), responses=True).types
    found["Request"] |= {"messages": "[Message]|null", "tools": "[Tool]|null"}
    found["Message"] |= {"images": "[string]|null", "tool_call_id": "string"}
    found["ToolCall"]["id"] = "string"
    return found


def gemini() -> dict[str, dict[str, str]]:
    """The SDK's types by their names on the wire; its converter determines where settings go."""
    source = inspect.getsource(models._GenerateContentConfig_to_mldev)
    places = re.findall(r"setv\(\s*(parent_object|to_object),\s*\['(\w+)'\]", source)
    annotations: dict[str, object] = {
        str(field.alias): field.annotation
        for field in types.GenerateContentConfig.model_fields.values()
    }
    annotations |= {
        "contents": list[types.Content],
        "systemInstruction": types.Content,
        "tools": list[types.Tool],
        "responseSchema": types.Schema,
        "speechConfig": types.SpeechConfig,
    }
    definitions: Object = {}
    request: Object = {"model": {"type": "string"}}
    held: Object = {}
    for place, name in [*places, ("parent_object", "contents")]:
        schema = _definition(annotations[name], definitions)
        (request if place == "parent_object" else held)[name] = schema
    definitions["GenerationConfig"] = {"properties": held}
    request["generationConfig"] = {"$ref": "#/$defs/GenerationConfig"}
    root: Object = {"properties": request, "required": ["contents"], "$defs": definitions}
    found = Types(root).types
    found["Part"]["*"] = "some"
    found["Turn"] = {"parts!": "[Part]+", "role": "string|null"}
    found["Request"]["contents!"] = "[Turn]"
    return found


def _definition(annotation: object, definitions: Object) -> Object:
    """The schema of a type. The types that it refers to, and an object itself, become
    definitions."""
    schema: Object = TypeAdapter(annotation).json_schema(by_alias=True)  # type: ignore[arg-type]
    held = schema.pop("$defs", {})
    assert isinstance(held, dict)
    definitions |= held
    if "properties" not in schema:
        return schema
    name = str(schema["title"])
    definitions[name] = schema
    return {"$ref": f"#/$defs/{name}"}


def bedrock() -> dict[str, dict[str, str]]:
    """The description of the service that the SDK itself reads."""
    operation = get_session().get_service_model("bedrock-runtime").operation_model("Converse")
    found: dict[str, dict[str, str]] = {}
    _add_structure("Request", operation.input_shape, found)
    del found["Request"]["modelId!"]  # in the path
    return found


def _add_structure(name: str, shape: StructureShape, found: dict[str, dict[str, str]]) -> None:
    found[name] = {}
    needed = shape.required_members
    found[name] = {
        f"{key}!" if key in needed else key: _member(value, found)
        for key, value in shape.members.items()
    }
    if shape.is_tagged_union:
        found[name]["*"] = "one"


def _member(shape: Shape, found: dict[str, dict[str, str]]) -> str:
    if getattr(shape, "is_document_type", False):
        return "any"
    if isinstance(shape, StructureShape):
        if shape.name not in found:
            _add_structure(shape.name, shape, found)
        return str(shape.name)
    if isinstance(shape, ListShape):
        return f"[{_member(shape.member, found)}]" + "+" * bool(shape.metadata.get("min"))
    if isinstance(shape, MapShape):
        return f"{{{_member(shape.value, found)}}}"
    if isinstance(shape, StringShape):
        return "|".join(map(literal, shape.enum)) or "string" + "+" * bool(
            shape.metadata.get("min")
        )
    kinds = {"blob": "string", "float": "number", "double": "number", "long": "integer"}
    return kinds.get(shape.type_name, str(shape.type_name))


def gemini_interactions() -> dict[str, dict[str, str]]:
    """The SDK's classes, whose unions also take types that the SDK does not know yet."""
    schema = _without_unknown(CreateModelInteraction.model_json_schema())
    assert isinstance(schema, dict)
    return Types(schema, responses=True, tagged=True).types


def _without_unknown(schema: JSON) -> JSON:
    """A schema without the classes for unknown types; an object without fields may have any."""
    if isinstance(schema, list):
        return [_without_unknown(item) for item in schema if not _is_unknown(item)]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "object" and schema.get("properties") == {}:
        return {"type": "object"}
    return {key: _without_unknown(value) for key, value in schema.items()}


def _is_unknown(schema: JSON) -> bool:
    reference = schema.get("$ref") if isinstance(schema, dict) else None
    return isinstance(reference, str) and reference.startswith("#/$defs/Unknown")


APIS: dict[str, tuple[str, Callable[[], dict[str, dict[str, str]]]]] = {
    "openai-chat": ("openai", lambda: typed_dict(CompletionCreateParamsNonStreaming)),
    "openai-responses": ("openai", lambda: typed_dict(ResponseCreateParamsNonStreaming)),
    "anthropic": ("anthropic", lambda: typed_dict(Create)),
    "anthropic-beta": ("anthropic", anthropic_beta),
    "gemini": ("google-genai", gemini),
    "gemini-interactions": ("google-genai", gemini_interactions),
    "bedrock": ("botocore", bedrock),
    "mistral": ("mistralai", mistral),
    "cohere": ("cohere", cohere),
    "ollama": ("ollama", ollama),
}


def schema_text(api: str) -> str:
    """The file of an API, as the installed SDK describes it."""
    package, read = APIS[api]
    lines = [
        f"  {json.dumps(name)}: {json.dumps(fields, indent=1)}".replace("\n", "\n  ")
        for name, fields in sorted(read().items())
    ]
    source = json.dumps(f"{package} {version(package)}")
    return f'{{"source": {source}, "types": {{\n' + ",\n".join(lines) + "\n}}\n"


def is_stale(api: str) -> bool:
    """True if a file differs from the schema of its SDK, in the version that the file names."""
    path, (package, _) = FILES / f"{api}.json", APIS[api]
    written = path.read_text()
    if json.loads(written)["source"] != f"{package} {version(package)}":
        return False
    return written != schema_text(api)


def main() -> int:
    if "--check" not in sys.argv:
        for api in APIS:
            (FILES / f"{api}.json").write_text(schema_text(api))
        return 0
    stale = [api for api in APIS if is_stale(api)]
    for api in stale:
        print(f"stale: {api}")
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
