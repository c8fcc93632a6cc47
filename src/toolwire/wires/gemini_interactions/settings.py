"""Settings of Gemini interactions: requests, tool definitions, responses, statuses."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.model import Choice, Format, Setting, Tool, WebSearch
from toolwire.conversation.parts import Source
from toolwire.wires.engine.answers import (
    AnswerFields,
    answer_id,
    answer_model,
    answer_time_text,
    id_setting,
    model_setting,
    time_text_setting,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import (
    SettingSpec,
    plain_settings,
    read_texts,
    same_name,
    setting_table,
)
from toolwire.wires.engine.settings_lowering import CLIENT_TOOLS
from toolwire.wires.engine.specs import (
    Block,
    keys,
    raise_unexpected,
    read_definition,
    require_object,
    require_string,
)
from toolwire.wires.engine.usage import usage_spec
from toolwire.wires.families.blocks.bodies import define_tool
from toolwire.wires.gemini_interactions.content import NAME, WEB_SEARCH

# --- tool definitions -----------------------------------------------------------------------------

_FUNCTION = Block("function", part=Tool, keys=keys("type", "name", "description", "parameters"))

_SEARCH = Block("google_search", part=Tool, keys=keys("type"))


def read_tool(tool: JSON, path: JsonPath) -> Tool:
    """Read a tool definition. A provider's own tool has its type as kind."""
    if not isinstance(tool, dict):
        raise_unexpected(NAME, path, dict, tool)
    kind = tool.get("type")
    if kind == WEB_SEARCH.kind:
        source = Source(tool, path, _SEARCH)
        return Tool("", kind=WEB_SEARCH.kind, web_search=WebSearch(), source=source)
    if kind != "function":
        return Tool("", kind=str(kind), source=Source(tool, path))
    return read_definition(tool, tool.get("parameters"), Source(tool, path, _FUNCTION))


def write_tools(tools: tuple[Tool, ...], context: EncodeContext) -> list[JSON]:
    """The definitions of functions, and the tools that were read from this wire."""
    out: list[JSON] = []
    for tool in tools:
        if tool.kind in CLIENT_TOOLS:
            out.append({"type": "function", **define_tool(tool, context, "parameters")})
        elif context.native and isinstance(tool.raw, dict):
            out.append(tool.raw)
        elif tool.kind == WEB_SEARCH.kind:
            out.append({"type": WEB_SEARCH.kind})
    return out


# --- settings of requests -------------------------------------------------------------------------

_CONFIG = "generation_config"
_MODE_FROM_WIRE: dict[str, Literal["auto", "required", "none"]] = {
    "auto": "auto",
    "any": "required",
    "none": "none",
}
_MODE_TO_WIRE = {mode: word for word, mode in _MODE_FROM_WIRE.items()}
_EFFORTS = ("minimal", "low", "medium", "high")
_JSON_TYPE = "application/json"


def _read_choice(value: JSON) -> Setting | UnsetType:
    if isinstance(value, str):
        return Choice(_MODE_FROM_WIRE[value]) if value in _MODE_FROM_WIRE else UNSET
    allowed = require_object(require_object(value)["allowed_tools"])
    mode, names = allowed.get("mode", "auto"), allowed.get("tools")
    if not isinstance(mode, str) or mode not in _MODE_FROM_WIRE:
        return UNSET
    listed = names if isinstance(names, list) else []
    return Choice(_MODE_FROM_WIRE[mode], tuple(map(require_string, listed)))


def _write_choice(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Choice)
    mode = _MODE_TO_WIRE[value.mode]
    if not value.names or value.mode == "none":
        return mode
    return {"allowed_tools": {"mode": mode, "tools": [context.name(name) for name in value.names]}}


def _read_format(value: JSON) -> Setting | UnsetType:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    fields = require_object(value)
    if fields["type"] != "text" or not fields.keys() <= {"type", "mime_type", "schema"}:
        return UNSET
    mime = fields.get("mime_type", _JSON_TYPE if "schema" in fields else None)
    return Format(fields.get("schema")) if mime == _JSON_TYPE else UNSET


def _write_format(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Format)
    out: Object = {"type": "text", "mime_type": _JSON_TYPE}
    return out if value.schema is None else {**out, "schema": value.schema}


def _write_effort(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    return value if isinstance(value, str) and value in _EFFORTS else UNSET


_TIER_FROM_WIRE = {"standard": "default", "flex": "flex", "priority": "priority"}
_TIER_TO_WIRE = {tier: word for word, tier in _TIER_FROM_WIRE.items()}


REQUEST = setting_table(
    *same_name("model", "stream", "store"),
    SettingSpec(
        "service_tier",
        ("service_tier",),
        read=lambda value: _TIER_FROM_WIRE.get(require_string(value), UNSET),
        write=lambda value, context: _TIER_TO_WIRE.get(str(value), UNSET),
    ),
    SettingSpec("format", ("response_format",), read=_read_format, write=_write_format),
    *plain_settings(_CONFIG, max_tokens="max_output_tokens", temperature="temperature"),
    *plain_settings(_CONFIG, top_p="top_p", seed="seed"),
    SettingSpec("stop", (_CONFIG, "stop_sequences"), read=read_texts),
    SettingSpec("effort", (_CONFIG, "thinking_level"), write=_write_effort),
    SettingSpec("choice", (_CONFIG, "tool_choice"), read=_read_choice, write=_write_choice),
)
REQUEST_FIELDS = keys("input", "system_instruction", "tools")
"""Fields of a request that are not settings."""
HISTORY_ELSEWHERE = ("previous_interaction_id", "continuation_token")
"""Fields that refer to a history on the server; a request with one of them needs no input."""

# --- responses ------------------------------------------------------------------------------------

USAGE = usage_spec(
    ("usage",),
    {
        "input": ("total_input_tokens",),
        "output": ("total_output_tokens",),
        "total": ("total_tokens",),
        "cached": ("total_cached_tokens",),
        "reasoning": ("total_thought_tokens",),
    },
    output_includes_reasoning=False,
)
_ID_PREFIX = "v1_"
RESPONSE = setting_table(
    id_setting(prefix=_ID_PREFIX), model_setting(), time_text_setting("created"), USAGE
)
ANSWER = AnswerFields.of(
    {
        "id": answer_id(_ID_PREFIX),
        "object": "interaction",
        "status": "completed",
        "model": answer_model,
        "created": answer_time_text,
        "steps": [],
    }
)
"""The fields of every response."""
RESPONSE_FIELDS = keys(
    *"object status steps updated input system_instruction tools generation_config".split(),
    *"previous_interaction_id response_format response_mime_type response_modalities".split(),
    *"safety_settings labels output_text".split(),
)
"""Fields of a response that are not part of the answer; some repeat the request."""

FINISH_REASON_FROM_WIRE = {"completed": "stop", "requires_action": "tool", "incomplete": "length"}
FINISH_REASON_TO_WIRE = {
    **{reason: word for word, reason in FINISH_REASON_FROM_WIRE.items()},
    "sequence": "completed",
    "filter": "incomplete",
    "error": "failed",
}


def read_finish_reason(status: JSON, *, has_calls: bool) -> str | None:
    """The neutral finish reason for the status of an interaction."""
    if not isinstance(status, str):
        return None
    reason = FINISH_REASON_FROM_WIRE.get(status, status)
    return "tool" if reason == "stop" and has_calls else reason
