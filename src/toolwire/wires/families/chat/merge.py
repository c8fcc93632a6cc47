"""The chat shape in chunks: what the pieces of a message add up to. Knows no wire."""

from __future__ import annotations

from toolwire.conversation.json import JSON, Object
from toolwire.wires.engine.stream import merge
from toolwire.wires.families.chat.tool_call_deltas import Growing

TEXTS = {"function": "arguments", "custom": "input"}
"""Kinds of calls, and the field their text grows in."""


def call(held: Growing, index: int | None) -> Object:
    """A call as a whole message has it."""
    more = held.more.get(held.family)
    inner: Object = {
        "name": held.name,
        TEXTS[held.family]: "".join(held.texts),
        **(more if isinstance(more, dict) else {}),
    }
    out: Object = {"id": held.id} if held.id else {}
    return {
        **out,
        "type": held.family,
        **held.more,
        held.family: inner,
        **({} if index is None else {"index": index}),
    }


def joined(pieces: list[JSON]) -> JSON:
    """Content that came in pieces: a text, or blocks in which neighbours of one kind are joined."""
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(map(str, pieces))
    out: list[JSON] = []
    for piece in pieces:
        block: JSON = {"type": "text", "text": piece} if isinstance(piece, str) else piece
        last = out[-1] if out else None
        if block == {"type": "text", "text": ""}:
            continue
        if (
            isinstance(block, dict)
            and isinstance(last, dict)
            and block.keys() == last.keys()
            and _grows(last) == _grows(block) != ""
        ):
            last[_grows(last)] = _joined(last[_grows(last)], block[_grows(last)])
        else:
            out.append(block)
    return out


def _grows(block: Object) -> str:
    kind = block.get("type")
    return (
        kind
        if isinstance(kind, str)
        and kind in ("text", "thinking")
        and len(block) == 2
        and kind in block
        else ""
    )


def _joined(old: JSON, new: JSON) -> JSON:
    if isinstance(old, list) and isinstance(new, list):
        return _blocks_of(joined([*old, *new]))
    return merge(old, new)


def _blocks_of(content: JSON) -> JSON:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]
