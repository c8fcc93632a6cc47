"""Join the content of chat chunks. This module knows no wire."""

from __future__ import annotations

from toolwire.conversation.json import JSON, Object
from toolwire.wires.engine.stream import merge

_GROWING_BLOCKS = ("text", "thinking")
_EMPTY_TEXT: Object = {"type": "text", "text": ""}


def join_content(pieces: list[JSON]) -> JSON:
    """Content that was sent in pieces: one text, or blocks with neighbours of one type joined."""
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(map(str, pieces))
    out: list[JSON] = []
    for piece in pieces:
        block: JSON = {"type": "text", "text": piece} if isinstance(piece, str) else piece
        if block == _EMPTY_TEXT:
            continue
        last = out[-1] if out else None
        field = _growing_field(block)
        if field and field == _growing_field(last):
            assert isinstance(last, dict)
            assert isinstance(block, dict)
            last[field] = _join_values(last[field], block[field])
        else:
            out.append(block)
    return out


def _growing_field(block: JSON) -> str:
    """The field in which a block grows; empty if it has other fields or is of another type."""
    kind = block.get("type") if isinstance(block, dict) else None
    if kind in _GROWING_BLOCKS and isinstance(block, dict) and len(block) == 2 and kind in block:
        return str(kind)
    return ""


def _join_values(old: JSON, new: JSON) -> JSON:
    if isinstance(old, list) and isinstance(new, list):
        content = join_content([*old, *new])
        return content if isinstance(content, list) else [{"type": "text", "text": content}]
    return merge(old, new)
