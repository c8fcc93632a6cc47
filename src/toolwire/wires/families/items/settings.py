"""The item shape: the tools on offer, the settings, usage and stop reasons. Knows no wire
by name.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object, get, patch
from toolwire.conversation.model import Choice, Format, Setting, Tool, Usage
from toolwire.conversation.parts import Message, Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingSpec, write_user
from toolwire.wires.engine.specs import (
    Block,
    blocks,
    count_at,
    flag_or_none,
    keys,
    raise_unexpected,
    read_name,
    require_object,
    require_string,
    text_or_none,
)
from toolwire.wires.families.items.namespaces import alone, called, inside, parted

# --- tools ----------------------------------------------------------------------------------------

TOOLS = blocks(
    Block("function", Tool, keys=keys("type", "name", "description", "parameters", "strict")),
    Block("custom", Tool, keys=keys("type", "name", "description")),
)


class Added(Block, frozen=True, eq=False):
    """The row of an item that offers tools. Other wires offer them with all the others; here its
    place is kept by a message without parts, and without JSON of its own: what it holds is its
    tools'.
    """

    item: JSON = None


ADDED = Added("additional_tools", Message, keys=keys("type", "role", "tools"))
_ENTRY = keys("type", "name", "tools")
"""What of a namespace goes with its tools."""


def read_offer(wire: str, tool: JSON, path: JsonPath, space: str = "") -> Tool:
    """A tool on offer; one that is neither a function nor custom keeps its type as kind."""
    if not isinstance(tool, dict):
        raise_unexpected(wire, path, "an object", tool)
    kind = tool.get("type")
    spec = TOOLS.get(kind) if isinstance(kind, str) else None
    name = read_name(tool.get("name"))
    known = inside(space, name) if space and name else alone(name)
    if spec is None:
        return Tool(known, kind=str(kind), source=Source(raw=tool, path=path))
    return Tool(
        known,
        text_or_none(tool.get("description")),
        tool.get("parameters"),
        flag_or_none(tool.get("strict")),
        spec.name,
        source=Source(tool, path, spec),
    )


def read_offers(wire: str, tool: JSON, path: JsonPath, extra: list[JsonPath]) -> list[Tool]:
    """The tools in one entry: itself, or those of a namespace, each under both names as its calls
    have them.

    What a namespace says beyond that is no part of any tool, and joins the `extra`.
    """
    within = (
        tool.get("tools") if isinstance(tool, dict) and tool.get("type") == "namespace" else None
    )
    space = read_name(tool.get("name")) if isinstance(tool, dict) else ""
    if not isinstance(tool, dict) or not isinstance(within, list) or not within or not space:
        return [read_offer(wire, tool, path)]
    if not all(isinstance(one, dict) for one in within):
        return [read_offer(wire, tool, path)]
    extra += [
        (*path, key)
        for key, value in tool.items()
        if key not in _ENTRY and value not in (None, "", [], {})
    ]
    return [read_offer(wire, one, (*path, "tools", n), space) for n, one in enumerate(within)]


def read_added(wire: str, items: list[JSON], extra: list[JsonPath]) -> list[Tool]:
    """The tools that are offered in mid-conversation, by an item of their own."""
    out: list[Tool] = []
    for i, item in enumerate(items):
        for n, tool in enumerate(added(item) or ()):
            out += read_offers(wire, tool, ("input", i, "tools", n), extra)
    return out


def added(item: JSON) -> list[JSON] | None:
    """The entries of an item that offers tools; None if it is none, or cannot be understood."""
    if not isinstance(item, dict) or item.get("type") != "additional_tools":
        return None
    tools = item.get("tools")
    return (
        tools if isinstance(tools, list) and all(isinstance(tool, dict) for tool in tools) else None
    )


class Offers:
    """A list of entries under way: the tools of one namespace stand together in one."""

    def __init__(self, context: EncodeContext, source: JSON) -> None:
        self.context = context
        self.source = source
        """The body of this wire that the tools were read from, if they were."""
        self.out: list[JSON] = []
        self.spaces: dict[JsonPath | str, list[JSON]] = {}
        """The tools of each namespace so far, by its name, and by the place of its entry."""

    def add(self, tool: Tool) -> None:
        """One more tool. As long as nobody edited it, it goes back as it came; else with just the
        edit."""
        known = self.context.name(tool.name)
        where = tool.path[:-2]
        entry = self._entry(tool)
        was = self._before(tool, entry)
        if was is not None and was == tool and known == tool.name:
            block: JSON = tool.raw  # type: ignore[assignment]
        elif tool.kind not in TOOLS:
            self.context.report_loss(tool, f"a tool of another provider: {tool.kind}")
            return
        else:
            block = write_offer(tool, known, self.context)
            if was is not None and was.kind == tool.kind:
                block = patch(tool.raw, write_offer(was, was.name, self.context), block)  # type: ignore[arg-type]
        space = parted(known)[0]
        if entry is not None and (not known or space == entry.get("name")):
            self._space(where, entry, tool).append(block)
        elif space:
            self._space(*self._named(space), tool).append(block)
        else:
            self.out.append(block)

    def _entry(self, tool: Tool) -> Object | None:
        """The entry of a namespace in which a tool stood."""
        if (
            tool.path[-4:-3] != ("tools",)
            or tool.path[-2:-1] != ("tools",)
            or get(self.source, tool.path) != tool.raw
        ):
            return None
        entry = get(self.source, tool.path[:-2])
        return entry if isinstance(entry, dict) else None

    def _named(self, space: str) -> tuple[JsonPath | str, Object]:
        """The entry of a namespace that a tool did not stand in: the one there was, or a
        new one.
        """
        offered = get(self.source, ("tools",))
        for n, entry in enumerate(offered if isinstance(offered, list) else ()):
            if isinstance(entry, dict) and (entry.get("type"), entry.get("name")) == (
                "namespace",
                space,
            ):
                return ("tools", n), entry
        return space, {"type": "namespace", "name": space, "description": ""}

    def _before(self, tool: Tool, entry: Object | None) -> Tool | None:
        """A tool as it was read from this wire."""
        if self.source is None or not isinstance(tool.raw, dict):
            return None
        return read_offer(
            self.context.wire,
            tool.raw,
            tool.path,
            "" if entry is None else read_name(entry.get("name")),
        )

    def _space(self, key: JsonPath | str, entry: Object, tool: Tool) -> list[JSON]:
        """Where the tools of a namespace go."""
        if key in self.spaces:
            return self.spaces[key]
        name = read_name(entry.get("name"))
        if (
            key[:1] == ("input",) and name in self.spaces
        ):  # its item is gone, and a namespace is offered once
            told = next(
                (
                    one
                    for one in self.out
                    if isinstance(one, dict) and one.get("tools") is self.spaces[name]
                ),
                {},
            )
            for field, value in entry.items():
                if field not in _ENTRY and isinstance(told, dict) and told.get(field) != value:
                    self.context.report_loss(
                        (*tool.path[:-2], field),
                        f"the namespace {name} is on offer already, and says otherwise",
                    )
            self.spaces[key] = self.spaces[name]
            return self.spaces[name]
        tools: list[JSON] = []
        self.out.append({**entry, "tools": tools})
        self.spaces[key] = tools
        self.spaces.setdefault(name, tools)
        return tools


def write_offer(tool: Tool, known: str, context: EncodeContext) -> Object:
    """A tool anew. A function must say whether it has parameters and is strict, even if only by
    null."""
    given: Object = {"type": tool.kind, "name": parted(known)[1]}
    if tool.description is not None:
        given["description"] = tool.description
    if tool.kind == "function":
        given.update({"parameters": tool.schema, "strict": tool.strict})
    elif tool.schema is not None or tool.strict is not None:
        context.report_loss(tool, "a custom tool takes free text: it has no schema")
    return given


def write_tools(tools: Iterable[Tool], context: EncodeContext, source: JSON) -> list[JSON]:
    """The entries for some tools. `source` is the body of this wire that they were read from, if
    they were."""
    offers = Offers(context, source)
    for tool in tools:
        offers.add(tool)
    return offers.out


# --- settings -------------------------------------------------------------------------------------


def _read_choice(value: JSON) -> Setting | UnsetType:
    if isinstance(value, str):
        return Choice(value) if value in ("auto", "none", "required") else UNSET  # type: ignore[arg-type]
    held = require_object(value)
    if held["type"] in ("function", "custom"):
        return Choice("required", (_chosen(held),))
    if held["type"] != "allowed_tools" or held["mode"] not in ("auto", "required"):
        return UNSET
    tools = held["tools"]
    if not isinstance(tools, list) or any(
        require_object(tool)["type"] not in ("function", "custom") for tool in tools
    ):
        return UNSET
    return Choice(
        "auto" if held["mode"] == "auto" else "required",
        tuple(_chosen(require_object(tool)) for tool in tools),
    )


def _chosen(held: Object) -> str:
    require_string(held["name"])
    return called(held)


def meant(choice: Setting, tools: tuple[Tool, ...]) -> Setting:
    """A choice under the names that its tools are known by: it has no field for the namespace of
    one."""
    offered = {tool.name for tool in tools}
    if not isinstance(choice, Choice) or offered.issuperset(choice.names):
        return choice
    within: dict[str, list[str]] = {}
    for name in (tool.name for tool in tools):
        if parted(name)[0]:
            within.setdefault(alone(parted(name)[1]), []).append(name)
    names = (
        one
        for name in choice.names
        for one in ((name,) if name in offered else within.get(name, (name,)))
    )
    return Choice(choice.mode, tuple(dict.fromkeys(names)))


def _write_choice(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    """How much must be called; what, only those who know the tools can say."""
    assert isinstance(value, Choice)
    return value.mode


def write_choice(
    choice: Choice, tools: tuple[Tool, ...], context: EncodeContext, path: JsonPath
) -> JSON:
    """A choice in which tools are named, each by its kind and without its namespace, for which
    there is no field."""
    kinds = {context.name(tool.name): tool.kind for tool in tools if tool.name}
    offered = tuple(Tool(name) for name in kinds)
    chosen = [context.name(name) for name in choice.names]
    listed: list[JSON] = []
    for known in chosen:
        name = parted(known)[1]
        one: Object = {
            "type": "custom" if kinds.get(known) == "custom" else "function",
            "name": name,
        }
        if one not in listed:
            listed.append(one)
        read = meant(Choice(choice.mode, (alone(name),)), offered)
        if (
            known in kinds
            and isinstance(read, Choice)
            and not (known in read.names and set(read.names) <= set(chosen))
        ):
            context.report_loss(
                path,
                "a choice cannot say which namespace it means, and there are several tools named"
                f" {name}",
            )
    if choice.mode == "required" and len(listed) == 1:
        return listed[0]
    return (
        {"type": "allowed_tools", "mode": choice.mode, "tools": listed}
        if listed and choice.mode != "none"
        else choice.mode
    )


def _read_format(value: JSON) -> Setting | UnsetType:
    held = require_object(value)
    if held["type"] != "json_schema":
        return Format() if held["type"] == "json_object" else UNSET
    return Format(
        held.get("schema"),
        text_or_none(held.get("name")),
        flag_or_none(held.get("strict")),
        text_or_none(held.get("description")),
    )


def _write_format(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Format)
    if value.schema is None:
        return {"type": "json_object"}
    out: Object = {"type": "json_schema", "name": value.name or "answer", "schema": value.schema}
    given = (("strict", value.strict), ("description", value.description))
    return {**out, **{key: said for key, said in given if said is not None}}


REQUEST = (
    SettingSpec("model", ("model",)),
    SettingSpec("max_tokens", ("max_output_tokens",)),
    SettingSpec("temperature", ("temperature",)),
    SettingSpec("top_p", ("top_p",)),
    SettingSpec("stream", ("stream",)),
    SettingSpec("user", ("user",), write=write_user),
    SettingSpec("choice", ("tool_choice",), _read_choice, _write_choice),
    SettingSpec("parallel", ("parallel_tool_calls",)),
    SettingSpec("format", ("text", "format"), _read_format, _write_format),
    SettingSpec("effort", ("reasoning", "effort")),
)


def _read_usage(value: JSON) -> Setting | UnsetType:
    return Usage(
        count_at(value, "input_tokens"),
        count_at(value, "output_tokens"),
        count_at(value, "input_tokens_details", "cached_tokens"),
        count_at(value, "input_tokens_details", "cache_write_tokens")
        or None,  # demanded by the type, so nought says nothing
        count_at(value, "output_tokens_details", "reasoning_tokens"),
    )


def _write_usage(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    """Counts; the type demands all of them, so one that nobody took is nought."""
    assert isinstance(value, Usage)
    read, made = value.input or 0, value.output or 0
    return {
        "input_tokens": read,
        "input_tokens_details": {
            "cached_tokens": value.cached or 0,
            "cache_write_tokens": value.cache_write or 0,
        },
        "output_tokens": made,
        "output_tokens_details": {"reasoning_tokens": value.reasoning or 0},
        "total_tokens": read + made,
    }


RESPONSE = (
    SettingSpec("id", ("id",)),
    SettingSpec("model", ("model",)),
    SettingSpec("created", ("created_at",)),
    SettingSpec(
        "usage",
        ("usage",),
        _read_usage,
        _write_usage,
        keys(
            "input_tokens",
            "output_tokens",
            "total_tokens",
            "input_tokens_details.cached_tokens",
            "input_tokens_details.cache_write_tokens",
            "output_tokens_details.reasoning_tokens",
        ),
    ),
)
ECHO = keys(
    "background",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "store",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
    "presence_penalty",
    "frequency_penalty",
)
"""What a response repeats of its request: no part of the answer."""

# --- why it stopped -------------------------------------------------------------------------------

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
    return (
        _WHY.get(reason, reason) if status == "incomplete" and isinstance(reason, str) else status
    )


def write_stop(stop: str | None) -> Object:
    """The two fields that say why."""
    for reason, meant in _WHY.items():
        if stop == meant:
            return {"status": "incomplete", "incomplete_details": {"reason": reason}}
    return {"status": "completed", "incomplete_details": None}
