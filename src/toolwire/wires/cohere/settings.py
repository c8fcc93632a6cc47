"""What stands around a history of Cohere Chat: tools, settings, usage, reasons to stop. Knows no
message and no block."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.model import Choice, Format, Setting, Tool, Usage
from toolwire.conversation.parts import Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingSpec, reasoning_budget
from toolwire.wires.engine.specs import (
    Block,
    keys,
    raise_unexpected,
    read_name,
    require_object,
    require_string,
    text_or_none,
)

NAME = "cohere"

TOOL = Block(
    "function",
    Tool,
    keys=keys("type", "function"),
    inner=(("function", keys("name", "description", "parameters")),),
)
_KINDS = ("function", "custom")
_EMPTY: Object = {"type": "object", "properties": {}}


def read_tool(tool: JSON, path: JsonPath, strict: bool | None) -> Tool:
    """A tool; `strict` is said of all of them at once."""
    if not isinstance(tool, dict):
        raise_unexpected(NAME, path, "an object", tool)
    inner = tool.get("function")
    if not isinstance(inner, dict):
        return Tool("", kind=str(tool.get("type")), source=Source(raw=tool, path=path))
    return Tool(
        read_name(inner.get("name")),
        text_or_none(inner.get("description")),
        inner.get("parameters"),
        strict,
        source=Source(tool, path, TOOL),
    )


def write_tools(tools: tuple[Tool, ...], context: EncodeContext) -> Object:
    """`tools`, and `strict_tools` if they agree on it."""
    out: list[JSON] = []
    said = {tool.strict for tool in tools if tool.kind in _KINDS}
    for tool in tools:
        if tool.kind not in _KINDS:
            context.report_loss(tool, f"a tool of another provider: {tool.kind}")
            continue
        inner: Object = {"name": context.name(tool.name)}
        if tool.description is not None:
            inner["description"] = tool.description
        inner["parameters"] = tool.schema if isinstance(tool.schema, dict) else _EMPTY
        if tool.kind == "custom":
            inner["parameters"] = context.schema_of(tool)
        elif not isinstance(tool.schema, dict):
            context.report_loss(tool, "a tool must have a schema here; an empty one is sent")
        if len(said) > 1 and tool.strict is not None:
            context.report_loss(
                tool, "tools are strict all together or not at all; these do not agree"
            )
        out.append({"type": "function", "function": inner})
    strict = said.pop() if len(said) == 1 else None
    if not out:
        return {}
    return {"tools": out, **({"strict_tools": strict} if strict is not None else {})}


_MODES = {"REQUIRED": "required", "NONE": "none"}


def _read_choice(value: JSON) -> Setting | UnsetType:
    return Choice(_MODES[require_string(value)])  # type: ignore[arg-type]


def _write_choice(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Choice)
    return {"required": "REQUIRED", "none": "NONE"}.get(value.mode, UNSET)


def _read_format(value: JSON) -> Setting | UnsetType:
    return (
        Format(require_object(value).get("json_schema"))
        if require_object(value)["type"] == "json_object"
        else UNSET
    )


def _write_format(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Format)
    return {
        "type": "json_object",
        **({"json_schema": value.schema} if isinstance(value.schema, dict) else {}),
    }


def _read_stop(value: JSON) -> Setting | UnsetType:
    return tuple(require_string(item) for item in value) if isinstance(value, list) else UNSET


REQUEST = (
    SettingSpec("model", ("model",)),
    SettingSpec("max_tokens", ("max_tokens",)),
    SettingSpec("temperature", ("temperature",)),
    SettingSpec("top_p", ("p",)),
    SettingSpec("top_k", ("k",)),
    SettingSpec("seed", ("seed",)),
    SettingSpec("presence_penalty", ("presence_penalty",)),
    SettingSpec("frequency_penalty", ("frequency_penalty",)),
    SettingSpec("stop", ("stop_sequences",), _read_stop),
    SettingSpec("stream", ("stream",)),
    SettingSpec("choice", ("tool_choice",), _read_choice, _write_choice),
    SettingSpec("format", ("response_format",), _read_format, _write_format),
    SettingSpec("budget", ("thinking",), *reasoning_budget("token_budget", 1)),
)


def _count(value: JSON, *path: str) -> int | None:
    """A count; this wire may write it as 12.0."""
    number = get(value, path)
    return (
        int(number)
        if isinstance(number, int | float)
        and not isinstance(number, bool)
        and number == int(number)
        else None
    )


def _read_usage(value: JSON) -> Setting | UnsetType:
    read, made = _count(value, "tokens", "input_tokens"), _count(value, "tokens", "output_tokens")
    return Usage(read, made, _count(value, "cached_tokens"))


def _write_usage(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Usage)
    out: Object = {"tokens": {"input_tokens": value.input or 0, "output_tokens": value.output or 0}}
    return {**out, **({"cached_tokens": value.cached} if value.cached is not None else {})}


RESPONSE = (
    SettingSpec("id", ("id",)),
    SettingSpec(
        "usage",
        ("usage",),
        _read_usage,
        _write_usage,
        keys("tokens.input_tokens", "tokens.output_tokens", "cached_tokens"),
    ),
)
FINISH_REASON_FROM_WIRE = {
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "sequence",
    "MAX_TOKENS": "length",
    "TOOL_CALL": "tool",
}
FINISH_REASON_TO_WIRE = {word: stop for stop, word in FINISH_REASON_FROM_WIRE.items()}
ENDS = frozenset({*FINISH_REASON_FROM_WIRE, "ERROR", "TIMEOUT"})
