"""Tool definitions in the system prompts of plain text."""

from __future__ import annotations

from toolwire.conversation.json import JSON, JsonPath, Object, put
from toolwire.conversation.model import Tool
from toolwire.conversation.parts import Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.lowering import CLIENT_TOOLS
from toolwire.wires.engine.specs import Block, require_object
from toolwire.wires.families.chat import settings as chat_settings
from toolwire.wires.families.chat.blocks import FUNCTION_TOOL, TOOL_FIELDS
from toolwire.wires.text.blocks import ROLES
from toolwire.wires.text.messages import content_of
from toolwire.wires.text.tags import find_tools, write_tools

_TOOL = Block("tool", part=Tool, keys=TOOL_FIELDS)


def read_tools(messages: list[JSON]) -> list[Tool]:
    """The tools that are defined in system prompts."""
    tools: list[Tool] = []
    for i, message in enumerate(messages):
        if isinstance(message, dict) and _is_system(message):
            for text, path in content_of(message, ("messages", i)):
                section = find_tools(text) if isinstance(text, str) else None
                if section is not None:
                    tools += (_read_tool(tool, path) for tool in section.tools)
    return tools


def _is_system(message: Object) -> bool:
    return ROLES.get(str(message.get("role"))) == "system"


def _read_tool(tool: Object, path: JsonPath) -> Tool:
    function = tool.get("function")
    if isinstance(function, dict):
        return chat_settings.describe_tool(function, "function", Source(tool, path, FUNCTION_TOOL))
    return chat_settings.describe_tool(tool, "function", Source(tool, path, _TOOL))


def put_tools(tools: tuple[Tool, ...], messages: list[JSON], context: EncodeContext) -> list[JSON]:
    """The messages with the tools defined in the first system prompt.

    A section that defines tools is replaced; without one, a section is added.
    """
    definitions = [
        require_object(write_tool(tool, context)) for tool in tools if tool.kind in CLIENT_TOOLS
    ]
    for tool in tools:
        if tool.kind not in CLIENT_TOOLS:  # put there by an edit
            context.report_loss(tool, f"a tool of another provider: {tool.kind}")
    section = write_tools(definitions) if definitions else ""
    for i, message in enumerate(messages):
        if isinstance(message, dict) and _is_system(message):
            for text, path in content_of(message, ()):
                old = find_tools(text) if isinstance(text, str) else None
                if isinstance(text, str) and old is not None:
                    new = text[: old.start] + section + text[old.end :]
                    return put(messages, (i, *path), new)  # type: ignore[return-value]
    if not section:
        return messages
    first = messages[0] if messages else None
    if isinstance(first, dict) and first.get("role") == "system":
        prompt = first.get("content")
        if isinstance(prompt, str):
            content = f"{prompt}\n\n{section}" if prompt else section
            return [{**first, "content": content}, *messages[1:]]
    return [{"role": "system", "content": section}, *messages]


def write_tool(tool: Tool, context: EncodeContext) -> JSON:
    """Write one tool definition."""
    written = chat_settings.write_tool(tool, context, schema=context.schema_of(tool))
    return written["function"]
