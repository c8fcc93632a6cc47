"""Model Context Protocol: sampling, in which a server asks the client's model.

A `sampling/createMessage` request holds a whole conversation, and its result is a model's answer:
only here does this wire hold text and calls side by side. The content of a message is one block or
a list of blocks.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, get, put
from toolwire.conversation.model import Choice, Conversation, Setting
from toolwire.conversation.parts import (
    Call,
    Media,
    Message,
    Opaque,
    Part,
    Reasoning,
    Result,
    Role,
    Source,
    Text,
    describe,
)
from toolwire.wires.engine.bodies import build_conversation
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.patching import patch_block, patch_message
from toolwire.wires.engine.settings import (
    SettingSpec,
    SettingsRead,
    plain_settings,
    read_settings,
    read_texts,
    setting_table,
    write_finish_reason,
    write_settings,
)
from toolwire.wires.engine.specs import (
    Block,
    keys,
    list_at,
    object_at,
    raise_unexpected,
    read_block,
    require_object,
)
from toolwire.wires.families.blocks.history import BlockHistory
from toolwire.wires.mcp.blocks import (
    BLOCKS,
    NAME,
    read_tool,
    write_media,
    write_tool_result,
    write_tool_use,
    write_tools,
)
from toolwire.wires.mcp.ids import json_id, neutral_id

METHOD = "sampling/createMessage"
PLAIN_TEXT = Block("content", part=Text, write=lambda part, context: part.text)
MESSAGE = Block("message", part=Message, keys=keys("role", "content"))
ANSWER = Block(
    "result", part=Message, keys=keys("role", "content", "model", "stopReason", "resultType")
)
ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant"}
FINISH_REASON_FROM_WIRE = {
    "endTurn": "stop",
    "stopSequence": "sequence",
    "maxTokens": "length",
    "toolUse": "tool",
}
FINISH_REASON_TO_WIRE = {reason: word for word, reason in FINISH_REASON_FROM_WIRE.items()}

# --- settings -------------------------------------------------------------------------------------


def _read_choice(value: JSON) -> Setting | UnsetType:
    mode = require_object(value)["mode"]
    return Choice(mode) if mode in ("auto", "none", "required") else UNSET  # type: ignore[arg-type]


def _write_choice(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Choice)
    return {"mode": value.mode}


REQUEST_SETTINGS = setting_table(
    *plain_settings("params", max_tokens="maxTokens", temperature="temperature"),
    SettingSpec("stop", ("params", "stopSequences"), read=read_texts),
    SettingSpec(
        "choice",
        ("params", "toolChoice"),
        read=_read_choice,
        write=_write_choice,
        knows=keys("mode"),
    ),
)
ANSWER_SETTINGS = setting_table(
    SettingSpec(
        "id",
        ("id",),
        read=lambda value: neutral_id(value)[0],
        write=lambda value, context: json_id(str(value)),
    ),
    SettingSpec("model", ("result", "model")),
)
_PARAMS_KEYS = keys("messages", "tools", "systemPrompt")

# --- messages -------------------------------------------------------------------------------------


def _read_content(content: JSON, path: JsonPath) -> tuple[Part, ...]:
    if isinstance(content, list):
        return tuple(read_block(NAME, BLOCKS, block, (*path, i)) for i, block in enumerate(content))
    if isinstance(content, str):
        return (Text(content, source=Source(content, path, PLAIN_TEXT)),)
    return (read_block(NAME, BLOCKS, content, path),)


def _read_message(message: JSON, path: JsonPath) -> Message:
    if not isinstance(message, dict):
        raise_unexpected(NAME, path, dict, message)
    word = message.get("role", UNSET)
    role = ROLES.get(word) if isinstance(word, str) else None
    if role is None:
        raise_unexpected(NAME, (*path, "role"), ("user", "assistant"), word)
    parts = _read_content(message.get("content"), (*path, "content"))
    return Message(role, parts, wire=NAME, source=Source(message, path, MESSAGE))


def _write_text(part: Text, context: EncodeContext) -> JSON:
    if part.refusal:
        context.report_loss(part, "a refusal is sent as plain text")
    return {"type": "text", "text": part.text} if part.text else None


def _write_media(media: Media, context: EncodeContext) -> JSON:
    """The block of an image or audio: messages cannot hold resources."""
    if media.data is not None and media.kind in ("image", "audio"):
        return write_media(media, context)
    context.report_loss(
        media, f"a message does not accept this {media.kind} here; replaced by a text description"
    )
    return {"type": "text", "text": describe(media)}


def _report_unsupported(part: Part, context: EncodeContext) -> JSON:
    context.report_loss(part, f"no such block in a message on this wire: {describe(part)[:80]}")
    return None


WRITERS: dict[type[Part], Callable[..., JSON]] = {
    Text: _write_text,
    Media: _write_media,
    Call: write_tool_use,
    Result: write_tool_result,
    Reasoning: _report_unsupported,
    Opaque: _report_unsupported,
}


def _write_message(role: Role, content: list[JSON]) -> JSON:
    word = "assistant" if role == "assistant" else "user"
    return {"role": word, "content": _unwrap_single(content)}


def _unwrap_single(content: list[JSON]) -> JSON:
    """A single block without its list, because clients from before 2025-11-25 accept no list."""
    return content[0] if len(content) == 1 else content


HISTORY = BlockHistory(
    name=NAME,
    read=_read_message,
    specs=frozenset(BLOCKS.values()),
    foreign=WRITERS,
    message=_write_message,
    text=lambda role, text: _write_message(role, [{"type": "text", "text": text}]),
    alone=True,
)

# --- requests -------------------------------------------------------------------------------------


def _with_unknown_fields(
    settings: SettingsRead, container: str, fields: Object, known: frozenset[str]
) -> SettingsRead:
    """The settings, with the unknown fields inside and outside of the `container` object."""
    outside = (path for path in settings.unknown if path[0] != container or len(path) > 2)
    inside = (
        (container, key) for key, value in fields.items() if key not in known and value is not None
    )
    paths = settings.paths.values()
    return replace(settings, unknown=(*outside, *(path for path in inside if path not in paths)))


def read_request(body: Object) -> Conversation:
    """The conversation of a sampling request."""
    params = object_at(NAME, body, ("params",))
    messages: list[Message] = []
    prompt = params.get("systemPrompt")
    if isinstance(prompt, str):
        path: JsonPath = ("params", "systemPrompt")
        text = Text(prompt, source=Source(prompt, path, PLAIN_TEXT))
        messages.append(Message("system", (text,), wire=NAME, source=Source(prompt, path)))
    messages += [
        _read_message(message, ("params", "messages", i))
        for i, message in enumerate(list_at(NAME, body, ("params", "messages")))
    ]
    tools = list_at(NAME, body, ("params", "tools")) if params.get("tools") is not None else []
    settings = read_settings(REQUEST_SETTINGS, body, keys("jsonrpc", "id", "method"))
    return build_conversation(
        NAME,
        "request",
        body,
        messages=messages,
        settings=_with_unknown_fields(settings, "params", params, _PARAMS_KEYS),
        tools=[read_tool(tool, ("params", "tools", i)) for i, tool in enumerate(tools)],
    )


def write_request(conversation: Conversation, context: EncodeContext) -> JSON:
    """A sampling request of this wire after its messages, tools or settings were edited."""
    body: JSON = write_settings(REQUEST_SETTINGS, conversation, context)
    prompts: list[str] = []
    messages: list[Message] = []
    for message in conversation.messages:
        if message.role == "system":
            prompts += map(describe, message.parts)
        else:
            messages.append(message)
    params = get(body, ("params",))
    if prompts:
        body = put(body, ("params", "systemPrompt"), "\n\n".join(prompts))
    elif isinstance(params, dict) and "systemPrompt" in params:
        rest: Object = {key: value for key, value in params.items() if key != "systemPrompt"}
        body = put(body, ("params",), rest)
    history = HISTORY.write(replace(conversation, messages=tuple(messages)), context)
    body = put(body, ("params", "messages"), history.messages)
    if not conversation.same_tools:
        body = put(body, ("params", "tools"), write_tools(conversation.tools, context))
    return body


# --- answers --------------------------------------------------------------------------------------


def is_answer(body: Object) -> bool:
    """True if a response is the answer of a model, not the result of a tool."""
    result = body.get("result")
    return isinstance(result, dict) and "role" in result and "content" in result


def read_answer(body: Object) -> Conversation:
    """The answer of a model as one message."""
    result = object_at(NAME, body, ("result",))
    parts = _read_content(result["content"], ("result", "content"))
    reason = result.get("stopReason")
    stop = FINISH_REASON_FROM_WIRE.get(reason, reason) if isinstance(reason, str) else None
    source = Source(result, ("result",), ANSWER)
    message = Message("assistant", parts, stop=stop, wire=NAME, source=source)
    settings = read_settings(ANSWER_SETTINGS, body, keys("jsonrpc"))
    return build_conversation(
        NAME,
        "response",
        body,
        messages=[message],
        settings=_with_unknown_fields(settings, "result", result, ANSWER.keys),
        seed=str(settings.values.get("id", "")),
    )


def write_answer(conversation: Conversation, context: EncodeContext) -> JSON:
    """The answer of a model: the last assistant message."""
    last = next(
        (message for message in reversed(conversation.messages) if message.role == "assistant"),
        Message("assistant", ()),
    )
    for message in conversation.messages:
        if message is not last:
            context.report_loss(message, "a response is one message here; the others are left out")
    for tool in conversation.tools:
        context.report_loss(tool, "a response has no tool definitions")
    body = write_settings(ANSWER_SETTINGS, conversation, context)
    written = body.get("result")
    result: Object = {"role": "assistant", "content": [], "model": ""}
    if isinstance(written, dict):
        result.update(written)
    result["content"] = _write_answer_content(last, context)
    reason = write_finish_reason(last, FINISH_REASON_TO_WIRE, FINISH_REASON_FROM_WIRE, context)
    if reason is not None and "stopReason" not in result:
        result["stopReason"] = reason
    return {"jsonrpc": "2.0", "id": "", **body, "result": result}


def _write_answer_content(message: Message, context: EncodeContext) -> JSON:
    patched = patch_message(message, context, _read_answer_message)
    if isinstance(patched, dict):
        return patched["content"]
    content = (_write_part(part, context) for part in message.parts)
    return _unwrap_single([block for block in content if block is not None])


def _read_answer_message(result: JSON, path: JsonPath) -> Message:
    content = require_object(result)["content"]
    return Message("assistant", _read_content(content, (*path, "content")))


def _write_part(part: Part, context: EncodeContext) -> JSON:
    """The block of a part; a block of this wire stays verbatim except for its edit."""
    is_block = part.spec in BLOCKS.values() or (isinstance(part, Opaque) and len(part.path) > 1)
    if is_block and not isinstance(part.raw, UnsetType):
        patched = patch_block(part, context, part.raw)
        if not isinstance(patched, UnsetType):
            return patched
    return WRITERS[type(part)](part, context)
