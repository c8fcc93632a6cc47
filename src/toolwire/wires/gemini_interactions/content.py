"""Content blocks of Gemini interactions: texts and media inside steps, inputs and results."""

from __future__ import annotations

from collections.abc import Callable

from toolwire.conversation.json import JSON, JsonPath, Object, text_of
from toolwire.conversation.parts import Media, Output, Part, Source, Text
from toolwire.wires.engine.capabilities import DATA_OR_URL, Capabilities, MediaSupport
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.media import Kind, mime_of, standard
from toolwire.wires.engine.part_lowering import lower_part
from toolwire.wires.engine.specs import (
    Block,
    blocks,
    keys,
    opaque,
    read_block,
    require_string,
    text_or_none,
    text_reader,
)
from toolwire.wires.engine.web_search import WebSearchForm

NAME = "gemini-interactions"
MAKER = "google-interactions"
"""The maker that signs thoughts: no other API is known to accept these signatures."""
_MEDIA = MediaSupport(image=DATA_OR_URL, audio=DATA_OR_URL, video=DATA_OR_URL, file=DATA_OR_URL)
WEB_SEARCH = WebSearchForm(kind="google_search", excludes_functions=True)
CAPABILITIES = Capabilities(
    refusals=False,
    media={"user": _MEDIA, "assistant": _MEDIA, "result": _MEDIA},
    media_names=frozenset(),
    reasoning_in_history=False,
    reasoning_signed_by=MAKER,
    system_anywhere=False,
    candidates=False,
    strict_tools=False,
    format_fields=frozenset(),
    usage_fields=frozenset({"cached", "reasoning"}),
    web_search=WEB_SEARCH,
)
TYPE_FROM_KIND: dict[Kind, str] = {
    "image": "image",
    "audio": "audio",
    "video": "video",
    "file": "document",
}


def _read_media(kind: Kind) -> Callable[[Object, JsonPath, Block], Part]:
    def read(block: Object, path: JsonPath, spec: Block) -> Part:
        data = text_or_none(block.get("data"))
        return Media(
            kind,
            text_or_none(block.get("mime_type")),
            data=None if data is None else standard(data),
            url=require_string(block["uri"]) if data is None else None,
            source=Source(block, path, spec),
        )

    return read


def _write_media(media: Media, context: EncodeContext) -> JSON:
    block: Object = {"type": TYPE_FROM_KIND[media.kind]}
    if media.data is not None:
        block["data"] = media.data
    else:
        block["uri"] = media.url
    mime = mime_of(media)
    return {**block, "mime_type": mime} if mime else block


TEXT = Block(
    "text",
    part=Text,
    read=text_reader("text"),
    write=lambda part, context: {"type": "text", "text": part.text},
    keys=keys("type", "text"),
    required={"annotations": []},
    deltas={"text": ("text", "text"), "text_annotation_delta": ("annotations", "annotations")},
)
_MEDIA_KEYS = keys("type", "data", "uri", "mime_type")
CONTENT = blocks(
    TEXT,
    *(
        Block(name, part=Media, read=_read_media(kind), write=_write_media, keys=_MEDIA_KEYS)
        for kind, name in TYPE_FROM_KIND.items()
    ),
)
PLAIN_TEXT = Block("text", part=Text, write=lambda part, context: part.text)
"""Content that is a plain string."""


def is_content(value: JSON) -> bool:
    """True for a content block of a known type."""
    return (
        isinstance(value, dict) and isinstance(kind := value.get("type"), str) and kind in CONTENT
    )


def read_content(content: list[JSON], path: JsonPath) -> tuple[Part, ...]:
    """The parts of a list of blocks; an unknown block becomes Opaque."""
    return tuple([read_content_block(block, (*path, i)) for i, block in enumerate(content)])


def read_content_block(block: JSON, path: JsonPath) -> Part:
    """The part of one block."""
    if not isinstance(block, dict):
        return opaque(None, block, path)
    return read_block(NAME, CONTENT, block, path)


def write_content_block(part: Text | Media, context: EncodeContext) -> JSON:
    """The block of a text or a medium."""
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    return _write_media(part, context)


# --- results --------------------------------------------------------------------------------------


def read_output(value: JSON, path: JsonPath) -> Output:
    """The output of a result: text, parts, or any other JSON."""
    if isinstance(value, list) and all(map(is_content, value)):
        return read_content(value, path)
    return "" if value is None else value


def write_output(output: Output, context: EncodeContext) -> JSON:
    """The output of a result: text, an object, or blocks; any other JSON becomes text."""
    if not isinstance(output, tuple):
        return output if isinstance(output, str | dict) else text_of(output)
    out: list[JSON] = []
    for part in output:
        if _is_unedited(part):
            out.append(part.raw)  # type: ignore[arg-type]
            continue
        lowered = lower_part(part, CAPABILITIES, "result", kind="request", losses=context.losses)
        out += [
            write_content_block(item, context) for item in lowered if isinstance(item, Text | Media)
        ]
    return out


_SPECS = frozenset(CONTENT.values())


def _is_unedited(part: Part) -> bool:
    """True for a part of a result of this wire that still has the content of its block. A block
    inside a result is edited with the result and does not record the edit itself."""
    if part.spec not in _SPECS or part.original is not None:
        return False
    return isinstance(part.raw, dict) and read_content_block(part.raw, part.path) == part
