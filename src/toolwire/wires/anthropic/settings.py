"""Anthropic Messages: tool definitions, settings, usage and stop reasons."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.model import Choice, Format, Setting, Tool
from toolwire.conversation.parts import Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingSpec, read_texts, reasoning_budget
from toolwire.wires.engine.settings_lowering import CLIENT_TOOLS
from toolwire.wires.engine.specs import (
    Block,
    flag_or_none,
    keys,
    raise_unexpected,
    read_name,
    require_object,
    text_or_none,
)
from toolwire.wires.families.blocks.bodies import define_tool, usage_spec

NAME = "anthropic"

# --- tool definitions -----------------------------------------------------------------------------

TOOL = Block(
    "custom", part=Tool, keys=keys("name", "description", "input_schema", "strict", "type")
)


def read_tool(tool: JSON, path: JsonPath) -> Tool:
    """A tool definition; server tools keep their dated type as `kind`."""
    if not isinstance(tool, dict):
        raise_unexpected(NAME, path, "an object", tool)
    tool_type = tool.get("type") or "custom"
    name = read_name(tool.get("name"))
    if tool_type != "custom":
        return Tool(name, kind=str(tool_type), source=Source(raw=tool, path=path))
    return Tool(
        name,
        text_or_none(tool.get("description")),
        tool.get("input_schema"),
        flag_or_none(tool.get("strict")),
        "function",
        source=Source(tool, path, TOOL),
    )


def write_tools(tools: tuple[Tool, ...], context: EncodeContext) -> list[JSON]:
    """The tool definitions; those of this wire that were not edited stay as they were read."""
    out: list[JSON] = []
    for tool in tools:
        if (
            context.native
            and isinstance(tool.raw, dict)
            and context.name(tool.name) == tool.name
            and read_tool(tool.raw, tool.path) == tool
        ):
            out.append(tool.raw)
        elif tool.kind in CLIENT_TOOLS:
            no_parameters: JSON = {"type": "object", "properties": {}}
            definition = define_tool(tool, context, "input_schema", no_parameters)
            if tool.strict is not None:
                definition["strict"] = tool.strict
            out.append(definition)
    return out


# --- settings -------------------------------------------------------------------------------------


def _read_choice(value: JSON) -> Setting | UnsetType:
    match value:
        case {"type": "auto"}:
            return Choice("auto")
        case {"type": "none"}:
            return Choice("none")
        case {"type": "any"}:
            return Choice("required")
        case {"type": "tool", "name": str(name)}:
            return Choice("required", (name,))
    return UNSET


def _write_choice(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Choice)
    if value.names:
        return {"type": "tool", "name": context.name(value.names[0])}
    return {"type": {"auto": "auto", "none": "none", "required": "any"}[value.mode]}


def _read_format(value: JSON) -> Setting | UnsetType:
    if require_object(value).get("type") != "json_schema":
        return UNSET
    return Format(require_object(value)["schema"])


def _write_format(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Format)
    return UNSET if value.schema is None else {"type": "json_schema", "schema": value.schema}


_MAX_TOKENS = {
    "claude-instant": 4096,
    "claude-2": 4096,
    "claude-3-7": 64000,
    "claude-3-5": 8192,
    "claude-3": 4096,
    "claude-": 32000,
}
"""The `max_tokens` that every model whose name contains the key accepts; the first match counts."""
_MAX_TOKENS_UNKNOWN = 4096
"""The `max_tokens` of other models, and the tokens left for the answer beside a thinking budget."""


def default_max_tokens(body: Object) -> int:
    """The `max_tokens` of a request whose source has none; it must exceed the thinking budget."""
    model, thinking = body.get("model"), body.get("thinking")
    name = model if isinstance(model, str) else ""
    limit = next(
        (tokens for prefix, tokens in _MAX_TOKENS.items() if prefix in name), _MAX_TOKENS_UNKNOWN
    )
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
    return max(limit, budget + _MAX_TOKENS_UNKNOWN) if isinstance(budget, int) else limit


_FORMAT_KEYS = keys("type", "schema")
REQUEST = (
    SettingSpec("model", ("model",)),
    SettingSpec("max_tokens", ("max_tokens",)),
    # Older histories hold them; the API refuses them since version 2026-10-21.
    SettingSpec("temperature", ("temperature",), write=None),
    SettingSpec("top_p", ("top_p",), write=None),
    SettingSpec("top_k", ("top_k",), write=None),
    SettingSpec("stop", ("stop_sequences",), read=read_texts),
    SettingSpec("stream", ("stream",)),
    SettingSpec("user", ("metadata", "user_id")),
    SettingSpec(
        "choice",
        ("tool_choice",),
        read=_read_choice,
        write=_write_choice,
        knows=keys("type", "name", "disable_parallel_tool_use"),
    ),
    SettingSpec(
        "parallel",
        ("tool_choice", "disable_parallel_tool_use"),
        read=lambda value: not value,
        write=lambda value, context: not value,
    ),
    SettingSpec("format", ("output_format",), read=_read_format, write=None, knows=_FORMAT_KEYS),
    SettingSpec(
        "format",
        ("output_config", "format"),
        read=_read_format,
        write=_write_format,
        knows=_FORMAT_KEYS,
    ),
    SettingSpec(
        "effort",
        ("output_config", "effort"),
        write=lambda value, context: value if value in ("low", "medium", "high") else UNSET,
    ),
    SettingSpec(
        "budget",
        ("thinking",),
        *reasoning_budget("budget_tokens", 1024),
        knows=keys("type", "budget_tokens"),
    ),
)

# --- usage and stop reasons -----------------------------------------------------------------------


RESPONSE = (
    SettingSpec("id", ("id",)),
    SettingSpec("model", ("model",)),
    SettingSpec("stop_sequence", ("stop_sequence",)),
    usage_spec(
        ("usage",),
        {
            "input": ("input_tokens",),
            "output": ("output_tokens",),
            "cached": ("cache_read_input_tokens",),
            "cache_write": ("cache_creation_input_tokens",),
            "reasoning": ("output_tokens_details.thinking_tokens",),
        },
        input_includes_cache=False,
    ),
)
FINISH_REASON_FROM_WIRE = {
    "end_turn": "stop",
    "max_tokens": "length",
    "stop_sequence": "sequence",
    "tool_use": "tool",
    "pause_turn": "pause",
    "refusal": "refusal",
    "model_context_window_exceeded": "context",
}
FINISH_REASON_TO_WIRE = {reason: word for word, reason in FINISH_REASON_FROM_WIRE.items()} | {
    "filter": "refusal"
}
