"""Anthropic Messages.

- results-come-first: all results of a turn stand in the next user message, before any text.
- thinking-keeps-its-seal: a thinking block goes back with its signature, or not at all; others'
  reasoning is refused.
- server-tools-answer-in-place: a `server_tool_use` and its result stand in the same assistant
  message.
- input-is-an-object: arguments that are not an object cannot be said.
- system-stands-apart: the system prompt is a field of the request, not a message.
- max-tokens-required: a request must say how long the answer may be.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable
from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.ids import assign_ids
from toolwire.conversation.json import JSON, JsonPath, Object, text_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import BodySource, Conversation, Kind
from toolwire.conversation.parts import (
    Call,
    Media,
    Message,
    Opaque,
    Output,
    Part,
    Reasoning,
    Result,
    Role,
    Source,
    Text,
    describe,
    output_text,
)
from toolwire.wires.anthropic.settings import (
    FINISH_REASON_FROM_WIRE,
    FINISH_REASON_TO_WIRE,
    REQUEST,
    RESPONSE,
    longest_answer,
    read_offer,
    write_tools,
)
from toolwire.wires.anthropic.stream import stream
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import mime_of, type_shows
from toolwire.wires.engine.settings import (
    put_tools,
    read_settings,
    write_finish_reason,
    write_settings,
)
from toolwire.wires.engine.specs import (
    Block,
    Id,
    Wire,
    all_blocks,
    answer_messages,
    blocks,
    keys,
    list_at,
    patch_message,
    raise_unexpected,
    read_block,
    read_id,
    read_name,
    read_result_id,
    require_object,
    require_string,
    text_or_none,
    types_in,
)
from toolwire.wires.families.blocks.history import BlockHistory

NAME = "anthropic"
Write: TypeAlias = "Callable[[Call, EncodeContext], JSON]"


# --- text, media, thinking ------------------------------------------------------------------------


_SOURCES = {
    "base64": ("data", "data"),
    "url": ("url", "url"),
    "file": ("file_id", "file"),
    "text": ("data", "text"),
}
"""Kinds of source: the field on the wire, and the neutral one."""


def _read_media(block: Object, path: JsonPath, spec: Block) -> Part:
    source = require_object(block["source"])
    field, neutral = _SOURCES[require_string(source["type"])]
    mime, name = text_or_none(source.get("media_type")), text_or_none(block.get("title"))
    media = Media(
        "image" if spec.name == "image" else "file",
        mime,
        name=name,
        source=Source(block, path, spec),
    )
    return replace(media, **{neutral: require_string(source[field])})


def _source(media: Media) -> Object | None:
    """Where the data are, as this wire says it; None if it cannot."""
    if media.text is not None:
        return {"type": "text", "media_type": "text/plain", "data": media.text}
    if media.url is not None:
        return (
            {"type": "url", "url": media.url}
            if media.url.startswith(("http://", "https://"))
            else None
        )
    if media.data is None:
        return {"type": "file", "file_id": media.file} if media.file is not None else None
    mime = mime_of(media) or ""
    if mime == "application/pdf" or (media.kind == "image" and mime):
        return {"type": "base64", "media_type": mime, "data": media.data}
    try:
        text = b64decode(media.data, validate=True).decode()
    except (NotBase64, ValueError):
        return None
    return (
        {"type": "text", "media_type": "text/plain", "data": text}
        if mime.startswith("text/")
        else None
    )


def _write_media(media: Media, context: EncodeContext) -> JSON:
    source = _source(media) if media.kind in ("image", "file") else None
    foreign = media.file is not None and (
        not isinstance(media.spec, Block) or media.spec not in BLOCKS.values()
    )
    if source is None or foreign:
        context.report_loss(media, f"this wire cannot take this {media.kind}; it is named in text")
        return {"type": "text", "text": describe(media)}
    if media.url is not None and not type_shows(media):
        context.report_loss(media, f"what comes by URL has no type here: {media.mime}")
    out: Object = {"type": "image" if media.kind == "image" else "document", "source": source}
    if media.kind == "file" and media.name is not None:
        out["title"] = media.name
    elif media.name is not None:
        context.report_loss(media, "an image has no name here")
    return out


def _write_thinking(part: Reasoning, context: EncodeContext) -> JSON:
    if part.hidden is not None:
        return {"type": "redacted_thinking", "data": part.hidden}
    return {"type": "thinking", "thinking": part.text, "signature": part.signature or ""}


# --- calls and results ----------------------------------------------------------------------------


def _use(
    kind: str, family: str, executor: Literal["client", "provider"], write: Write | None, *more: str
) -> Block:
    """A call: all of them have the same shape."""

    def read(block: Object, path: JsonPath, spec: Block) -> Part:
        one, origin = read_id(block.get("id"))
        given = block.get("input")
        args = LazyJson("") if given is None else LazyJson.from_value(given)
        toolset = block.get("toolset_name")
        kind_of = f"{toolset}-toolset" if isinstance(toolset, str) else family
        return Call(
            one,
            read_name(block.get("name")),
            args,
            origin,
            kind_of,
            executor,
            source=Source(block, path, spec),
        )

    def plain(call: Call, context: EncodeContext) -> JSON:
        return {"type": kind, "id": call.id, "name": call.name, "input": call.input}

    return Block(
        kind,
        Call,
        read,
        write or plain,
        keys("type", "id", "name", "input", *more),
        (),
        {"type": kind},
        "call",
        family,
        executor,
        (Id("id"), Id("caller", "parent-call", required=False, nullable=True)),
        deltas={"input_json_delta": ("partial_json", "input")},
    )


def _write_use(call: Call, context: EncodeContext) -> JSON:
    return {
        "type": "tool_use",
        "id": context.call_id(call),
        "name": context.name(call.name),
        "input": context.arguments_object(call),
    }


def _output(content: JSON, path: JsonPath) -> Output:
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list):
        return tuple(
            read_block(NAME, BLOCKS, block, path + ("content", i))
            for i, block in enumerate(content)
        )
    return content


def _read_result(block: Object, path: JsonPath, spec: Block) -> Part:
    one, origin = read_result_id(block.get("tool_use_id"))
    content = block.get("content")
    output = content if isinstance(content, str) else _output(content, path)
    return Result(
        one, output, block.get("is_error") is True, None, origin, source=Source(block, path, spec)
    )


def _write_result(result: Result, context: EncodeContext) -> JSON:
    output = result.output
    if context.plain and isinstance(output, str) and not result.error:
        return {"type": "tool_result", "tool_use_id": result.call_id, "content": output}
    out: Object = {"type": "tool_result", "tool_use_id": context.result_id(result)}
    context.note_result_form(result, flag=True, structure=False)
    output = context.output(result)
    if isinstance(output, tuple):
        blocks = [_write_inside(part, context) for part in output]
        out["content"] = [block for block in blocks if block is not None]
    else:
        out["content"] = output if isinstance(output, str) else text_of(output)
    if context.is_error(result):
        out["is_error"] = True
    return out


def _write_inside(part: Part, context: EncodeContext) -> JSON:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text} if part.text else None
    if isinstance(part, Media):
        return _write_media(part, context)
    context.report_loss(part, f"a result cannot hold this here: {describe(part)[:80]}")
    return {"type": "text", "text": describe(part)}


def _answer(kind: str, family: str, *more: str) -> Block:
    """A result the provider made itself: its content is data, or one error object."""

    def read(block: Object, path: JsonPath, spec: Block) -> Part:
        one, origin = read_result_id(block.get("tool_use_id"))
        content = block.get("content")
        failed = isinstance(content, dict) and str(content.get("type", "")).endswith("_error")
        return Result(
            one,
            content,
            failed or block.get("is_error") is True,
            None,
            origin,
            family,
            "provider",
            source=Source(block, path, spec),
        )

    def write(result: Result, context: EncodeContext) -> JSON:
        return {"type": kind, "tool_use_id": result.call_id, "content": _data(result.output)}

    return Block(
        kind,
        Result,
        read,
        write,
        keys("type", "tool_use_id", "content", *more),
        (),
        {"type": kind},
        "output",
        family,
        "provider",
        (Id("tool_use_id"),),
    )


def _data(output: Output) -> JSON:
    return output_text(output) if isinstance(output, tuple) else output


BLOCKS = blocks(
    Block(
        "text",
        Text,
        lambda b, path, spec: Text(require_string(b["text"]), source=Source(b, path, spec)),
        lambda p, _: {"type": "text", "text": p.text},
        keys("type", "text"),
        deltas={"text_delta": ("text", "text"), "citations_delta": ("citation", "citations")},
    ),
    Block("image", Media, _read_media, _write_media, keys("type", "source")),
    Block("document", Media, _read_media, _write_media, keys("type", "source", "title")),
    Block(
        "container_upload",
        Media,
        lambda b, path, spec: Media(
            "file", file=require_string(b["file_id"]), source=Source(b, path, spec)
        ),
        lambda p, _: {"type": "container_upload", "file_id": p.file},
        keys("type", "file_id"),
    ),
    Block(
        "thinking",
        Reasoning,
        lambda b, path, spec: Reasoning(
            require_string(b["thinking"]),
            signature=text_or_none(b.get("signature")) or None,
            source=Source(b, path, spec),
        ),
        _write_thinking,
        keys("type", "thinking", "signature"),
        deltas={
            "thinking_delta": ("thinking", "thinking"),
            "signature_delta": ("signature", "signature"),
        },
    ),
    Block(
        "redacted_thinking",
        Reasoning,
        lambda b, path, spec: Reasoning(
            "", require_string(b["data"]), source=Source(b, path, spec)
        ),
        _write_thinking,
        keys("type", "data"),
    ),
    _use("tool_use", "function", "client", _write_use),
    Block(
        "tool_result",
        Result,
        _read_result,
        _write_result,
        keys("type", "tool_use_id", "content", "is_error"),
        (),
        {"type": "tool_result"},
        "output",
        "function",
        "client",
        (Id("tool_use_id"),),
        forms=("request",),
    ),
    _use("server_tool_use", "server-tool", "provider", None),
    _use("mcp_tool_use", "mcp", "provider", None, "server_name"),
    _answer("mcp_tool_result", "mcp", "is_error"),
    _answer("web_search_tool_result", "web-search"),
    _answer("web_fetch_tool_result", "web-fetch"),
    _answer("code_execution_tool_result", "code-execution"),
    _answer("bash_code_execution_tool_result", "bash-code-execution"),
    _answer("text_editor_code_execution_tool_result", "text-editor"),
    _answer("tool_search_tool_result", "tool-search"),
    _answer("advisor_tool_result", "advisor"),
)
TOOLSETS = tuple(
    Block(
        "tool_use",
        Call,
        discriminator={"type": "tool_use", "toolset_name": name},
        direction="call",
        family=f"{name}-toolset",
        executor="client",
        ids=(Id("id"), Id("caller", "parent-call")),
        forms=("response",),
    )
    for name in ("computer", "browser")
)
"""The same block with a field more: told apart for the catalogue, read by the row above."""
PLAIN = Block("content", Text, write=lambda part, context: part.text)
MESSAGE = Block("message", Message, keys=keys("role", "content"))

# --- messages -------------------------------------------------------------------------------------


def read_parts(content: JSON, path: JsonPath) -> tuple[Part, ...]:
    """A plain text, or a list of blocks."""
    if isinstance(content, str):
        return (Text(content, source=Source(content, path, PLAIN)),) if content else ()
    if not isinstance(content, list):
        raise_unexpected(NAME, path, "a string or a list", content)
    return tuple([read_block(NAME, BLOCKS, block, path + (i,)) for i, block in enumerate(content)])


ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}


def read_message(message: JSON, path: JsonPath) -> Message:
    """One message; the system prompt, which is only content, counts as one."""
    if path == ("system",):
        return Message(
            "system", read_parts(message, path), None, NAME, source=Source(message, path, MESSAGE)
        )
    if not isinstance(message, dict):
        raise_unexpected(NAME, path, "an object", message)
    said = message.get("role", UNSET)
    role = ROLES.get(said) if isinstance(said, str) else None
    if role is None:
        raise_unexpected(NAME, path + ("role",), "user, assistant or system", said)
    if "content" not in message:
        raise_unexpected(NAME, path + ("content",), "a string or a list", UNSET)
    parts = read_parts(message["content"], path + ("content",))
    return Message(role, parts, None, NAME, source=Source(message, path, MESSAGE))


def _write_text(part: Text, context: EncodeContext) -> JSON:
    if part.refusal:
        context.report_loss(part, "a refusal is sent as plain text")
    return {"type": "text", "text": part.text} if part.text else None


def _unsigned(part: Reasoning, context: EncodeContext) -> JSON:
    """Reasoning can be shown in an answer; in a history only what the provider signed is taken
    back."""
    if context.kind == "response" and part.text:
        return {"type": "thinking", "thinking": part.text, "signature": ""}
    context.report_loss(part, "only reasoning that this provider signed is taken back")
    return None


def _no_block(part: Part, context: EncodeContext) -> JSON:
    context.report_loss(part, f"no such block on this wire: {describe(part)[:80]}")
    return None


FOREIGN: dict[type[Part], Callable[..., JSON]] = {
    Text: _write_text,
    Media: _write_media,
    Call: _write_use,
    Result: _write_result,
    Reasoning: _unsigned,
    Opaque: _no_block,
}
"""How a part of another wire is written; None if it cannot stand here."""


def _message(role: Role, blocks: list[JSON]) -> JSON:
    """Blocks under a role; a single plain text goes as a string."""
    only = blocks[0]
    short = len(blocks) == 1 and isinstance(only, dict) and len(only) == 2 and "text" in only
    content: JSON = only["text"] if short else blocks  # type: ignore[index,call-overload]
    return {"role": "assistant" if role == "assistant" else "user", "content": content}


def _text(role: Role, text: str) -> JSON:
    return {"role": "assistant" if role == "assistant" else "user", "content": text}


HISTORY = BlockHistory(NAME, read_message, FOREIGN, _message, _text, pictures=False)


# --- whole bodies ---------------------------------------------------------------------------------


def read(body: JSON, kind: Kind) -> Conversation:
    """A request or a response as a conversation."""
    if not isinstance(body, dict):
        raise_unexpected(NAME, (), "an object", body)
    if kind == "response":
        return _read_response(body)
    messages: list[Message] = []
    if body.get("system") is not None:
        messages.append(read_message(body["system"], ("system",)))
    messages += [
        read_message(message, ("messages", i))
        for i, message in enumerate(list_at(NAME, body, ("messages",)))
    ]
    offered = list_at(NAME, body, ("tools",)) if body.get("tools") is not None else []
    settings = read_settings(REQUEST, body, keys("messages", "system", "tools"))
    tools = tuple(read_offer(tool, ("tools", i)) for i, tool in enumerate(offered))
    return Conversation(
        assign_ids(tuple(messages), seed="", ordered=False),
        tools,
        settings.values,
        NAME,
        "request",
        source=BodySource(body, unknown_fields=settings.unknown, setting_paths=settings.places),
    )


_ANSWER = keys("type", "role", "content", "stop_reason")


def _read_response(body: Object) -> Conversation:
    content = list_at(NAME, body, ("content",))
    settings = read_settings(RESPONSE, body, _ANSWER)
    reason = body.get("stop_reason")
    stop = FINISH_REASON_FROM_WIRE.get(reason, reason) if isinstance(reason, str) else None
    raw: Object = {"role": "assistant", "content": content}
    message = Message(
        "assistant",
        read_parts(content, ("content",)),
        stop,
        NAME,
        source=Source(raw=raw, spec=MESSAGE),
    )
    return Conversation(
        assign_ids((message,), seed=str(settings.values.get("id", "")), ordered=False),
        (),
        settings.values,
        NAME,
        "response",
        source=BodySource(body, unknown_fields=settings.unknown, setting_paths=settings.places),
    )


def write(conversation: Conversation, context: EncodeContext) -> JSON:
    """A conversation as a request or a response."""
    if context.kind == "response":
        return _write_response(conversation, context)
    body = write_settings(REQUEST, conversation, context)
    if conversation.wire != NAME or conversation.kind != "request":
        body.setdefault("max_tokens", longest_answer(body))
    parallel, choice = conversation.settings.get("parallel"), body.get("tool_choice")
    if conversation.wire != NAME and isinstance(
        choice, dict
    ):  # the flag stands inside the choice, whichever came first
        flag: Object = (
            {"disable_parallel_tool_use": not parallel} if isinstance(parallel, bool) else {}
        )
        body["tool_choice"] = {"type": "auto", **choice, **flag}
    written = HISTORY.write(conversation, context)
    if not isinstance(written.whole, UnsetType):
        body["system"] = written.whole
    elif written.system:
        body["system"] = written.system
    body["messages"] = written.messages
    if conversation.wire != NAME or not conversation.same_tools:
        put_tools(body, write_tools(conversation.tools, context, own=conversation.wire == NAME))
    return body


def _write_response(conversation: Conversation, context: EncodeContext) -> JSON:
    body = write_settings(RESPONSE, conversation, context)
    first, *others = answer_messages(conversation, context)
    for message in others:
        context.report_loss(
            message, "an answer here is one message; the other candidates stay behind"
        )
    kept = patch_message(first, context, read_message)
    content = kept["content"] if isinstance(kept, dict) else HISTORY.blocks(first, context)
    if conversation.wire == NAME and conversation.kind == "response":
        return {**body, "content": content}
    usage: Object = {"input_tokens": 0, "output_tokens": 0}
    frame: Object = {
        "id": "",
        "type": "message",
        "role": "assistant",
        "model": "",
        "stop_sequence": None,
        "usage": usage,
    }
    return {
        **frame,
        **body,
        "content": content,
        "stop_reason": body.get("stop_reason")
        or write_finish_reason(first, FINISH_REASON_TO_WIRE, FINISH_REASON_FROM_WIRE, context),
    }


# --- telling it from others -----------------------------------------------------------------------

_BLOCKS = frozenset(
    {
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "server_tool_use",
        "image",
        "document",
    }
)


_FOREIGN = keys("image_url", "input_audio", "file", "refusal")


def match_score(body: JSON) -> int:
    """How sure it is that this is one of its bodies."""
    if not isinstance(body, dict):
        return 0
    if isinstance(body.get("content"), list) and body.get("role") == "assistant":
        return 3 if body.get("type") == "message" else 2
    messages = body.get("messages")
    if not isinstance(messages, list):
        return 0
    marks = (
        2 if any(key in body for key in ("system", "stop_sequences", "anthropic_version")) else 1
    )
    for message in messages:
        if (
            not isinstance(message, dict)
            or str(message.get("role")) not in ROLES
            or "tool_calls" in message
        ):
            return 0
        content = message.get("content")
        kinds = types_in(content)
        if kinds & _FOREIGN or not isinstance(content, str | list):
            return 0
        marks = 3 if kinds & _BLOCKS else marks
    tools = body.get("tools")
    if isinstance(tools, list) and tools:
        return 3 if all(map(_offered, tools)) else 0
    return marks


def _offered(tool: JSON) -> bool:
    return isinstance(tool, dict) and (
        "input_schema" in tool or ("type" in tool and "function" not in tool)
    )


WIRE = Wire(
    NAME,
    "Anthropic Messages",
    all_blocks(BLOCKS, TOOLSETS),
    read,
    write,
    match_score,
    stream(BLOCKS, HISTORY, write),
)
