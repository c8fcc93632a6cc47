"""AI SDK: tools and settings beside the messages, under the names that `streamText` takes, and
those of a response.

A chat client posts few of them or none; whoever builds a prompt as data posts them all.
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.model import Choice, Conversation, Setting, Tool
from toolwire.conversation.parts import Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingSpec
from toolwire.wires.engine.specs import (
    Block,
    flag_or_none,
    keys,
    read_name,
    require_object,
    require_string,
    text_or_none,
)

OFFER = Block("tool", Tool, keys=keys("description", "inputSchema", "parameters", "strict", "type"))
_PLAIN = ("function", "dynamic")
"""Types of a tool that is no provider's own; most say none."""


def read_tools(tools: JSON) -> tuple[Tool, ...]:
    """The tools on offer: an object of tools by name. Anything else is not read and stays where it
    is."""
    if not isinstance(tools, dict):
        return ()
    return tuple(_offer(name, tool) for name, tool in tools.items() if isinstance(tool, dict))


def _offer(name: str, tool: Object) -> Tool:
    path = ("tools", name)
    if tool.get("type", "function") not in _PLAIN:
        return Tool(
            name,
            kind=read_name(tool.get("id")) or str(tool.get("type")),
            source=Source(raw=tool, path=path),
        )
    schema = tool.get("inputSchema", tool.get("parameters"))
    return Tool(
        name,
        text_or_none(tool.get("description")),
        schema,
        flag_or_none(tool.get("strict")),
        source=Source(tool, path, OFFER),
    )


def write_tools(conversation: Conversation, context: EncodeContext) -> Object:
    """The tools as an object by name; the wire's own go as they came."""
    out: Object = {}
    for tool in conversation.tools:
        name = context.name(tool.name)
        if conversation.wire == context.wire and isinstance(tool.raw, dict):
            out[name] = tool.raw
        elif name in out:
            context.report_loss(
                tool, "tools stand under their names here; a second one of this name has no place"
            )
        elif tool.kind not in ("function", "custom"):
            context.report_loss(tool, f"a tool of another provider: {tool.kind}")
        else:
            out[name] = _offered(tool, context)
    return out


def _offered(tool: Tool, context: EncodeContext) -> Object:
    given: Object = {} if tool.description is None else {"description": tool.description}
    given["inputSchema"] = (
        tool.schema if tool.schema is not None else {"type": "object", "properties": {}}
    )
    if tool.kind == "custom":
        context.report_loss(tool, "a custom tool is offered as a function with one field, `input`")
        given["inputSchema"] = {
            "type": "object",
            "properties": {"input": {"type": "string"}},
            "required": ["input"],
        }
    if tool.strict is not None:
        given["strict"] = tool.strict
    return given


def _read_choice(value: JSON) -> Setting | UnsetType:
    if isinstance(value, str):
        return Choice(value) if value in ("auto", "none", "required") else UNSET  # type: ignore[arg-type]
    return (
        Choice("required", (require_string(require_object(value)["toolName"]),))
        if require_object(value).get("type") == "tool"
        else UNSET
    )


def _write_choice(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Choice)
    if value.mode == "required" and len(value.names) == 1:
        return {"type": "tool", "toolName": context.name(value.names[0])}
    return value.mode


REQUEST = (
    SettingSpec("model", ("model",)),
    SettingSpec("max_tokens", ("maxOutputTokens",)),
    SettingSpec("temperature", ("temperature",)),
    SettingSpec("top_p", ("topP",)),
    SettingSpec("top_k", ("topK",)),
    SettingSpec("seed", ("seed",)),
    SettingSpec("presence_penalty", ("presencePenalty",)),
    SettingSpec("frequency_penalty", ("frequencyPenalty",)),
    SettingSpec(
        "stop",
        ("stopSequences",),
        lambda v: tuple(require_string(s) for s in v) if isinstance(v, list) else UNSET,
    ),
    SettingSpec("choice", ("toolChoice",), _read_choice, _write_choice, keys("type", "toolName")),
    # Only the newest major version takes it, so it is read and never written.
    SettingSpec(
        "effort",
        ("reasoning",),
        lambda v: v if v in ("minimal", "low", "medium", "high") else UNSET,
        None,
    ),
)
FINISH_REASON_FROM_WIRE = {
    "stop": "stop",
    "length": "length",
    "content-filter": "filter",
    "tool-calls": "tool",
    "error": "error",
    "other": "other",
}
FINISH_REASON_TO_WIRE = {
    "stop": "stop",
    "tool": "tool-calls",
    "length": "length",
    "filter": "content-filter",
    "sequence": "stop",
    "refusal": "content-filter",
    "context": "length",
    "error": "error",
    "other": "other",
}
PLAIN = ("stop", "tool")
"""Reasons that the parts of a message say themselves."""
MESSAGE = (SettingSpec("id", ("id",)),)
"""What a single UI message says of itself."""
RESPONSE = (SettingSpec("id", ("id",)), SettingSpec("model", ("modelId",)))
"""What stands beside the messages of a response."""
