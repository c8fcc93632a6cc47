"""Genkit's tool definitions, the settings of requests and responses, and its finish reasons."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.model import Choice, Format, Setting, Tool, Usage
from toolwire.conversation.parts import Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingSpec
from toolwire.wires.engine.specs import (
    Block,
    count_at,
    keys,
    raise_unexpected,
    read_name,
    require_object,
    require_string,
    text_or_none,
)
from toolwire.wires.genkit.blocks import NAME

TOOL = Block("tool", part=Tool, keys=keys("name", "description", "inputSchema"))


def read_tool(tool: JSON, path: JsonPath) -> Tool:
    """Read a tool definition, or the bare name of a tool."""
    if isinstance(tool, str):
        return Tool(tool, source=Source(raw=tool, path=path))
    if not isinstance(tool, dict):
        raise_unexpected(NAME, path, "an object or a name", tool)
    return Tool(
        read_name(tool.get("name")),
        text_or_none(tool.get("description")),
        tool.get("inputSchema"),
        source=Source(tool, path, TOOL),
    )


def write_tools(tools: tuple[Tool, ...], context: EncodeContext) -> list[JSON]:
    """Write tool definitions; the tools of a provider are reported as lost."""
    out: list[JSON] = []
    for tool in tools:
        if tool.kind not in ("function", "custom"):
            context.report_loss(tool, f"a tool of another provider: {tool.kind}")
            continue
        definition: Object = {"name": context.name(tool.name)}
        if tool.description is not None:
            definition["description"] = tool.description
        schema = context.schema_of(tool)
        if schema is not None:
            definition["inputSchema"] = schema
        out.append(definition)
    return out


def _read_choice(value: JSON) -> Setting | UnsetType:
    return Choice(value) if value in ("auto", "required", "none") else UNSET  # type: ignore[arg-type]


def _write_choice(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Choice)
    return value.mode


def _read_output(value: JSON) -> Setting | UnsetType:
    output = require_object(value)
    schema = output.get("schema", output.get("jsonSchema"))
    return Format(schema) if schema is not None or output.get("format") == "json" else UNSET


def _write_output(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Format)
    output: Object = {"format": "json", "contentType": "application/json"}
    if value.schema is not None:
        output.update(schema=value.schema, constrained=True)
    return output


def _read_stop(value: JSON) -> Setting | UnsetType:
    return tuple(map(require_string, value)) if isinstance(value, list) else UNSET


REQUEST = (
    SettingSpec("model", ("model",)),
    SettingSpec("max_tokens", ("config", "maxOutputTokens")),
    SettingSpec("temperature", ("config", "temperature")),
    SettingSpec("top_p", ("config", "topP")),
    SettingSpec("top_k", ("config", "topK")),
    SettingSpec("stop", ("config", "stopSequences"), read=_read_stop),
    SettingSpec("candidates", ("candidates",)),
    SettingSpec("choice", ("toolChoice",), read=_read_choice, write=_write_choice),
    SettingSpec("format", ("output",), read=_read_output, write=_write_output),
)
OUTPUT_KEYS = keys("format", "contentType", "schema", "jsonSchema", "constrained")


def _read_usage(value: JSON) -> Setting | UnsetType:
    """`outputTokens` does not include the tokens of reasoning."""
    reasoning, output = count_at(value, "thoughtsTokens"), count_at(value, "outputTokens")
    return Usage(
        input=count_at(value, "inputTokens"),
        output=output if reasoning is None else (output or 0) + reasoning,
        cached=count_at(value, "cachedContentTokens"),
        reasoning=reasoning,
    )


def _write_usage(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Usage)
    total_input, total_output = value.input or 0, value.output or 0
    usage: Object = {
        "inputTokens": total_input,
        "outputTokens": total_output - (value.reasoning or 0),
        "totalTokens": total_input + total_output,
    }
    if value.reasoning is not None:
        usage["thoughtsTokens"] = value.reasoning
    if value.cached is not None:
        usage["cachedContentTokens"] = value.cached
    if value.cache_write:  # the codec does not lower responses of text and calls only
        context.report_loss(context.setting_path, "tokens written to a cache are not counted here")
    return usage


RESPONSE = (
    SettingSpec(
        "usage",
        ("usage",),
        read=_read_usage,
        write=_write_usage,
        knows=keys(
            "inputTokens", "outputTokens", "totalTokens", "thoughtsTokens", "cachedContentTokens"
        ),
    ),
)
FINISH_REASON_FROM_WIRE = {
    "stop": "stop",
    "length": "length",
    "blocked": "filter",
    "interrupted": "pause",
}
FINISH_REASON_TO_WIRE = {
    "stop": "stop",
    "length": "length",
    "filter": "blocked",
    "refusal": "blocked",
    "pause": "interrupted",
    "tool": "stop",
    "sequence": "stop",
}
