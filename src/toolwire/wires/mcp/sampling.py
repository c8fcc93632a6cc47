"""Model Context Protocol: sampling, by which a server asks the client's model.

A `sampling/createMessage` request is a whole conversation, and its result is a model's answer: the
one place on this wire where text and calls stand together. A message's content is one block or a
list of them.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.ids import assign_ids
from toolwire.conversation.json import JSON, JsonPath, Object, get, put
from toolwire.conversation.model import BodySource, Choice, Conversation, Setting
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
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import (
    SettingSpec,
    SettingsRead,
    read_settings,
    write_finish_reason,
    write_settings,
)
from toolwire.wires.engine.specs import (
    Block,
    keys,
    list_at,
    object_at,
    patch_block,
    patch_message,
    raise_unexpected,
    read_block,
    require_object,
    require_string,
)
from toolwire.wires.families.blocks.history import BlockHistory
from toolwire.wires.mcp.content import (
    BLOCKS,
    NAME,
    read_offer,
    write_media,
    write_tools,
    write_use,
    write_used,
)

METHOD = "sampling/createMessage"
PLAIN = Block("content", Text, write=lambda part, context: part.text)
MESSAGE = Block("message", Message, keys=keys("role", "content"))
ANSWER = Block("result", Message, keys=keys("role", "content", "model", "stopReason", "resultType"))
ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant"}
FINISH_REASON_FROM_WIRE = {
    "endTurn": "stop",
    "stopSequence": "sequence",
    "maxTokens": "length",
    "toolUse": "tool",
}
FINISH_REASON_TO_WIRE = {
    "stop": "endTurn",
    "sequence": "stopSequence",
    "length": "maxTokens",
    "tool": "toolUse",
}

# --- settings -------------------------------------------------------------------------------------


def _read_choice(value: JSON) -> Setting | UnsetType:
    mode = require_object(value)["mode"]
    return Choice(mode) if mode in ("auto", "none", "required") else UNSET  # type: ignore[arg-type]


def _write_choice(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    assert isinstance(value, Choice)
    if value.names:
        context.report_loss(("tool_choice",), "no tool can be named here")
    return {"mode": value.mode}


REQUEST = (
    SettingSpec("max_tokens", ("params", "maxTokens")),
    SettingSpec("temperature", ("params", "temperature")),
    SettingSpec(
        "stop",
        ("params", "stopSequences"),
        lambda v: tuple(require_string(s) for s in v) if isinstance(v, list) else UNSET,
    ),
    SettingSpec("choice", ("params", "toolChoice"), _read_choice, _write_choice, keys("mode")),
)
_HELD = keys("messages", "tools", "systemPrompt")


def answer_fields(
    neutral: Callable[[JSON], str], wire: Callable[[str], JSON]
) -> tuple[SettingSpec, ...]:
    """The settings of an answer; the message's id is the answer's, spelt as the wire spells ids."""
    return (
        SettingSpec("id", ("id",), neutral, lambda value, context: wire(str(value))),
        SettingSpec("model", ("result", "model")),
    )


# --- messages -------------------------------------------------------------------------------------


def _read_content(content: JSON, path: JsonPath) -> tuple[Part, ...]:
    if isinstance(content, list):
        return tuple(read_block(NAME, BLOCKS, block, (*path, i)) for i, block in enumerate(content))
    if isinstance(content, str):
        return (Text(content, source=Source(content, path, PLAIN)),)
    return (read_block(NAME, BLOCKS, content, path),)


def _read_message(message: JSON, path: JsonPath) -> Message:
    if not isinstance(message, dict):
        raise_unexpected(NAME, path, "an object", message)
    said = message.get("role", UNSET)
    role = ROLES.get(said) if isinstance(said, str) else None
    if role is None:
        raise_unexpected(NAME, (*path, "role"), "user or assistant", said)
    parts = _read_content(message.get("content"), (*path, "content"))
    return Message(role, parts, None, NAME, source=Source(message, path, MESSAGE))


def _write_text(part: Text, context: EncodeContext) -> JSON:
    if part.refusal:
        context.report_loss(part, "a refusal is sent as plain text")
    return {"type": "text", "text": part.text} if part.text else None


def _write_media(media: Media, context: EncodeContext) -> JSON:
    """A picture or a sound: messages hold no resources."""
    if media.data is not None and media.kind in ("image", "audio"):
        return write_media(media, context)
    context.report_loss(media, f"a message cannot take this {media.kind} here; it is named in text")
    return {"type": "text", "text": describe(media)}


def _no_block(part: Part, context: EncodeContext) -> JSON:
    context.report_loss(part, f"no such block in a message on this wire: {describe(part)[:80]}")
    return None


FOREIGN: dict[type[Part], Callable[..., JSON]] = {
    Text: _write_text,
    Media: _write_media,
    Call: write_use,
    Result: write_used,
    Reasoning: _no_block,
    Opaque: _no_block,
}
HISTORY = BlockHistory(
    NAME,
    _read_message,
    FOREIGN,
    lambda role, blocks: {
        "role": "assistant" if role == "assistant" else "user",
        "content": _short(blocks),
    },
    lambda role, text: {
        "role": "assistant" if role == "assistant" else "user",
        "content": {"type": "text", "text": text},
    },
    alone=True,
)


def _short(blocks: list[JSON]) -> JSON:
    """A single block goes alone: clients of before 2025-11-25 take no list."""
    return blocks[0] if len(blocks) == 1 else blocks


# --- whole bodies ---------------------------------------------------------------------------------


def _unknown(
    settings: SettingsRead, holder: str, held: Object, known: frozenset[str]
) -> tuple[JsonPath, ...]:
    """What nobody understands, beside the object that holds it all and in it."""
    outside = (path for path in settings.unknown if path[0] != holder or len(path) > 2)
    inside = (
        (holder, key) for key, value in held.items() if key not in known and value is not None
    )
    return (*outside, *(path for path in inside if path not in settings.places.values()))


def read_request(body: Object) -> Conversation:
    """A request for a message as the conversation it holds."""
    params = object_at(NAME, body, ("params",))
    messages: list[Message] = []
    prompt = params.get("systemPrompt")
    if isinstance(prompt, str):
        path: JsonPath = ("params", "systemPrompt")
        messages.append(
            Message(
                "system",
                (Text(prompt, source=Source(prompt, path, PLAIN)),),
                None,
                NAME,
                source=Source(raw=prompt, path=path),
            )
        )
    where: JsonPath = ("params", "messages")
    messages += [
        _read_message(message, (*where, i)) for i, message in enumerate(list_at(NAME, body, where))
    ]
    offered = list_at(NAME, body, ("params", "tools")) if params.get("tools") is not None else []
    tools = tuple(read_offer(tool, ("params", "tools", i)) for i, tool in enumerate(offered))
    settings = read_settings(REQUEST, body, keys("jsonrpc", "id", "method"))
    unknown = _unknown(settings, "params", params, _HELD)
    return Conversation(
        assign_ids(tuple(messages), seed="", ordered=False),
        tools,
        settings.values,
        NAME,
        "request",
        source=BodySource(body, unknown_fields=unknown, setting_paths=settings.places),
    )


def write_request(conversation: Conversation, context: EncodeContext) -> JSON:
    """A request of this wire's own after its messages, tools or settings were changed."""
    body: JSON = write_settings(REQUEST, conversation, context)
    system = [message for message in conversation.messages if message.role == "system"]
    rest = tuple(message for message in conversation.messages if message.role != "system")
    texts = [
        part.text if isinstance(part, Text) else describe(part)
        for message in system
        for part in message.parts
    ]
    if texts:
        body = put(body, ("params", "systemPrompt"), "\n\n".join(texts))
    elif isinstance(params := get(body, ("params",)), dict) and "systemPrompt" in params:
        body = put(
            body,
            ("params",),
            {key: value for key, value in params.items() if key != "systemPrompt"},
        )
    body = put(
        body,
        ("params", "messages"),
        HISTORY.write(replace(conversation, messages=rest), context).messages,
    )
    if not conversation.same_tools:
        body = put(body, ("params", "tools"), write_tools(conversation.tools, context))
    return body


def _write_part(part: Part, context: EncodeContext) -> JSON:
    kept = (
        patch_block(part, context, part.raw)
        if part.spec in BLOCKS.values() and part.raw is not UNSET
        else UNSET
    )
    return FOREIGN[type(part)](part, context) if isinstance(kept, UnsetType) else kept


def is_answer(body: Object) -> bool:
    """Whether a response is a model's answer, and not a tool's."""
    held = body.get("result")
    return isinstance(held, dict) and "role" in held and "content" in held


def read_answer(body: Object, fields: tuple[SettingSpec, ...]) -> Conversation:
    """The answer of a model as one message."""
    held = object_at(NAME, body, ("result",))
    parts = _read_content(held["content"], ("result", "content"))
    reason = held.get("stopReason")
    stop = FINISH_REASON_FROM_WIRE.get(reason, reason) if isinstance(reason, str) else None
    message = Message("assistant", parts, stop, NAME, source=Source(held, ("result",), ANSWER))
    settings = read_settings(fields, body, keys("jsonrpc"))
    unknown = _unknown(settings, "result", held, ANSWER.keys)
    return Conversation(
        assign_ids((message,), seed=str(settings.values.get("id", "")), ordered=False),
        (),
        settings.values,
        NAME,
        "response",
        source=BodySource(body, unknown_fields=unknown, setting_paths=settings.places),
    )


def write_answer(
    conversation: Conversation, context: EncodeContext, fields: tuple[SettingSpec, ...]
) -> JSON:
    """The answer of a model, which is its last message."""
    last = next(
        (message for message in reversed(conversation.messages) if message.role == "assistant"),
        Message("assistant", ()),
    )
    for message in conversation.messages:
        if message is not last:
            context.report_loss(message, "an answer is one message; the others stay behind")
    for tool in conversation.tools:
        context.report_loss(tool, "an answer offers no tools")
    body = write_settings(fields, conversation, context)
    held = get(body, ("result",))
    frame: Object = {
        "role": "assistant",
        "content": [],
        "model": "",
        **(held if isinstance(held, dict) else {}),
    }
    kept = patch_message(
        last,
        context,
        lambda raw, path: Message(
            "assistant",
            _read_content(get(raw, ("content",)), (*path, "content")),  # type: ignore[arg-type]
            source=Source(raw=raw),
        ),
    )
    if isinstance(kept, UnsetType):
        frame["content"] = _short(
            [block for part in last.parts if (block := _write_part(part, context)) is not None]
        )
    else:
        frame["content"] = get(kept, ("content",))  # type: ignore[assignment]
    if (
        reason := write_finish_reason(last, FINISH_REASON_TO_WIRE, FINISH_REASON_FROM_WIRE, context)
    ) is not None and "stopReason" not in frame:
        frame["stopReason"] = reason
    return {"jsonrpc": "2.0", "id": "", **body, "result": frame}
