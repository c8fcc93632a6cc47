"""Tool definitions and settings that chat wires share.

This module knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object, put
from toolwire.conversation.model import Format, Setting, Tool, Usage
from toolwire.conversation.parts import Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingSpec
from toolwire.wires.engine.specs import (
    Block,
    flag_or_none,
    read_definition,
    require_object,
    require_string,
    text_or_none,
)

# --- tool definitions -----------------------------------------------------------------------------

WriteTool: TypeAlias = "Callable[[Tool, EncodeContext], JSON]"
_USUAL_FIELDS = {"name", "description", "parameters"}
"""The fields of most functions."""


def read_tool(tool: Object, path: JsonPath, specs: Mapping[str, Block]) -> Tool:
    """Read a tool definition: an object under the name of its kind, one of `specs`.

    A tool of any other kind is the provider's own and keeps only its type.
    """
    for kind in specs:
        inner = tool.get(kind)
        if isinstance(inner, dict):
            is_usual = kind == "function" and inner.keys() == _USUAL_FIELDS
            is_complete = is_usual and len(tool) == 2 and "type" in tool
            source = Source(tool, path, specs[kind], None, is_complete)
            return read_definition(inner, inner.get("parameters"), source, kind)
    return Tool("", kind=str(tool.get("type")), source=Source(raw=tool, path=path))


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


def same_name(*names: str) -> tuple[SettingSpec, ...]:
    """Settings whose fields have their neutral names."""
    return tuple(SettingSpec(name, (name,)) for name in names)


def read_stop(value: JSON) -> Setting | UnsetType:
    """Read stop sequences: one, or a list."""
    if isinstance(value, str):
        return (value,)
    return tuple(require_string(item) for item in value) if isinstance(value, list) else UNSET


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


STOP = SettingSpec("stop", ("stop",), read_stop)
FORMAT = SettingSpec("format", ("response_format",), _read_format, _write_format)
REQUEST = (
    *same_name("model", "max_tokens", "temperature", "top_p"),
    *same_name("presence_penalty", "frequency_penalty", "stream"),
    SettingSpec("candidates", ("n",)),
    STOP,
    FORMAT,
)
"""The settings that requests of most chat wires share."""

UsageDetail: TypeAlias = Literal["cached", "cache_write", "reasoning"]
_USAGE_DETAILS: dict[UsageDetail, tuple[str, str]] = {
    "cached": ("prompt_tokens_details", "cached_tokens"),
    "cache_write": ("prompt_tokens_details", "cache_write_tokens"),
    "reasoning": ("completion_tokens_details", "reasoning_tokens"),
}


def usage_setting(*details: UsageDetail) -> SettingSpec:
    """The setting `usage` of a wire that counts `details` beside input and output."""
    paths = {name: _USAGE_DETAILS[name] for name in details}

    def read(value: JSON) -> Setting | UnsetType:
        usage = value if isinstance(value, dict) else {}
        counts: dict[str, int] = {}
        for name, (field, inner_field) in paths.items():
            inner = usage.get(field)
            if isinstance(inner, dict) and isinstance(count := inner.get(inner_field), int):
                counts[name] = count
        prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
        return Usage(
            prompt if isinstance(prompt, int) else None,
            completion if isinstance(completion, int) else None,
            **counts,
        )

    def write(value: Setting, context: EncodeContext) -> JSON | UnsetType:
        assert isinstance(value, Usage)
        prompt, completion = value.input or 0, value.output or 0
        out: JSON = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }
        for name, path in paths.items():
            count: int | None = getattr(value, name)
            if count is not None:
                out = put(out, path, count)
        return out

    counts = ("prompt_tokens", "completion_tokens", "total_tokens")
    known = frozenset((*counts, *(".".join(path) for path in paths.values())))
    return SettingSpec("usage", ("usage",), read, write, known)
