"""AI SDK: functions that read and write what UI messages, model messages and tool results share."""

from __future__ import annotations

from base64 import b64encode

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import Call, Media, Part, Reasoning, Source, Text, describe
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import data_url, kind_by, mime_of, split_data_url
from toolwire.wires.engine.specs import Block, reasoning_reader, text_or_none, text_reader

NAME = "ai-sdk"
read_text, read_reasoning = text_reader("text"), reasoning_reader("text")
DENIED = "Tool call execution denied."
"""The SDK's own text for a denied call without a reason."""
_WILDCARDS = {"image": "image/*", "audio": "audio/*", "video": "video/*"}


# --- text and reasoning ---------------------------------------------------------------------------


def write_text(part: Text, context: EncodeContext) -> Object:
    return {"type": "text", "text": part.text}


def write_reasoning(part: Reasoning, context: EncodeContext) -> Object:
    return {"type": "reasoning", "text": part.text}


# --- media ----------------------------------------------------------------------------------------


def media_type(value: JSON) -> str | None:
    """The media type if it is complete; `image` and `image/*` give only the kind."""
    return value if isinstance(value, str) and "/" in value and not value.endswith("/*") else None


def read_media_header(block: Object, path: JsonPath, spec: Block) -> Media:
    """A medium without its content: kind, media type and file name."""
    mime = block.get("mediaType")
    return Media(
        "image" if spec.name.startswith("image") else kind_by(text_or_none(mime)),
        media_type(mime),
        name=text_or_none(block.get("filename")),
        source=Source(block, path, spec),
    )


def with_url(media: Media, url: str) -> Media:
    """The medium with a URL, or with the data of a `data:` URL."""
    content = split_data_url(url)
    if content is None:
        return replace(media, url=url)
    return replace(media, data=content[1], mime=media.mime or content[0])


def write_file(media: Media, context: EncodeContext) -> Object:
    """A file part of a UI message; a medium with neither data nor URL is described in text."""
    url, mime = data_url(media), mime_of(media)
    if media.text is not None:
        context.report_loss(media, "a text document is sent as a file")
        mime = mime or "text/plain"
        content = b64encode(media.text.encode("utf-8", "surrogatepass")).decode()
        url = f"data:{mime};base64,{content}"
    if url is None:  # a file id, which lowering does not see in an edited message of this wire
        context.report_loss(
            media, f"{media.kind} without data or URL; replaced by a text description"
        )
        return {"type": "text", "text": describe(media)}
    if mime is None and media.kind == "file":
        context.report_loss(media, "a file needs a media type; sent as application/octet-stream")
    mime = mime or _WILDCARDS.get(media.kind, "application/octet-stream")
    block: Object = {"type": "file", "mediaType": mime, "url": url}
    return block if media.name is None else {**block, "filename": media.name}


# --- calls ----------------------------------------------------------------------------------------


def restore_arguments(call: Call, context: EncodeContext) -> LazyJson:
    """The arguments of a call, restored if an earlier encoding put them under `_raw`."""
    if context.restores_forms and call.args.text:
        return LazyJson(context.arguments_text(call))
    return call.args


def write_input(call: Call, arguments: LazyJson, context: EncodeContext) -> JSON:
    """The `input` of a call: any JSON value; free text and broken JSON are put in an object."""
    value = None if call.family == "custom" else arguments.value
    return context.arguments_object(call) if value is None else value


# --- parts that a message cannot hold -------------------------------------------------------------


def report_misplaced(part: Part, place: str, context: EncodeContext) -> None:
    """Report a part that an edit put where this wire cannot hold it.

    Parts of other wires are not affected, because lowering has adapted them.
    """
    context.report_loss(part, f"{place} cannot contain this: {describe(part)[:80]}")
