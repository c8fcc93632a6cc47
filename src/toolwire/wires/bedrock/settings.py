"""Bedrock Converse: the tools on offer, the settings, usage and stop reasons."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object, parse, text_of
from toolwire.conversation.model import Choice, Conversation, Format, Setting, Tool, Usage
from toolwire.conversation.parts import Call, Result, Source
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingSpec, reasoning_budget
from toolwire.wires.engine.specs import (
    Block,
    count_at,
    flag_or_none,
    keys,
    raise_unexpected,
    read_name,
    require_object,
    require_string,
    text_or_none,
)

NAME = "bedrock"

# --- tools ----------------------------------------------------------------------------------------

OFFER = Block(
    "toolSpec",
    Tool,
    keys=keys("toolSpec"),
    inner=(("toolSpec", keys("name", "description", "inputSchema", "strict")),),
)
_STUB = "Used earlier in this conversation, and not on offer now."


def stub(name: str) -> Object:
    """A tool that is named only because the history has calls of it: without `toolConfig` such a
    history is refused."""
    return {
        "toolSpec": {
            "name": name,
            "description": _STUB,
            "inputSchema": {"json": {"type": "object", "properties": {}}},
        }
    }


def read_offer(tool: JSON, path: JsonPath) -> Tool | None:
    """A tool on offer; what is no function keeps its field as kind. A stub is no offer and gives
    none."""
    if not isinstance(tool, dict):
        raise_unexpected(NAME, path, "an object", tool)
    spec = tool.get("toolSpec")
    if not isinstance(spec, dict):
        kind = next(iter(tool), "")
        held = tool.get(kind)
        return Tool(
            read_name(held.get("name") if isinstance(held, dict) else None),
            kind=kind,
            source=Source(raw=tool, path=path),
        )
    name, given = read_name(spec.get("name")), spec.get("inputSchema")
    if spec.get("description") == _STUB and tool == stub(name):
        return None
    schema = given.get("json") if isinstance(given, dict) else None
    return Tool(
        name,
        text_or_none(spec.get("description")),
        schema,
        flag_or_none(spec.get("strict")),
        "function",
        source=Source(tool, path, OFFER),
    )


def _write_offer(tool: Tool, context: EncodeContext) -> JSON:
    schema = context.schema_of(tool) or {"type": "object", "properties": {}}
    spec: Object = {"name": context.name(tool.name)}
    if tool.description:
        spec["description"] = tool.description
    elif tool.description is not None:
        context.report_loss(tool, "an empty description cannot be said here")
    spec["inputSchema"] = {"json": schema}
    if tool.strict is not None:
        spec["strict"] = tool.strict
    return {"toolSpec": spec}


def _write_tools(conversation: Conversation, context: EncodeContext) -> list[JSON]:
    """Every tool on offer, its own as they came; if there are none, stubs for what the history has
    called."""
    native = conversation.wire == NAME
    out: list[JSON] = []
    for tool in conversation.tools:
        if (
            native
            and not isinstance(tool.raw, UnsetType)
            and read_offer(tool.raw, tool.path) == tool
        ):
            out.append(tool.raw)
        elif tool.kind in ("function", "custom"):
            out.append(_write_offer(tool, context))
        else:
            context.report_loss(tool, f"a tool of another provider: {tool.kind}")
    if out:
        return out
    used = [
        part
        for message in conversation.messages
        for part in message.parts
        if isinstance(part, Call | Result)
    ]
    called = [part.name for part in used if part.executor == "client" and part.name]
    return [stub(context.name(name)) for name in dict.fromkeys(called)]


def write_config(body: Object, conversation: Conversation, context: EncodeContext) -> None:
    """Put `toolConfig` into a body: the tools, beside a choice that is there already."""
    if conversation.wire == NAME and conversation.same_tools:
        return
    config = body.pop("toolConfig", None)
    kept = config if isinstance(config, dict) else {}
    tools = _write_tools(conversation, context)
    if tools:
        body["toolConfig"] = {**kept, "tools": tools}
    elif "toolChoice" in kept:
        context.report_loss(
            conversation.source.setting_paths.get("choice", ("choice",)),
            "a choice cannot be said here without tools",
        )


# --- settings -------------------------------------------------------------------------------------


def _read_choice(value: JSON) -> Setting | UnsetType:
    match value:
        case {"auto": _}:
            return Choice("auto")
        case {"any": _}:
            return Choice("required")
        case {"tool": {"name": str(name)}}:
            return Choice("required", (name,))
    return UNSET


def _write_choice(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Choice)
    if value.mode == "required" and len(value.names) == 1:
        return {"tool": {"name": context.name(value.names[0])}}
    return {"auto": {"auto": {}}, "required": {"any": {}}}.get(value.mode, UNSET)  # type: ignore[return-value]


def _read_format(value: JSON) -> Setting | UnsetType:
    held = require_object(require_object(require_object(value)["structure"])["jsonSchema"])
    return Format(
        parse(require_string(held["schema"])),
        text_or_none(held.get("name")),
        None,
        text_or_none(held.get("description")),
    )


def _write_format(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Format)
    if value.schema is None:
        return UNSET
    held: Object = {"schema": text_of(value.schema)}
    held.update(
        {
            key: given
            for key, given in (("name", value.name), ("description", value.description))
            if given is not None
        }
    )
    return {"type": "json_schema", "structure": {"jsonSchema": held}}


_CONFIG, _MORE = "inferenceConfig", "additionalModelRequestFields"
COMMON = (
    SettingSpec("model", ("modelId",)),
    SettingSpec("max_tokens", (_CONFIG, "maxTokens")),
    SettingSpec(
        "temperature",
        (_CONFIG, "temperature"),
        write=lambda v, _: max(0.0, min(v, 1.0)) if isinstance(v, int | float) else UNSET,
    ),
    SettingSpec("top_p", (_CONFIG, "topP")),
    SettingSpec(
        "stop",
        (_CONFIG, "stopSequences"),
        lambda v: tuple(require_string(s) for s in v) if isinstance(v, list) else UNSET,
    ),
    SettingSpec(
        "choice", ("toolConfig", "toolChoice"), _read_choice, _write_choice, keys("tool.name")
    ),
    SettingSpec(
        "format",
        ("outputConfig", "textFormat"),
        _read_format,
        _write_format,
        keys(
            "type",
            "structure.jsonSchema.schema",
            "structure.jsonSchema.name",
            "structure.jsonSchema.description",
        ),
    ),
    SettingSpec(
        "effort",
        ("outputConfig", "effort"),
        write=lambda v, _: v if isinstance(v, str) and len(v) <= 16 else UNSET,
    ),
)
REQUEST = (
    *COMMON,
    SettingSpec("top_k", (_MORE, "top_k")),
    SettingSpec(
        "budget",
        (_MORE, "thinking"),
        *reasoning_budget("budget_tokens", 1024),
        keys("type", "budget_tokens"),
    ),
)
"""With the fields that go to the model as they are: what one model reads there, another refuses."""


def fields_for(conversation: Conversation) -> tuple[SettingSpec, ...]:
    """The settings that can be written: a model's own only where it is known to have them."""
    known = conversation.wire == NAME or "claude" in str(conversation.settings.get("model")).lower()
    return REQUEST if known else COMMON


def tell_limits(conversation: Conversation, context: EncodeContext) -> None:
    """Report what a setting says beyond what is written of it."""
    if conversation.wire == NAME:
        return
    settings, places = conversation.settings, conversation.source.setting_paths
    heat, choice, form = settings.get("temperature"), settings.get("choice"), settings.get("format")
    if isinstance(heat, int | float) and not 0 <= heat <= 1:
        context.report_loss(
            places.get("temperature", ("temperature",)), "beyond 0 to 1, the range here"
        )
    if (
        isinstance(choice, Choice)
        and choice.names
        and (choice.mode != "required" or len(choice.names) > 1)
    ):
        context.report_loss(
            places.get("choice", ("choice",)), "only one tool can be named; the others stay allowed"
        )
    if isinstance(form, Format) and form.schema is not None and form.strict is not None:
        context.report_loss(places.get("format", ("format",)), "no strict flag here")


# --- usage and stop reasons -----------------------------------------------------------------------


def _first(*numbers: int | None) -> int | None:
    return next((number for number in numbers if number is not None), None)


def _read_usage(value: JSON) -> Setting | UnsetType:
    """`inputTokens` leaves out what came from the cache or went into it, though the total counts
    both."""
    cached = _first(
        count_at(value, "cacheReadInputTokens"), count_at(value, "cacheReadInputTokenCount")
    )
    made = _first(
        count_at(value, "cacheWriteInputTokens"), count_at(value, "cacheWriteInputTokenCount")
    )
    fresh = count_at(value, "inputTokens")
    return Usage(
        None if fresh is None else fresh + (cached or 0) + (made or 0),
        count_at(value, "outputTokens"),
        cached,
        made,
    )


def _write_usage(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Usage)
    fresh = max((value.input or 0) - (value.cached or 0) - (value.cache_write or 0), 0)
    made = value.output or 0
    out: Object = {
        "inputTokens": fresh,
        "outputTokens": made,
        "totalTokens": max(value.input or 0, fresh) + made,
    }
    if value.cached is not None:
        out["cacheReadInputTokens"] = value.cached
    if value.cache_write is not None:
        out["cacheWriteInputTokens"] = value.cache_write
    return out


def tell_usage(conversation: Conversation, context: EncodeContext) -> None:
    """Report the count that has no field here."""
    usage = conversation.settings.get("usage")
    if conversation.wire != NAME and isinstance(usage, Usage) and usage.reasoning is not None:
        context.report_loss(
            conversation.source.setting_paths.get("usage", ("usage",)),
            "tokens of reasoning are not counted apart here",
        )


RESPONSE = (
    SettingSpec(
        "usage",
        ("usage",),
        _read_usage,
        _write_usage,
        keys(
            "inputTokens",
            "outputTokens",
            "totalTokens",
            "cacheReadInputTokens",
            "cacheWriteInputTokens",
            "cacheReadInputTokenCount",
            "cacheWriteInputTokenCount",
        ),
    ),
    SettingSpec("stop_sequence", ("additionalModelResponseFields", "stop_sequence")),
)
FINISH_REASON_FROM_WIRE = {
    "end_turn": "stop",
    "max_tokens": "length",
    "stop_sequence": "sequence",
    "tool_use": "tool",
    "guardrail_intervened": "filter",
    "content_filtered": "filter",
    "model_context_window_exceeded": "context",
}
FINISH_REASON_TO_WIRE = {
    "stop": "end_turn",
    "length": "max_tokens",
    "sequence": "stop_sequence",
    "tool": "tool_use",
    "filter": "content_filtered",
    "refusal": "content_filtered",
    "context": "model_context_window_exceeded",
}
