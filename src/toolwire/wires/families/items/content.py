"""Blocks inside items: text, images and files of messages and results; and the capabilities.

A block inside a message item remembers that item, because a turn is made of several items and each
has to be found when the turn is written.
"""

from __future__ import annotations

from mimetypes import guess_extension

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.parts import Media, Output, Part, Source, Text, describe
from toolwire.wires.engine.capabilities import (
    CONTENT_BREAKPOINTS,
    Capabilities,
    MediaForm,
    MediaSupport,
    Place,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import audio_format, audio_type, data_url, kind_by, split_data_url
from toolwire.wires.engine.part_lowering import lower_part
from toolwire.wires.engine.specs import (
    UNREADABLE,
    Block,
    blocks,
    keys,
    opaque,
    require_object,
    require_string,
    text_or_none,
    text_reader,
)


class ContentBlock(Block, frozen=True, eq=False):
    """The spec of a block inside an item, together with that item."""

    item: JSON = None


def content_block(spec: Block, item: JSON) -> ContentBlock:
    """A copy of the spec for a block of this item."""
    return ContentBlock(
        spec.name,
        part=spec.part,
        read=spec.read,
        write=spec.write,
        keys=spec.keys,
        inner=spec.inner,
        item=item,
    )


# --- reading --------------------------------------------------------------------------------------


def _read_image(block: Object, path: JsonPath, spec: Block) -> Part:
    url, file = text_or_none(block.get("image_url")), text_or_none(block.get("file_id"))
    source = Source(block, path, spec)
    if url is None:
        return Media("image", file=require_string(file), source=source)
    mime, data = split_data_url(url) or (None, None)
    if data is None:
        return Media("image", mime, url=url, source=source)
    return Media("image", mime, data=data, source=source)


def _read_file(block: Object, path: JsonPath, spec: Block) -> Part:
    name, file = text_or_none(block.get("filename")), text_or_none(block.get("file_id"))
    content, url = text_or_none(block.get("file_data")), text_or_none(block.get("file_url"))
    source = Source(block, path, spec)
    if content is not None:
        mime, data = split_data_url(content) or (None, content)
        return Media(kind_by(mime), mime, data=data, name=name, source=source)
    if url is not None:
        return Media("file", url=url, name=name, source=source)
    return Media("file", file=require_string(file), name=name, source=source)


def _read_audio(block: Object, path: JsonPath, spec: Block) -> Part:
    audio = require_object(block["input_audio"])
    mime = audio_type(require_string(audio["format"]))
    data = require_string(audio["data"])
    return Media("audio", mime, data=data, source=Source(block, path, spec))


# --- writing --------------------------------------------------------------------------------------


def _image_source(media: Media) -> Object:
    return {"image_url": data_url(media)} if media.file is None else {"file_id": media.file}


def _write_image(media: Media, context: EncodeContext) -> JSON:
    return {"type": "input_image", "detail": "auto", **_image_source(media)}


def write_screenshot(media: Media, context: EncodeContext) -> JSON:
    """The screenshot in the result of a computer call."""
    return {"type": "computer_screenshot", **_image_source(media)}


def _write_file(media: Media, context: EncodeContext) -> JSON:
    out: Object = {"type": "input_file"}
    if media.file is not None:
        return {**out, "file_id": media.file}
    if media.url is not None:
        return {**out, "file_url": media.url}
    # Data need a name, because its extension is the file type; beside an id or URL a name is
    # refused (rig#1429).
    name = media.name or f"file{guess_extension(media.mime or '') or ''}"
    return {**out, "file_data": data_url(media), "filename": name}


def _write_audio(media: Media, context: EncodeContext) -> JSON:
    audio: Object = {"data": media.data, "format": audio_format(media) or "wav"}
    return {"type": "input_audio", "input_audio": audio}


def _text_block(name: str) -> Block:
    def write(part: Text, context: EncodeContext) -> JSON:
        return {"type": name, "text": part.text}

    return Block(name, part=Text, read=text_reader("text"), write=write, keys=keys("type", "text"))


_IMAGE_KEYS = keys("type", "image_url", "file_id")
_FILE_KEYS = keys("type", "file_data", "file_url", "file_id", "filename")
CONTENT = blocks(
    _text_block("input_text"),
    _text_block("output_text"),
    _text_block("text"),
    _text_block("summary_text"),
    Block(
        "refusal",
        part=Text,
        read=text_reader("refusal", refusal=True),
        write=lambda part, context: {"type": "refusal", "refusal": part.text},
        keys=keys("type", "refusal"),
    ),
    Block("input_image", part=Media, read=_read_image, write=_write_image, keys=_IMAGE_KEYS),
    Block(
        "computer_screenshot",
        part=Media,
        read=_read_image,
        write=write_screenshot,
        keys=_IMAGE_KEYS,
    ),
    Block("input_file", part=Media, read=_read_file, write=_write_file, keys=_FILE_KEYS),
    Block(
        "input_audio",
        part=Media,
        read=_read_audio,
        write=_write_audio,
        keys=keys("type", "input_audio"),
        inner=(("input_audio", keys("data", "format")),),
    ),
)
PLAIN_TEXT = Block("content", part=Text, write=lambda part, context: part.text)
"""Content that is a plain string."""
_DEFAULT_DETAIL_IMAGE = replace(CONTENT["input_image"], keys=_IMAGE_KEYS | {"detail"})
"""An image with the default `detail`, a field that the type requires."""
_VERBATIM = frozenset(
    {CONTENT["input_text"], CONTENT["input_image"], CONTENT["input_file"], _DEFAULT_DETAIL_IMAGE}
)
"""Blocks of a result that another wire of this shape accepts unchanged."""
_KEPT_MEDIA = _VERBATIM | {CONTENT["computer_screenshot"]}


_UNTYPED = {"refusal": CONTENT["refusal"], "text": CONTENT["output_text"]}
"""The spec of a block without a type in an answer, by the field of its text."""


def find_spec(block: Object, *, in_answer: bool) -> Block | None:
    """The spec of a block. Servers leave out the type of a text, but no provider accepts that in a
    request."""
    name = block.get("type")
    if in_answer and not name:
        return next((spec for field, spec in _UNTYPED.items() if field in block), None)
    return CONTENT.get(name) if isinstance(name, str) else None


def read_block(block: JSON, path: JsonPath, *, in_answer: bool = False) -> Part:
    """The part of a block inside an item; an unknown block becomes Opaque."""
    if not isinstance(block, dict):
        return opaque(None, block, path)
    spec = find_spec(block, in_answer=in_answer)
    if spec is not None and spec.name == "input_image" and block.get("detail") in (None, "auto"):
        spec = _DEFAULT_DETAIL_IMAGE
    try:
        if spec is not None and spec.read is not None:
            return spec.read(block, path, spec)
    except UNREADABLE:
        pass
    return opaque(block.get("type"), block, path)


def read_content(
    content: list[JSON], path: JsonPath, *, in_answer: bool = False
) -> tuple[Part, ...]:
    return tuple(
        [read_block(block, (*path, i), in_answer=in_answer) for i, block in enumerate(content)]
    )


def read_output(value: JSON, path: JsonPath) -> Output:
    """The output of a result: text, parts, or any other JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    return read_content(value, path) if isinstance(value, list) else value


# --- capabilities of wires of this shape ----------------------------------------------------------


def _accepts(media: Media) -> bool:
    """True for images and for files by data or HTTP URL. File ids of other providers and audio are
    accepted only in a block that was read from a wire of this shape."""
    if media.spec in _KEPT_MEDIA:
        return True
    if media.kind == "image":
        return media.file is None
    if media.kind != "file":
        return False
    return media.data is not None or (media.url or "").startswith(("http://", "https://"))


_FORMS: frozenset[MediaForm] = frozenset({"data", "url", "file"})
_MEDIA = MediaSupport(image=_FORMS, audio=_FORMS, video=_FORMS, file=_FORMS, accepts=_accepts)
CAPABILITIES = Capabilities(
    media={"system": _MEDIA, "user": _MEDIA, "result": _MEDIA},
    media_names=frozenset({"file"}),
    url_names=False,
    url_types=False,
    reasoning_in_history=False,
    refusals_in_history=False,
    candidates=False,
    cache_breakpoints=replace(CONTENT_BREAKPOINTS, answers=False),
)
"""Error flags are not declared, because only one kind of result has one. The writer reports them.
"""


def write_content(part: Part, context: EncodeContext, place: Place) -> list[JSON]:
    """The blocks of a part in a result, or in a user or system message."""
    # A block inside a result is edited with the result and does not record the edit itself: it is
    # compared with its JSON.
    if (
        part.spec in _VERBATIM
        and part.original is None
        and isinstance(part.raw, dict)
        and read_block(part.raw, part.path) == part
    ):
        return [part.raw]
    if isinstance(part, Text):
        return [{"type": "input_text", "text": part.text}] if part.text else []
    out: list[JSON] = []
    # Lowering skips messages of this wire, but parts may have been added to them.
    for lowered in lower_part(part, CAPABILITIES, place, kind="request", losses=context.losses):
        if isinstance(lowered, Media):
            out.append(_write_media(lowered, context))
        elif isinstance(lowered, Text):
            out += write_content(lowered, context, place)
    return out


def write_output(parts: tuple[Part, ...], context: EncodeContext) -> list[JSON]:
    """The blocks of a result; parts that a result cannot hold are described in text."""
    out: list[JSON] = []
    for part in parts:
        if not isinstance(part, Text | Media):
            description = describe(part)
            context.report_loss(part, f"a result cannot contain this here: {description[:80]}")
            part = Text(description)
        out += write_content(part, context, "result")
    return out


def _write_media(media: Media, context: EncodeContext) -> JSON:
    if media.kind == "image":
        return _write_image(media, context)
    return _write_file(media, context)
