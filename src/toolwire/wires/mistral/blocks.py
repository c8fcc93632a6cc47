"""The blocks of Mistral chat completions: content, calls, results and messages."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.parts import Call, Media, Message, Part, Reasoning, Result, Source, Text
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import data_url, kind_by, mime_of
from toolwire.wires.engine.specs import (
    Block,
    Id,
    blocks,
    keys,
    object_at,
    require_string,
    single_text,
    text_or_none,
)
from toolwire.wires.families.chat.blocks import (
    FUNCTION_CALL,
    IMAGE_URL,
    TEXT,
    TOOL_MESSAGE,
    join_content,
    name_in_text,
    read_media_url,
    text_block,
    write_image_url,
    write_tool_message,
)
from toolwire.wires.families.chat.messages import Chat, report_misplaced

NAME = "mistral"

# --- content --------------------------------------------------------------------------------------


def _read_image(block: Object, path: JsonPath, spec: Block) -> Part:
    image = block["image_url"]
    url = require_string(image["url"] if isinstance(image, dict) else image)
    return read_media_url("image", url, Source(block, path, spec))


def _read_document(block: Object, path: JsonPath, spec: Block) -> Part:
    url = require_string(block["document_url"])
    name = text_or_none(block.get("document_name"))
    media = read_media_url("file", url, Source(block, path, spec), name=name)
    return media if media.mime is None else replace(media, kind=kind_by(media.mime))


def _read_audio(block: Object, path: JsonPath, spec: Block) -> Part:
    """Read audio: bare base64, a URL, or an object with data and format."""
    audio, source = block["input_audio"], Source(block, path, spec)
    if isinstance(audio, dict):
        mime = f"audio/{require_string(audio['format'])}"
        return Media("audio", mime, require_string(audio["data"]), source=source)
    if ":" in require_string(audio):  # base64 has no colon, and every URL has one
        return read_media_url("audio", require_string(audio), source)
    return Media("audio", data=require_string(audio), source=source)


def _write_media(media: Media, context: EncodeContext) -> JSON:
    """Write images, documents and audio by URL or data."""
    url = data_url(media)
    if url is None or media.kind == "video":
        return name_in_text(media, context)
    if media.kind == "image":
        return write_image_url(media, context)
    if media.kind == "file":
        name: Object = {} if media.name is None else {"document_name": media.name}
        return {"type": "document_url", "document_url": url, **name}
    if media.data is not None and mime_of(media):
        context.report_loss(media, "the MIME type of audio is not kept here")
    return {"type": "input_audio", "input_audio": media.data or url}


def _write_audio(media: Media, context: EncodeContext) -> JSON:
    """Write audio of this wire in the form in which it was read."""
    if media.kind != "audio" or (media.data or media.url) is None:
        return _write_media(media, context)
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
    chunks = [chunk.get("text") if isinstance(chunk, dict) else chunk for chunk in thinking]
    texts = [text for text in chunks if isinstance(text, str)]
    source = Source(block, path, spec if len(texts) == len(thinking) else _REFERRING_THINKING)
    return Reasoning("".join(texts), signature=signature, source=source)


def thinking_block(text: str) -> Object:
    """The block for a reasoning text."""
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}


def _write_thinking(part: Reasoning, context: EncodeContext) -> JSON:
    out = thinking_block(part.text)
    return out if part.signature is None else {**out, "signature": part.signature}


CONTENT = blocks(
    TEXT,
    replace(IMAGE_URL, read=_read_image, write=_write_media),
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
"""Thinking with references: only its texts are translated; the rest is reported."""

# --- calls and results ----------------------------------------------------------------------------


def _write_tool_message(result: Result, context: EncodeContext) -> JSON:
    out = write_tool_message(result, context)
    return out if result.name is None else {**out, "name": context.name(result.name)}


CALLS = blocks(
    replace(
        FUNCTION_CALL,
        keys=keys("id", "type", "function", "index"),
        discriminator={"path": "choices[].message.tool_calls[]"},
        ids=(
            Id("id", required=False, nullable=True),
            Id("index", "position", required=False, nullable=True),
        ),
    )
)
RESULTS = blocks(
    replace(TOOL_MESSAGE, write=_write_tool_message, ids=(Id("tool_call_id", required=False),))
)

# --- messages -------------------------------------------------------------------------------------

_MESSAGE = Block("message", part=Message, keys=keys("role", "content", "tool_calls"))
_KNOWN_PREFIX = replace(_MESSAGE, keys=_MESSAGE.keys | {"prefix"})
"""The spec of a message whose `prefix` adds nothing to its position: false, or true at the end."""


def _with_known_prefix(message: Message) -> Message:
    return replace(message, source=replace(message.source, spec=_KNOWN_PREFIX))


class MistralChat(Chat, frozen=True, eq=False):
    """The chat shape with reasoning in the content and no field for a refusal."""

    def read_choice(self, body: Object, index: int) -> Message:
        """Read a choice. It may hold `messages` instead of a message; they have no neutral form."""
        choice = object_at(NAME, body, ("choices", index))
        has_message = "message" in choice or "messages" not in choice
        path: JsonPath = ("choices", index, "message" if has_message else "messages")
        if choice.get("message") is None:
            return Message("assistant", (), source=Source(path=path))
        return self.read_answer(choice["message"], path)

    def read_message(self, message: JSON, path: JsonPath) -> Message:
        found = super().read_message(message, path)
        if found.spec is _MESSAGE and get(message, ("prefix",)) is False:
            return _with_known_prefix(found)
        return found

    def read_messages(self, messages: list[JSON]) -> list[Message]:
        out = super().read_messages(messages)
        if out and out[-1].spec is _MESSAGE and out[-1].role == "assistant":
            out[-1] = _with_known_prefix(out[-1])
        return out

    def write_messages(self, messages: Iterable[Message], context: EncodeContext) -> list[JSON]:
        """Write a history. A final text of the assistant is marked with `prefix`, or it would be
        refused."""
        messages = tuple(messages)
        out = super().write_messages(messages, context)
        last = out[-1] if out and messages[-1].wire != context.wire else None
        if isinstance(last, dict) and last["role"] == "assistant" and "tool_calls" not in last:
            out[-1] = {**last, "prefix": True}
        return out

    def write_assistant(self, message: Message, context: EncodeContext) -> Object:
        """Write an assistant message: its texts and reasoning in order, then its calls."""
        response = context.kind == "response"
        content: list[JSON] = []
        calls: list[JSON] = []
        for part in message.parts:
            if isinstance(part, Call):
                call = self.write_call(part, context)
                calls.append({**call, "index": len(calls)} if response else call)
            elif isinstance(part, Text):
                if part.text:
                    content.append(text_block(part.text))
            elif isinstance(part, Reasoning):
                content.append(thinking_block(part.text))
            else:
                report_misplaced(part, "assistant", context)
        if response and content:  # as in a stream, adjacent blocks of one type become one
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
