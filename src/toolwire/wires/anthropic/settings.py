"""Anthropic Messages: tool definitions, settings, usage and stop reasons."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.model import Choice, Format, Setting, Tool, WebSearch
from toolwire.conversation.parts import Source
from toolwire.wires.engine.answers import (
    AnswerFields,
    answer_id,
    answer_model,
    id_setting,
    model_setting,
)
from toolwire.wires.engine.capabilities import CacheBreakpoints
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import (
    SettingSpec,
    read_texts,
    reasoning_budget,
    same_name,
    setting_table,
)
from toolwire.wires.engine.settings_lowering import CLIENT_TOOLS
from toolwire.wires.engine.specs import (
    Block,
    keys,
    raise_unexpected,
    read_definition,
    read_name,
    require_object,
)
from toolwire.wires.engine.usage import usage_spec
from toolwire.wires.engine.web_search import LOCATION_KEYS, WebSearchForm, domains, location_fields
from toolwire.wires.families.blocks.bodies import define_tool

NAME = "anthropic"

# --- tool definitions -----------------------------------------------------------------------------

TOOL = Block(
    "custom", part=Tool, keys=keys("name", "description", "input_schema", "strict", "type")
)

_SEARCH = Block(
    "web_search",
    part=Tool,
    keys=keys("type", "name", "max_uses", "allowed_domains", "blocked_domains", "user_location"),
    inner=(("user_location", LOCATION_KEYS),),
)


def read_tool(tool: JSON, path: JsonPath) -> Tool:
    """A tool definition; server tools keep their dated type as `kind`."""
    if not isinstance(tool, dict):
        raise_unexpected(NAME, path, dict, tool)
    tool_type = tool.get("type") or "custom"
    if tool_type != "custom":
        name, is_search = read_name(tool.get("name")), str(tool_type).startswith("web_search_")
        search = _read_web_search(tool) if is_search else None
        source = Source(tool, path, _SEARCH if is_search else None)
        return Tool(name, kind=str(tool_type), web_search=search, source=source)
    return read_definition(tool, tool.get("input_schema"), Source(tool, path, TOOL))


def _read_web_search(tool: Object) -> WebSearch:
    max_uses = tool.get("max_uses")
    return WebSearch(
        allowed_domains=domains(tool.get("allowed_domains")),
        blocked_domains=domains(tool.get("blocked_domains")),
        location=location_fields(tool.get("user_location")),
        max_uses=max_uses if isinstance(max_uses, int) else None,
    )


def _write_web_search(search: WebSearch) -> JSON:
    """A web search; the provider accepts domains to allow or to block, not both."""
    blocked = () if search.allowed_domains else search.blocked_domains
    options: Object = {
        "max_uses": search.max_uses,
        "allowed_domains": [*search.allowed_domains],
        "blocked_domains": [*blocked],
    }
    if search.location:
        options["user_location"] = {"type": "approximate", **search.location}
    set_options = {key: value for key, value in options.items() if value}
    return {"type": WEB_SEARCH.kind, "name": WEB_SEARCH.name, **set_options}


WEB_SEARCH = WebSearchForm(
    kind="web_search_20250305",
    name="web_search",
    options=frozenset({"allowed_domains", "blocked_domains", "location", "max_uses"}),
)
CACHE_BREAKPOINTS = CacheBreakpoints(
    mark={"cache_control": {"type": "ephemeral"}},
    long_mark={"cache_control": {"type": "ephemeral", "ttl": "1h"}},
)


def write_tools(tools: tuple[Tool, ...], context: EncodeContext) -> list[JSON]:
    """The tool definitions; unedited definitions of this wire stay verbatim."""
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
            definition = define_tool(tool, context, "input_schema")
            if "input_schema" not in definition:
                definition["input_schema"] = {"type": "object", "properties": {}}
            if tool.strict is not None:
                definition["strict"] = tool.strict
            if context.breakpoints is None:
                out.append(definition)
            else:
                out += CACHE_BREAKPOINTS.mark_block(definition, tool, context.breakpoints)
        elif tool.web_search is not None and tool.kind == WEB_SEARCH.kind:
            out.append(_write_web_search(tool.web_search))
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


_CLAUDE = "claude-"
_MAX_TOKENS = {
    "claude-instant": 4096,
    "claude-2": 4096,
    "claude-3-7": 64000,
    "claude-3-5": 8192,
    "claude-3": 4096,
    _CLAUDE: 32000,
}
"""The `max_tokens` that every model accepts whose name contains the key; the first match counts."""
_MAX_TOKENS_UNKNOWN = 4096
"""The `max_tokens` for other models, and the tokens left for the answer beside a thinking
budget."""


def default_max_tokens(body: Object) -> int:
    """The `max_tokens` for a request whose source has none; it must exceed the thinking budget."""
    model, thinking = body.get("model"), body.get("thinking")
    limit = _MAX_TOKENS_UNKNOWN
    if isinstance(model, str) and _CLAUDE in model:
        limit = next(tokens for words, tokens in _MAX_TOKENS.items() if words in model)
    if isinstance(thinking, dict) and isinstance(budget := thinking.get("budget_tokens"), int):
        return max(limit, budget + _MAX_TOKENS_UNKNOWN)
    return limit


_FORMAT_KEYS = keys("type", "schema")
REQUEST = setting_table(
    *same_name("model", "max_tokens", "stream"),
    # Older histories contain them; the API has refused them since version 2026-10-21.
    SettingSpec("temperature", ("temperature",), write=None),
    SettingSpec("top_p", ("top_p",), write=None),
    SettingSpec("top_k", ("top_k",), write=None),
    SettingSpec("stop", ("stop_sequences",), read=read_texts),
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


_USAGE: Object = {
    "cache_creation": None,
    "cache_creation_input_tokens": None,
    "cache_read_input_tokens": None,
    "inference_geo": None,
    "input_tokens": 0,
    "output_tokens": 0,
    "output_tokens_details": None,
    "server_tool_use": None,
    "service_tier": None,
}
_ID_PREFIX = "msg_"
ANSWER = AnswerFields.of(
    {
        "id": answer_id(_ID_PREFIX),
        "type": "message",
        "role": "assistant",
        "model": answer_model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "stop_details": None,
        "usage": _USAGE,
        "container": None,
    }
)
"""The fields of every response."""
STOP_FIELDS = ("stop_reason", "stop_sequence", "stop_details", "container")
"""The fields that a stream sends at its end, beside the usage."""
RESPONSE = setting_table(
    id_setting(prefix=_ID_PREFIX),
    model_setting(),
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
        required=_USAGE,
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
