"""Texts, thoughts and media of contents, and the block specs that all part types share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from toolwire.conversation.json import JSON, JsonPath, Object, snake
from toolwire.conversation.parts import (
    Call,
    Media,
    Opaque,
    Part,
    Reasoning,
    Result,
    Source,
    Text,
    describe,
)
from toolwire.wires.engine.capabilities import DATA_OR_URL, MediaSupport
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import kind_by, mime_of, standard
from toolwire.wires.engine.specs import Block, Id, require_object, require_string, text_or_none
from toolwire.wires.families.contents.spelling import get_field, spellings

MEDIA = MediaSupport(image=DATA_OR_URL, audio=DATA_OR_URL, video=DATA_OR_URL, file=DATA_OR_URL)
RESULT_MEDIA = MediaSupport(
    image=DATA_OR_URL, audio=DATA_OR_URL, video=DATA_OR_URL, file=DATA_OR_URL | {"text"}
)
"""Media of results; a text document becomes part of the result's text."""


def signature_of(block: Object) -> str | None:
    """The signature of a part."""
    return text_or_none(block.get("thoughtSignature") or block.get("thought_signature"))


def _read_text(block: Object, path: JsonPath, spec: Block) -> Part:
    make = Reasoning if spec.name == "thought" else Text
    return make(
        require_string(block["text"] if make is Text else block.get("text", "")),
        signature=signature_of(block),
        source=Source(block, path, spec),
    )


def text_block(part: Part, text: str) -> JSON:
    """The block of a text or of reasoning, with that text."""
    return {"text": text, "thought": True} if isinstance(part, Reasoning) else {"text": text}


def write_text(part: Text, context: EncodeContext) -> JSON:
    """Write a text of another wire."""
    if part.refusal:
        # Answers of texts and calls are written without lowering, and so are edited messages.
        context.report_loss(part, "a refusal is sent as plain text")
    return {"text": part.text} if part.text else None


def write_thought(part: Reasoning, context: EncodeContext) -> JSON:
    """Write reasoning."""
    return {"text": part.text, "thought": True}


def _read_media(block: Object, path: JsonPath, spec: Block) -> Part:
    media = require_object(get_field(block, spec.name))
    mime = text_or_none(get_field(media, "mimeType"))
    inline = spec.name == "inlineData"
    return Media(
        kind_by(mime),
        mime,
        data=standard(require_string(media["data"])) if inline else None,
        url=None if inline else require_string(get_field(media, "fileUri")),
        name=text_or_none(get_field(media, "displayName")),
        signature=signature_of(block),
        source=Source(block, path, spec),
    )


def write_media(media: Media, context: EncodeContext) -> JSON:
    """Write a medium as data or by its URL."""
    mime = mime_of(media)
    if media.name is not None:
        # Lowering would remove the name before the MIME type is guessed from it.
        context.report_loss(media, f"the name of this {media.kind} is not kept here")
    if media.data is None and media.url is None:
        # Only an edited message of this wire gets here: lowering leaves those alone.
        context.report_loss(media, "a medium without data or URL is named in text")
        return {"text": describe(media)}
    if mime is None and media.kind != "file":
        context.report_loss(media, f"without a MIME type nothing marks this as {media.kind}")
    if media.data is not None:
        return {"inlineData": {"mimeType": mime or "application/octet-stream", "data": media.data}}
    return {"fileData": {"fileUri": media.url, **({"mimeType": mime} if mime else {})}}


def drop_opaque(part: Opaque, context: EncodeContext) -> JSON:
    """Drop an unknown part that an edit put into a message of this wire."""
    context.report_loss(part, f"no such part on this wire: {describe(part)}")
    return None


_DIRECTIONS: dict[type[Part], Literal["", "call", "output"]] = {Call: "call", Result: "output"}


def part_spec(
    name: str,
    *,
    part: type[Part],
    read: Callable[[Object, JsonPath, Block], Part],
    write: Callable[..., JSON],
    field: str = "",
    fields: tuple[str, ...] = (),
    family: str = "",
    executor: Literal["", "client", "provider"] = "",
) -> Block:
    """The spec of a part type.

    Args:
        name: The part type, and the field that makes it known.
        field: The field that holds it, if that is not `name`.
        fields: The fields inside.
        family: The family of tools, for calls and results.
        executor: Who runs these tools.
    """
    known = spellings(*fields)
    return Block(
        name,
        part=part,
        read=read,
        write=write,
        keys=spellings(field or name, "thoughtSignature", "thought"),
        inner=((name, known), (snake(name), known)) if fields else (),
        discriminator={"part_field": name} if family else {},
        direction=_DIRECTIONS.get(part, ""),
        family=family,
        executor=executor,
        ids=(Id("id", required=False, nullable=True),) if family else (),
    )


TEXT_AND_MEDIA = (
    part_spec(
        "text", part=Text, read=_read_text, write=lambda text, _: text_block(text, text.text)
    ),
    part_spec("thought", part=Reasoning, read=_read_text, write=write_thought, field="text"),
    part_spec(
        "inlineData", part=Media, read=_read_media, write=write_media, fields=("mimeType", "data")
    ),
    part_spec(
        "fileData", part=Media, read=_read_media, write=write_media, fields=("mimeType", "fileUri")
    ),
)
