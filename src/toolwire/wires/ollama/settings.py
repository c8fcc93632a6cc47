"""Tool definitions and settings of Ollama's chat."""

from __future__ import annotations

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.json import JSON
from toolwire.conversation.model import Format, Setting, Tool, Usage
from toolwire.wires.engine.answers import model_setting, time_text_setting
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingSpec, read_text_or_texts, same_name, setting_table
from toolwire.wires.engine.specs import blocks, count_at, require_object, require_string
from toolwire.wires.families.chat import settings as chat_settings
from toolwire.wires.families.chat.blocks import FUNCTION_TOOL, TOOL_FIELDS

TOOLS = blocks(replace(FUNCTION_TOOL, inner=(("function", TOOL_FIELDS - {"strict"}),)))


def write_tool(tool: Tool, context: EncodeContext) -> JSON:
    """Write a function."""
    return chat_settings.write_tool(tool, context, schema=context.schema_of(tool))


# --- requests -------------------------------------------------------------------------------------


def _read_format(value: JSON) -> Setting | UnsetType:
    return Format() if value == "json" else Format(require_object(value))


def _write_format(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Format)
    return value.schema if isinstance(value.schema, dict) else "json"


def _write_effort(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    return value if isinstance(value, str) and value in ("low", "medium", "high") else UNSET


_OPTIONS = ("temperature", "top_p", "top_k", "seed", "presence_penalty", "frequency_penalty")
REQUEST = setting_table(
    *same_name("model", "stream"),
    SettingSpec("max_tokens", ("options", "num_predict")),
    *(SettingSpec(name, ("options", name)) for name in _OPTIONS),
    SettingSpec("stop", ("options", "stop"), read=read_text_or_texts),
    SettingSpec("format", ("format",), read=_read_format, write=_write_format),
    # `think: true` states no effort, so only this wire gets it back.
    SettingSpec("effort", ("think",), read=require_string, write=_write_effort),
)

# --- responses ------------------------------------------------------------------------------------


def _read_usage(value: JSON) -> Setting | UnsetType:
    return Usage(None, count_at(value))


def _write_usage(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Usage)
    return value.output or 0


RESPONSE = setting_table(
    model_setting(),
    time_text_setting("created_at"),
    # The input tokens, `prompt_eval_count`, are read and written with the body.
    SettingSpec("usage", ("eval_count",), read=_read_usage, write=_write_usage),
)


FINISH_REASON_FROM_WIRE = {"stop": "stop", "length": "length"}
FINISH_REASON_TO_WIRE = {"stop": "stop", "tool": "stop", "length": "length", "sequence": "stop"}
