"""Tool definitions and settings of Gemini requests, and the settings of its responses."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.model import Choice, Format, Setting, Tool, WebSearch
from toolwire.conversation.parts import Source
from toolwire.wires.engine.answers import AnswerFields, answer_id, answer_model, id_setting
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import (
    SettingSpec,
    plain_settings,
    read_text_or_texts,
    same_name,
)
from toolwire.wires.engine.settings_lowering import CLIENT_TOOLS
from toolwire.wires.engine.specs import Block, raise_unexpected, require_object, require_string
from toolwire.wires.families.blocks.bodies import define_tool
from toolwire.wires.families.contents.settings import MODEL, USAGE
from toolwire.wires.families.contents.spelling import both_spellings, get_field, spellings
from toolwire.wires.gemini.blocks import NAME, WEB_SEARCH

# --- tool definitions -----------------------------------------------------------------------------

_DECLARATION = Block(
    "functionDeclaration",
    part=Tool,
    keys=spellings("name", "description", "parameters", "parametersJsonSchema"),
)
_SEARCHES = spellings("googleSearch", "googleSearchRetrieval")
_SEARCH = Block(WEB_SEARCH.kind, part=Tool)
_DECLARATION_LISTS = spellings("functionDeclarations")


def read_tools(entry: JSON, path: JsonPath) -> list[Tool]:
    """The tools in one entry of `tools`: declared functions, or a tool that the provider runs."""
    if not isinstance(entry, dict):
        raise_unexpected(NAME, path, dict, entry)
    tools: list[Tool] = []
    for key, value in entry.items():
        if key not in _DECLARATION_LISTS:
            search = WebSearch() if key in _SEARCHES else None
            source = Source(value, (*path, key), _SEARCH if search is not None else None)
            tools.append(Tool("", kind=key, web_search=search, source=source))
        elif isinstance(value, list):
            tools += [_read_declaration(item, (*path, key, i)) for i, item in enumerate(value)]
        else:
            raise_unexpected(NAME, (*path, key), list, value)
    return tools


def _read_declaration(declaration: JSON, path: JsonPath) -> Tool:
    if not isinstance(declaration, dict):
        raise_unexpected(NAME, path, dict, declaration)
    schema = get_field(declaration, "parametersJsonSchema")
    if schema is None and declaration.get("parameters") is not None:
        schema = _as_json_schema(declaration["parameters"])
    name, description = declaration.get("name"), declaration.get("description")
    return Tool(
        name if isinstance(name, str) else "",
        description if isinstance(description, str) else None,
        schema,
        source=Source(declaration, path, _DECLARATION),
    )


def _as_json_schema(schema: JSON) -> JSON:
    """An OpenAPI schema, whose types are in upper case, as JSON Schema."""
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
    """The `tools` of a request: one entry with all declared functions, and one for a web search."""
    declarations: list[JSON] = [
        define_tool(tool, context, "parametersJsonSchema")
        for tool in tools
        if tool.kind in CLIENT_TOOLS
    ]
    entries: list[JSON] = [{"functionDeclarations": declarations}] if declarations else []
    if len(declarations) < len(tools) and any(tool.kind == WEB_SEARCH.kind for tool in tools):
        entries.append({WEB_SEARCH.kind: {}})
    return entries


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
    names = _list_of_texts(get_field(config, "allowedFunctionNames"))
    return Choice(
        _CHOICE_FROM_WIRE[require_string(config["mode"])],
        tuple(require_string(name) for name in names) if isinstance(names, list) else (),
    )


def _list_of_texts(value: JSON) -> JSON:
    """A list: protobuf's JSON reads a single text as a list of one."""
    return [value] if isinstance(value, str) else value


def _write_choice(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Choice)
    config: Object = {"mode": _CHOICE_TO_WIRE[value.mode]}
    if value.names:
        config["allowedFunctionNames"] = [context.name(name) for name in value.names]
    return config


def _write_effort(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    return value.upper() if isinstance(value, str) and value in _EFFORTS else UNSET


REQUEST = both_spellings(
    *same_name("model"),
    *plain_settings(CONFIG, max_tokens="maxOutputTokens", candidates="candidateCount"),
    *plain_settings(CONFIG, temperature="temperature", top_p="topP", top_k="topK", seed="seed"),
    *plain_settings(
        CONFIG, presence_penalty="presencePenalty", frequency_penalty="frequencyPenalty"
    ),
    SettingSpec("stop", (CONFIG, "stopSequences"), read=read_text_or_texts),
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
RESPONSE = both_spellings(id_setting("responseId"), MODEL, USAGE)
ANSWER = AnswerFields.of({"modelVersion": answer_model, "responseId": answer_id("")})
"""The fields of every response beside its candidates."""
