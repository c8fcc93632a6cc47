"""Open eXecution Protocol: tool definitions and tool ids."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec.structs import replace

from toolwire.conversation.fitting import fit
from toolwire.conversation.id_rules import IdRule
from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.model import Tool
from toolwire.conversation.parts import Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import Block, keys, raise_unexpected, read_name, text_or_none
from toolwire.wires.families.rpc_log import log
from toolwire.wires.oxp.blocks import NAME

TOOL_ID = re.compile(r"[A-Za-z0-9_]+\.[A-Za-z0-9_]+(@([0-9]+|[0-9]+\.[0-9]+\.[0-9]+))?")
DEFAULT_KIT = "tools."
"""The kit of a tool whose name on another wire has none."""
UNKNOWN_VERSION = "0.0.0"
_TOOL_NAME = IdRule("A-Za-z0-9_", 64)
_SHORT_NAME = IdRule("A-Za-z0-9_-", 64)

TOOL = Block("tool", part=Tool, keys=keys("id", "name", "description", "version", "input_schema"))
RENAMED_TOOL = replace(TOOL, keys=TOOL.keys - {"name"})
"""A definition whose short name does not follow from its id."""
SPECS = (TOOL, RENAMED_TOOL)


def read_tool(tool: JSON, path: JsonPath) -> Tool:
    """Read a tool definition. Drafts wrap the schema in `parameters`."""
    if not isinstance(tool, dict):
        raise_unexpected(NAME, path, dict, tool)
    name = read_name(tool.get("id")) or read_name(tool.get("name"))
    schema = tool.get("input_schema")
    if isinstance(schema, dict) and len(schema) == 1 and isinstance(schema.get("parameters"), dict):
        schema = schema["parameters"]
    spec = TOOL if tool.get("name") in (None, name, _short_name(name)) else RENAMED_TOOL
    return Tool(
        name,
        description=text_or_none(tool.get("description")) or None,
        schema=schema,
        source=Source(tool, path, spec),
    )


def _short_name(tool_id: str) -> str:
    return fit(tool_id.partition("@")[0].replace(".", "_"), _SHORT_NAME) if tool_id else ""


def _version(tool_id: str) -> str:
    version = tool_id.partition("@")[2]
    if not version:
        return UNKNOWN_VERSION
    return version if version.count(".") == 2 else f"{version}.0.0"


def _write_tool(tool: Tool, context: EncodeContext) -> JSON:
    tool_id = context.name(tool.name)
    out: Object = {
        "id": tool_id,
        "name": _short_name(tool_id),
        "description": tool.description or "",
        "version": _version(tool_id),
    }
    if tool.description == "":
        context.report_loss(tool, "an empty description is read as none here")
    schema = context.schema_of(tool)
    if schema is not None:
        out["input_schema"] = schema
    return out


def write_tools(tools: tuple[Tool, ...], context: EncodeContext) -> list[JSON]:
    """The tool definitions."""
    return log.write_tools(tools, context, specs=SPECS, read=read_tool, write=_write_tool)


def fit_tool_ids(names: Iterable[str], context: EncodeContext) -> None:
    """Put names that are not tool ids into a kit, and record the new names in the context."""
    sent = {name: context.name(name) for name in names if name}
    taken = {new for new in sent.values() if TOOL_ID.fullmatch(new)}
    tool_ids: dict[str, str] = {}
    for name, new in sorted(sent.items()):
        if new in taken:
            continue
        taken_in_kit = {tool_id.removeprefix(DEFAULT_KIT) for tool_id in taken}
        tool_id = DEFAULT_KIT + fit(new, _TOOL_NAME, taken_in_kit)
        if tool_id in taken:
            tool_id = DEFAULT_KIT + fit(f"{new}.", _TOOL_NAME, taken_in_kit)
        taken.add(tool_id)
        tool_ids[name] = tool_id
    if tool_ids:
        context.names = {**context.names, **tool_ids}
