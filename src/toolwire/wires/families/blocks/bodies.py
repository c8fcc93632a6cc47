"""Tool definitions in bodies with content blocks.

This module knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.model import Tool
from toolwire.wires.engine.bodies import list_in
from toolwire.wires.engine.encode_context import EncodeContext


def read_tools(wire: str, body: Object, read: Callable[[JSON, JsonPath], Tool]) -> tuple[Tool, ...]:
    """The tool definitions of a body in its list `tools`."""
    if body.get("tools") is None:
        return ()
    tools: list[Tool] = []
    for i, tool in enumerate(list_in(wire, body, "tools")):
        tools.append(read(tool, ("tools", i)))
    return tuple(tools)


def define_tool(tool: Tool, context: EncodeContext, schema_field: str) -> Object:
    """The definition of a tool: name, description and schema."""
    definition: Object = {"name": context.name(tool.name)}
    if tool.description is not None:
        definition["description"] = tool.description
    schema = tool.schema if tool.kind == "function" else context.schema_of(tool)
    if schema is not None:
        definition[schema_field] = schema
    return definition
