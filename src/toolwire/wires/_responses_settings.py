"""The item shape: the tools on offer, the settings, usage and stop reasons. Knows no wire by name."""

from __future__ import annotations

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire._json import JSON, At, Object
from toolwire.identity import JOINT
from toolwire.model import Choice, Format, Setting, Tool, Usage
from toolwire.wires._fields import Field, write_user
from toolwire.wires._page import Page
from toolwire.wires._wire import Row, blame, count_at, flag_or_none, keys, name_of, obj, string, table, text_or_none

# --- tools -------------------------------------------------------------------------------------------------------

TOOLS = table(
    Row("function", Tool, keys=keys("type", "name", "description", "parameters", "strict")),
    Row("custom", Tool, keys=keys("type", "name", "description")),
)


def read_offer(wire: str, tool: JSON, at: At) -> Tool:
    """A tool on offer; one that is neither a function nor custom keeps its type as kind."""
    if not isinstance(tool, dict):
        blame(wire, at, "an object", tool)
    kind = tool.get("type")
    row = TOOLS.get(kind) if isinstance(kind, str) else None
    if row is None:
        return Tool(name_of(tool.get("name")), kind=str(kind), raw=tool, at=at)
    return Tool(name_of(tool.get("name")), text_or_none(tool.get("description")), tool.get("parameters"),
                flag_or_none(tool.get("strict")), row.name, raw=tool, at=at, row=row)  # fmt: skip


def read_offers(wire: str, tool: JSON, at: At) -> list[Tool]:
    """The tools in one entry: itself, or those of a namespace, each under both names as its calls have them."""
    inside = tool.get("tools") if isinstance(tool, dict) and tool.get("type") == "namespace" else None
    space = name_of(tool.get("name")) if isinstance(tool, dict) else ""
    if not isinstance(inside, list) or not inside or not space or not all(isinstance(one, dict) for one in inside):
        return [read_offer(wire, tool, at)]
    found = [read_offer(wire, one, (*at, "tools", n)) for n, one in enumerate(inside)]
    return [replace(one, name=f"{space}{JOINT}{one.name}") if one.name else one for one in found]


def read_added(wire: str, items: list[JSON]) -> list[Tool]:
    """The tools that are offered in mid-conversation, by an item of their own."""
    out: list[Tool] = []
    for i, item in enumerate(items):
        if isinstance(item, dict) and item.get("type") == "additional_tools" and isinstance(added := item.get("tools"), list):
            for n, tool in enumerate(added):
                if isinstance(tool, dict):
                    out += read_offers(wire, tool, ("input", i, "tools", n))
    return out


def write_tools(tools: tuple[Tool, ...], page: Page, came: JSON, *, own: bool, adrift: frozenset[At] = frozenset()) -> list[JSON]:
    """The tools, flat. A function must say whether it has parameters and is strict, even if only by null.

    `came` is the list as this wire has it, if it is the tools' own: a namespace stands in it whole, and what is offered by an
    item stands there, unless that is gone (`adrift`).
    """
    out: list[JSON] = []
    whole: set[int | str] = set()
    for tool in tools:
        if tool.at in adrift and isinstance(tool.raw, dict):
            space = tool.name.rpartition(JOINT)[0]
            out.append({"type": "namespace", "name": space, "description": "", "tools": [tool.raw]} if space else tool.raw)
        elif own and tool.was is None and len(tool.at) > 2 and isinstance(came, list | None):
            place = tool.at[1]
            if tool.at[0] == "tools" and place not in whole and isinstance(place, int) and came is not None:
                whole.add(place)
                out.append(came[place])
        elif own and isinstance(tool.raw, dict) and tool.was is None:
            out.append(tool.raw)
        elif tool.kind not in TOOLS:
            page.lose(tool, f"a tool of another provider: {tool.kind}")
        else:
            given: Object = {"type": tool.kind, "name": page.name(tool.name)}
            if tool.description is not None:
                given["description"] = tool.description
            if tool.kind == "function":
                given.update({"parameters": tool.schema, "strict": tool.strict})
            elif tool.schema is not None or tool.strict is not None:
                page.lose(tool, "a custom tool takes free text: it has no schema")
            out.append(given)
    return out


# --- settings ----------------------------------------------------------------------------------------------------


def _read_choice(value: JSON) -> Setting | UnsetType:
    if isinstance(value, str):
        return Choice(value) if value in ("auto", "none", "required") else UNSET  # type: ignore[arg-type]
    held = obj(value)
    if held["type"] in ("function", "custom"):
        return Choice("required", (string(held["name"]),))
    if held["type"] != "allowed_tools" or held["mode"] not in ("auto", "required"):
        return UNSET
    tools = held["tools"]
    if not isinstance(tools, list) or any(obj(tool)["type"] not in ("function", "custom") for tool in tools):
        return UNSET
    return Choice("auto" if held["mode"] == "auto" else "required", tuple(string(obj(tool)["name"]) for tool in tools))


def _write_choice(value: Setting, page: Page) -> JSON | UnsetType:
    assert isinstance(value, Choice)
    named: list[JSON] = [{"type": "function", "name": page.name(name)} for name in value.names]
    if value.mode == "required" and len(named) == 1:
        return named[0]
    if named and value.mode != "none":
        return {"type": "allowed_tools", "mode": value.mode, "tools": named}
    return value.mode


def name_kinds(choice: JSON, tools: tuple[Tool, ...], page: Page) -> JSON:
    """A choice in which custom tools are named as such."""
    custom = {page.name(tool.name) for tool in tools if tool.kind == "custom"}
    if not custom or not isinstance(choice, dict):
        return choice
    if choice.get("name") in custom:
        return {**choice, "type": "custom"}
    listed = choice.get("tools")
    return {**choice, "tools": [name_kinds(one, tools, page) for one in listed]} if isinstance(listed, list) else choice


def _read_format(value: JSON) -> Setting | UnsetType:
    held = obj(value)
    if held["type"] != "json_schema":
        return Format() if held["type"] == "json_object" else UNSET
    return Format(held.get("schema"), text_or_none(held.get("name")), flag_or_none(held.get("strict")),
                  text_or_none(held.get("description")))  # fmt: skip


def _write_format(value: Setting, page: Page) -> JSON | UnsetType:
    assert isinstance(value, Format)
    if value.schema is None:
        return {"type": "json_object"}
    out: Object = {"type": "json_schema", "name": value.name or "answer", "schema": value.schema}
    given = (("strict", value.strict), ("description", value.description))
    return {**out, **{key: said for key, said in given if said is not None}}


REQUEST = (
    Field("model", ("model",)),
    Field("max_tokens", ("max_output_tokens",)),
    Field("temperature", ("temperature",)),
    Field("top_p", ("top_p",)),
    Field("stream", ("stream",)),
    Field("user", ("user",), write=write_user),
    Field("choice", ("tool_choice",), _read_choice, _write_choice),
    Field("parallel", ("parallel_tool_calls",)),
    Field("format", ("text", "format"), _read_format, _write_format),
    Field("effort", ("reasoning", "effort")),
)


def _read_usage(value: JSON) -> Setting | UnsetType:
    return Usage(
        count_at(value, "input_tokens"), count_at(value, "output_tokens"),
        count_at(value, "input_tokens_details", "cached_tokens"),
        count_at(value, "input_tokens_details", "cache_write_tokens") or None,  # demanded by the type, so nought says nothing
        count_at(value, "output_tokens_details", "reasoning_tokens"),
    )  # fmt: skip


def _write_usage(value: Setting, page: Page) -> JSON | UnsetType:
    """Counts; the type demands all of them, so one that nobody took is nought."""
    assert isinstance(value, Usage)
    read, made = value.input or 0, value.output or 0
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": value.cached or 0, "cache_write_tokens": value.cache_write or 0},
        "output_tokens": made,
        "output_tokens_details": {"reasoning_tokens": value.reasoning or 0},
        "total_tokens": read + made,
    }


RESPONSE = (
    Field("id", ("id",)),
    Field("model", ("model",)),
    Field("created", ("created_at",)),
    Field("usage", ("usage",), _read_usage, _write_usage, keys(
        "input_tokens", "output_tokens", "total_tokens", "input_tokens_details.cached_tokens",
        "input_tokens_details.cache_write_tokens", "output_tokens_details.reasoning_tokens",
    )),
)  # fmt: skip
ECHO = keys(
    "background", "instructions", "max_output_tokens", "max_tool_calls", "metadata", "parallel_tool_calls",
    "previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_retention", "reasoning", "safety_identifier", "store",
    "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user", "presence_penalty",
    "frequency_penalty",
)  # fmt: skip
"""What a response repeats of its request: no part of the answer."""

# --- why it stopped ----------------------------------------------------------------------------------------------

_WHY = {"max_output_tokens": "length", "content_filter": "filter"}


def read_stop(body: Object, *, called: bool) -> str | None:
    """Why the model stopped: there is no word for "to call a tool", the items show it."""
    status = body.get("status")
    if not isinstance(status, str):
        return None
    if status == "completed":
        return "tool" if called else "stop"
    why = body.get("incomplete_details")
    reason = why.get("reason") if isinstance(why, dict) else None
    return _WHY.get(reason, reason) if status == "incomplete" and isinstance(reason, str) else status


def write_stop(stop: str | None) -> Object:
    """The two fields that say why."""
    for reason, meant in _WHY.items():
        if stop == meant:
            return {"status": "incomplete", "incomplete_details": {"reason": reason}}
    return {"status": "completed", "incomplete_details": None}
