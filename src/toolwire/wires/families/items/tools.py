"""Tool definitions: functions, custom tools, namespaces, and items that add tools later."""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, JsonPath, Object, get, patch
from toolwire.conversation.model import Tool, WebSearch
from toolwire.conversation.parts import Message, Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import (
    Block,
    blocks,
    flag_or_none,
    keys,
    raise_unexpected,
    read_name,
    text_or_none,
)
from toolwire.wires.engine.web_search import LOCATION_KEYS, WebSearchForm, domains, location_fields
from toolwire.wires.families.items.namespaces import join_name, plain_name, split_name

TOOLS = blocks(
    Block("function", part=Tool, keys=keys("type", "name", "description", "parameters", "strict")),
    Block("custom", part=Tool, keys=keys("type", "name", "description")),
)

_SEARCH = Block(
    "web_search",
    part=Tool,
    keys=keys("type", "filters", "user_location", "search_context_size"),
    inner=(("filters", keys("allowed_domains")), ("user_location", LOCATION_KEYS)),
)


def _read_web_search(tool: Object) -> WebSearch:
    filters = tool.get("filters")
    fields = filters if isinstance(filters, dict) else {}
    return WebSearch(
        allowed_domains=domains(fields.get("allowed_domains")),
        location=location_fields(tool.get("user_location")),
        context_size=text_or_none(tool.get("search_context_size")) or "",
    )


def _write_web_search(search: WebSearch) -> JSON:
    tool: Object = {"type": WEB_SEARCH.kind}
    if search.allowed_domains:
        tool["filters"] = {"allowed_domains": [*search.allowed_domains]}
    if search.location:
        tool["user_location"] = {"type": "approximate", **search.location}
    if search.context_size:
        tool["search_context_size"] = search.context_size
    return tool


WEB_SEARCH = WebSearchForm(
    kind="web_search", options=frozenset({"allowed_domains", "location", "context_size"})
)
_WEB_SEARCHES = (
    "web_search",
    "web_search_2025_08_26",
    "web_search_preview",
    "web_search_preview_2025_03_11",
)


class ToolsItem(Block, frozen=True, eq=False):
    """The spec of an item that defines tools, together with that item.

    Its tools count as tools of the request. A message without parts and without JSON keeps its
    position.
    """

    item: JSON = None


TOOLS_ITEM = ToolsItem("additional_tools", part=Message, keys=keys("type", "role", "tools"))
_NAMESPACE_FIELDS = keys("type", "name", "tools")
"""The fields of a namespace that the tools in it represent."""


# --- reading --------------------------------------------------------------------------------------


def _read_tool(wire: str, tool: JSON, path: JsonPath, namespace: str = "") -> Tool:
    """A tool definition. A provider's own tool has its type as kind."""
    if not isinstance(tool, dict):
        raise_unexpected(wire, path, dict, tool)
    kind = tool.get("type")
    spec = TOOLS.get(kind) if isinstance(kind, str) else None
    name = read_name(tool.get("name"))
    qualified = join_name(namespace, name) if namespace and name else plain_name(name)
    if spec is None:
        search = _read_web_search(tool) if kind in _WEB_SEARCHES else None
        source = Source(tool, path, _SEARCH if search is not None else None)
        return Tool(qualified, kind=str(kind), web_search=search, source=source)
    return Tool(
        qualified,
        text_or_none(tool.get("description")),
        tool.get("parameters"),
        flag_or_none(tool.get("strict")),
        spec.name,
        source=Source(tool, path, spec),
    )


def _read_entry(wire: str, entry: JSON, path: JsonPath, unknown: list[JsonPath]) -> list[Tool]:
    """The tools of one entry: the entry itself, or the tools of a namespace.

    Fields of a namespace that belong to no tool are added to `unknown`.
    """
    if not isinstance(entry, dict) or entry.get("type") != "namespace":
        return [_read_tool(wire, entry, path)]
    tools, namespace = entry.get("tools"), read_name(entry.get("name"))
    if not isinstance(tools, list) or not tools or not namespace:
        return [_read_tool(wire, entry, path)]
    if not all(isinstance(tool, dict) for tool in tools):
        return [_read_tool(wire, entry, path)]
    unknown += [
        (*path, key)
        for key, value in entry.items()
        if key not in _NAMESPACE_FIELDS and value not in (None, "", [], {})
    ]
    return [_read_tool(wire, tool, (*path, "tools", n), namespace) for n, tool in enumerate(tools)]


def read_tools(
    wire: str, entries: list[JSON], path: JsonPath, unknown: list[JsonPath]
) -> list[Tool]:
    return [
        tool
        for n, entry in enumerate(entries)
        for tool in _read_entry(wire, entry, (*path, n), unknown)
    ]


def read_added_tools(
    wire: str, items: list[JSON], positions: Iterable[int], unknown: list[JsonPath]
) -> list[Tool]:
    """The tools that the items at these positions define."""
    return [
        tool
        for i in positions
        for tool in read_tools(wire, tools_in_item(items[i]) or [], ("input", i, "tools"), unknown)
    ]


def tools_in_item(item: JSON) -> list[JSON] | None:
    """The definitions in an item; None if it defines no tools, or is malformed."""
    if not isinstance(item, dict) or item.get("type") != TOOLS_ITEM.name:
        return None
    tools = item.get("tools")
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        return None
    return tools


# --- writing --------------------------------------------------------------------------------------


class _ToolsWriter:
    """Writes a list of definitions. The tools of one namespace share an entry."""

    def __init__(self, context: EncodeContext, source: JSON) -> None:
        self.context = context
        self.source = source
        self.out: list[JSON] = []
        self.namespaces: dict[JsonPath | str, list[JSON]] = {}
        """The tools of each namespace, by its name and by the path of its entry."""

    def add(self, tool: Tool) -> None:
        """Add a tool: verbatim if it was read from this wire, with only its edits applied. Provider
        tools of another wire are left out."""
        name = self.context.name(tool.name)
        entry = self._source_entry(tool)
        original = self._original(tool, entry)
        if original is not None and original == tool and name == tool.name:
            block: JSON = tool.raw  # type: ignore[assignment]
        elif tool.web_search is not None and tool.kind == WEB_SEARCH.kind and original is None:
            block = _write_web_search(tool.web_search)
        elif tool.kind not in TOOLS:
            return
        else:
            block = _write_tool(tool, name, self.context)
            if original is not None and original.kind == tool.kind:
                before = _write_tool(original, original.name, self.context)
                block = patch(tool.raw, before, block)  # type: ignore[arg-type]
        namespace = split_name(name)[0]
        if entry is not None and (not name or namespace == entry.get("name")):
            self._tools_of(tool.path[:-2], entry, tool).append(block)
        elif namespace:
            self._tools_of(*self._find_entry(namespace), tool).append(block)
        else:
            self.out.append(block)

    def _source_entry(self, tool: Tool) -> Object | None:
        """The namespace entry that a tool was read from."""
        path = tool.path
        if path[-4:-3] != ("tools",) or path[-2:-1] != ("tools",):
            return None
        if get(self.source, path) != tool.raw:
            return None
        entry = get(self.source, path[:-2])
        return entry if isinstance(entry, dict) else None

    def _find_entry(self, namespace: str) -> tuple[JsonPath | str, Object]:
        """The entry of a namespace in the source, for a tool that was not read from it; otherwise a
        new entry."""
        entries = get(self.source, ("tools",))
        for n, entry in enumerate(entries if isinstance(entries, list) else ()):
            if not isinstance(entry, dict) or entry.get("type") != "namespace":
                continue
            if entry.get("name") == namespace:
                return ("tools", n), entry
        return namespace, {"type": "namespace", "name": namespace, "description": ""}

    def _original(self, tool: Tool, entry: Object | None) -> Tool | None:
        """The tool as it was read from this wire."""
        if self.source is None or not isinstance(tool.raw, dict):
            return None
        namespace = "" if entry is None else read_name(entry.get("name"))
        return _read_tool(self.context.wire, tool.raw, tool.path, namespace)

    def _tools_of(self, key: JsonPath | str, entry: Object, tool: Tool) -> list[JSON]:
        """The list to which the tools of a namespace are added."""
        if key in self.namespaces:
            return self.namespaces[key]
        name = read_name(entry.get("name"))
        if key[:1] == ("input",) and name in self.namespaces:
            # The item that defined it was removed, and a namespace is defined only once.
            tools = self.namespaces[name]
            self._report_conflicts(name, entry, tool, tools)
        else:
            tools = []
            self.out.append({**entry, "tools": tools})
            self.namespaces.setdefault(name, tools)
        self.namespaces[key] = tools
        return tools

    def _report_conflicts(self, name: str, entry: Object, tool: Tool, tools: list[JSON]) -> None:
        """Report the fields of a namespace that differ from its entry that was already written."""
        written = (other for other in self.out if isinstance(other, dict))
        current = next((other for other in written if other.get("tools") is tools), {})
        for field, value in entry.items():
            if field not in _NAMESPACE_FIELDS and current.get(field) != value:
                self.context.report_loss(
                    (*tool.path[:-2], field),
                    f"the namespace {name} is already defined with another {field}",
                )


def _write_tool(tool: Tool, name: str, context: EncodeContext) -> Object:
    """A new definition. The fields `parameters` and `strict` of a function are required and may be
    null."""
    out: Object = {"type": tool.kind, "name": split_name(name)[1]}
    if tool.description is not None:
        out["description"] = tool.description
    if tool.kind == "function":
        return {**out, "parameters": tool.schema, "strict": tool.strict}
    if tool.schema is not None or tool.strict is not None:
        context.report_loss(tool, "a custom tool takes free text and has no schema")
    return out


def write_tools(tools: Iterable[Tool], context: EncodeContext, source: JSON) -> list[JSON]:
    """The definitions of the tools; `source` is the body of this wire they were read from, or
    None."""
    writer = _ToolsWriter(context, source)
    for tool in tools:
        writer.add(tool)
    return writer.out
