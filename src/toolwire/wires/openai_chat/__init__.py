"""OpenAI Chat Completions, and everything that speaks its shape.

- calls-are-answered-at-once: every id of an assistant message is answered by `tool` messages before
  anyone else speaks.
- tool-text-only: a tool message holds text and has no error flag; media follow in a user message.
- legacy-function-call: `function_call` and role `function` have no id at all; they pair by name.
- reasoning-is-foreign: OpenAI has no reasoning here; compatible servers send `reasoning_content` or
  `reasoning`.
- executed-tools-have-no-id: a compatible server lists the tools it ran itself by `index`, call and
  result in one.
- arguments-are-text: the model's own JSON text, kept to the letter, valid or not.
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.ids import assign_ids
from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.model import BodySource, Choice, Conversation, Kind, Setting, Tool, Usage
from toolwire.conversation.parts import Call, Media, Message, Part, Result, Source, Text, describe
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import data_url, kind_by, mime_of, split_data_url
from toolwire.wires.engine.settings import (
    SettingSpec,
    put_tools,
    read_settings,
    write_finish_reason,
    write_settings,
    write_user,
)
from toolwire.wires.engine.specs import (
    Block,
    Id,
    Wire,
    all_blocks,
    answer_messages,
    blocks,
    count_at,
    keys,
    list_at,
    object_at,
    patch_message,
    raise_unexpected,
    read_arguments,
    read_id,
    read_name,
    read_result_id,
    require_object,
    require_string,
    text_or_none,
    types_in,
)
from toolwire.wires.families.chat.messages import Chat
from toolwire.wires.families.chat.settings import FORMAT, STOP, offer
from toolwire.wires.families.chat.stream_reader import Speech
from toolwire.wires.families.chat.stream_writer import stream

NAME = "openai-chat"


# --- content --------------------------------------------------------------------------------------


def _read_image(block: Object, path: JsonPath, spec: Block) -> Part:
    url = require_string(require_object(block["image_url"])["url"])
    mime, data = split_data_url(url) or (None, None)
    return Media(
        "image", mime, data, None if data is not None else url, source=Source(block, path, spec)
    )


def _read_audio(block: Object, path: JsonPath, spec: Block) -> Part:
    sound = require_object(block["input_audio"])
    return Media(
        "audio",
        f"audio/{require_string(sound['format'])}",
        require_string(sound["data"]),
        source=Source(block, path, spec),
    )


def _read_file(block: Object, path: JsonPath, spec: Block) -> Part:
    file = require_object(block["file"])
    data = text_or_none(file.get("file_data"))
    mime, data = split_data_url(data or "") or (None, data)
    return Media(
        kind_by(mime),
        mime,
        data,
        file=text_or_none(file.get("file_id")),
        name=text_or_none(file.get("filename")),
        source=Source(block, path, spec),
    )


def _write_media(media: Media, context: EncodeContext) -> JSON:
    """Images by URL or data, sounds by data, files by data; anything else can only be named."""
    mime = mime_of(media) or ""
    if media.kind == "image" and (url := data_url(media)):
        if media.name is not None:
            context.report_loss(media, "a picture has no name here")
        return {"type": "image_url", "image_url": {"url": url}}
    if media.kind == "audio" and media.data is not None and mime:
        return {
            "type": "input_audio",
            "input_audio": {"data": media.data, "format": mime.partition("/")[2]},
        }
    if media.text is not None:
        context.report_loss(media, "a text document is sent as text")
        return {"type": "text", "text": media.text}
    if media.data is not None:
        if media.kind != "file":
            context.report_loss(media, f"this {media.kind} goes as a file: its type is not known")
        return {
            "type": "file",
            "file": {"file_data": data_url(media), "filename": media.name or "file"},
        }
    context.report_loss(
        media,
        f"this wire takes no {media.kind} by {'file id' if media.file else 'URL'}; it is named in"
        " text",
    )
    return {"type": "text", "text": describe(media)}


CONTENT = blocks(
    Block(
        "text",
        Text,
        lambda b, path, spec: Text(require_string(b["text"]), source=Source(b, path, spec)),
        lambda p, _: {"type": "text", "text": p.text},
        keys("type", "text"),
    ),
    Block(
        "refusal",
        Text,
        lambda b, path, spec: Text(
            require_string(b["refusal"]), True, source=Source(b, path, spec)
        ),
        lambda p, _: {"type": "refusal", "refusal": p.text},
        keys("type", "refusal"),
    ),
    Block(
        "image_url",
        Media,
        _read_image,
        _write_media,
        keys("type", "image_url"),
        (("image_url", keys("url")),),
    ),
    Block(
        "input_audio",
        Media,
        _read_audio,
        _write_media,
        keys("type", "input_audio"),
        (("input_audio", keys("data", "format")),),
    ),
    Block(
        "file",
        Media,
        _read_file,
        _write_media,
        keys("type", "file"),
        (("file", keys("file_data", "file_id", "filename")),),
    ),
)

# --- calls and results ----------------------------------------------------------------------------


def _read_function(block: Object, path: JsonPath, spec: Block) -> Part:
    one, origin = read_id(block.get("id"))
    function = block.get("function")
    if not isinstance(function, dict):
        function = {}
    name = function.get("name")
    return Call(
        one,
        name if isinstance(name, str) else "",
        read_arguments(function.get("arguments")),
        origin,
        source=Source(block, path, spec),
    )


def _write_function(call: Call, context: EncodeContext) -> JSON:
    if context.reverse_map.forms and "custom" in context.notes_about(call):
        return _write_custom(call, context)
    function: Object = {"name": context.name(call.name), "arguments": context.arguments_text(call)}
    return {"id": context.call_id(call), "type": "function", "function": function}


def _read_custom(block: Object, path: JsonPath, spec: Block) -> Part:
    one, origin = read_id(block.get("id"))
    custom = require_object(block["custom"])
    return Call(
        one,
        read_name(custom.get("name")),
        read_arguments(custom.get("input")),
        origin,
        "custom",
        source=Source(block, path, spec),
    )


def _write_custom(call: Call, context: EncodeContext) -> JSON:
    """Free text in, free text out; a wire without custom calls had it as the field `input`."""
    carried = get(call.input, ("input",)) if call.family != "custom" else call.arguments
    text = carried if isinstance(carried, str) else call.arguments
    return {
        "id": context.call_id(call),
        "type": "custom",
        "custom": {"name": context.name(call.name), "input": text},
    }


def _read_legacy(block: Object, path: JsonPath, spec: Block) -> Part:
    return Call(
        "",
        read_name(block.get("name")),
        read_arguments(block.get("arguments")),
        "minted",
        "function-legacy",
        source=Source(block, path, spec),
    )


def _read_tool(message: Object, path: JsonPath, spec: Block) -> Part:
    one, origin = read_result_id(message.get("tool_call_id"))
    content = message.get("content")
    output = content if isinstance(content, str) else CHAT.output(content, path)
    name = text_or_none(message["name"]) if "name" in message else None
    return Result(one, output, False, name, origin, source=Source(message, path, spec))


def _read_function_result(message: Object, path: JsonPath, spec: Block) -> Part:
    return Result(
        "",
        CHAT.output(message.get("content"), path),
        False,
        text_or_none(message.get("name")),
        "minted",
        "function-legacy",
        source=Source(message, path, spec),
    )


def _content(result: Result) -> JSON:
    output = result.output
    if isinstance(output, str):
        return output
    if isinstance(output, tuple) and output and all(isinstance(part, Text) for part in output):
        return [{"type": "text", "text": describe(part)} for part in output]
    return result.text


def _write_tool(result: Result, context: EncodeContext) -> JSON:
    if (
        result.name and result.spec is RESULTS["tool"]
    ):  # a message of this wire that named its tool still does
        name = context.name(result.name)
        return {
            "role": "tool",
            "name": name,
            "tool_call_id": context.result_id(result),
            "content": _content(result),
        }
    output = result.output
    if context.plain and isinstance(output, str):
        return {"role": "tool", "tool_call_id": result.call_id, "content": output}
    return {"role": "tool", "tool_call_id": context.result_id(result), "content": _content(result)}


CALLS = blocks(
    Block(
        "function",
        Call,
        _read_function,
        _write_function,
        keys("id", "type", "function"),
        (("function", keys("name", "arguments")),),
        {"path": "tool_calls[]", "type": "function"},
        "call",
        "function",
        "client",
        (Id("id"),),
    ),
    Block(
        "custom",
        Call,
        _read_custom,
        _write_custom,
        keys("id", "type", "custom"),
        (("custom", keys("name", "input")),),
        {"path": "tool_calls[]", "type": "custom"},
        "call",
        "custom",
        "client",
        (Id("id"),),
    ),
)
LEGACY = Block(
    "function_call",
    Call,
    _read_legacy,
    lambda c, context: {"name": context.name(c.name), "arguments": context.arguments_text(c)},
    keys("name", "arguments"),
    (),
    {"path": "function_call"},
    "call",
    "function-legacy",
    "client",
)
RESULTS = blocks(
    Block(
        "tool",
        Result,
        _read_tool,
        _write_tool,
        keys("role", "content", "tool_call_id", "name"),
        (),
        {"role": "tool"},
        "output",
        "function",
        "client",
        (Id("tool_call_id"),),
        ("request",),
    ),
    Block(
        "function",
        Result,
        _read_function_result,
        lambda r, context: {
            "role": "function",
            "name": context.name(r.name or ""),
            "content": _content(r),
        },
        keys("role", "content", "name"),
        (),
        {"role": "function"},
        "output",
        "function-legacy",
        "client",
        (),
        ("request",),
    ),
)

_RAN = keys("index", "type", "arguments", "output")
EXECUTED = Block(
    "executed_tools",
    Call,
    lambda b, path, spec: Call(
        "",
        read_name(b.get("type")),
        read_arguments(b.get("arguments")),
        "minted",
        "server-tool",
        "provider",
        source=Source(b, path, spec),
    ),
    lambda c, _: {"type": c.name, "arguments": c.arguments},
    _RAN,
    (),
    {"path": "executed_tools[]"},
    "call+output",
    "server-tool",
    "provider",
    (Id("index", "position"),),
    ("response",),
    Block(
        "executed_tools",
        Result,
        lambda b, path, spec: Result(
            "",
            b.get("output") or "",
            False,
            read_name(b.get("type")),
            "minted",
            "server-tool",
            "provider",
            source=Source(b, path, spec),
        ),
        lambda r, _: {"output": r.output},
        _RAN,
    ),
)
DELTA = Block(
    "delta.tool_calls",
    Call,
    discriminator={"path": "choices[].delta.tool_calls[]"},
    direction="call",
    family="function",
    executor="client",
    ids=(Id("index", "position"), Id("id", required=False, nullable=True)),
    forms=("stream",),
)
"""A fragment of a call in a stream: only its index is always there."""
CHAT = Chat(
    NAME,
    CONTENT,
    CALLS,
    RESULTS,
    Block(
        "message",
        Message,
        keys=keys(
            "role",
            "content",
            "refusal",
            "tool_calls",
            "function_call",
            "reasoning_content",
            "reasoning",
            "executed_tools",
        ),
    ),
    {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"},
    ("reasoning_content", "reasoning"),
    LEGACY,
    EXECUTED,
)

# --- tools and settings ---------------------------------------------------------------------------

_TOOL = keys("name", "description", "parameters", "strict")
TOOLS = blocks(
    Block("function", Tool, keys=keys("type", "function"), inner=(("function", _TOOL),)),
    Block(
        "custom",
        Tool,
        keys=keys("type", "custom"),
        inner=(("custom", keys("name", "description")),),
    ),
    Block("functions", Tool, keys=_TOOL),
)


def _read_offer(tool: JSON, path: JsonPath) -> Tool:
    """A tool on offer; one that is neither a function nor custom keeps only its type."""
    if not isinstance(tool, dict):
        raise_unexpected(NAME, path, "an object", tool)
    if path[0] == "functions":
        return offer(tool, "function", tool, path, TOOLS["functions"])
    for kind in ("function", "custom"):
        inner = tool.get(kind)
        if isinstance(inner, dict):
            return offer(inner, kind, tool, path, TOOLS[kind])
    return Tool("", kind=str(tool.get("type")), source=Source(raw=tool, path=path))


def _write_tools(tools: tuple[Tool, ...], context: EncodeContext, *, own: bool) -> list[JSON]:
    """The tools; this wire's own go back as they came, with all that only it knows."""
    out: list[JSON] = []
    for tool in tools:
        kept = own and tool.path[:1] == ("tools",) and context.name(tool.name) == tool.name
        if kept and isinstance(tool.raw, dict) and _read_offer(tool.raw, tool.path) == tool:
            out.append(tool.raw)
            continue
        if tool.kind not in ("function", "custom"):
            context.report_loss(tool, f"a tool of another provider: {tool.kind}")
            continue
        inner: Object = {"name": context.name(tool.name)}
        given = (
            ("description", tool.description),
            ("parameters", tool.schema),
            ("strict", tool.strict),
        )
        inner.update({key: value for key, value in given if value is not None})
        out.append({"type": tool.kind, tool.kind: inner})
    return out


def _read_choice(value: JSON) -> Setting | UnsetType:
    if isinstance(value, str):
        return Choice(value) if value in ("auto", "none", "required") else UNSET  # type: ignore[arg-type]
    kind = require_string(require_object(value)["type"])
    held = require_object(require_object(value)[kind])
    if kind != "allowed_tools":
        return Choice("required", (require_string(held["name"]),))
    tools = held["tools"]
    if held["mode"] not in ("auto", "required") or not isinstance(tools, list):
        return UNSET
    names = tuple(
        require_string(
            require_object(require_object(tool)[require_string(require_object(tool)["type"])])[
                "name"
            ]
        )
        for tool in tools
    )
    return Choice("auto" if held["mode"] == "auto" else "required", names)


def _write_choice(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Choice)
    names = [context.name(name) for name in value.names]
    if value.mode == "required" and len(names) == 1:
        return {"type": "function", "function": {"name": names[0]}}
    if names and value.mode != "none":
        tools: list[JSON] = [{"type": "function", "function": {"name": name}} for name in names]
        return {"type": "allowed_tools", "allowed_tools": {"mode": value.mode, "tools": tools}}
    return value.mode


REQUEST = (
    SettingSpec("model", ("model",)),
    SettingSpec("max_tokens", ("max_tokens",)),
    SettingSpec("max_tokens", ("max_completion_tokens",)),
    SettingSpec("temperature", ("temperature",)),
    SettingSpec("top_p", ("top_p",)),
    SettingSpec("seed", ("seed",)),
    SettingSpec("presence_penalty", ("presence_penalty",)),
    SettingSpec("frequency_penalty", ("frequency_penalty",)),
    SettingSpec("candidates", ("n",)),
    STOP,
    SettingSpec("stream", ("stream",)),
    SettingSpec("user", ("user",), write=write_user),
    SettingSpec("choice", ("tool_choice",), _read_choice, _write_choice),
    SettingSpec("parallel", ("parallel_tool_calls",)),
    FORMAT,
    SettingSpec("effort", ("reasoning_effort",)),
)


def _read_usage(value: JSON) -> Setting | UnsetType:
    return Usage(
        count_at(value, "prompt_tokens"),
        count_at(value, "completion_tokens"),
        count_at(value, "prompt_tokens_details", "cached_tokens"),
        count_at(value, "prompt_tokens_details", "cache_write_tokens"),
        count_at(value, "completion_tokens_details", "reasoning_tokens"),
    )


def _write_usage(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Usage)
    read, made = value.input or 0, value.output or 0
    out: Object = {"prompt_tokens": read, "completion_tokens": made, "total_tokens": read + made}
    cache = (("cached_tokens", value.cached), ("cache_write_tokens", value.cache_write))
    kept: Object = {key: number for key, number in cache if number is not None}
    if kept:
        out["prompt_tokens_details"] = kept
    if value.reasoning is not None:
        out["completion_tokens_details"] = {"reasoning_tokens": value.reasoning}
    return out


RESPONSE = (
    SettingSpec("id", ("id",)),
    SettingSpec("model", ("model",)),
    SettingSpec("created", ("created",)),
    SettingSpec(
        "usage",
        ("usage",),
        _read_usage,
        _write_usage,
        keys(
            "prompt_tokens",
            "completion_tokens",
            "total_tokens",
            "prompt_tokens_details.cached_tokens",
            "prompt_tokens_details.cache_write_tokens",
            "completion_tokens_details.reasoning_tokens",
        ),
    ),
)
FINISH_REASON_FROM_WIRE = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool",
    "function_call": "tool",
    "content_filter": "filter",
}
FINISH_REASON_TO_WIRE = {
    "stop": "stop",
    "length": "length",
    "tool": "tool_calls",
    "filter": "content_filter",
}

# --- whole bodies ---------------------------------------------------------------------------------

_CHOICE = keys("index", "message", "finish_reason")


def read(body: JSON, kind: Kind) -> Conversation:
    """A request or a response as a conversation."""
    if not isinstance(body, dict):
        raise_unexpected(NAME, (), "an object", body)
    return _read_response(body) if kind == "response" else _read_request(body)


def _read_request(body: Object) -> Conversation:
    messages = tuple(
        [
            CHAT.read_message(m, ("messages", i))
            for i, m in enumerate(list_at(NAME, body, ("messages",)))
        ]
    )
    tools: list[Tool] = []
    for key in ("tools", "functions"):
        if body.get(key) is not None:
            tools += [
                _read_offer(tool, (key, i)) for i, tool in enumerate(list_at(NAME, body, (key,)))
            ]
    settings = read_settings(REQUEST, body, keys("messages", "tools", "functions"))
    return Conversation(
        assign_ids(messages, seed="", ordered=False),
        tuple(tools),
        settings.values,
        NAME,
        "request",
        source=BodySource(body, unknown_fields=settings.unknown, setting_paths=settings.places),
    )


def _read_response(body: Object) -> Conversation:
    settings = read_settings(RESPONSE, body, keys("choices", "object"))
    messages: list[Message] = []
    extra = list(settings.unknown)
    for i, choice in enumerate(list_at(NAME, body, ("choices",))):
        path: JsonPath = ("choices", i, "message")
        message = CHAT.read_message(object_at(NAME, body, path), path)
        reason = get(choice, ("finish_reason",))
        messages.append(
            replace(
                message,
                stop=FINISH_REASON_FROM_WIRE.get(reason, reason)
                if reason and isinstance(reason, str)
                else None,
            )
        )
        extra += [
            ("choices", i, key)
            for key, value in require_object(choice).items()
            if key not in _CHOICE and value is not None
        ]
    return Conversation(
        assign_ids(tuple(messages), seed=str(settings.values.get("id", "")), ordered=False),
        (),
        settings.values,
        NAME,
        "response",
        source=BodySource(body, unknown_fields=tuple(extra), setting_paths=settings.places),
    )


def write(conversation: Conversation, context: EncodeContext) -> JSON:
    """A conversation as a request or a response."""
    if context.kind == "response":
        return _write_response(conversation, context)
    body = write_settings(REQUEST, conversation, context)
    body["messages"] = CHAT.write_messages(conversation.messages, context)
    if conversation.wire != NAME or not conversation.same_tools:
        put_tools(body, _write_tools(conversation.tools, context, own=conversation.wire == NAME))
    return body


def _write_response(conversation: Conversation, context: EncodeContext) -> JSON:
    body = write_settings(RESPONSE, conversation, context)
    if conversation.wire != NAME or conversation.kind != "response":
        body = {"id": "", "object": "chat.completion", "created": 0, "model": "", **body}
    choices: list[JSON] = []
    for i, message in enumerate(answer_messages(conversation, context)):
        kept = patch_message(message, context, CHAT.read_message)
        said = CHAT.write_assistant(message, context) if isinstance(kept, UnsetType) else kept
        old = (
            get(conversation.source.body, message.path[:-1]) if conversation.wire == NAME else UNSET
        )
        if isinstance(old, dict):
            frame = dict(old)
        else:
            frame = {
                "index": i,
                "finish_reason": write_finish_reason(
                    message, FINISH_REASON_TO_WIRE, FINISH_REASON_FROM_WIRE, context
                )
                or "stop",
            }
        choices.append({**frame, "message": said})
    return {**body, "choices": choices}


# --- telling it from others -----------------------------------------------------------------------


_FOREIGN = keys("tool_use", "tool_result", "thinking", "image", "document")
_OWN = keys("image_url", "input_audio", "file", "refusal")
_ROLES = keys("tool", "developer", "system", "function")


def match_score(body: JSON) -> int:
    """How sure it is that this is one of its bodies."""
    if not isinstance(body, dict):
        return 0
    choices = body.get("choices")
    if isinstance(choices, list):
        said = {
            kind
            for choice in choices
            for kind in types_in(get(choice, ("message", "content")))  # type: ignore[arg-type]
        }
        return (
            0
            if said & _FOREIGN
            else 3
            if str(body.get("object", "")).startswith("chat.completion")
            else 2
        )
    messages = body.get("messages")
    if not isinstance(messages, list) or any(
        key in body for key in ("system", "stop_sequences", "anthropic_version")
    ):
        return 0
    marks = 1
    for message in messages:
        if isinstance(message, dict):
            kinds = types_in(message.get("content"))
            if kinds & _FOREIGN:
                return 0
            if (
                "tool_calls" in message
                or "function_call" in message
                or str(message.get("role")) in _ROLES
                or kinds & _OWN
            ):
                marks = 2
    tools = body.get("tools")
    offered = isinstance(tools, list) and any(
        isinstance(tool, dict) and "function" in tool for tool in tools
    )
    return 2 if offered else marks


SPEECH = Speech(
    RESPONSE, FINISH_REASON_FROM_WIRE, write, lambda text: {"reasoning_content": text}, silent=None
)
WIRE = Wire(
    NAME,
    "OpenAI Chat Completions",
    all_blocks(CONTENT, CALLS, (LEGACY,), RESULTS, (EXECUTED, DELTA)),
    read,
    write,
    match_score,
    stream(CHAT, SPEECH),
)
