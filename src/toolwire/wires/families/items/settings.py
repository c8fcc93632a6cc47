"""Settings of requests and responses, tool choice, usage and finish reasons."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.model import Choice, Format, Setting, Tool, Usage
from toolwire.wires.engine.answers import (
    AnswerFields,
    MakeField,
    answer_id,
    answer_model,
    answer_time,
    id_setting,
    model_setting,
    repeat,
    time_setting,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import (
    EXTRA_SETTINGS,
    SettingSpec,
    extra_setting,
    same_name,
    setting_table,
    write_user,
)
from toolwire.wires.engine.specs import (
    count_at,
    flag_or_none,
    keys,
    require_object,
    require_string,
    text_or_none,
)
from toolwire.wires.families.items.namespaces import plain_name, read_qualified_name, split_name

# --- tool choice ----------------------------------------------------------------------------------


def _read_choice(value: JSON) -> Setting | UnsetType:
    if isinstance(value, str):
        return Choice(value) if value in ("auto", "none", "required") else UNSET  # type: ignore[arg-type]
    choice = require_object(value)
    if choice["type"] in ("function", "custom"):
        return Choice("required", (_read_choice_name(choice),))
    mode, tools = choice.get("mode"), choice.get("tools")
    if choice["type"] != "allowed_tools" or not isinstance(tools, list):
        return UNSET
    allowed = [require_object(tool) for tool in tools]
    if any(tool["type"] not in ("function", "custom") for tool in allowed):
        return UNSET
    if mode not in ("auto", "required"):
        return UNSET
    names = tuple(_read_choice_name(tool) for tool in allowed)
    return Choice("auto" if mode == "auto" else "required", names)


def _read_choice_name(tool: Object) -> str:
    require_string(tool["name"])
    return read_qualified_name(tool)


def resolve_choice(choice: Setting, tools: tuple[Tool, ...]) -> Setting:
    """A choice with the qualified names of its tools, because the wire sends no namespace in it."""
    defined = {tool.name for tool in tools}
    if not isinstance(choice, Choice) or defined.issuperset(choice.names):
        return choice
    in_namespaces: dict[str, list[str]] = {}
    for tool in tools:
        namespace, name = split_name(tool.name)
        if namespace:
            in_namespaces.setdefault(plain_name(name), []).append(tool.name)
    names: dict[str, None] = {}
    for name in choice.names:
        matches = [name] if name in defined else in_namespaces.get(name, [name])
        names |= dict.fromkeys(matches)
    return Choice(choice.mode, tuple(names))


def _write_choice_mode(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    """The mode; names are written by `write_choice`, which knows the tools."""
    assert isinstance(value, Choice)
    return value.mode


def write_choice(
    choice: Choice, tools: tuple[Tool, ...], context: EncodeContext, path: JsonPath
) -> JSON:
    """A choice that names tools, each by its kind and without its namespace."""
    kinds = {context.name(tool.name): tool.kind for tool in tools if tool.name}
    defined = tuple(Tool(name) for name in kinds)
    chosen = [context.name(name) for name in choice.names]
    entries: list[JSON] = []
    for qualified in chosen:
        name = split_name(qualified)[1]
        kind = "custom" if kinds.get(qualified) == "custom" else "function"
        entry: Object = {"type": kind, "name": name}
        if entry not in entries:
            entries.append(entry)
        read = resolve_choice(Choice(choice.mode, (plain_name(name),)), defined)
        assert isinstance(read, Choice)
        exact = qualified in read.names and set(read.names) <= set(chosen)
        if qualified in kinds and not exact:
            context.report_loss(
                path, f"a tool choice has no namespace, and several tools are named {name}"
            )
    if not entries or choice.mode == "none":
        return choice.mode
    if choice.mode == "required" and len(entries) == 1:
        return entries[0]
    return {"type": "allowed_tools", "mode": choice.mode, "tools": entries}


# --- settings -------------------------------------------------------------------------------------


def _read_format(value: JSON) -> Setting | UnsetType:
    fields = require_object(value)
    if fields["type"] == "json_object":
        return Format()
    if fields["type"] != "json_schema":
        return UNSET
    return Format(
        fields.get("schema"),
        text_or_none(fields.get("name")),
        flag_or_none(fields.get("strict")),
        text_or_none(fields.get("description")),
    )


def _write_format(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Format)
    if value.schema is None:
        return {"type": "json_object"}
    out: Object = {"type": "json_schema", "name": value.name or "answer", "schema": value.schema}
    optional: Object = {"strict": value.strict, "description": value.description}
    return {**out, **{key: field for key, field in optional.items() if field is not None}}


REQUEST = setting_table(
    *same_name("model", "temperature", "top_p", "stream"),
    SettingSpec("max_tokens", ("max_output_tokens",)),
    SettingSpec("user", ("user",), write=write_user),
    SettingSpec("choice", ("tool_choice",), read=_read_choice, write=_write_choice_mode),
    SettingSpec("parallel", ("parallel_tool_calls",)),
    SettingSpec("format", ("text", "format"), read=_read_format, write=_write_format),
    SettingSpec("effort", ("reasoning", "effort")),
    *EXTRA_SETTINGS,
    extra_setting("verbosity", "text", "verbosity"),
    extra_setting("top_logprobs"),
)


def _read_usage(value: JSON) -> Setting | UnsetType:
    return Usage(
        count_at(value, "input_tokens"),
        count_at(value, "output_tokens"),
        count_at(value, "input_tokens_details", "cached_tokens"),
        # The type requires this count, so zero means that nothing was counted.
        count_at(value, "input_tokens_details", "cache_write_tokens") or None,
        count_at(value, "output_tokens_details", "reasoning_tokens"),
    )


def _write_usage(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    """Write the usage. All counts are required; an unknown one is zero."""
    assert isinstance(value, Usage)
    input_tokens, output_tokens = value.input or 0, value.output or 0
    return {
        "input_tokens": input_tokens,
        "input_tokens_details": {
            "cached_tokens": value.cached or 0,
            "cache_write_tokens": value.cache_write or 0,
        },
        "output_tokens": output_tokens,
        "output_tokens_details": {"reasoning_tokens": value.reasoning or 0},
        "total_tokens": input_tokens + output_tokens,
    }


_ID_PREFIX = "resp_"
RESPONSE = setting_table(
    id_setting(prefix=_ID_PREFIX),
    model_setting(),
    time_setting("created_at"),
    SettingSpec(
        "usage",
        ("usage",),
        read=_read_usage,
        write=_write_usage,
        knows=keys(
            "input_tokens",
            "output_tokens",
            "total_tokens",
            "input_tokens_details.cached_tokens",
            "input_tokens_details.cache_write_tokens",
            "output_tokens_details.reasoning_tokens",
        ),
    ),
)


def _repeat_tools(context: EncodeContext) -> JSON:
    """The tools of the request; each function with all fields of its type."""
    tools = context.request.body.get("tools")
    return [
        {"description": None, "parameters": None, "strict": None, **tool}
        if isinstance(tool, dict) and tool.get("type") == "function"
        else tool
        for tool in (tools if isinstance(tools, list) else [])
    ]


def _completion_time(context: EncodeContext) -> JSON:
    created = context.request.created
    return created + int(context.request.elapsed()) if created else None


_REPEATED: dict[str, JSON | MakeField] = {
    "previous_response_id": repeat("previous_response_id", None),
    "instructions": repeat("instructions", None),
    "tools": _repeat_tools,
    "tool_choice": repeat("tool_choice", "auto"),
    "truncation": repeat("truncation", "disabled"),
    "parallel_tool_calls": repeat("parallel_tool_calls", True),
    "text": repeat("text", {"format": {"type": "text"}}),
    "top_p": repeat("top_p", 1.0),
    "presence_penalty": repeat("presence_penalty", 0.0),
    "frequency_penalty": repeat("frequency_penalty", 0.0),
    "top_logprobs": repeat("top_logprobs", 0),
    "temperature": repeat("temperature", 1.0),
    "reasoning": repeat("reasoning", {"effort": None, "summary": None}),
    "max_output_tokens": repeat("max_output_tokens", None),
    "max_tool_calls": repeat("max_tool_calls", None),
    "store": repeat("store", False),
    "background": repeat("background", False),
    "service_tier": repeat("service_tier", "default"),
    "metadata": repeat("metadata", {}),
    "safety_identifier": repeat("safety_identifier", None),
    "prompt_cache_key": repeat("prompt_cache_key", None),
}
"""Settings of the request that a response repeats; they are not part of the answer."""
ANSWER = AnswerFields.of(
    {
        "id": answer_id(_ID_PREFIX),
        "object": "response",
        "created_at": answer_time,
        "completed_at": _completion_time,
        "status": "completed",
        "incomplete_details": None,
        "error": None,
        "model": answer_model,
        "output": [],
        "usage": None,
        **_REPEATED,
    }
)
"""The fields of every response."""
RESPONSE_FIELDS = frozenset(_REPEATED) | keys(
    *"object output status incomplete_details completed_at".split(),
    *"prompt prompt_cache_retention user".split(),
)
"""Fields of a response that are not its settings."""

# --- finish reasons -------------------------------------------------------------------------------

FINISH_REASON_FROM_WIRE = {"max_output_tokens": "length", "content_filter": "filter"}
FINISH_REASON_TO_WIRE = {reason: word for word, reason in FINISH_REASON_FROM_WIRE.items()}


def read_finish_reason(body: Object, *, has_calls: bool) -> str | None:
    """The neutral finish reason. The wire has no value for tool calls; the items show them."""
    status = body.get("status")
    if not isinstance(status, str):
        return None
    if status == "completed":
        return "tool" if has_calls else "stop"
    details = body.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    if status == "incomplete" and isinstance(reason, str):
        return FINISH_REASON_FROM_WIRE.get(reason, reason)
    return status


def write_finish_reason(reason: str | None) -> Object:
    """The two fields that express the finish reason."""
    word = FINISH_REASON_TO_WIRE.get(reason or "")
    if word is not None:
        return {"status": "incomplete", "incomplete_details": {"reason": word}}
    return {"status": "completed", "incomplete_details": None}
