"""Tool definitions in the system prompts of plain text."""

from __future__ import annotations

from collections.abc import Iterator

from toolwire.conversation.json import JSON, JsonPath, Object, put
from toolwire.conversation.model import Tool
from toolwire.conversation.parts import Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings_lowering import CLIENT_TOOLS
from toolwire.wires.engine.specs import Block, read_definition, require_object
from toolwire.wires.families.chat import settings as chat_settings
from toolwire.wires.families.chat.blocks import FUNCTION_TOOL, TOOL_FIELDS
from toolwire.wires.text.blocks import ROLES
from toolwire.wires.text.messages import content_of
from toolwire.wires.text.tags import ToolSection, find_tools, write_tools

_TOOL = Block("tool", part=Tool, keys=TOOL_FIELDS)


def read_tools(messages: list[JSON]) -> list[Tool]:
    """The tools that are defined in system prompts."""
    return [
        _read_tool(tool, ("messages", *path))
        for path, _, section in _sections(messages)
        for tool in section.tools
    ]


def _sections(messages: list[JSON]) -> Iterator[tuple[JsonPath, str, ToolSection]]:
    """Each section of a system prompt that defines tools, with the prompt and its path."""
    for i, message in enumerate(messages):
        if isinstance(message, dict) and ROLES.get(str(message.get("role"))) == "system":
            for text, path in content_of(message, (i,)):
                if isinstance(text, str) and (section := find_tools(text)) is not None:
                    yield path, text, section


def _read_tool(tool: Object, path: JsonPath) -> Tool:
    function = tool.get("function")
    if isinstance(function, dict):
        source = Source(tool, path, FUNCTION_TOOL)
        return read_definition(function, function.get("parameters"), source)
    return read_definition(tool, tool.get("parameters"), Source(tool, path, _TOOL))


def put_tools(tools: tuple[Tool, ...], messages: list[JSON], context: EncodeContext) -> list[JSON]:
    """The messages with the tools defined in the first system prompt.

    A section that defines tools is replaced; without one, a section is added.
    """
    definitions = [
        require_object(write_tool(tool, context)) for tool in tools if tool.kind in CLIENT_TOOLS
    ]
    for tool in tools:
        if tool.kind not in CLIENT_TOOLS:  # added by an edit
            context.report_loss(tool, f"a tool that only another provider has: {tool.kind}")
    section = write_tools(definitions) if definitions else ""
    for path, text, old in _sections(messages):
        new = text[: old.start] + section + text[old.end :]
        return put(messages, path, new)  # type: ignore[return-value]
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
