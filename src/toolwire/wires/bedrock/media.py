"""Bedrock Converse: images, audio, video, documents and search results, by format and source."""

from __future__ import annotations

import re

from msgspec import UNSET
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.parts import Media, Opaque, Part, Source, describe
from toolwire.wires.engine.capabilities import MediaForm, MediaSupport
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import audio_type, mime_of
from toolwire.wires.engine.specs import (
    Block,
    blocks,
    keys,
    require_object,
    require_string,
    text_or_none,
)

_OFFICE = "application/vnd.openxmlformats-officedocument."
_FORMATS: dict[str, dict[str, str]] = {
    "image": {name: f"image/{name}" for name in "png jpeg gif webp".split()},
    "document": {
        "pdf": "application/pdf",
        "csv": "text/csv",
        "doc": "application/msword",
        "docx": f"{_OFFICE}wordprocessingml.document",
        "xls": "application/vnd.ms-excel",
        "xlsx": f"{_OFFICE}spreadsheetml.sheet",
        "html": "text/html",
        "txt": "text/plain",
        "md": "text/markdown",
    },
    "video": {
        **{name: f"video/{name}" for name in "mp4 webm mpeg mpg".split()},
        "mkv": "video/x-matroska",
        "mov": "video/quicktime",
        "flv": "video/x-flv",
        "wmv": "video/x-ms-wmv",
        "three_gp": "video/3gpp",
    },
    "audio": {
        **{
            name: audio_type(name)
            for name in "opus wav aac flac mp4 ogg mka x-aac m4a mpeg mp3 mpga pcm webm".split()
        },
        "mkv": "audio/x-matroska",
    },
}
"""The formats of each block type, and the MIME type of each format."""
_FORMAT_OF_MIME = {
    mime: (block_type, name)
    for block_type, names in _FORMATS.items()
    for name, mime in names.items()
} | {
    "image/jpg": ("image", "jpeg"),
    "audio/x-wav": ("audio", "wav"),
    "audio/wave": ("audio", "wav"),
    "audio/mp3": ("audio", "mp3"),
}
_BLOCK_OF_KIND = {"image": "image", "audio": "audio", "video": "video", "file": "document"}
_SOURCE_KEYS = keys("bytes", "s3Location", "text", "content")


def _read_media(block: Object, path: JsonPath, spec: Block) -> Part:
    content = require_object(block[spec.name])
    source = require_object(content["source"])
    kind = "file" if spec.name == "document" else spec.name
    name, mime = text_or_none(content.get("format")), None
    if name:
        default = f"{'application' if kind == 'file' else kind}/{name}"
        mime = _FORMATS[spec.name].get(name, default)
    if source.keys() - _SOURCE_KEYS or get(source, ("s3Location", "bucketOwner")) is not UNSET:
        spec = DETAILED[spec.name]
    media = Media(
        kind,  # type: ignore[arg-type]
        mime,
        name=text_or_none(content.get("name")),
        source=Source(block, path, spec),
    )
    if "bytes" in source:
        return replace(media, data=require_string(source["bytes"]))
    if "s3Location" in source:
        return replace(media, url=require_string(require_object(source["s3Location"])["uri"]))
    if "text" in source:
        return replace(media, text=require_string(source["text"]))
    return replace(media, text=join_texts(source["content"]))


def join_texts(texts: JSON) -> str:
    """Join a list of text blocks to one text. Raises TypeError if it is not a list or is empty."""
    if not isinstance(texts, list) or not texts:
        raise TypeError("a list of texts")
    return "\n".join(require_string(require_object(block)["text"]) for block in texts)


def _media_source(media: Media) -> Object | None:
    """The `source` of a media block: data, a location in S3, or text; None if the medium has none
    of them."""
    if media.data:
        return {"bytes": media.data}
    if media.url is not None and media.url.startswith("s3://"):
        return {"s3Location": {"uri": media.url}}
    return {"text": media.text} if media.text and media.kind == "file" else None


def _media_format(media: Media, source: Object) -> str | None:
    """The `format` of a media block: empty if it needs none, None if there is no format for it."""
    block_type, mime = _BLOCK_OF_KIND[media.kind], mime_of(media) or ""
    format_type, name = _FORMAT_OF_MIME.get(mime, ("", ""))
    if format_type:
        return name if format_type == block_type else None
    if _is_native(media):
        return mime.partition("/")[2]
    if block_type == "document" and ("text" in source or mime.startswith("text/")):
        return "txt" if mime else ""
    return None


def _accepts(media: Media) -> bool:
    source = _media_source(media)
    return source is not None and _media_format(media, source) is not None


def write_media(media: Media, context: EncodeContext) -> JSON:
    """The block of a medium."""
    block_type, source, mime = _BLOCK_OF_KIND[media.kind], _media_source(media), mime_of(media)
    name = _media_format(media, source) if source is not None else None
    if source is None or name is None:
        # An edit of a block of this wire: lowering replaces media of other wires.
        context.report_loss(
            media, f"this wire does not accept this {media.kind}; replaced by a text description"
        )
        return {"text": describe(media)}
    if name == "txt" and mime != "text/plain" and not _is_native(media):
        context.report_loss(media, f"this wire has no format for {mime}; sent as txt")
    content: Object = {"format": name} if name else {}
    if block_type == "document":
        content["name"] = _document_name(media, context)
    return {block_type: {**content, "source": source}}


def _is_native(media: Media) -> bool:
    """True if the medium was read from this wire: its format and name are then sent unchecked."""
    block_type = _BLOCK_OF_KIND[media.kind]
    return media.spec is MEDIA[block_type] or media.spec is DETAILED[block_type]


def keeps_name(document: Media) -> bool:
    """True if a document has a name that can be sent unchanged."""
    return bool(document.name) and (
        _is_native(document) or document.name == _fit_name(document.name or "")
    )


def _fit_name(name: str) -> str:
    allowed = re.sub(r"[^\w\s()\[\]-]|_", "-", name, flags=re.ASCII)
    return re.sub(r"\s+", " ", allowed).strip()[:200] or "document"


def _document_name(media: Media, context: EncodeContext) -> str:
    """A name of allowed characters. A generated name contains the position, because names must
    differ."""
    indexes = [str(step) for step in media.path if isinstance(step, int)]
    name = media.name or "-".join(["document", *indexes])
    if _is_native(media):
        return name
    fitted = _fit_name(name)
    if fitted != media.name:
        context.report_loss(media, f"the document is named `{fitted}` here")
    return fitted


_IMAGE_DELTAS = {
    "image.source": ("source", "image.source"),
    "image.error": ("error", "image.error"),
}
MEDIA = blocks(
    *(
        Block(
            name,
            part=Media,
            read=_read_media,
            write=write_media,
            keys=keys(name),
            inner=((name, keys("format", "source", *more)),),
            deltas=_IMAGE_DELTAS if name == "image" else {},
        )
        for name, more in (("image", ()), ("document", ("name",)), ("video", ()), ("audio", ()))
    )
)
DETAILED = {
    name: replace(spec, inner=((name, spec.inner[0][1] - {"source"}),))
    for name, spec in MEDIA.items()
}
"""Specs of media whose source has fields that are not read: the whole source is a loss
elsewhere."""
SEARCH_RESULT = Block(
    "searchResult",
    part=Opaque,
    read=lambda block, path, spec: Opaque("searchResult", block, source=Source(block, path, spec)),
    write=lambda part, context: part.value,
    keys=keys("searchResult"),
)
"""A text with its title and source. No other wire has such a block, so only its text is sent
there."""

_BYTES_OR_S3: frozenset[MediaForm] = frozenset({"data", "url"})
_DOCUMENT: frozenset[MediaForm] = frozenset({"data", "url", "text"})
RESULT_MEDIA = MediaSupport(
    image=_BYTES_OR_S3, video=_BYTES_OR_S3, file=_DOCUMENT, accepts=_accepts
)
MESSAGE_MEDIA = replace(RESULT_MEDIA, audio=_BYTES_OR_S3)
