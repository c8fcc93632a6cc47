"""Microsoft.Extensions.AI: request options, tool definitions, usage and finish reasons.

`ChatOptions` leaves its tools out of its JSON, so a tool has the names of its own
properties, camelCased like everything else: `name`, `description`, `jsonSchema`.
"""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.model import Choice, Format, Setting, Tool
from toolwire.conversation.parts import Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingSpec, plain_settings, read_texts, setting_table
from toolwire.wires.engine.settings_lowering import CLIENT_TOOLS
from toolwire.wires.engine.specs import (
    Block,
    flag_or_none,
    keys,
    raise_unexpected,
    read_name,
    require_object,
    require_string,
    text_or_none,
)
from toolwire.wires.engine.usage import usage_spec
from toolwire.wires.families.blocks.bodies import define_tool
from toolwire.wires.meai.blocks import NAME

OPTIONS = "options"

# --- tools ----------------------------------------------------------------------------------------

TOOL = Block(
    "function",
    part=Tool,
    keys=keys("name", "description", "jsonSchema", "additionalProperties"),
    inner=(("additionalProperties", keys("strict")),),
)


def read_tool(tool: JSON, path: JsonPath) -> Tool:
    """Read a tool definition; a tool that a service runs has a `$type` and no schema."""
    if not isinstance(tool, dict):
        raise_unexpected(NAME, path, dict, tool)
    if "$type" in tool and "jsonSchema" not in tool:
        return Tool("", kind=str(tool["$type"]), source=Source(raw=tool, path=path))
    strict = get(tool, ("additionalProperties", "strict"))
    return Tool(
        read_name(tool.get("name")),
        text_or_none(tool.get("description")),
        tool.get("jsonSchema"),
        None if isinstance(strict, UnsetType) else flag_or_none(strict),
        source=Source(tool, path, TOOL),
    )


def write_tools(tools: tuple[Tool, ...], context: EncodeContext) -> list[JSON]:
    """The tool definitions. ChatOptions has no field for `strict`, so it is an additional
    property."""
    out: list[JSON] = []
    for tool in tools:
        if tool.kind in CLIENT_TOOLS:
            definition = define_tool(tool, context, "jsonSchema")
            if tool.strict is not None:
                definition["additionalProperties"] = {"strict": tool.strict}
            out.append(definition)
    return out


# --- requests -------------------------------------------------------------------------------------


def _read_choice(value: JSON) -> Setting | UnsetType:
    choice = require_object(value)
    mode, name = choice["$type"], text_or_none(choice.get("requiredFunctionName"))
    if mode not in ("auto", "none", "required"):
        return UNSET
    return Choice(mode, (name,) if name and mode == "required" else ())  # type: ignore[arg-type]


def _write_choice(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Choice)
    if value.names:
        return {"$type": "required", "requiredFunctionName": context.name(value.names[0])}
    return {"$type": value.mode}


def _read_format(value: JSON) -> Setting | UnsetType:
    fields = require_object(value)
    if fields["$type"] != "json":
        return UNSET
    return Format(
        fields.get("schema"),
        name=text_or_none(fields.get("schemaName")),
        description=text_or_none(fields.get("schemaDescription")),
    )


def _write_format(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Format)
    written: Object = {"$type": "json"}
    if value.schema is None:
        return written
    written["schema"] = value.schema
    if value.name is not None:
        written["schemaName"] = value.name
    if value.description is not None:
        written["schemaDescription"] = value.description
    return written


EFFORT_FROM_WIRE = {
    "None": "none",
    "Low": "low",
    "Medium": "medium",
    "High": "high",
    "ExtraHigh": "xhigh",
}
EFFORT_TO_WIRE = {effort: name for name, effort in EFFORT_FROM_WIRE.items()}

REQUEST = setting_table(
    *plain_settings(OPTIONS, model="modelId", max_tokens="maxOutputTokens"),
    *plain_settings(OPTIONS, temperature="temperature", top_p="topP", top_k="topK", seed="seed"),
    *plain_settings(
        OPTIONS, presence_penalty="presencePenalty", frequency_penalty="frequencyPenalty"
    ),
    SettingSpec("stop", (OPTIONS, "stopSequences"), read=read_texts),
    SettingSpec(
        "choice",
        (OPTIONS, "toolMode"),
        read=_read_choice,
        write=_write_choice,
        knows=keys("$type", "requiredFunctionName"),
    ),
    SettingSpec("parallel", (OPTIONS, "allowMultipleToolCalls")),
    SettingSpec(
        "format",
        (OPTIONS, "responseFormat"),
        read=_read_format,
        write=_write_format,
        knows=keys("$type", "schema", "schemaName", "schemaDescription"),
    ),
    SettingSpec(
        "effort",
        (OPTIONS, "reasoning", "effort"),
        read=lambda value: EFFORT_FROM_WIRE.get(
            require_string(value), require_string(value).lower()
        ),
        write=lambda value, context: EFFORT_TO_WIRE.get(str(value), UNSET),
    ),
)

# --- responses ------------------------------------------------------------------------------------


def _read_time(value: JSON) -> Setting | UnsetType:
    """A time in seconds since 1970; a time without an offset is UTC."""
    time = datetime.fromisoformat(require_string(value))
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp())


def _write_time(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    if not isinstance(value, int | float):
        return UNSET
    try:
        return datetime.fromtimestamp(value, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return UNSET


RESPONSE = setting_table(
    *plain_settings(id="responseId", model="modelId"),
    SettingSpec("created", ("createdAt",), read=_read_time, write=_write_time),
    usage_spec(
        ("usage",),
        {
            "input": ("inputTokenCount",),
            "output": ("outputTokenCount",),
            "total": ("totalTokenCount",),
            "cached": ("cachedInputTokenCount",),
            "reasoning": ("reasoningTokenCount",),
        },
    ),
)
FINISH_REASON_FROM_WIRE = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool",
    "content_filter": "filter",
}
FINISH_REASON_TO_WIRE = {reason: name for name, reason in FINISH_REASON_FROM_WIRE.items()}
