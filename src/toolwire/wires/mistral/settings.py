"""Tool definitions and settings of Mistral chat completions."""

from __future__ import annotations

from msgspec import UnsetType

from toolwire.conversation.json import JSON
from toolwire.conversation.model import Choice, Setting, Tool
from toolwire.wires.engine.answers import id_setting, model_setting, time_setting
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingSpec, setting_table
from toolwire.wires.engine.specs import keys, require_object, require_string
from toolwire.wires.families.chat import settings as chat_settings
from toolwire.wires.families.chat.settings import usage_setting


def write_tool(tool: Tool, context: EncodeContext) -> JSON:
    """Write a function. Its schema is required."""
    schema = context.schema_of(tool)
    if schema is None:
        schema = {"type": "object", "properties": {}}
    return chat_settings.write_tool(tool, context, schema=schema)


_CHOICES = {
    "auto": Choice("auto"),
    "none": Choice("none"),
    "any": Choice("required"),
    "required": Choice("required"),
}


def _read_choice(value: JSON) -> Setting | UnsetType:
    if isinstance(value, str):
        return _CHOICES[value]
    function = require_object(require_object(value)["function"])
    return Choice("required", (require_string(function["name"]),))


def _write_choice(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Choice)
    if value.names:
        return {"type": "function", "function": {"name": context.name(value.names[0])}}
    return "any" if value.mode == "required" else value.mode


REQUEST = setting_table(
    *chat_settings.REQUEST,
    SettingSpec("top_k", ("top_k",)),
    SettingSpec("seed", ("random_seed",)),
    SettingSpec(
        "choice",
        ("tool_choice",),
        read=_read_choice,
        write=_write_choice,
        knows=keys("", "type", "function.name"),
    ),
    SettingSpec("parallel", ("parallel_tool_calls",)),
    SettingSpec("effort", ("reasoning_effort",)),
)
RESPONSE = setting_table(
    id_setting(), model_setting(), time_setting("created"), usage_setting("cached")
)
FINISH_REASON_FROM_WIRE = {
    "stop": "stop",
    "length": "length",
    "model_length": "context",
    "tool_calls": "tool",
    "error": "error",
}
FINISH_REASON_TO_WIRE = {reason: word for word, reason in FINISH_REASON_FROM_WIRE.items()}
