"""AI SDK: tools and settings beside the messages, under the names of `streamText`'s options.

A chat client sends few of them or none.
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, Object, patch
from toolwire.conversation.model import Choice, Conversation, Setting, Tool
from toolwire.conversation.parts import Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import (
    SettingSpec,
    plain_settings,
    read_texts,
    same_name,
    setting_table,
)
from toolwire.wires.engine.settings_lowering import CLIENT_TOOLS
from toolwire.wires.engine.specs import (
    Block,
    flag_or_none,
    keys,
    read_name,
    require_object,
    require_string,
    text_or_none,
)

# --- tool definitions -----------------------------------------------------------------------------

TOOL = Block(
    "tool", part=Tool, keys=keys("description", "inputSchema", "parameters", "strict", "type")
)
_CLIENT_TYPES = ("function", "dynamic")
"""Types of tools that are not provider-defined; most tools have no type."""


def read_tools(tools: JSON) -> tuple[Tool, ...]:
    """The tool definitions in an object of tools by name; empty if it is not an object."""
    if not isinstance(tools, dict):
        return ()
    return tuple(_read_tool(name, tool) for name, tool in tools.items() if isinstance(tool, dict))


def _read_tool(name: str, tool: Object) -> Tool:
    path = ("tools", name)
    if tool.get("type", "function") not in _CLIENT_TYPES:
        kind = read_name(tool.get("id")) or str(tool.get("type"))
        return Tool(name, kind=kind, source=Source(raw=tool, path=path))
    return Tool(
        name,
        text_or_none(tool.get("description")),
        schema=tool.get("inputSchema", tool.get("parameters")),
        strict=flag_or_none(tool.get("strict")),
        source=Source(tool, path, TOOL),
    )


def write_tools(conversation: Conversation, context: EncodeContext) -> Object:
    """The tool definitions as an object by name; those of this wire stay verbatim except for
    edits."""
    out: Object = {}
    for tool in conversation.tools:
        name = context.name(tool.name)
        if context.native and isinstance(tool.raw, dict):
            original = _read_tool(tool.name, tool.raw)
            before, after = _write_tool(original, context), _write_tool(tool, context)
            out[name] = patch(tool.raw, before, after)
        elif name in out:
            context.report_loss(tool, f"another tool has the same name: {name}")
        elif tool.kind in CLIENT_TOOLS:
            out[name] = _write_tool(tool, context)
    return out


def _write_tool(tool: Tool, context: EncodeContext) -> Object:
    block: Object = {} if tool.description is None else {"description": tool.description}
    schema = context.schema_of(tool)
    block["inputSchema"] = {"type": "object", "properties": {}} if schema is None else schema
    if tool.strict is not None:
        block["strict"] = tool.strict
    return block


# --- settings -------------------------------------------------------------------------------------


def _read_choice(value: JSON) -> Setting | UnsetType:
    match value:
        case "auto" | "none" | "required":
            return Choice(value)
        case str():
            return UNSET
    choice = require_object(value)
    if choice.get("type") != "tool":
        return UNSET
    return Choice("required", (require_string(choice["toolName"]),))


def _write_choice(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Choice)
    if value.names:
        return {"type": "tool", "toolName": context.name(value.names[0])}
    return value.mode


def _read_effort(value: JSON) -> Setting | UnsetType:
    return value if value in ("minimal", "low", "medium", "high") else UNSET


REQUEST = setting_table(
    *same_name("model", "temperature", "seed"),
    *plain_settings(max_tokens="maxOutputTokens", top_p="topP", top_k="topK"),
    *plain_settings(presence_penalty="presencePenalty", frequency_penalty="frequencyPenalty"),
    SettingSpec("stop", ("stopSequences",), read=read_texts),
    SettingSpec(
        "choice",
        ("toolChoice",),
        read=_read_choice,
        write=_write_choice,
        knows=keys("type", "toolName"),
    ),
    # Only version 7 has it, so it is read and never written.
    SettingSpec("effort", ("reasoning",), read=_read_effort, write=None),
)
"""Settings of a request."""
MESSAGE = setting_table(SettingSpec("id", ("id",)))
"""Settings of a response that is one UI message."""
RESPONSE = setting_table(SettingSpec("id", ("id",)), SettingSpec("model", ("modelId",)))
"""Settings of a response that is a list of model messages."""

# --- finish reasons -------------------------------------------------------------------------------

FINISH_REASON_FROM_WIRE = {
    "stop": "stop",
    "length": "length",
    "content-filter": "filter",
    "tool-calls": "tool",
    "error": "error",
    "other": "other",
}
FINISH_REASON_TO_WIRE = {
    **{reason: word for word, reason in FINISH_REASON_FROM_WIRE.items()},
    "sequence": "stop",
    "refusal": "content-filter",
    "context": "length",
}
IMPLIED_REASONS = ("stop", "tool")
"""Finish reasons that the parts of a message imply; it has no field for them."""
