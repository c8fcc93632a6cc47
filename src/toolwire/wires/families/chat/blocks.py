"""Block specs that chat wires share. This module knows no wire by name."""

from __future__ import annotations

from typing import Literal

from toolwire.conversation.json import JSON, JsonPath, Object, text_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Tool
from toolwire.conversation.parts import Call, Media, Part, Reasoning, Result, Source, Text, describe
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import data_url, split_data_url
from toolwire.wires.engine.specs import (
    Block,
    Id,
    keys,
    read_arguments,
    read_id,
    read_name,
    require_object,
    require_string,
)
from toolwire.wires.engine.stream import merge

# --- content --------------------------------------------------------------------------------------

PLAIN_TEXT = Block("content", Text, write=lambda part, _: part.text)
"""Content that is a plain string."""
REFUSAL = Block("refusal", Text, write=lambda part, _: part.text)
REASONING = Block("reasoning", Reasoning, write=lambda part, _: part.text)


def read_text_block(block: Object, path: JsonPath, spec: Block) -> Part:
    """Read a block whose text is in the field with the name of its type."""
    text = require_string(block[spec.name])
    return Text(text, spec.name == "refusal", source=Source(block, path, spec))


def text_block(text: str) -> Object:
    """The block of a text."""
    return {"type": "text", "text": text}


def _read_image_url(block: Object, path: JsonPath, spec: Block) -> Part:
    url = require_string(require_object(block["image_url"])["url"])
    return read_media_url("image", url, Source(block, path, spec))


def read_media_url(
    kind: Literal["image", "audio", "file"], url: str, source: Source, *, name: str | None = None
) -> Media:
    """Read media that are given by a URL or by a data URL."""
    mime, data = split_data_url(url) or (None, None)
    if data is None:
        return Media(kind, url=url, name=name, source=source)
    return Media(kind, mime, data, name=name, source=source)


def write_image_url(media: Media, context: EncodeContext) -> JSON:
    """Write an image. Other media, which only an edit can put there, are described in text."""
    url = data_url(media)
    if media.kind != "image" or url is None:
        return name_in_text(media, context)
    if media.name is not None:
        context.report_loss(media, "the name of this image is not kept here")
    return {"type": "image_url", "image_url": {"url": url}}


def name_in_text(media: Media, context: EncodeContext) -> JSON:
    """The text for media that an edit put into a message of a wire without media."""
    context.report_loss(
        media, f"this wire does not accept this {media.kind}; replaced by a text description"
    )
    return text_block(describe(media))


TEXT = Block(
    "text",
    part=Text,
    read=read_text_block,
    write=lambda part, _: text_block(part.text),
    keys=keys("type", "text"),
)
IMAGE_URL = Block(
    "image_url",
    part=Media,
    read=_read_image_url,
    write=write_image_url,
    keys=keys("type", "image_url"),
    inner=(("image_url", keys("url")),),
)

# --- content in pieces ----------------------------------------------------------------------------

_GROWING_BLOCKS = ("text", "thinking")
_EMPTY_TEXT = text_block("")


def join_content(pieces: list[JSON]) -> JSON:
    """Join content that was sent in pieces: one text, or blocks with neighbours of one type
    joined."""
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(map(str, pieces))
    out: list[JSON] = []
    for piece in pieces:
        block: JSON = text_block(piece) if isinstance(piece, str) else piece
        if block == _EMPTY_TEXT:
            continue
        last = out[-1] if out else None
        field = _growing_field(block)
        if field and field == _growing_field(last):
            kind, _ = field
            assert isinstance(last, dict)
            assert isinstance(block, dict)
            last[kind] = _join_values(last[kind], block[kind])
        else:
            out.append(block)
    return out


def _growing_field(block: JSON) -> tuple[str, type] | None:
    """The field in which a block grows and the type of its value; None if the block has other
    fields or another type."""
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(block, dict) or len(block) != 2 or not isinstance(kind, str):
        return None
    return (kind, type(block[kind])) if kind in _GROWING_BLOCKS and kind in block else None


def _join_values(old: JSON, new: JSON) -> JSON:
    if isinstance(old, list) and isinstance(new, list):
        content = join_content([*old, *new])
        return content if isinstance(content, list) else [text_block(str(content))]
    return merge(old, new)


# --- calls and results ----------------------------------------------------------------------------


TEXT_FIELDS = {"function": "arguments", "custom": "input"}
"""Kinds of calls, and the field that holds the text of each."""


def read_call(block: Object, path: JsonPath, spec: Block) -> Part:
    """Read a call with name and text in the object that its kind names."""
    call_id, origin = read_id(block.get("id"))
    inner = block.get(spec.name)
    if inner.__class__ is not dict:
        if "name" in block:
            return _read_flat_call(block, path)
        inner = {}
    name, text = inner.get("name"), inner.get(TEXT_FIELDS[spec.name])
    if name.__class__ is not str or text.__class__ is not str:
        source = Source(block, path, spec)
        name = name if isinstance(name, str) else ""
        return Call(call_id, name, read_arguments(text), origin, spec.family, source=source)
    is_complete = len(inner) == 2 and len(block) == 3 and origin == "wire" and "type" in block
    source = Source(block, path, spec, None, is_complete)
    return Call(call_id, name, LazyJson(text), origin, spec.family, source=source)


def _read_flat_call(block: Object, path: JsonPath) -> Call:
    """Read a call with its name and arguments beside its id, as programs of other APIs write it."""
    call_id, origin = read_id(block.get("id") or block.get("call_id"))
    text = next((block[field] for field in _ARGUMENT_FIELDS if field in block), None)
    source = Source(block, path, _FLAT_CALL)
    name = read_name(block.get("name"))
    return Call(call_id, name, read_arguments(text), origin, source=source)


def write_function_call(call: Call, context: EncodeContext) -> Object:
    """Write a call whose arguments are text."""
    if call.family == "custom":
        arguments = text_of(context.arguments_object(call))
    else:
        arguments = context.arguments_text(call)
    return {
        "id": context.call_id(call),
        "type": "function",
        "function": {"name": context.name(call.name), "arguments": arguments},
    }


def write_tool_message(result: Result, context: EncodeContext) -> Object:
    """Write a result: its text, or its texts as blocks."""
    output = result.output
    content: JSON
    if output.__class__ is str:
        content = output
    elif isinstance(output, tuple) and output and all(isinstance(part, Text) for part in output):
        content = [text_block(describe(part)) for part in output]
    else:
        content = result.text
    return {"role": "tool", "tool_call_id": context.result_id(result), "content": content}


_ARGUMENT_FIELDS = ("arguments", "args", "input", "parameters")
"""The names of the arguments in a call without `function`."""
_FLAT_CALL = Block(
    "flat-call",
    part=Call,
    write=write_function_call,
    keys=keys("id", "call_id", "type", "name", *_ARGUMENT_FIELDS),
)
"""A call that the wire reads and its server refuses."""
FUNCTION_CALL = Block(
    "function",
    part=Call,
    read=read_call,
    write=write_function_call,
    keys=keys("id", "type", "function"),
    inner=(("function", keys("name", "arguments")),),
    discriminator={"path": "tool_calls[]", "type": "function"},
    family="function",
    ids=(Id("id"),),
)
TOOL_MESSAGE = Block(
    "tool",
    part=Result,
    write=write_tool_message,
    keys=keys("role", "content", "tool_call_id", "name"),
    discriminator={"role": "tool"},
    family="function",
    ids=(Id("tool_call_id"),),
    forms=("request",),
)
"""A result. The wire's `Chat` reads it, because it knows the content blocks."""

# --- tool definitions -----------------------------------------------------------------------------

TOOL_FIELDS = keys("name", "description", "parameters", "strict")
FUNCTION_TOOL = Block(
    "function", part=Tool, keys=keys("type", "function"), inner=(("function", TOOL_FIELDS),)
)
