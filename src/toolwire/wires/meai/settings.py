"""Microsoft.Extensions.AI: the options of a request, the tools on offer, usage and stop reasons.

`ChatOptions` leaves its tools out of its JSON, so a tool stands here under the names of its own
properties, camelCased like everything else: `name`, `description`, `jsonSchema`.
"""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.model import Choice, Format, Setting, Tool, Usage
from toolwire.conversation.parts import Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingSpec
from toolwire.wires.engine.specs import (
    Block,
    count_at,
    flag_or_none,
    keys,
    raise_unexpected,
    read_name,
    require_object,
    require_string,
    text_or_none,
)

NAME = "meai"
OPTIONS = "options"

# --- tools ----------------------------------------------------------------------------------------

OFFER = Block(
    "function",
    Tool,
    keys=keys("name", "description", "jsonSchema", "additionalProperties"),
    inner=(("additionalProperties", keys("strict")),),
)


def read_offer(tool: JSON, path: JsonPath) -> Tool:
    """A tool on offer; one that a service runs itself has a `$type` and no schema."""
    if not isinstance(tool, dict):
        raise_unexpected(NAME, path, "an object", tool)
    if "$type" in tool and "jsonSchema" not in tool:
        return Tool("", kind=str(tool["$type"]), source=Source(raw=tool, path=path))
    strict = get(tool, ("additionalProperties", "strict"))
    return Tool(
        read_name(tool.get("name")),
        text_or_none(tool.get("description")),
        tool.get("jsonSchema"),
        None if isinstance(strict, UnsetType) else flag_or_none(strict),
        source=Source(tool, path, OFFER),
    )


def write_tools(tools: tuple[Tool, ...], context: EncodeContext) -> list[JSON]:
    """The tools on offer."""
    out: list[JSON] = []
    for tool in tools:
        if tool.kind not in ("function", "custom"):
            context.report_loss(tool, f"a tool of another provider: {tool.kind}")
            continue
        given: Object = {"name": context.name(tool.name)}
        if tool.description is not None:
            given["description"] = tool.description
        schema = context.schema_of(tool)
        if schema is not None:
            given["jsonSchema"] = schema
        if tool.strict is not None:
            given["additionalProperties"] = {"strict": tool.strict}
        out.append(given)
    return out


# --- settings -------------------------------------------------------------------------------------


def _read_choice(value: JSON) -> Setting | UnsetType:
    held = require_object(value)
    mode, name = held["$type"], text_or_none(held.get("requiredFunctionName"))
    if mode not in ("auto", "none", "required"):
        return UNSET
    return Choice(mode, (name,) if name and mode == "required" else ())  # type: ignore[arg-type]


def _write_choice(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Choice)
    if value.mode == "required" and len(value.names) == 1:
        return {"$type": "required", "requiredFunctionName": context.name(value.names[0])}
    if value.names and value.mode != "none":
        context.report_loss(context.setting_path, "a choice names one required tool here, or none")
    return {"$type": value.mode}


def _read_format(value: JSON) -> Setting | UnsetType:
    held = require_object(value)
    if held["$type"] != "json":
        return UNSET
    return Format(
        held.get("schema"),
        text_or_none(held.get("schemaName")),
        None,
        text_or_none(held.get("schemaDescription")),
    )


def _write_format(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Format)
    if value.strict is not None:
        context.report_loss(context.setting_path, "a form of answer has no strict flag here")
    given = (
        ("schema", value.schema),
        ("schemaName", value.name),
        ("schemaDescription", value.description),
    )
    return {
        "$type": "json",
        **({key: one for key, one in given if one is not None} if value.schema is not None else {}),
    }


_EFFORTS = {"None": "none", "Low": "low", "Medium": "medium", "High": "high", "ExtraHigh": "xhigh"}
_EFFORT_SAYS = {neutral: said for said, neutral in _EFFORTS.items()}

REQUEST = (
    SettingSpec("model", (OPTIONS, "modelId")),
    SettingSpec("max_tokens", (OPTIONS, "maxOutputTokens")),
    SettingSpec("temperature", (OPTIONS, "temperature")),
    SettingSpec("top_p", (OPTIONS, "topP")),
    SettingSpec("top_k", (OPTIONS, "topK")),
    SettingSpec("seed", (OPTIONS, "seed")),
    SettingSpec("presence_penalty", (OPTIONS, "presencePenalty")),
    SettingSpec("frequency_penalty", (OPTIONS, "frequencyPenalty")),
    SettingSpec(
        "stop",
        (OPTIONS, "stopSequences"),
        lambda v: tuple(map(require_string, v)) if isinstance(v, list) else UNSET,
    ),
    SettingSpec(
        "choice",
        (OPTIONS, "toolMode"),
        _read_choice,
        _write_choice,
        keys("$type", "requiredFunctionName"),
    ),
    SettingSpec("parallel", (OPTIONS, "allowMultipleToolCalls")),
    SettingSpec("format", (OPTIONS, "responseFormat"), _read_format, _write_format),
    SettingSpec(
        "effort",
        (OPTIONS, "reasoning", "effort"),
        lambda v: _EFFORTS.get(require_string(v), require_string(v).lower()),
        lambda v, _: _EFFORT_SAYS.get(str(v), UNSET),
    ),
)

# --- responses ------------------------------------------------------------------------------------


def _read_time(value: JSON) -> Setting | UnsetType:
    """A moment as seconds since 1970; one without an offset is taken as UTC."""
    moment = datetime.fromisoformat(require_string(value))
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def _write_time(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    try:
        return (
            datetime.fromtimestamp(value, UTC).isoformat()
            if isinstance(value, int | float)
            else UNSET
        )
    except (ValueError, OverflowError, OSError):
        return UNSET


def _read_usage(value: JSON) -> Setting | UnsetType:
    names = (
        "inputTokenCount",
        "outputTokenCount",
        "cachedInputTokenCount",
        "",
        "reasoningTokenCount",
    )
    return Usage(*(count_at(value, name) if name else None for name in names))


def _write_usage(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Usage)
    read, made = value.input or 0, value.output or 0
    out: Object = {
        "inputTokenCount": read,
        "outputTokenCount": made,
        "totalTokenCount": read + made,
    }
    more = (("cachedInputTokenCount", value.cached), ("reasoningTokenCount", value.reasoning))
    out.update({key: number for key, number in more if number is not None})
    if value.cache_write:
        context.report_loss(context.setting_path, "tokens written to a cache are not counted here")
    return out


RESPONSE = (
    SettingSpec("id", ("responseId",)),
    SettingSpec("model", ("modelId",)),
    SettingSpec("created", ("createdAt",), _read_time, _write_time),
    SettingSpec(
        "usage",
        ("usage",),
        _read_usage,
        _write_usage,
        keys(
            "inputTokenCount",
            "outputTokenCount",
            "totalTokenCount",
            "cachedInputTokenCount",
            "reasoningTokenCount",
        ),
    ),
)
FINISH_REASON_FROM_WIRE = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool",
    "content_filter": "filter",
}
FINISH_REASON_TO_WIRE = {neutral: said for said, neutral in FINISH_REASON_FROM_WIRE.items()}
