"""Write bodies and messages of the target's own wire: only the edits of their parts are applied.

Knows no wire.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import UNSET, UnsetType

from toolwire.conversation.json import JSON, JsonPath, get, patch, put
from toolwire.conversation.parts import Message, Part
from toolwire.errors import DecodeError
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import Block


def patch_block(part: Part, context: EncodeContext, block: JSON) -> JSON | UnsetType:
    """Return a block of the target's own wire with only the edit of its part applied.

    Returns UNSET if the edit changed the type of the block.
    """
    spec, original = part.spec, part.original
    if original is None:
        return block
    if (
        not isinstance(spec, Block)
        or spec.write is None
        or spec.part is not type(part)
        or type(original) is not type(part)
    ):
        return UNSET
    context.patching = True
    first = len(context.losses)
    try:
        new = spec.write(part, context)
        reported = context.losses[first:]
        old = spec.write(original, context)
        # What the original cannot express either is no loss: it stays in the block.
        unchanged = context.losses[first + len(reported) :]
        context.losses[first:] = [loss for loss in reported if loss not in unchanged]
        if not isinstance(block, dict):
            return new
        return patch(block, old, new, snake_case=spec.reads_snake_case)
    finally:
        context.patching = False


def patch_parts(
    parts: Iterable[Part],
    original_parts: Iterable[Part],
    raw: JSON,
    path: JsonPath,
    context: EncodeContext,
) -> JSON | UnsetType:
    """Return a body or message with the edits of its parts applied in place.

    Returns UNSET if parts were added, removed or moved, or if one changed its type.
    """
    parts = list(parts)
    if [part.path for part in original_parts] != [part.path for part in parts]:
        return UNSET
    for part in parts:
        if part.original is not None:
            inner_path = part.path[len(path) :]
            block = get(raw, inner_path)
            new = UNSET if isinstance(block, UnsetType) else patch_block(part, context, block)
            if isinstance(new, UnsetType):
                return UNSET
            raw = put(raw, inner_path, new)
    return raw


def patch_message(
    message: Message, context: EncodeContext, read: Callable[[JSON, JsonPath], Message]
) -> JSON | UnsetType:
    """Return a message of the target's own wire verbatim, with only the edits of its parts applied.

    Returns UNSET if the message has to be written from its parts.
    """
    if message.wire != context.wire or isinstance(message.raw, UnsetType):
        return UNSET
    if message in context.unedited:
        return message.raw
    try:
        original = read(message.raw, message.path)
    except DecodeError:  # the message is from a body of another kind, with another format
        return UNSET
    if original.role != message.role:
        return UNSET
    return patch_parts(message.parts, original.parts, message.raw, message.path, context)
