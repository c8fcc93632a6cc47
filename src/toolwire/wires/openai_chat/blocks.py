"""The blocks of OpenAI Chat Completions: content, calls, results and messages."""

from __future__ import annotations

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.parts import Call, Media, Message, Part, Result, Source, Text
from toolwire.wires.engine.capabilities import CONTENT_BREAKPOINTS
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import audio_format, audio_type, data_url, kind_by, split_data_url
from toolwire.wires.engine.specs import (
    Block,
    Id,
    blocks,
    call_reader,
    keys,
    read_arguments,
    read_name,
    require_object,
    require_string,
    text_or_none,
)
from toolwire.wires.families.chat.blocks import (
    FUNCTION_CALL,
    IMAGE_URL,
    TEXT,
    TOOL_MESSAGE,
    name_in_text,
    read_text_block,
    write_function_call,
    write_image_url,
    write_tool_message,
)
from toolwire.wires.families.chat.foreign_blocks import FOREIGN_BLOCKS
from toolwire.wires.families.chat.messages import Chat

NAME = "openai-chat"

# --- content --------------------------------------------------------------------------------------


def _read_audio(block: Object, path: JsonPath, spec: Block) -> Part:
    audio = require_object(block["input_audio"])
    mime = audio_type(require_string(audio["format"]))
    return Media("audio", mime, require_string(audio["data"]), source=Source(block, path, spec))


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
    """Write images by URL or data, and other media by data."""
    url = data_url(media)
    if media.kind == "image" and url is not None:
        return write_image_url(media, context)
    if media.data is None:
        return name_in_text(media, context)
    name = audio_format(media)
    if media.kind == "audio" and name:
        if media.name is not None:
            context.report_loss(media, "the name of this audio is not kept here")
        return {"type": "input_audio", "input_audio": {"data": media.data, "format": name}}
    if media.kind != "file":
        context.report_loss(
            media, f"this {media.kind} is sent as a file because its type is unknown"
        )
    return {"type": "file", "file": {"file_data": url, "filename": media.name or "file"}}


CONTENT = blocks(
    TEXT,
    Block(
        "refusal",
        part=Text,
        read=read_text_block,
        write=lambda part, _: {"type": "refusal", "refusal": part.text},
        keys=keys("type", "refusal"),
    ),
    replace(IMAGE_URL, write=_write_media),
    Block(
        "input_audio",
        part=Media,
        read=_read_audio,
        write=_write_media,
        keys=keys("type", "input_audio"),
        inner=(("input_audio", keys("data", "format")),),
    ),
    Block(
        "file",
        part=Media,
        read=_read_file,
        write=_write_media,
        keys=keys("type", "file"),
        inner=(("file", keys("file_data", "file_id", "filename")),),
    ),
)

# --- calls ----------------------------------------------------------------------------------------


def _write_function(call: Call, context: EncodeContext) -> JSON:
    if context.restores_forms and context.call_form(call).family == "custom":
        return _write_custom(call, context)
    return write_function_call(call, context)


def _write_custom(call: Call, context: EncodeContext) -> JSON:
    """Write a call whose input is free text; other wires hold this text in the field `input`."""
    text: JSON = call.arguments
    if call.family != "custom":
        field = get(call.input, ("input",))
        text = field if isinstance(field, str) else text
    custom: Object = {"name": context.name(call.name), "input": text}
    return {"id": context.call_id(call), "type": "custom", "custom": custom}


def _write_legacy(call: Call, context: EncodeContext) -> JSON:
    if call.origin != "minted":
        # In an answer the client chose this form, and its next request returns no id.
        report = context.report_info if context.kind == "response" else context.report_loss
        report(call, "a legacy call has no id; it is paired with its result by name")
    return {"name": context.name(call.name), "arguments": context.arguments_text(call)}


def _read_executed_result(block: Object, path: JsonPath, spec: Block) -> Part:
    return Result(
        "",
        block.get("output") or "",
        False,
        read_name(block.get("type")),
        "minted",
        "server-tool",
        "provider",
        source=Source(block, path, spec),
    )


CALLS = blocks(
    replace(FUNCTION_CALL, write=_write_function),
    replace(
        FUNCTION_CALL,
        name="custom",
        write=_write_custom,
        keys=keys("id", "type", "custom"),
        inner=(("custom", keys("name", "input")),),
        discriminator={"path": "tool_calls[]", "type": "custom"},
        family="custom",
    ),
)
LEGACY_CALL = Block(
    "function_call",
    part=Call,
    read=call_reader("arguments", id_field=None, read=read_arguments),
    write=_write_legacy,
    keys=keys("name", "arguments"),
    discriminator={"path": "function_call"},
    family="function-legacy",
)
_EXECUTED_KEYS = keys("index", "type", "arguments", "output")
EXECUTED_TOOLS = Block(
    "executed_tools",
    part=Call,
    read=call_reader("arguments", id_field=None, name_field="type", read=read_arguments),
    write=lambda call, _: {"type": call.name, "arguments": call.arguments},
    keys=_EXECUTED_KEYS,
    discriminator={"path": "executed_tools[]"},
    family="server-tool",
    executor="provider",
    ids=(Id("index", "position"),),
    forms=("response",),
    answer=Block(
        "executed_tools",
        part=Result,
        read=_read_executed_result,
        write=lambda result, _: {"output": result.output},
        keys=_EXECUTED_KEYS,
    ),
)
CALL_DELTA = Block(
    "delta.tool_calls",
    part=Call,
    discriminator={"path": "choices[].delta.tool_calls[]"},
    family="function",
    ids=(Id("index", "position"), Id("id", required=False, nullable=True)),
    forms=("stream",),
)
"""A piece of a call in a stream: only its index is always present."""

# --- results --------------------------------------------------------------------------------------


def _write_tool_message(result: Result, context: EncodeContext) -> JSON:
    out = write_tool_message(result, context)
    if result.name and result.spec is RESULTS["tool"]:  # a message of this wire that had the name
        out["name"] = context.name(result.name)
    return out


def _read_function_message(message: Object, path: JsonPath, spec: Block) -> Part:
    return Result(
        "",
        CHAT.read_output(message.get("content"), path),
        False,
        text_or_none(message.get("name")),
        "minted",
        "function-legacy",
        source=Source(message, path, spec),
    )


def _write_function_message(result: Result, context: EncodeContext) -> JSON:
    content = write_tool_message(result, context)["content"]
    return {"role": "function", "name": context.name(result.name or ""), "content": content}


RESULTS = blocks(
    replace(TOOL_MESSAGE, write=_write_tool_message),
    replace(
        TOOL_MESSAGE,
        name="function",
        read=_read_function_message,
        write=_write_function_message,
        keys=keys("role", "content", "name"),
        discriminator={"role": "function"},
        family="function-legacy",
        ids=(),
    ),
)
CHAT = Chat(
    NAME,
    cache_breakpoints=CONTENT_BREAKPOINTS,
    content={**CONTENT, **FOREIGN_BLOCKS},
    calls=CALLS,
    results=RESULTS,
    message=Block(
        "message",
        part=Message,
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
        required={"refusal": None, "annotations": []},
    ),
    roles={"user": "user", "assistant": "assistant", "system": "system", "developer": "system"},
    reasoning_fields=("reasoning_content", "reasoning"),
    legacy_call=LEGACY_CALL,
    server_tools=EXECUTED_TOOLS,
)
