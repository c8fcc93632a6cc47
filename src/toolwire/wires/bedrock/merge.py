"""How the pieces of a ConverseStream become blocks: texts are joined, arguments parsed, bytes put
together.

Knows neither events nor parts: a row says which field of the block a piece belongs to.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping

from msgspec import UnsetType

from toolwire.conversation.json import JSON, Object, get, put
from toolwire.conversation.lazy_json import LazyJson
from toolwire.wires.engine.specs import Block

_PICTURE = {"image.source": ("source", "image.source"), "image.error": ("error", "image.error")}
"""How a picture grows: its row is that of the requests, where none does."""


def grows(spec: Block) -> Mapping[str, tuple[str, str]]:
    """The deltas by which a block of this row grows."""
    return _PICTURE if spec.name == "image" else spec.deltas


def assembled(block: Object, spec: Block | None, pieces: Mapping[str, list[JSON]]) -> Object:
    """A block with its deltas, each where the row says that it belongs."""
    out: JSON = block
    for key, given in pieces.items():
        if spec is not None and key in grows(spec):
            field = grows(spec)[key][1]
            path = tuple(field.split("."))
            held = get(block, path)
            out = put(
                out,
                path,
                _JOINS.get(field, _joined)(None if isinstance(held, UnsetType) else held, given),
            )
    return out  # type: ignore[return-value]


def _joined(before: JSON, pieces: list[JSON]) -> JSON:
    return (before if isinstance(before, str) else "") + "".join(
        [piece for piece in pieces if isinstance(piece, str)]
    )


def _parsed(before: JSON, pieces: list[JSON]) -> JSON:
    """Arguments: what is no object stands under `_raw`, as it does in a body."""
    text = "".join([piece for piece in pieces if isinstance(piece, str)])
    if not text and before is not None:
        return before
    held = LazyJson(text)
    if held.value is None and not held.broken:
        return {}
    return held.value if isinstance(held.value, dict) else {"_raw": text}


def _bytes(before: JSON, pieces: list[JSON]) -> JSON:
    """One base64 text of several; what is none is joined as it is."""
    texts = [piece for piece in (before, *pieces) if isinstance(piece, str)]
    if len(texts) == 1:
        return texts[0]
    try:
        return b64encode(b"".join([b64decode(text, validate=True) for text in texts])).decode()
    except ValueError:
        return "".join(texts)


def _source(before: JSON, pieces: list[JSON]) -> JSON:
    """A picture's source: its bytes are joined, a location is the last one."""
    held = [piece for piece in (before, *pieces) if isinstance(piece, dict)]
    out: Object = {}
    for piece in held:
        out.update({key: value for key, value in piece.items() if value is not None})
    data = [piece["bytes"] for piece in held if isinstance(piece.get("bytes"), str)]
    return {**out, "bytes": _bytes(None, data)} if data else out


def _contents(before: JSON, pieces: list[JSON]) -> JSON:
    """The content of a result: lists one after the other, a text that goes on being one."""
    out: list[JSON] = list(before) if isinstance(before, list) else []
    for piece in pieces:
        given = piece if isinstance(piece, list) else [] if piece is None else [piece]
        items: list[JSON] = [item if isinstance(item, dict) else {"json": item} for item in given]
        last, first = out[-1] if out else None, items[0] if items else None
        if (
            isinstance(last, dict)
            and isinstance(first, dict)
            and last.keys() == first.keys() == {"text"}
        ):
            out[-1] = {"text": _joined(last["text"], [first["text"]])}
            items = items[1:]
        out += items
    return out


def _listed(before: JSON, pieces: list[JSON]) -> JSON:
    return [*(before if isinstance(before, list) else []), *pieces]


def _last(before: JSON, pieces: list[JSON]) -> JSON:
    return pieces[-1] if pieces else before


_JOINS: dict[str, Callable[[JSON, list[JSON]], JSON]] = {
    "toolUse.input": _parsed,
    "reasoningContent.redactedContent": _bytes,
    "citationsContent.content": lambda before, pieces: [{"text": _joined(None, pieces)}],
    "citationsContent.citations": _listed,
    "toolResult.content": _contents,
    "image.source": _source,
    "image.error": _last,
}
"""How the pieces of a field become its value; without a row here they are texts to be joined."""
