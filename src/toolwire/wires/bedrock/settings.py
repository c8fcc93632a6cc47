"""Bedrock Converse: tool definitions, settings, usage and stop reasons."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object, parse, text_of
from toolwire.conversation.model import Choice, Conversation, Format, Setting, Tool
from toolwire.conversation.parts import Call, Opaque, Result, Source
from toolwire.wires.engine.answers import AnswerFields, elapsed_milliseconds
from toolwire.wires.engine.capabilities import CacheBreakpoints
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import (
    SettingSpec,
    SettingTable,
    plain_settings,
    read_texts,
    reasoning_budget,
    setting_table,
)
from toolwire.wires.engine.settings_lowering import CLIENT_TOOLS
from toolwire.wires.engine.specs import (
    Block,
    keys,
    raise_unexpected,
    read_definition,
    read_name,
    require_object,
    require_string,
    text_or_none,
)
from toolwire.wires.engine.usage import usage_spec

NAME = "bedrock"

# --- tool definitions -----------------------------------------------------------------------------

TOOL = Block(
    "toolSpec",
    part=Tool,
    keys=keys("toolSpec"),
    inner=(("toolSpec", keys("name", "description", "inputSchema", "strict")),),
)
CACHE_POINT = Block(
    "cachePoint",
    part=Opaque,
    read=lambda block, path, spec: Opaque("cachePoint", block, source=Source(block, path, spec)),
    write=lambda part, context: part.value,
    marks_cache=True,
)
"""A mark after a block or a tool definition: the prompt is cached up to it."""
CACHE_BREAKPOINTS = CacheBreakpoints(
    mark={"cachePoint": {"type": "default"}},
    long_mark={"cachePoint": {"type": "default", "ttl": "1h"}},
    own_block=True,
)
_PLACEHOLDER = "Used earlier in this conversation, and not on offer now."


def _placeholder(name: str) -> Object:
    """The definition of a tool that only the history uses: a history with calls needs a
    `toolConfig`."""
    return {
        "toolSpec": {
            "name": name,
            "description": _PLACEHOLDER,
            "inputSchema": {"json": {"type": "object", "properties": {}}},
        }
    }


def read_tool(tool: JSON, path: JsonPath) -> Tool | None:
    """Read a tool definition. If its field is not `toolSpec`, the name of the field is its `kind`.

    None for a placeholder of an earlier encoding.
    """
    if not isinstance(tool, dict):
        raise_unexpected(NAME, path, dict, tool)
    spec = tool.get("toolSpec")
    if not isinstance(spec, dict):
        kind = next(iter(tool), "")
        content = tool.get(kind)
        name = read_name(content.get("name") if isinstance(content, dict) else None)
        mark = CACHE_POINT if kind == CACHE_POINT.name else None
        return Tool(name, kind=kind, source=Source(tool, path, mark))
    if spec.get("description") == _PLACEHOLDER and tool == _placeholder(
        read_name(spec.get("name"))
    ):
        return None
    schema = spec.get("inputSchema")
    json_schema = schema.get("json") if isinstance(schema, dict) else None
    return read_definition(spec, json_schema, Source(tool, path, TOOL))


def _write_tool(tool: Tool, context: EncodeContext) -> JSON:
    spec: Object = {"name": context.name(tool.name)}
    if tool.description:
        spec["description"] = tool.description
    elif tool.description is not None:
        context.report_loss(tool, "an empty description is not accepted here")
    schema = context.schema_of(tool) or {"type": "object", "properties": {}}
    spec["inputSchema"] = {"json": schema}
    if tool.strict is not None:
        spec["strict"] = tool.strict
    return {"toolSpec": spec}


def _write_tools(conversation: Conversation, context: EncodeContext) -> list[JSON]:
    """The tool definitions; if there are none, placeholders for the tools of the history."""
    out: list[JSON] = []
    for tool in conversation.tools:
        if (
            context.native
            and not isinstance(tool.raw, UnsetType)
            and read_tool(tool.raw, tool.path) == tool
        ):
            out.append(tool.raw)
        elif tool.kind in CLIENT_TOOLS:
            definition = _write_tool(tool, context)
            out += CACHE_BREAKPOINTS.mark_block(definition, tool, context.breakpoints)
    if out:
        return out
    names = dict.fromkeys(
        part.name or ""
        for part in conversation.parts()
        if isinstance(part, Call | Result)
        and part.executor == "client"
        and (part.name or isinstance(part, Call))  # a call without a name gets a fitted one
    )
    return [_placeholder(context.name(name)) for name in names]


def put_tool_config(body: Object, conversation: Conversation, context: EncodeContext) -> None:
    """Put the tools into the `toolConfig` of a body, beside the tool choice."""
    if context.native and conversation.same_tools:
        return
    config = body.pop("toolConfig", None)
    others = config if isinstance(config, dict) else {}
    tools = _write_tools(conversation, context)
    if tools:
        body["toolConfig"] = {**others, "tools": tools}
    elif "toolChoice" in others:
        context.report_loss(
            conversation.source.setting_paths.get("choice", ("choice",)),
            "a tool choice needs tools here, and none is defined",
        )


# --- settings -------------------------------------------------------------------------------------


def _read_choice(value: JSON) -> Setting | UnsetType:
    match value:
        case {"auto": _}:
            return Choice("auto")
        case {"any": _}:
            return Choice("required")
        case {"tool": {"name": str(name)}}:
            return Choice("required", (name,))
    return UNSET


def _write_choice(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Choice)
    if value.names:
        return {"tool": {"name": context.name(value.names[0])}}
    if value.mode == "none":
        return UNSET
    return {"any": {}} if value.mode == "required" else {"auto": {}}


def _read_format(value: JSON) -> Setting | UnsetType:
    content = require_object(require_object(require_object(value)["structure"])["jsonSchema"])
    return Format(
        parse(require_string(content["schema"])),
        text_or_none(content.get("name")),
        None,
        text_or_none(content.get("description")),
    )


def _write_format(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Format)
    if value.schema is None:
        return UNSET
    content: Object = {"schema": text_of(value.schema)}
    if value.name is not None:
        content["name"] = value.name
    if value.description is not None:
        content["description"] = value.description
    return {"type": "json_schema", "structure": {"jsonSchema": content}}


def _write_temperature(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    if not isinstance(value, int | float):
        return UNSET
    if not 0 <= value <= 1:
        context.report_loss(context.setting_path, "the temperature must be between 0 and 1 here")
    return max(0.0, min(value, 1.0))


_INFERENCE, _MODEL_FIELDS = "inferenceConfig", "additionalModelRequestFields"
_COMMON = (
    SettingSpec("model", ("modelId",)),
    *plain_settings(_INFERENCE, max_tokens="maxTokens", top_p="topP"),
    SettingSpec("temperature", (_INFERENCE, "temperature"), write=_write_temperature),
    SettingSpec("stop", (_INFERENCE, "stopSequences"), read=read_texts),
    SettingSpec(
        "choice",
        ("toolConfig", "toolChoice"),
        read=_read_choice,
        write=_write_choice,
        knows=keys("tool.name"),
    ),
    SettingSpec(
        "format",
        ("outputConfig", "textFormat"),
        read=_read_format,
        write=_write_format,
        knows=keys(
            "type",
            "structure.jsonSchema.schema",
            "structure.jsonSchema.name",
            "structure.jsonSchema.description",
        ),
    ),
    SettingSpec(
        "effort",
        ("outputConfig", "effort"),
        write=lambda value, context: (
            value if isinstance(value, str) and len(value) <= 16 else UNSET
        ),
    ),
)
REQUEST = setting_table(
    *_COMMON,
    SettingSpec("top_k", (_MODEL_FIELDS, "top_k")),
    SettingSpec(
        "budget",
        (_MODEL_FIELDS, "thinking"),
        *reasoning_budget("budget_tokens", 1024),
        knows=keys("type", "budget_tokens"),
    ),
)
"""All settings, including fields that are passed to the model: some models read them, others refuse
them."""
_COMMON_TABLE = setting_table(*_COMMON)


def writable_settings(conversation: Conversation) -> SettingTable:
    """The settings to write; fields for the model only if it is known to have them."""
    known = conversation.wire == NAME or "claude" in str(conversation.settings.get("model")).lower()
    return REQUEST if known else _COMMON_TABLE


# --- usage and stop reasons -----------------------------------------------------------------------


ANSWER = AnswerFields.of(
    {
        "usage": {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0},
        "metrics": lambda context: {"latencyMs": elapsed_milliseconds(context)},
    }
)
"""The fields of every response beside its message and its stop reason."""
RESPONSE = setting_table(
    usage_spec(
        ("usage",),
        {
            "input": ("inputTokens",),
            "output": ("outputTokens",),
            "total": ("totalTokens",),
            "cached": ("cacheReadInputTokens", "cacheReadInputTokenCount"),
            "cache_write": ("cacheWriteInputTokens", "cacheWriteInputTokenCount"),
        },
        input_includes_cache=False,
    ),
    SettingSpec("stop_sequence", ("additionalModelResponseFields", "stop_sequence")),
)
FINISH_REASON_FROM_WIRE = {
    "end_turn": "stop",
    "max_tokens": "length",
    "stop_sequence": "sequence",
    "tool_use": "tool",
    "guardrail_intervened": "filter",
    "content_filtered": "filter",
    "model_context_window_exceeded": "context",
}
FINISH_REASON_TO_WIRE = {reason: word for word, reason in FINISH_REASON_FROM_WIRE.items()} | {
    "refusal": "content_filtered"
}
