"""Cohere Chat: tool definitions, settings, usage and finish reasons."""

from __future__ import annotations

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.model import Choice, Format, Setting, Tool, Usage
from toolwire.wires.engine.answers import id_setting
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import (
    SettingSpec,
    read_text_or_texts,
    reasoning_budget,
    same_name,
    setting_table,
)
from toolwire.wires.engine.specs import blocks, keys, require_object
from toolwire.wires.families.chat import settings as chat_settings
from toolwire.wires.families.chat.blocks import FUNCTION_TOOL, TOOL_FIELDS

# --- tool definitions -----------------------------------------------------------------------------

TOOLS = blocks(replace(FUNCTION_TOOL, inner=(("function", TOOL_FIELDS - {"strict"}),)))


def write_tool(tool: Tool, context: EncodeContext) -> JSON:
    """Write a function. Its schema is required."""
    schema = context.schema_of(tool)
    if not isinstance(schema, dict):
        context.report_loss(tool, "a tool needs a schema here; an empty one is sent")
        schema = {"type": "object", "properties": {}}
    return chat_settings.write_tool(replace(tool, strict=None), context, schema=schema)


# --- settings -------------------------------------------------------------------------------------


def _read_choice(value: JSON) -> Setting | UnsetType:
    if value == "REQUIRED":
        return Choice("required")
    return Choice("none") if value == "NONE" else UNSET


def _write_choice(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Choice)
    return UNSET if value.mode == "auto" else value.mode.upper()


def _read_format(value: JSON) -> Setting | UnsetType:
    if require_object(value)["type"] != "json_object":
        return UNSET
    return Format(require_object(value).get("json_schema"))


def _write_format(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Format)
    out: Object = {"type": "json_object"}
    if isinstance(value.schema, dict):
        out["json_schema"] = value.schema
    return out


REQUEST = setting_table(
    *same_name("model", "max_tokens", "temperature", "seed", "stream"),
    *same_name("presence_penalty", "frequency_penalty"),
    SettingSpec("top_p", ("p",)),
    SettingSpec("top_k", ("k",)),
    SettingSpec("stop", ("stop_sequences",), read=read_text_or_texts),
    SettingSpec("choice", ("tool_choice",), read=_read_choice, write=_write_choice),
    SettingSpec("format", ("response_format",), read=_read_format, write=_write_format),
    SettingSpec("budget", ("thinking",), *reasoning_budget("token_budget", 1)),
)

# --- usage and finish reasons ---------------------------------------------------------------------


def _count(value: JSON, *path: str) -> int | None:
    """A count, which this wire may send as 12.0."""
    number = get(value, path)
    if isinstance(number, bool) or not isinstance(number, int | float) or number != int(number):
        return None
    return int(number)


def _read_usage(value: JSON) -> Setting | UnsetType:
    return Usage(
        _count(value, "tokens", "input_tokens"),
        _count(value, "tokens", "output_tokens"),
        _count(value, "cached_tokens"),
    )


def _write_usage(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Usage)
    out: Object = {"tokens": {"input_tokens": value.input or 0, "output_tokens": value.output or 0}}
    if value.cached is not None:
        out["cached_tokens"] = value.cached
    return out


RESPONSE = setting_table(
    id_setting(),
    SettingSpec(
        "usage",
        ("usage",),
        read=_read_usage,
        write=_write_usage,
        knows=keys("tokens.input_tokens", "tokens.output_tokens", "cached_tokens"),
    ),
)
FINISH_REASON_FROM_WIRE = {
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "sequence",
    "MAX_TOKENS": "length",
    "TOOL_CALL": "tool",
}
FINISH_REASON_TO_WIRE = {stop: reason for reason, stop in FINISH_REASON_FROM_WIRE.items()}
FINISH_REASONS = frozenset({*FINISH_REASON_FROM_WIRE, "ERROR", "TIMEOUT"})
