"""Tool definitions and settings that chat wires share.

This module knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.model import Format, Setting, Tool
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingSpec, read_text_or_texts, same_name
from toolwire.wires.engine.specs import flag_or_none, require_object, text_or_none
from toolwire.wires.engine.usage import usage_spec

# --- tool definitions -----------------------------------------------------------------------------

WriteTool: TypeAlias = "Callable[[Tool, EncodeContext], JSON]"


def write_tool(
    tool: Tool, context: EncodeContext, *, schema: JSON, kind: str = "function"
) -> Object:
    """Write a tool definition; absent fields are left out."""
    inner: Object = {"name": context.name(tool.name)}
    if tool.description is not None:
        inner["description"] = tool.description
    if schema is not None:
        inner["parameters"] = schema
    if tool.strict is not None:
        inner["strict"] = tool.strict
    return {"type": kind, kind: inner}


# --- settings -------------------------------------------------------------------------------------


def _read_format(value: JSON) -> Setting | UnsetType:
    kind = require_object(value)["type"]
    if kind != "json_schema":
        return Format() if kind == "json_object" else UNSET
    inner = require_object(require_object(value)["json_schema"])
    return Format(
        inner.get("schema"),
        text_or_none(inner.get("name")),
        flag_or_none(inner.get("strict")),
        text_or_none(inner.get("description")),
    )


def _write_format(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Format)
    if value.schema is None:
        return {"type": "json_object"}
    inner: Object = {"name": value.name or "answer", "schema": value.schema}
    if value.strict is not None:
        inner["strict"] = value.strict
    if value.description is not None:
        inner["description"] = value.description
    return {"type": "json_schema", "json_schema": inner}


STOP = SettingSpec("stop", ("stop",), read_text_or_texts)
FORMAT = SettingSpec("format", ("response_format",), _read_format, _write_format)
REQUEST = (
    *same_name("model", "max_tokens", "temperature", "top_p"),
    *same_name("presence_penalty", "frequency_penalty", "stream"),
    SettingSpec("candidates", ("n",)),
    STOP,
    FORMAT,
)
"""The settings that requests of most chat wires share."""

_USAGE_DETAILS = {
    "cached": "prompt_tokens_details.cached_tokens",
    "cache_write": "prompt_tokens_details.cache_write_tokens",
    "reasoning": "completion_tokens_details.reasoning_tokens",
}


def usage_setting(*details: Literal["cached", "cache_write", "reasoning"]) -> SettingSpec:
    """The setting `usage` of a wire that counts `details` beside input and output."""
    return usage_spec(
        ("usage",),
        {
            "input": ("prompt_tokens",),
            "output": ("completion_tokens",),
            "total": ("total_tokens",),
            **{name: (_USAGE_DETAILS[name],) for name in details},
        },
    )
