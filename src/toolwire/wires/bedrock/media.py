"""Bedrock Converse: pictures, sounds, films, documents and search results, by format and source."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import UNSET
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.conversation.parts import Media, Part, Source, describe
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import mime_of
from toolwire.wires.engine.specs import (
    Block,
    blocks,
    keys,
    require_object,
    require_string,
    text_or_none,
)

_OFFICE = "application/vnd.openxmlformats-officedocument."
FORMATS: dict[str, dict[str, str]] = {
    "image": {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"},
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
        "mkv": "video/x-matroska",
        "mov": "video/quicktime",
        "mp4": "video/mp4",
        "webm": "video/webm",
        "flv": "video/x-flv",
        "mpeg": "video/mpeg",
        "mpg": "video/mpg",
        "wmv": "video/x-ms-wmv",
        "three_gp": "video/3gpp",
    },
    "audio": {
        "mp3": "audio/mp3",
        "opus": "audio/opus",
        "wav": "audio/wav",
        "aac": "audio/aac",
        "flac": "audio/flac",
        "mp4": "audio/mp4",
        "ogg": "audio/ogg",
        "mkv": "audio/x-matroska",
        "mka": "audio/mka",
        "x-aac": "audio/x-aac",
        "m4a": "audio/m4a",
        "mpeg": "audio/mpeg",
        "mpga": "audio/mpga",
        "pcm": "audio/pcm",
        "webm": "audio/webm",
    },
}
"""A block's formats, and the MIME type of each."""
_WORDS = {mime: (block, word) for block, words in FORMATS.items() for word, mime in words.items()}
_WORDS |= {
    "image/jpg": ("image", "jpeg"),
    "audio/x-wav": ("audio", "wav"),
    "audio/wave": ("audio", "wav"),
}
BLOCK_OF = {"image": "image", "audio": "audio", "video": "video", "file": "document"}
_SOURCE = keys("bytes", "s3Location", "text", "content")


def _read_media(block: Object, path: JsonPath, spec: Block) -> Part:
    held = require_object(block[spec.name])
    source, name = require_object(held["source"]), text_or_none(held.get("name"))
    kind = "file" if spec.name == "document" else spec.name
    word = text_or_none(held.get("format"))
    mime = (
        FORMATS[spec.name].get(word, f"{'application' if kind == 'file' else kind}/{word}")
        if word
        else None
    )
    media = Media(kind, mime, name=name, source=Source(block, path, spec))  # type: ignore[arg-type]
    if source.keys() - _SOURCE or get(source, ("s3Location", "bucketOwner")) is not UNSET:
        media = replace(media, source=replace(media.source, spec=DETAILED[spec.name]))
    if "bytes" in source:
        return replace(media, data=require_string(source["bytes"]))
    if "s3Location" in source:
        return replace(media, url=require_string(require_object(source["s3Location"])["uri"]))
    return replace(
        media,
        text=require_string(source["text"]) if "text" in source else joined(source["content"]),
    )


def joined(texts: JSON) -> str:
    """A list of texts as one. Raises if it is none, or empty: then the block is kept as unknown."""
    if not isinstance(texts, list) or not texts:
        raise TypeError("a list of texts")
    return "\n".join(require_string(require_object(one)["text"]) for one in texts)


def _source(media: Media) -> JSON:
    if media.data:
        return {"bytes": media.data}
    if media.url is not None and media.url.startswith("s3://"):
        return {"s3Location": {"uri": media.url}}
    return {"text": media.text} if media.text and media.kind == "file" else None


def write_media(media: Media, context: EncodeContext, taken: Mapping[str, str] = BLOCK_OF) -> JSON:
    """A block, if there is one for its kind and format and the data are here or in S3; else it is
    named in text."""
    name, source, mime = BLOCK_OF[media.kind], _source(media), mime_of(media) or ""
    block, word = _WORDS.get(mime, ("", ""))
    if _own(media) and not word:
        block, word = name, mime.partition("/")[2]
    if (
        name == "document"
        and not word
        and source is not None
        and ("text" in require_object(source) or mime.startswith("text/"))
    ):
        block, word = "document", "txt" if mime else ""
        if mime:
            context.report_loss(media, f"no format for {mime} here; it is sent as txt")
    if source is None or block != name or media.kind not in taken:
        context.report_loss(
            media, f"this wire cannot take this {media.kind} here; it is named in text"
        )
        return {"text": describe(media)}
    out: Object = {"format": word} if word else {}
    if name == "document":
        out["name"] = _document_name(media, context)
    elif media.name is not None:
        context.report_loss(media, f"{name}s have no name here")
    return {name: {**out, "source": source}}


def _own(media: Media) -> bool:
    """Whether it was read from this wire: what it says need not fit again."""
    name = BLOCK_OF[media.kind]
    return media.spec is MEDIA[name] or media.spec is DETAILED[name]


def _document_name(media: Media, context: EncodeContext) -> str:
    """A name of allowed characters; one that is made up says where the document stood, for names
    must differ."""
    given = media.name or "-".join(
        ["document", *(str(step) for step in media.path if isinstance(step, int))]
    )
    fitted = (
        re.sub(r"\s+", " ", re.sub(r"[^\w\s()\[\]-]|_", "-", given, flags=re.ASCII)).strip()[:200]
        or "document"
    )
    if _own(media):
        return given
    if fitted != media.name:
        context.report_loss(media, f"a document's name here is `{fitted}`")
    return fitted


def _read_search(block: Object, path: JsonPath, spec: Block) -> Part:
    held = require_object(block["searchResult"])
    return Media(
        "file",
        "text/plain",
        text=joined(held["content"]),
        name=text_or_none(held.get("title")),
        source=Source(block, path, spec),
    )


def _write_search(media: Media, context: EncodeContext) -> JSON:
    """Only ever a difference to a block that has its source."""
    return {"searchResult": {"title": media.name, "content": [{"text": media.text}]}}


MEDIA = blocks(
    *(
        Block(
            name,
            Media,
            _read_media,
            write_media,
            keys(name),
            ((name, keys("format", "source", *more)),),
        )
        for name, more in (("image", ()), ("document", ("name",)), ("video", ()), ("audio", ()))
    )
)
DETAILED = {
    name: replace(spec, inner=((name, spec.inner[0][1] - {"source"}),))
    for name, spec in MEDIA.items()
}
"""Rows of media whose source has more in it than is read: all of it is reported."""
SEARCH = Block(
    "searchResult",
    Media,
    _read_search,
    _write_search,
    keys("searchResult"),
    (("searchResult", keys("title", "content")),),
)
