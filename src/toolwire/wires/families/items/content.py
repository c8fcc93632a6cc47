"""The item shape: what stands inside items. Text, pictures and files of messages and of results.

A block inside a message item remembers the item it stands in: several items make one turn, and each
must be found again when the turn is written anew. Knows no wire by name.
"""

from __future__ import annotations

from mimetypes import guess_extension

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.parts import Media, Output, Part, Source, Text, describe
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import data_url, kind_by, mime_of, split_data_url
from toolwire.wires.engine.specs import (
    UNREADABLE,
    Block,
    blocks,
    keys,
    opaque,
    require_object,
    require_string,
    text_or_none,
)


class Inside(Block, frozen=True, eq=False):
    """The row of a block inside an item, with that item."""

    item: JSON = None


def inside(spec: Block, item: JSON) -> Inside:
    """A content row, for a block of this very item."""
    return Inside(spec.name, spec.part, spec.read, spec.write, spec.keys, spec.inner, item=item)


# --- reading --------------------------------------------------------------------------------------


def _read_text(block: Object, path: JsonPath, spec: Block) -> Part:
    return Text(require_string(block["text"]), source=Source(block, path, spec))


def _read_refusal(block: Object, path: JsonPath, spec: Block) -> Part:
    return Text(require_string(block["refusal"]), True, source=Source(block, path, spec))


def _read_image(block: Object, path: JsonPath, spec: Block) -> Part:
    url, file = text_or_none(block.get("image_url")), text_or_none(block.get("file_id"))
    if url is None:
        return Media("image", file=require_string(file), source=Source(block, path, spec))
    mime, data = split_data_url(url) or (None, None)
    return Media(
        "image", mime, data, None if data is not None else url, source=Source(block, path, spec)
    )


def _read_file(block: Object, path: JsonPath, spec: Block) -> Part:
    name, file = text_or_none(block.get("filename")), text_or_none(block.get("file_id"))
    held, url = text_or_none(block.get("file_data")), text_or_none(block.get("file_url"))
    if held is not None:
        mime, data = split_data_url(held) or (None, held)
        return Media(kind_by(mime), mime, data, name=name, source=Source(block, path, spec))
    if url is not None:
        return Media("file", url=url, name=name, source=Source(block, path, spec))
    return Media("file", file=require_string(file), name=name, source=Source(block, path, spec))


def _read_audio(block: Object, path: JsonPath, spec: Block) -> Part:
    sound = require_object(block["input_audio"])
    return Media(
        "audio",
        f"audio/{require_string(sound['format'])}",
        require_string(sound["data"]),
        source=Source(block, path, spec),
    )


# --- writing --------------------------------------------------------------------------------------


def _write_image(media: Media, context: EncodeContext) -> JSON:
    if media.file is not None:
        return {"type": "input_image", "detail": "auto", "file_id": media.file}
    return {"type": "input_image", "detail": "auto", "image_url": data_url(media)}


def _write_file(media: Media, context: EncodeContext) -> JSON:
    out: Object = {"type": "input_file"}
    if media.file is not None:
        return {**out, "file_id": media.file}
    if media.url is not None:
        return {**out, "file_url": media.url}
    # Data need a name, whose ending says what kind of file they are; beside an id or URL a name is
    # refused (rig#1429).
    name = media.name or f"file{guess_extension(media.mime or '') or ''}"
    return {**out, "file_data": data_url(media), "filename": name}


def _write_audio(media: Media, context: EncodeContext) -> JSON:
    sound: Object = {"data": media.data, "format": (media.mime or "audio/wav").partition("/")[2]}
    return {"type": "input_audio", "input_audio": sound}


def write_media(media: Media, context: EncodeContext) -> JSON:
    """A medium of another wire: by URL or data. File ids are another provider's, and sounds have no
    place here."""
    if media.text is not None:
        context.report_loss(media, "a text document is sent as text")
        return {"type": "input_text", "text": media.text}
    if media.kind == "image" and (media.data is not None or media.url is not None):
        if media.name is not None:
            context.report_loss(media, "an image has no name here")
        return _write_image(media, context)
    if media.kind == "file" and (
        media.data is not None or (media.url or "").startswith(("http://", "https://"))
    ):
        if media.data is None and media.mime not in (None, mime_of(replace(media, mime=None))):
            context.report_loss(media, "a file by URL has no MIME type here")
        if media.data is None and media.name is not None:
            context.report_loss(media, "a file by URL has no name here")
        return _write_file(media, context)
    context.report_loss(media, f"this wire cannot take this {media.kind}; it is named in text")
    return {"type": "input_text", "text": describe(media)}


def write_inside(part: Part, context: EncodeContext, *, told: bool = False) -> JSON:
    """A part of a result, or of a user's message; None if it says nothing. `told`: what cannot
    stand here is named in text."""
    # A block inside a result is edited with the result and does not know of it: what it came as is
    # read again.
    if (
        part.spec in _OURS
        and part.original is None
        and isinstance(part.raw, dict)
        and read_block(part.raw, part.path) == part
    ):
        return part.raw
    if isinstance(part, Text):
        if part.refusal:
            context.report_loss(part, "a refusal is sent as plain text")
        return {"type": "input_text", "text": part.text} if part.text else None
    if isinstance(part, Media):
        return write_media(part, context)
    context.report_loss(part, f"this cannot stand here: {describe(part)[:80]}")
    return {"type": "input_text", "text": describe(part)} if told and describe(part) else None


def _text(kind: str) -> Block:
    return Block(
        kind, Text, _read_text, lambda p, _: {"type": kind, "text": p.text}, keys("type", "text")
    )


CONTENT = blocks(
    _text("input_text"),
    _text("output_text"),
    _text("text"),
    _text("summary_text"),
    Block(
        "refusal",
        Text,
        _read_refusal,
        lambda p, _: {"type": "refusal", "refusal": p.text},
        keys("type", "refusal"),
    ),
    Block("input_image", Media, _read_image, _write_image, keys("type", "image_url", "file_id")),
    Block(
        "computer_screenshot",
        Media,
        _read_image,
        lambda m, context: screenshot(m),
        keys("type", "image_url", "file_id"),
    ),
    Block(
        "input_file",
        Media,
        _read_file,
        _write_file,
        keys("type", "file_data", "file_url", "file_id", "filename"),
    ),
    Block(
        "input_audio",
        Media,
        _read_audio,
        _write_audio,
        keys("type", "input_audio"),
        (("input_audio", keys("data", "format")),),
    ),
)
PLAIN = Block("content", Text, write=lambda part, context: part.text)
"""A content that is one plain string."""
_LEAST = Block(
    "input_image", Media, _read_image, _write_image, keys("type", "image_url", "file_id", "detail")
)
"""An image whose `detail` says nothing: the type demands the field."""
_OURS = frozenset({CONTENT["input_text"], CONTENT["input_image"], CONTENT["input_file"], _LEAST})
"""Blocks that may stand in a result or a user's message as they are."""


def screenshot(media: Media) -> JSON:
    """A picture as a computer call is answered with."""
    if media.file is not None:
        return {"type": "computer_screenshot", "file_id": media.file}
    return {"type": "computer_screenshot", "image_url": data_url(media)}


def read_block(block: JSON, path: JsonPath) -> Part:
    """The part of a block inside an item; what is not understood is kept as it is."""
    if not isinstance(block, dict):
        return opaque(None, block, path)
    name = block.get("type")
    try:
        spec = CONTENT[require_string(name)]
        if spec.name == "input_image" and block.get("detail") in (None, "auto"):
            spec = _LEAST
        assert spec.read is not None
        return spec.read(block, path, spec)
    except UNREADABLE:
        return opaque(name, block, path)


def read_content(content: list[JSON], path: JsonPath) -> tuple[Part, ...]:
    """The parts of a list of blocks."""
    return tuple([read_block(block, (*path, i)) for i, block in enumerate(content)])


def read_output(value: JSON, path: JsonPath) -> Output:
    """What a result says: text, parts, or any other JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    return read_content(value, path) if isinstance(value, list) else value
