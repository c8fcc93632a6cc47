"""AI SDK: what a result can hold when it is content (text and media), the same in both forms of
message.

An item names its type and its source in one word (`image-data`, `file-url`); the newest version has
one `file` instead.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.parts import (
    Media,
    Output,
    Part,
    Result,
    Source,
    Text,
    describe,
    output_text,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import data_url, kind_by, mime_of, split_data_url
from toolwire.wires.engine.specs import (
    Block,
    blocks,
    keys,
    read_block,
    require_object,
    require_string,
    text_or_none,
)

NAME = "ai-sdk"
DENIED = "Tool call execution denied."
"""What a model is told of a refused call when nobody gave a reason: the SDK's own words."""
_ANY = {"image": "image/*", "audio": "audio/*", "video": "video/*"}


def media_type(value: JSON) -> str | None:
    """A media type that says something; `image` and `image/*` only name the kind."""
    return value if isinstance(value, str) and "/" in value and not value.endswith("/*") else None


def located(media: Media, url: str) -> Media:
    """A medium by its URL, or by the data that the URL holds."""
    held = split_data_url(url)
    return (
        replace(media, url=url)
        if held is None
        else replace(media, data=held[1], mime=media.mime or held[0])
    )


def address(media: Media, context: EncodeContext) -> tuple[str, str] | None:
    """The URL and media type of a medium; None, after a word to the page, if it has neither data
    nor URL."""
    url, mime = data_url(media), mime_of(media)
    if media.text is not None:
        context.report_loss(media, "a text document is sent as a file of its bytes")
        mime = mime or "text/plain"
        url = (
            f"data:{mime};base64,{b64encode(media.text.encode('utf-8', 'surrogatepass')).decode()}"
        )
    if url is None:
        context.report_loss(media, f"this wire cannot take this {media.kind}; it is named in text")
        return None
    if mime is None and media.kind == "file":
        context.report_loss(media, "a file must have a media type here; it is sent as plain bytes")
    return url, mime or _ANY.get(media.kind, "application/octet-stream")


# --- items of content -----------------------------------------------------------------------------

_Source = Callable[[Media, JSON], Media]


def _item(kind: str, held: str, place: _Source, fixed: str = "") -> Block:
    """A medium in a result: where the data are stands in a field of its own."""

    def read(block: Object, path: JsonPath, spec: Block) -> Part:
        mime = media_type(block.get("mediaType"))
        media = Media(
            "image" if fixed else kind_by(text_or_none(block.get("mediaType"))),
            mime,
            name=text_or_none(block.get("filename")),
            source=Source(block, path, spec),
        )
        return place(media, block[held])

    return Block(kind, Media, read, keys=keys("type", held, "mediaType", "filename"))


def _tagged(media: Media, value: JSON) -> Media:
    field, neutral = {"data": ("data", "data"), "url": ("url", "url"), "text": ("text", "text")}[
        require_string(require_object(value)["type"])
    ]
    return replace(media, **{neutral: require_string(require_object(value)[field])})


def _data(media: Media, value: JSON) -> Media:
    return replace(media, data=require_string(value))


def _url(media: Media, value: JSON) -> Media:
    return located(media, require_string(value))


def _file(media: Media, value: JSON) -> Media:
    return replace(media, file=require_string(value))


ITEMS = blocks(
    Block(
        "text",
        Text,
        lambda b, path, spec: Text(require_string(b["text"]), source=Source(b, path, spec)),
        keys=keys("type", "text"),
    ),
    _item("media", "data", _data),
    _item("file-data", "data", _data),
    _item("image-data", "data", _data, "image"),
    _item("file-url", "url", _url),
    _item("image-url", "url", _url, "image"),
    _item("file-id", "fileId", _file),
    _item("image-file-id", "fileId", _file, "image"),
    _item("file", "data", _tagged),
)


def read_items(value: JSON, path: JsonPath) -> tuple[Part, ...] | None:
    """The parts of a content list; None if it is none, or not all of its items have a
    known type.
    """
    if not isinstance(value, list) or not value:
        return None
    if not all(isinstance(item, dict) and item.get("type") in ITEMS for item in value):
        return None
    return tuple(read_block(NAME, ITEMS, item, (*path, i)) for i, item in enumerate(value))


def write_items(output: tuple[Part, ...], context: EncodeContext) -> list[JSON]:
    """Text and media as a content list; the rest is told in text."""
    return [_written(part, context) for part in output]


def _written(part: Part, context: EncodeContext) -> JSON:
    if isinstance(part, Media):
        known = isinstance(part.spec, Block) and part.spec in ITEMS.values()
        if part.file is not None and known:
            return {
                "type": "image-file-id" if part.kind == "image" else "file-id",
                "fileId": part.file,
            }
        found = address(part, context)
        if found is not None:
            return _medium(part, *found)
    elif not isinstance(part, Text):
        context.report_loss(part, f"a result cannot hold this here: {describe(part)[:80]}")
    return {"type": "text", "text": describe(part)}


def _medium(media: Media, url: str, mime: str) -> Object:
    """The newer `file-…` items also carry a type or a name; the `image-…` ones are the shorter word
    for a picture."""
    held = split_data_url(url)
    if held is None:
        typed: Object = {"type": "file-url", "url": url, "mediaType": mime}
        return {"type": "image-url", "url": url} if mime == "image/*" else typed
    data: Object = {"type": "file-data", "data": held[1], "mediaType": mime}
    if media.name is not None:
        return {**data, "filename": media.name}
    return {**data, "type": "image-data"} if media.kind == "image" else data


def plain(result: Result, output: Output, context: EncodeContext) -> str:
    """An error's text: this wire has nothing else for it."""
    context.note_result_form(result, flag=True, structure=False)
    if isinstance(output, tuple):
        for part in output:
            if not isinstance(part, Text):
                context.report_loss(part, f"an error is text here: {describe(part)[:80]}")
    return output_text(output)
