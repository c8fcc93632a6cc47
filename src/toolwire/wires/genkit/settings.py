"""Genkit's tool definitions, the settings of requests and responses, and its finish reasons."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.model import Choice, Format, Setting, Tool
from toolwire.conversation.parts import Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import (
    SettingSpec,
    plain_settings,
    read_texts,
    same_name,
    setting_table,
)
from toolwire.wires.engine.specs import (
    Block,
    keys,
    raise_unexpected,
    read_name,
    require_object,
    text_or_none,
)
from toolwire.wires.engine.usage import usage_spec
from toolwire.wires.genkit.blocks import NAME

TOOL = Block("tool", part=Tool, keys=keys("name", "description", "inputSchema"))


def read_tool(tool: JSON, path: JsonPath) -> Tool:
    """Read a tool definition, or the bare name of a tool."""
    if isinstance(tool, str):
        return Tool(tool, source=Source(raw=tool, path=path))
    if not isinstance(tool, dict):
        raise_unexpected(NAME, path, (dict, "a name"), tool)
    return Tool(
        read_name(tool.get("name")),
        text_or_none(tool.get("description")),
        tool.get("inputSchema"),
        source=Source(tool, path, TOOL),
    )


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


REQUEST = setting_table(
    *same_name("model", "candidates"),
    *plain_settings("config", max_tokens="maxOutputTokens", temperature="temperature"),
    *plain_settings("config", top_p="topP", top_k="topK"),
    SettingSpec("stop", ("config", "stopSequences"), read=read_texts),
    SettingSpec("choice", ("toolChoice",), read=_read_choice, write=_write_choice),
    SettingSpec(
        "format",
        ("output",),
        read=_read_output,
        write=_write_output,
        knows=keys("format", "contentType", "schema", "jsonSchema", "constrained"),
    ),
)


RESPONSE = setting_table(
    usage_spec(
        ("usage",),
        {
            "input": ("inputTokens",),
            "output": ("outputTokens",),
            "total": ("totalTokens",),
            "cached": ("cachedContentTokens",),
            "reasoning": ("thoughtsTokens",),
        },
        output_includes_reasoning=False,
    )
)
FINISH_REASON_FROM_WIRE = {
    "stop": "stop",
    "length": "length",
    "blocked": "filter",
    "interrupted": "pause",
}
FINISH_REASON_TO_WIRE = {reason: word for word, reason in FINISH_REASON_FROM_WIRE.items()} | {
    "refusal": "blocked",
    "tool": "stop",
    "sequence": "stop",
}
