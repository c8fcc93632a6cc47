"""The blocks of Mistral chat completions: content, calls, results and messages."""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, get, text_of
from toolwire.conversation.parts import (
    Call,
    Media,
    Message,
    Part,
    Reasoning,
    Result,
    Source,
    Text,
    describe,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import data_url, kind_by, mime_of, split_data_url
from toolwire.wires.engine.specs import (
    Block,
    Id,
    blocks,
    keys,
    object_at,
    read_result_id,
    require_string,
    text_or_none,
)
from toolwire.wires.families.chat.merge import join_content
from toolwire.wires.families.chat.messages import (
    REASONING_JOINED,
    Chat,
    read_function_call,
    read_text_block,
    report_misplaced,
    single_text,
)

NAME = "mistral"

# --- content --------------------------------------------------------------------------------------


def _read_url(
    url: str, source: Source, *, kind: Literal["image", "audio"] | None, name: str | None = None
) -> Part:
    """Read media by URL; the kind of a data URL is that of its MIME type if none is given."""
    mime, data = split_data_url(url) or (None, None)
    if data is not None:
        return Media(kind or kind_by(mime), mime, data, name=name, source=source)
    return Media(kind or "file", mime, url=url, name=name, source=source)


def _read_image(block: Object, path: JsonPath, spec: Block) -> Part:
    image = block["image_url"]
    url = require_string(image["url"] if isinstance(image, dict) else image)
    return _read_url(url, Source(block, path, spec), kind="image")


def _read_document(block: Object, path: JsonPath, spec: Block) -> Part:
    name = text_or_none(block.get("document_name"))
    url = require_string(block["document_url"])
    return _read_url(url, Source(block, path, spec), kind=None, name=name)


def _read_audio(block: Object, path: JsonPath, spec: Block) -> Part:
    """Read audio: bare base64, a URL, or an object with data and format."""
    audio, source = block["input_audio"], Source(block, path, spec)
    if isinstance(audio, dict):
        mime = f"audio/{require_string(audio['format'])}"
        return Media("audio", mime, require_string(audio["data"]), source=source)
    if require_string(audio).startswith(("http://", "https://", "data:")):
        return _read_url(require_string(audio), source, kind="audio")
    return Media("audio", data=require_string(audio), source=source)


def _write_media(media: Media, context: EncodeContext) -> JSON:
    """Write images, documents and audio by URL or data."""
    url = data_url(media)
    if url is None or media.kind == "video":  # put into a message of this wire by hand
        context.report_loss(media, f"this wire takes no such {media.kind}; it is named in text")
        return {"type": "text", "text": describe(media)}
    if media.url is not None and media.mime is not None:
        context.report_loss(media, "the MIME type of a URL is not kept here")
    if media.kind == "image":
        return {"type": "image_url", "image_url": {"url": url}}
    if media.kind == "file":
        name: Object = {} if media.name is None else {"document_name": media.name}
        return {"type": "document_url", "document_url": url, **name}
    if media.data is not None and mime_of(media):
        context.report_loss(media, "the MIME type of audio is not kept here")
    return {"type": "input_audio", "input_audio": media.data or url}


def _write_audio(media: Media, context: EncodeContext) -> JSON:
    """Write audio of this wire in the form in which it was read."""
    audio: JSON = data_url(media) if media.mime else media.data or media.url
    if isinstance(get(media.raw, ("input_audio",)), dict) and media.data is not None:  # type: ignore[arg-type]
        audio = {"data": media.data, "format": (media.mime or "").partition("/")[2]}
    return {"type": "input_audio", "input_audio": audio}


def _read_file(block: Object, path: JsonPath, spec: Block) -> Part:
    return Media("file", file=require_string(block["file_id"]), source=Source(block, path, spec))


def _write_file(media: Media, context: EncodeContext) -> JSON:
    return {"type": "file", "file_id": media.file} if media.file else _write_media(media, context)


def _read_thinking(block: Object, path: JsonPath, spec: Block) -> Part:
    thinking, signature = block["thinking"], text_or_none(block.get("signature"))
    if isinstance(thinking, str):
        return Reasoning(thinking, signature=signature, source=Source(block, path, spec))
    if not isinstance(thinking, list):
        raise TypeError("a list")
    texts = [
        require_string(chunk["text"])
        for chunk in thinking
        if isinstance(chunk, dict) and isinstance(chunk.get("text"), str)
    ]
    source = Source(block, path, spec if len(texts) == len(thinking) else _REFERRING_THINKING)
    return Reasoning("".join(texts), signature=signature, source=source)


def thinking_block(text: str) -> Object:
    """The block of a reasoning text."""
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}


def _write_thinking(part: Reasoning, context: EncodeContext) -> JSON:
    out = thinking_block(part.text)
    return out if part.signature is None else {**out, "signature": part.signature}


CONTENT = blocks(
    Block(
        "text",
        part=Text,
        read=read_text_block,
        write=lambda part, _: {"type": "text", "text": part.text},
        keys=keys("type", "text"),
    ),
    Block(
        "image_url",
        part=Media,
        read=_read_image,
        write=_write_media,
        keys=keys("type", "image_url"),
        inner=(("image_url", keys("url")),),
    ),
    Block(
        "document_url",
        part=Media,
        read=_read_document,
        write=_write_media,
        keys=keys("type", "document_url", "document_name"),
    ),
    Block(
        "input_audio",
        part=Media,
        read=_read_audio,
        write=_write_audio,
        keys=keys("type", "input_audio"),
        inner=(("input_audio", keys("data", "format")),),
    ),
    Block("file", part=Media, read=_read_file, write=_write_file, keys=keys("type", "file_id")),
    Block(
        "thinking",
        part=Reasoning,
        read=_read_thinking,
        write=_write_thinking,
        keys=keys("type", "thinking", "signature"),
    ),
)
_REFERRING_THINKING = replace(CONTENT["thinking"], keys=keys("type", "signature"))
"""Thinking with references: only its texts are translated, and the rest is reported."""

# --- calls and results ----------------------------------------------------------------------------


def _write_function(call: Call, context: EncodeContext) -> Object:
    if call.family == "custom":
        arguments = text_of(context.arguments_object(call))
    else:
        arguments = context.arguments_text(call)
    return {
        "id": context.call_id(call),
        "type": "function",
        "function": {"name": context.name(call.name), "arguments": arguments},
    }


def _read_tool_message(message: Object, path: JsonPath, spec: Block) -> Part:
    call_id, origin = read_result_id(message.get("tool_call_id"))
    output = CHAT.read_output(message.get("content"), path)
    name = text_or_none(message.get("name"))
    return Result(call_id, output, False, name, origin, source=Source(message, path, spec))


def _write_tool_message(result: Result, context: EncodeContext) -> JSON:
    output = context.output(result)
    content: JSON = result.text
    if isinstance(output, tuple) and output and all(isinstance(part, Text) for part in output):
        content = [{"type": "text", "text": describe(part)} for part in output]
    out: Object = {"role": "tool", "tool_call_id": context.result_id(result), "content": content}
    return out if result.name is None else {**out, "name": context.name(result.name)}


CALLS = blocks(
    Block(
        "function",
        part=Call,
        read=read_function_call,
        write=_write_function,
        keys=keys("id", "type", "function", "index"),
        inner=(("function", keys("name", "arguments")),),
        discriminator={"path": "choices[].message.tool_calls[]"},
        direction="call",
        family="function",
        executor="client",
        ids=(
            Id("id", required=False, nullable=True),
            Id("index", "position", required=False, nullable=True),
        ),
    )
)
RESULTS = blocks(
    Block(
        "tool",
        part=Result,
        read=_read_tool_message,
        write=_write_tool_message,
        keys=keys("role", "content", "tool_call_id", "name"),
        discriminator={"role": "tool"},
        direction="output",
        family="function",
        executor="client",
        ids=(Id("tool_call_id", required=False),),
        forms=("request",),
    )
)

# --- messages -------------------------------------------------------------------------------------

_MESSAGE = Block("message", part=Message, keys=keys("role", "content", "tool_calls"))
_NOT_A_PREFIX = replace(_MESSAGE, keys=_MESSAGE.keys | {"prefix"})
"""A message with `prefix: false`, which says nothing."""


class MistralChat(Chat, frozen=True, eq=False):
    """The chat shape with reasoning in the content and no field for a refusal."""

    def read_choice(self, body: Object, index: int) -> Message:
        """Read a choice; it may hold `messages` instead, which have no neutral form."""
        choice = object_at(NAME, body, ("choices", index))
        has_message = "message" in choice or "messages" not in choice
        path: JsonPath = ("choices", index, "message" if has_message else "messages")
        if choice.get("message") is None:
            return Message("assistant", (), source=Source(path=path))
        return self.read_answer(choice["message"], path)

    def read_message(self, message: JSON, path: JsonPath) -> Message:
        found = super().read_message(message, path)
        if found.spec is _MESSAGE and get(message, ("prefix",)) is False:
            return replace(found, source=replace(found.source, spec=_NOT_A_PREFIX))
        return found

    def write_assistant(self, message: Message, context: EncodeContext) -> Object:
        """Write an assistant message: its texts and reasoning in order, then its calls."""
        response = context.kind == "response"
        content: list[JSON] = []
        calls: list[JSON] = []
        has_reasoning = False
        for part in message.parts:
            if isinstance(part, Call):
                call = _write_function(part, context)
                calls.append({**call, "index": len(calls)} if response else call)
            elif isinstance(part, Text):
                if part.refusal:  # not every response passes through lowering
                    context.report_loss(part, "a refusal is sent as plain text")
                if part.text:
                    content.append({"type": "text", "text": part.text})
            elif isinstance(part, Reasoning):
                if has_reasoning:
                    context.report_loss(part, REASONING_JOINED)
                has_reasoning = True
                content.append(thinking_block(part.text))
            else:
                report_misplaced(part, "assistant", context)
        if response and content:  # as in a stream, neighbours of one type are one block
            joined = join_content(content)
            assert isinstance(joined, list)
            content = joined
        out: Object = {"role": "assistant", "content": single_text(content) or ""}
        return {**out, "tool_calls": calls} if calls else out


CHAT = MistralChat(
    NAME,
    content=CONTENT,
    calls=CALLS,
    results=RESULTS,
    message=_MESSAGE,
    roles={"user": "user", "assistant": "assistant", "system": "system"},
    reasoning_block=thinking_block,
)
