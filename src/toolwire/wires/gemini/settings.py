"""Tool definitions and settings of Gemini requests, and the settings of its responses."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.model import Choice, Format, Setting, Tool
from toolwire.conversation.parts import Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingSpec, read_texts
from toolwire.wires.engine.settings_lowering import CLIENT_TOOLS
from toolwire.wires.engine.specs import (
    Block,
    list_at,
    object_at,
    read_name,
    require_object,
    require_string,
    text_or_none,
)
from toolwire.wires.families.blocks.bodies import define_tool
from toolwire.wires.families.contents.settings import MODEL, USAGE
from toolwire.wires.families.contents.spelling import both_spellings, get_field, spellings
from toolwire.wires.gemini.blocks import NAME

# --- tool definitions -----------------------------------------------------------------------------

_DECLARATION = Block(
    "functionDeclaration",
    part=Tool,
    keys=spellings("name", "description", "parameters", "parametersJsonSchema"),
)
_DECLARATION_LISTS = spellings("functionDeclarations")


def read_tools(body: Object, path: JsonPath) -> list[Tool]:
    """The tools in one entry of `tools`: declared functions, or a tool that the provider runs."""
    tools: list[Tool] = []
    for key, value in object_at(NAME, body, path).items():
        if key not in _DECLARATION_LISTS:
            tools.append(Tool("", kind=key, source=Source(raw=value, path=(*path, key))))
            continue
        for i in range(len(list_at(NAME, body, (*path, key)))):
            declaration = object_at(NAME, body, (*path, key, i))
            schema = get_field(declaration, "parametersJsonSchema")
            if schema is None and declaration.get("parameters") is not None:
                schema = _as_json_schema(declaration["parameters"])
            tools.append(
                Tool(
                    read_name(declaration.get("name")),
                    text_or_none(declaration.get("description")),
                    schema=schema,
                    source=Source(declaration, (*path, key, i), _DECLARATION),
                )
            )
    return tools


def _as_json_schema(schema: JSON) -> JSON:
    """An OpenAPI schema, which has types in upper case, as JSON Schema."""
    if isinstance(schema, list):
        return [_as_json_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    out: Object = {}
    for key, value in schema.items():
        if key == "type" and isinstance(value, str):
            out[key] = value.lower()
        elif key in ("properties", "$defs") and isinstance(value, dict):
            out[key] = {name: _as_json_schema(item) for name, item in value.items()}
        elif key in ("items", "anyOf", "any_of", "additionalProperties", "prefixItems"):
            out["anyOf" if key == "any_of" else key] = _as_json_schema(value)
        else:
            out[key] = value
    return out


def write_tools(tools: tuple[Tool, ...], context: EncodeContext) -> list[JSON]:
    """The `tools` of a request: one entry with all declared functions, or none."""
    declarations: list[JSON] = [
        define_tool(tool, context, "parametersJsonSchema")
        for tool in tools
        if tool.kind in CLIENT_TOOLS
    ]
    return [{"functionDeclarations": declarations}] if declarations else []


# --- settings -------------------------------------------------------------------------------------

CONFIG = "generationConfig"
_CHOICE_FROM_WIRE: dict[str, Literal["auto", "required", "none"]] = {
    "AUTO": "auto",
    "ANY": "required",
    "NONE": "none",
}
_CHOICE_TO_WIRE = {mode: name for name, mode in _CHOICE_FROM_WIRE.items()}
_EFFORTS = ("minimal", "low", "medium", "high")


def _read_choice(value: JSON) -> Setting | UnsetType:
    config = require_object(value)
    names = get_field(config, "allowedFunctionNames")
    return Choice(
        _CHOICE_FROM_WIRE[require_string(config["mode"])],
        tuple(require_string(name) for name in names) if isinstance(names, list) else (),
    )


def _write_choice(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Choice)
    config: Object = {"mode": _CHOICE_TO_WIRE[value.mode]}
    if value.names:
        config["allowedFunctionNames"] = [context.name(name) for name in value.names]
    return config


def _write_effort(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    return value.upper() if isinstance(value, str) and value in _EFFORTS else UNSET


REQUEST = both_spellings(
    SettingSpec("model", ("model",)),
    SettingSpec("max_tokens", (CONFIG, "maxOutputTokens")),
    SettingSpec("temperature", (CONFIG, "temperature")),
    SettingSpec("top_p", (CONFIG, "topP")),
    SettingSpec("top_k", (CONFIG, "topK")),
    SettingSpec("seed", (CONFIG, "seed")),
    SettingSpec("presence_penalty", (CONFIG, "presencePenalty")),
    SettingSpec("frequency_penalty", (CONFIG, "frequencyPenalty")),
    SettingSpec("candidates", (CONFIG, "candidateCount")),
    SettingSpec("stop", (CONFIG, "stopSequences"), read=read_texts),
    SettingSpec(
        "choice",
        ("toolConfig", "functionCallingConfig"),
        read=_read_choice,
        write=_write_choice,
        knows=spellings("mode", "allowedFunctionNames"),
    ),
    SettingSpec("budget", (CONFIG, "thinkingConfig", "thinkingBudget")),
    SettingSpec(
        "effort",
        (CONFIG, "thinkingConfig", "thinkingLevel"),
        read=lambda level: require_string(level).lower(),
        write=_write_effort,
    ),
    SettingSpec(
        "format",
        (CONFIG, "responseMimeType"),
        read=lambda mime: Format() if mime == "application/json" else UNSET,
        write=lambda value, context: "application/json",
    ),
    SettingSpec(
        "format",
        (CONFIG, "responseSchema"),
        read=lambda schema: Format(_as_json_schema(schema)),
        write=None,
    ),
    SettingSpec("format", (CONFIG, "responseJsonSchema"), read=Format, write=None),
)
RESPONSE = both_spellings(SettingSpec("id", ("responseId",)), MODEL, USAGE)
