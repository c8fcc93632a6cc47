"""Anthropic Messages: the tools on offer, the settings, usage and stop reasons."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.model import Choice, Format, Setting, Tool, Usage
from toolwire.conversation.parts import Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingSpec, reasoning_budget
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

NAME = "anthropic"

# --- tools and settings ---------------------------------------------------------------------------

OFFER = Block("custom", Tool, keys=keys("name", "description", "input_schema", "strict", "type"))


def read_offer(tool: JSON, path: JsonPath) -> Tool:
    """A tool on offer; the provider's own keep their dated type as kind."""
    if not isinstance(tool, dict):
        raise_unexpected(NAME, path, "an object", tool)
    kind = tool.get("type") or "custom"
    name = read_name(tool.get("name"))
    if kind != "custom":
        return Tool(name, kind=str(kind), source=Source(raw=tool, path=path))
    return Tool(
        name,
        text_or_none(tool.get("description")),
        tool.get("input_schema"),
        flag_or_none(tool.get("strict")),
        "function",
        source=Source(tool, path, OFFER),
    )


def write_tools(tools: tuple[Tool, ...], context: EncodeContext, *, own: bool) -> list[JSON]:
    """The tools; this wire's own go back as they came, with all that only it knows."""
    out: list[JSON] = []
    for tool in tools:
        if (
            own
            and isinstance(tool.raw, dict)
            and context.name(tool.name) == tool.name
            and read_offer(tool.raw, tool.path) == tool
        ):
            out.append(tool.raw)
            continue
        if tool.kind not in ("function", "custom"):
            context.report_loss(tool, f"a tool of another provider: {tool.kind}")
            continue
        given: Object = {"name": context.name(tool.name)}
        if tool.description is not None:
            given["description"] = tool.description
        schema = context.schema_of(tool)
        given["input_schema"] = (
            schema if schema is not None else {"type": "object", "properties": {}}
        )
        if tool.strict is not None:
            given["strict"] = tool.strict
        out.append(given)
    return out


_MODES = {"auto": "auto", "any": "required", "tool": "required", "none": "none"}


def _read_choice(value: JSON) -> Setting | UnsetType:
    mode = _MODES[require_string(require_object(value)["type"])]
    return Choice(
        mode,  # type: ignore[arg-type]
        (require_string(require_object(value)["name"]),)
        if require_object(value)["type"] == "tool"
        else (),
    )


def _write_choice(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Choice)
    if value.mode == "required" and len(value.names) == 1:
        return {"type": "tool", "name": context.name(value.names[0])}
    if value.names:
        context.report_loss(
            context.setting_path, "only one tool can be named; the others stay allowed"
        )
    return {"type": {"auto": "auto", "none": "none", "required": "any"}[value.mode]}


def _read_format(value: JSON) -> Setting | UnsetType:
    return (
        Format(require_object(value)["schema"])
        if require_object(value).get("type") == "json_schema"
        else UNSET
    )


def _write_format(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Format)
    if value.schema is None:
        return UNSET
    if value.name or value.strict is not None or value.description:
        context.report_loss(
            context.setting_path,
            "the schema of an answer has no name, description or strict flag here",
        )
    return {"type": "json_schema", "schema": value.schema}


_LONGEST = {
    "claude-instant": 4096,
    "claude-2": 4096,
    "claude-3-7": 64000,
    "claude-3-5": 8192,
    "claude-3": 4096,
    "claude-": 32000,
}
"""Tokens of an answer that every model with such a name takes; a larger number is refused. The
first that fits counts."""
_LONG = 4096
"""What a model takes whose name says nothing, and what is left for words beside thoughts."""


def longest_answer(body: Object) -> int:
    """What `max_tokens` says when the source does not: the wire demands a number, and it has to be
    above that for thoughts."""
    model, thinking = body.get("model"), body.get("thinking")
    longest = next(
        (most for name, most in _LONGEST.items() if isinstance(model, str) and name in model), _LONG
    )
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
    return max(longest, budget + _LONG) if isinstance(budget, int) else longest


REQUEST = (
    SettingSpec("model", ("model",)),
    SettingSpec("max_tokens", ("max_tokens",)),
    # Read, since older histories hold them; refused since API version 2026-10-21, so never written.
    SettingSpec("temperature", ("temperature",), write=None),
    SettingSpec("top_p", ("top_p",), write=None),
    SettingSpec("top_k", ("top_k",), write=None),
    SettingSpec(
        "stop",
        ("stop_sequences",),
        lambda v: tuple(require_string(s) for s in v) if isinstance(v, list) else UNSET,
    ),
    SettingSpec("stream", ("stream",)),
    SettingSpec("user", ("metadata", "user_id")),
    SettingSpec(
        "choice",
        ("tool_choice",),
        _read_choice,
        _write_choice,
        keys("type", "name", "disable_parallel_tool_use"),
    ),
    SettingSpec(
        "parallel",
        ("tool_choice", "disable_parallel_tool_use"),
        lambda v: not v,
        lambda v, _: not v,
    ),
    SettingSpec("format", ("output_format",), _read_format, None),
    SettingSpec("format", ("output_config", "format"), _read_format, _write_format),
    SettingSpec(
        "effort",
        ("output_config", "effort"),
        write=lambda v, _: v if v in ("low", "medium", "high") else UNSET,
    ),
    SettingSpec("budget", ("thinking",), *reasoning_budget("budget_tokens", 1024)),
)


def _read_usage(value: JSON) -> Setting | UnsetType:
    cached, made = (
        count_at(value, "cache_read_input_tokens"),
        count_at(value, "cache_creation_input_tokens"),
    )
    fresh = count_at(value, "input_tokens")
    return Usage(
        None if fresh is None else fresh + (cached or 0) + (made or 0),
        count_at(value, "output_tokens"),
        cached,
        made,
        count_at(value, "output_tokens_details", "thinking_tokens"),
    )


def _write_usage(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Usage)
    fresh = (value.input or 0) - (value.cached or 0) - (value.cache_write or 0)
    out: Object = {"input_tokens": max(fresh, 0), "output_tokens": value.output or 0}
    if value.cached is not None:
        out["cache_read_input_tokens"] = value.cached
    if value.cache_write is not None:
        out["cache_creation_input_tokens"] = value.cache_write
    if value.reasoning is not None:
        out["output_tokens_details"] = {"thinking_tokens": value.reasoning}
    return out


RESPONSE = (
    SettingSpec("id", ("id",)),
    SettingSpec("model", ("model",)),
    SettingSpec("stop_sequence", ("stop_sequence",)),
    SettingSpec(
        "usage",
        ("usage",),
        _read_usage,
        _write_usage,
        keys(
            "input_tokens",
            "output_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
            "output_tokens_details.thinking_tokens",
        ),
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
FINISH_REASON_TO_WIRE = {
    "stop": "end_turn",
    "length": "max_tokens",
    "sequence": "stop_sequence",
    "tool": "tool_use",
    "pause": "pause_turn",
    "refusal": "refusal",
    "filter": "refusal",
    "context": "model_context_window_exceeded",
}
