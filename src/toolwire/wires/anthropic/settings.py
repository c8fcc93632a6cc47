"""Anthropic Messages: the tools on offer, the settings, usage and stop reasons."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.model import Choice, Format, Setting, Tool, Usage
from toolwire.conversation.parts import Source
from toolwire.wires.engine.encode_context import Page
from toolwire.wires.engine.settings import Field, thinking
from toolwire.wires.engine.specs import (
    Row,
    blame,
    count_at,
    flag_or_none,
    keys,
    name_of,
    obj,
    string,
    text_or_none,
)

NAME = "anthropic"

# --- tools and settings ---------------------------------------------------------------------------

OFFER = Row("custom", Tool, keys=keys("name", "description", "input_schema", "strict", "type"))


def read_offer(tool: JSON, at: JsonPath) -> Tool:
    """A tool on offer; the provider's own keep their dated type as kind."""
    if not isinstance(tool, dict):
        blame(NAME, at, "an object", tool)
    kind = tool.get("type") or "custom"
    name = name_of(tool.get("name"))
    if kind != "custom":
        return Tool(name, kind=str(kind), source=Source(raw=tool, path=at))
    return Tool(
        name,
        text_or_none(tool.get("description")),
        tool.get("input_schema"),
        flag_or_none(tool.get("strict")),
        "function",
        source=Source(tool, at, OFFER),
    )


def write_tools(tools: tuple[Tool, ...], page: Page, *, own: bool) -> list[JSON]:
    """The tools; this wire's own go back as they came, with all that only it knows."""
    out: list[JSON] = []
    for tool in tools:
        if (
            own
            and isinstance(tool.raw, dict)
            and page.name(tool.name) == tool.name
            and read_offer(tool.raw, tool.path) == tool
        ):
            out.append(tool.raw)
            continue
        if tool.kind not in ("function", "custom"):
            page.lose(tool, f"a tool of another provider: {tool.kind}")
            continue
        given: Object = {"name": page.name(tool.name)}
        if tool.description is not None:
            given["description"] = tool.description
        schema = page.schema_of(tool)
        given["input_schema"] = (
            schema if schema is not None else {"type": "object", "properties": {}}
        )
        if tool.strict is not None:
            given["strict"] = tool.strict
        out.append(given)
    return out


_MODES = {"auto": "auto", "any": "required", "tool": "required", "none": "none"}


def _read_choice(value: JSON) -> Setting | UnsetType:
    mode = _MODES[string(obj(value)["type"])]
    return Choice(mode, (string(obj(value)["name"]),) if obj(value)["type"] == "tool" else ())  # type: ignore[arg-type]


def _write_choice(value: Setting, page: Page) -> JSON | UnsetType:
    assert isinstance(value, Choice)
    if value.mode == "required" and len(value.names) == 1:
        return {"type": "tool", "name": page.name(value.names[0])}
    if value.names:
        page.lose(page.place, "only one tool can be named; the others stay allowed")
    return {"type": {"auto": "auto", "none": "none", "required": "any"}[value.mode]}


def _read_format(value: JSON) -> Setting | UnsetType:
    return Format(obj(value)["schema"]) if obj(value).get("type") == "json_schema" else UNSET


def _write_format(value: Setting, page: Page) -> JSON | UnsetType:
    assert isinstance(value, Format)
    if value.schema is None:
        return UNSET
    if value.name or value.strict is not None or value.description:
        page.lose(
            page.place, "the schema of an answer has no name, description or strict flag here"
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
    Field("model", ("model",)),
    Field("max_tokens", ("max_tokens",)),
    # Read, since older histories hold them; refused since API version 2026-10-21, so never written.
    Field("temperature", ("temperature",), write=None),
    Field("top_p", ("top_p",), write=None),
    Field("top_k", ("top_k",), write=None),
    Field(
        "stop",
        ("stop_sequences",),
        lambda v: tuple(string(s) for s in v) if isinstance(v, list) else UNSET,
    ),
    Field("stream", ("stream",)),
    Field("user", ("metadata", "user_id")),
    Field(
        "choice",
        ("tool_choice",),
        _read_choice,
        _write_choice,
        keys("type", "name", "disable_parallel_tool_use"),
    ),
    Field(
        "parallel",
        ("tool_choice", "disable_parallel_tool_use"),
        lambda v: not v,
        lambda v, _: not v,
    ),
    Field("format", ("output_format",), _read_format, None),
    Field("format", ("output_config", "format"), _read_format, _write_format),
    Field(
        "effort",
        ("output_config", "effort"),
        write=lambda v, _: v if v in ("low", "medium", "high") else UNSET,
    ),
    Field("budget", ("thinking",), *thinking("budget_tokens", 1024)),
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


def _write_usage(value: Setting, page: Page) -> JSON | UnsetType:
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
    Field("id", ("id",)),
    Field("model", ("model",)),
    Field("stop_sequence", ("stop_sequence",)),
    Field(
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
MEANS = {
    "end_turn": "stop",
    "max_tokens": "length",
    "stop_sequence": "sequence",
    "tool_use": "tool",
    "pause_turn": "pause",
    "refusal": "refusal",
    "model_context_window_exceeded": "context",
}
SAYS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "sequence": "stop_sequence",
    "tool": "tool_use",
    "pause": "pause_turn",
    "refusal": "refusal",
    "filter": "refusal",
    "context": "model_context_window_exceeded",
}
