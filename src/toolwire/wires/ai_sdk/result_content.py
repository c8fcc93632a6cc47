"""AI SDK: the content of a tool result (text and media), the same in UI and model messages.

The type of an item combines its kind and its source (`image-data`, `file-url`); version 7 has a
single `file` item instead.
"""

from __future__ import annotations

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.parts import Media, Output, Part, Result, Text, describe, output_text
from toolwire.wires.ai_sdk.blocks import (
    NAME,
    read_media_header,
    read_text,
    report_misplaced,
    with_url,
    write_file,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import split_data_url
from toolwire.wires.engine.specs import (
    Block,
    blocks,
    keys,
    read_block,
    require_object,
    require_string,
)

# --- reading --------------------------------------------------------------------------------------


_SOURCES = {
    "media": ("data", "data"),
    "file-data": ("data", "data"),
    "image-data": ("data", "data"),
    "file-url": ("url", "url"),
    "image-url": ("url", "url"),
    "file-id": ("fileId", "file"),
    "image-file-id": ("fileId", "file"),
    "file": ("data", "tagged"),
}
"""The field of each media item that holds its source, and the form of the source."""


def _read_media(block: Object, path: JsonPath, spec: Block) -> Part:
    media = read_media_header(block, path, spec)
    field, form = _SOURCES[spec.name]
    source = block[field]
    if form == "url":
        return with_url(media, require_string(source))
    if form == "tagged":
        tagged = require_object(source)
        form = require_string(tagged["type"])
        if form not in ("data", "url", "text"):
            raise ValueError(form)
        source = tagged[form]
    return replace(media, **{form: require_string(source)})


ITEMS = blocks(
    Block("text", part=Text, read=read_text, keys=keys("type", "text")),
    *(
        Block(name, part=Media, read=_read_media, keys=keys("type", field, "mediaType", "filename"))
        for name, (field, _) in _SOURCES.items()
    ),
)


def read_items(value: JSON, path: JsonPath) -> tuple[Part, ...] | None:
    """The parts of a content list; None if it is empty or not a list, or has an unknown item."""
    if not isinstance(value, list) or not value:
        return None
    if not all(isinstance(item, dict) and item.get("type") in ITEMS for item in value):
        return None
    return tuple(read_block(NAME, ITEMS, item, (*path, i)) for i, item in enumerate(value))


# --- writing --------------------------------------------------------------------------------------


def write_items(output: tuple[Part, ...], context: EncodeContext) -> list[JSON]:
    """Text and media as a content list; any other part is described in text."""
    return [_write_item(part, context) for part in output]


def _write_item(part: Part, context: EncodeContext) -> JSON:
    """An item of a content list. For media, `image-…` is the short form without type and name."""
    if not isinstance(part, Media):
        if not isinstance(part, Text):
            report_misplaced(part, "a result", context)
        return {"type": "text", "text": describe(part)}
    # A file id is valid only on the wire that sent it.
    if part.file is not None and any(part.spec is spec for spec in ITEMS.values()):
        return {"type": "image-file-id" if part.kind == "image" else "file-id", "fileId": part.file}
    file = write_file(part, context)
    if file["type"] == "text":
        return file
    url = str(file.pop("url"))
    content = split_data_url(url)
    if content is None:
        if file["mediaType"] == "image/*":
            return {"type": "image-url", "url": url}
        return {"type": "file-url", "url": url, "mediaType": file["mediaType"]}
    short = part.name is None and part.kind == "image"
    return {**file, "type": "image-data" if short else "file-data", "data": content[1]}


def write_error_text(result: Result, output: Output, context: EncodeContext) -> str:
    """The text of an error result: on this wire, an error is only text."""
    context.record_result_form(result, flag=True, structure=False)
    if isinstance(output, tuple):
        for part in output:
            if not isinstance(part, Text):
                context.report_loss(part, f"an error contains only text: {describe(part)[:80]}")
    return output_text(output)
