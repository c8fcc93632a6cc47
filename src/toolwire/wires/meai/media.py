"""Media contents of Microsoft.Extensions.AI: data, URLs and the files of a service."""

from __future__ import annotations

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.parts import Media, Part, Source, describe
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import data_url, kind_by, mime_of, split_data_url
from toolwire.wires.engine.specs import Block, require_string, text_or_none


def _mime(block: Object) -> str | None:
    """The MIME type; None for a type such as `image/*`, which gives only the kind."""
    mime = text_or_none(block.get("mediaType"))
    return None if mime is None or mime.endswith("/*") else mime


def read_data(block: Object, path: JsonPath, spec: Block) -> Part:
    url = require_string(block["uri"])
    mime, data = split_data_url(url) or (None, None)
    mime = mime or _mime(block)
    return Media(
        kind_by(mime),
        mime,
        data,
        url if data is None else None,
        name=text_or_none(block.get("name")),
        source=Source(block, path, spec),
    )


def read_uri(block: Object, path: JsonPath, spec: Block) -> Part:
    url = require_string(block["uri"])
    kind = kind_by(text_or_none(block.get("mediaType")) or mime_of(Media("file", url=url)))
    return Media(kind, _mime(block), url=url, source=Source(block, path, spec))


def read_file(block: Object, path: JsonPath, spec: Block) -> Part:
    return Media(
        kind_by(text_or_none(block.get("mediaType"))),
        _mime(block),
        file=require_string(block["fileId"]),
        name=text_or_none(block.get("name")),
        source=Source(block, path, spec),
    )


def write_media(media: Media, context: EncodeContext) -> JSON:
    mime = mime_of(media)
    name: Object = {} if media.name is None else {"name": media.name}
    if media.data is not None:
        return {"$type": "data", "uri": data_url(media), **name}
    if media.file is not None:
        if mime is None and media.kind == "file":
            return {"$type": "hostedFile", "fileId": media.file, **name}
        mime = mime or f"{media.kind}/*"
        return {"$type": "hostedFile", "fileId": media.file, "mediaType": mime, **name}
    if media.url is None:  # an edit of a content of this wire, which is not lowered
        return {"$type": "text", "text": describe(media)}
    kind = "application/octet-stream" if media.kind == "file" else f"{media.kind}/*"
    return {"$type": "uri", "uri": media.url, "mediaType": mime or kind}
