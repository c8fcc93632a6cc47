"""Gemini generateContent: the tools on offer, the settings, usage and stop reasons, in both
spellings."""

from __future__ import annotations

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, snake
from toolwire.conversation.model import Choice, Format, Setting, Tool, Usage
from toolwire.conversation.parts import Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingSpec
from toolwire.wires.engine.specs import (
    Block,
    count_at,
    list_at,
    object_at,
    raise_unexpected,
    read_name,
    require_object,
    require_string,
    text_or_none,
)

NAME = "gemini"


def keys(*names: str) -> frozenset[str]:
    """Field names in both spellings."""
    return frozenset(names) | frozenset(map(snake, names))


def pick(value: Object, name: str) -> JSON:
    """A field under either spelling."""
    return value[name] if name in value else value.get(snake(name))


# --- tools and settings ---------------------------------------------------------------------------

OFFER = Block(
    "functionDeclaration",
    Tool,
    keys=keys("name", "description", "parameters", "parametersJsonSchema"),
)
_TOOL_LISTS = ("functionDeclarations", "function_declarations")


def read_offers(tool: JSON, path: JsonPath) -> list[Tool]:
    """The tools in one entry: declared functions, or a tool of the provider's own."""
    if not isinstance(tool, dict):
        raise_unexpected(NAME, path, "an object", tool)
    out: list[Tool] = []
    for key, value in tool.items():
        if key not in _TOOL_LISTS:
            out.append(Tool("", kind=key, source=Source(raw=value, path=(*path, key))))
            continue
        for i, one in enumerate(list_at(NAME, value, ())):
            declared = object_at(NAME, one, ())
            schema = pick(declared, "parametersJsonSchema")
            if schema is None and declared.get("parameters") is not None:
                schema = plain_schema(declared["parameters"])
            out.append(
                Tool(
                    read_name(declared.get("name")),
                    text_or_none(declared.get("description")),
                    schema,
                    None,
                    "function",
                    source=Source(declared, (*path, key, i), OFFER),
                )
            )
    return out


def plain_schema(schema: JSON) -> JSON:
    """An OpenAPI schema with upper-case types as plain JSON Schema."""
    if isinstance(schema, list):
        return [plain_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    out: Object = {}
    for key, value in schema.items():
        if key == "type" and isinstance(value, str):
            out[key] = value.lower()
        elif key in ("properties", "$defs") and isinstance(value, dict):
            out[key] = {name: plain_schema(item) for name, item in value.items()}
        elif key in ("items", "anyOf", "any_of", "additionalProperties", "prefixItems"):
            out["anyOf" if key == "any_of" else key] = plain_schema(value)
        else:
            out[key] = value
    return out


def write_tools(tools: tuple[Tool, ...], context: EncodeContext) -> list[JSON]:
    declared: list[JSON] = []
    for tool in tools:
        if tool.kind not in ("function", "custom"):
            context.report_loss(tool, f"a tool of another provider: {tool.kind}")
            continue
        given: Object = {"name": context.name(tool.name)}
        if tool.description is not None:
            given["description"] = tool.description
        schema = context.schema_of(tool)
        if schema is not None:
            given["parametersJsonSchema"] = schema
        if tool.strict is not None:
            context.report_loss(tool, "no strict flag here")
        declared.append(given)
    return [{"functionDeclarations": declared}] if declared else []


_MODES = {"AUTO": "auto", "ANY": "required", "NONE": "none"}


def _read_choice(value: JSON) -> Setting | UnsetType:
    held = require_object(value)
    names = pick(held, "allowedFunctionNames")
    mode = _MODES[require_string(held["mode"])]
    return Choice(
        mode,  # type: ignore[arg-type]
        tuple(require_string(name) for name in names) if isinstance(names, list) else (),
    )


def _write_choice(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Choice)
    mode = {"auto": "AUTO", "required": "ANY", "none": "NONE"}[value.mode]
    if not value.names or value.mode == "none":
        return {"mode": mode}
    if value.mode == "auto":
        context.report_loss(
            context.setting_path, "names can be given only where a call is required"
        )
        return {"mode": mode}
    return {"mode": mode, "allowedFunctionNames": [context.name(name) for name in value.names]}


def _write_format(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Format)
    if any(one is not None for one in (value.name, value.strict, value.description)):
        context.report_loss(
            context.setting_path, "a form of answer has neither a name nor a strict flag here"
        )
    return "application/json"


_LEVELS = {"minimal": "MINIMAL", "low": "LOW", "medium": "MEDIUM", "high": "HIGH"}
CONFIG = "generationConfig"


def both(*fields: SettingSpec) -> tuple[SettingSpec, ...]:
    """Each field, and its other spelling for reading only; camelCase, last, is what is written."""
    other = (replace(one, path=tuple(map(snake, one.path)), write=None) for one in fields)
    return (*(one for one in other), *fields)


REQUEST = both(
    SettingSpec("model", ("model",)),
    SettingSpec("max_tokens", (CONFIG, "maxOutputTokens")),
    SettingSpec("temperature", (CONFIG, "temperature")),
    SettingSpec("top_p", (CONFIG, "topP")),
    SettingSpec("top_k", (CONFIG, "topK")),
    SettingSpec("seed", (CONFIG, "seed")),
    SettingSpec("presence_penalty", (CONFIG, "presencePenalty")),
    SettingSpec("frequency_penalty", (CONFIG, "frequencyPenalty")),
    SettingSpec("candidates", (CONFIG, "candidateCount")),
    SettingSpec(
        "stop",
        (CONFIG, "stopSequences"),
        lambda v: tuple(require_string(s) for s in v) if isinstance(v, list) else UNSET,
    ),
    SettingSpec(
        "choice",
        ("toolConfig", "functionCallingConfig"),
        _read_choice,
        _write_choice,
        keys("mode", "allowedFunctionNames"),
    ),
    SettingSpec("budget", (CONFIG, "thinkingConfig", "thinkingBudget")),
    SettingSpec(
        "effort",
        (CONFIG, "thinkingConfig", "thinkingLevel"),
        lambda v: require_string(v).lower(),
        lambda v, _: _LEVELS.get(str(v), UNSET),
    ),
    SettingSpec(
        "format",
        (CONFIG, "responseMimeType"),
        lambda v: Format() if v == "application/json" else UNSET,
        _write_format,
    ),
    SettingSpec("format", (CONFIG, "responseSchema"), lambda v: Format(plain_schema(v)), None),
    SettingSpec("format", (CONFIG, "responseJsonSchema"), lambda v: Format(v), None),
)


def _count(value: JSON, name: str) -> int | None:
    """A count under either spelling."""
    found = count_at(value, name)
    return count_at(value, snake(name)) if found is None else found


def _read_usage(value: JSON) -> Setting | UnsetType:
    thoughts = _count(value, "thoughtsTokenCount")
    made = _count(value, "candidatesTokenCount")
    total = made if thoughts is None else (made or 0) + thoughts
    return Usage(
        _count(value, "promptTokenCount"),
        total,
        _count(value, "cachedContentTokenCount"),
        None,
        thoughts,
    )


def _write_usage(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Usage)
    read, made = value.input or 0, value.output or 0
    out: Object = {
        "promptTokenCount": read,
        "candidatesTokenCount": made - (value.reasoning or 0),
        "totalTokenCount": read + made,
    }
    if value.reasoning is not None:
        out["thoughtsTokenCount"] = value.reasoning
    if value.cached is not None:
        out["cachedContentTokenCount"] = value.cached
    if value.cache_write:
        context.report_loss(context.setting_path, "tokens written to a cache are not counted here")
    return out


MODEL = SettingSpec("model", ("modelVersion",))
USAGE = SettingSpec(
    "usage",
    ("usageMetadata",),
    _read_usage,
    _write_usage,
    keys(
        "promptTokenCount",
        "candidatesTokenCount",
        "thoughtsTokenCount",
        "cachedContentTokenCount",
        "totalTokenCount",
    ),
)
RESPONSE = both(SettingSpec("id", ("responseId",)), MODEL, USAGE)
FINISH_REASON_FROM_WIRE = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "filter",
    "RECITATION": "filter",
    "BLOCKLIST": "filter",
    "PROHIBITED_CONTENT": "filter",
    "SPII": "filter",
    "IMAGE_SAFETY": "filter",
}
FINISH_REASON_TO_WIRE = {
    "stop": "STOP",
    "tool": "STOP",
    "sequence": "STOP",
    "length": "MAX_TOKENS",
    "filter": "SAFETY",
    "refusal": "SAFETY",
}
