"""How the deltas of a ConverseStream become the fields of its blocks."""

from __future__ import annotations

from base64 import b64decode, b64encode

from toolwire.conversation.json import JSON, Object
from toolwire.wires.families.blocks.deltas import Join, join_arguments, join_list, join_text


def _join_bytes(opening: JSON, pieces: list[JSON]) -> JSON:
    """One base64 text of several; pieces that are not base64 are concatenated."""
    texts = [piece for piece in (opening, *pieces) if isinstance(piece, str)]
    if len(texts) == 1:
        return texts[0]
    try:
        return b64encode(b"".join([b64decode(text, validate=True) for text in texts])).decode()
    except ValueError:
        return "".join(texts)


def _join_image_source(opening: JSON, pieces: list[JSON]) -> JSON:
    """The source of an image: its bytes are joined; of a location, the last one counts."""
    sources = [piece for piece in (opening, *pieces) if isinstance(piece, dict)]
    out: Object = {}
    for source in sources:
        out.update({key: value for key, value in source.items() if value is not None})
    data = [source["bytes"] for source in sources if isinstance(source.get("bytes"), str)]
    return {**out, "bytes": _join_bytes(None, data)} if data else out


def _join_result_content(opening: JSON, pieces: list[JSON]) -> JSON:
    """The content of a result: lists are joined, and a text continues the text before it."""
    out: list[JSON] = list(opening) if isinstance(opening, list) else []
    for piece in pieces:
        values = piece if isinstance(piece, list) else [piece]
        items: list[JSON] = [item if isinstance(item, dict) else {"json": item} for item in values]
        last, first = out[-1] if out else None, items[0] if items else None
        if (
            isinstance(last, dict)
            and isinstance(first, dict)
            and last.keys() == first.keys() == {"text"}
        ):
            out[-1] = {"text": join_text(last["text"], [first["text"]])}
            items = items[1:]
        out += items
    return out


def _join_cited_text(opening: JSON, pieces: list[JSON]) -> JSON:
    return [{"text": join_text(None, pieces)}]


def _last(opening: JSON, pieces: list[JSON]) -> JSON:
    return pieces[-1] if pieces else opening


JOINS: dict[str, Join] = {
    "toolUse.input": join_arguments,
    "reasoningContent.redactedContent": _join_bytes,
    "citationsContent.content": _join_cited_text,
    "citationsContent.citations": join_list,
    "toolResult.content": _join_result_content,
    "image.source": _join_image_source,
    "image.error": _last,
}
"""How the pieces of a field become its value; the pieces of other fields are text."""
