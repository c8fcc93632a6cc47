"""Tool definitions and settings of OpenAI Chat Completions."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.model import Choice, Setting, Tool, WebSearch
from toolwire.wires.engine.answers import id_setting, model_setting, time_setting
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import (
    EXTRA_SETTINGS,
    SettingSpec,
    extra_setting,
    setting_table,
    write_user,
)
from toolwire.wires.engine.specs import Block, blocks, keys, require_object, require_string
from toolwire.wires.engine.web_search import LOCATION_FIELDS, WebSearchForm, location_fields
from toolwire.wires.families.chat import settings as chat_settings
from toolwire.wires.families.chat.blocks import FUNCTION_TOOL, TOOL_FIELDS
from toolwire.wires.families.chat.settings import usage_setting

TOOLS = blocks(
    FUNCTION_TOOL,
    Block(
        "custom",
        part=Tool,
        keys=keys("type", "custom"),
        inner=(("custom", keys("name", "description")),),
    ),
)
LEGACY_TOOLS = Block("functions", part=Tool, keys=TOOL_FIELDS)


def write_tool(tool: Tool, context: EncodeContext) -> JSON:
    """Write a function or a custom tool."""
    return chat_settings.write_tool(tool, context, schema=tool.schema, kind=tool.kind)


def _read_choice(value: JSON) -> Setting | UnsetType:
    if isinstance(value, str):
        return Choice(value) if value in ("auto", "none", "required") else UNSET  # type: ignore[arg-type]
    choice = require_object(value)
    kind = require_string(choice["type"])
    inner = require_object(choice[kind])
    if kind != "allowed_tools":
        return Choice("required", (require_string(inner["name"]),))
    mode, tools = inner["mode"], inner["tools"]
    if mode not in ("auto", "required") or not isinstance(tools, list):
        return UNSET
    names = tuple(_tool_name(require_object(tool)) for tool in tools)
    return Choice("auto" if mode == "auto" else "required", names)


def _read_legacy_choice(value: JSON) -> Setting | UnsetType:
    if isinstance(value, dict):
        return Choice("required", (require_string(value["name"]),))
    return Choice(value) if value in ("auto", "none") else UNSET  # type: ignore[arg-type]


def _tool_name(tool: Object) -> str:
    return require_string(require_object(tool[require_string(tool["type"])])["name"])


def _write_choice(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Choice)
    tools: list[JSON] = [
        {"type": "function", "function": {"name": context.name(name)}} for name in value.names
    ]
    if value.mode == "required" and len(tools) == 1:
        return tools[0]
    if tools and value.mode != "none":
        return {"type": "allowed_tools", "allowed_tools": {"mode": value.mode, "tools": tools}}
    return value.mode


def _read_web_search(value: JSON) -> Setting:
    options = require_object(value)
    location = options.get("user_location")
    place = location.get("approximate") if isinstance(location, dict) else None
    size = options.get("search_context_size")
    return WebSearch(
        location=location_fields(place), context_size=size if isinstance(size, str) else ""
    )


def _write_web_search(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    if not isinstance(value, WebSearch):
        return UNSET
    options: Object = {}
    if value.context_size:
        options["search_context_size"] = value.context_size
    if value.location:
        options["user_location"] = {"type": "approximate", "approximate": value.location}
    return options


WEB_SEARCH = WebSearchForm(options=frozenset({"location", "context_size"}))
REQUEST = setting_table(
    *chat_settings.REQUEST,
    SettingSpec("max_tokens", ("max_completion_tokens",)),
    SettingSpec("seed", ("seed",)),
    SettingSpec("user", ("user",), write=write_user),
    SettingSpec("choice", ("function_call",), read=_read_legacy_choice, write=None),
    SettingSpec("choice", ("tool_choice",), read=_read_choice, write=_write_choice),
    SettingSpec("parallel", ("parallel_tool_calls",)),
    SettingSpec("effort", ("reasoning_effort",)),
    SettingSpec(
        "web_search",
        ("web_search_options",),
        read=_read_web_search,
        write=_write_web_search,
        reads_empty=True,
        knows=frozenset(
            {
                "search_context_size",
                "user_location.type",
                *(f"user_location.approximate.{name}" for name in LOCATION_FIELDS),
            }
        ),
    ),
    *EXTRA_SETTINGS,
    extra_setting("verbosity"),
    extra_setting("top_logprobs"),
)
ID_PREFIX = "chatcmpl-"
RESPONSE = setting_table(
    id_setting(prefix=ID_PREFIX),
    model_setting(),
    time_setting("created"),
    usage_setting("cached", "cache_write", "reasoning"),
)
FINISH_REASON_FROM_WIRE = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool",
    "function_call": "tool",
    "content_filter": "filter",
}
FINISH_REASON_TO_WIRE = {
    "stop": "stop",
    "length": "length",
    "tool": "tool_calls",
    "filter": "content_filter",
}
