"""Writing a conversation back to the wire it was read from: only what was edited changes."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from toolwire.conversation.id_map import NO_MAP
from toolwire.conversation.json import JSON
from toolwire.conversation.model import Conversation, Kind, Loss
from toolwire.conversation.parts import Pair
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import Wire, patch_parts


def patch_source(conversation: Conversation, target: Wire) -> JSON | UnsetType:
    """The source body with the edits of single parts; UNSET if more than parts were edited."""
    source = conversation.source
    if (
        source.messages is None
        or source.tools is not conversation.tools
        or source.settings is not conversation.settings
    ):
        return UNSET
    context = EncodeContext(target.name, conversation.kind, ids=None, names={}, reverse_map=NO_MAP)
    if [len(message.parts) for message in source.messages] != [
        len(message.parts) for message in conversation.messages
    ]:
        return UNSET  # messages were merged or split
    original_parts = [part for message in source.messages for part in message.parts]
    patched = patch_parts(conversation.parts(), original_parts, source.body, (), context)
    return UNSET if context.losses else patched  # the full route reports them


def pair_losses(conversation: Conversation, body: JSON, target: Wire, kind: Kind) -> list[Loss]:
    """The results whose call was edited with them and is not their call in the written body.

    A wire without ids pairs by name or order, and an edit may leave it no tie. Only the body shows
    that, so it is read once if such an edit was made.
    """
    edits = _pairs_with_edits(conversation)
    if not edits:
        return []
    held = {_pair_content(pair) for pair in target.read(body, kind).pairs()} - {None}
    reason = "it was paired with its call by what was edited, and this wire has no other tie"
    return [
        Loss(pair.result.path, reason)
        for pair in edits
        if pair.result is not None and _pair_content(pair) not in held
    ]


def _pairs_with_edits(conversation: Conversation) -> list[Pair]:
    """The pairs of which both halves were edited."""
    messages = conversation.source.messages
    if messages is None or messages is conversation.messages:
        return []
    if not any(call.original is not None for call in conversation.calls()):
        return []
    return [
        pair
        for pair in conversation.pairs()
        if pair.call is not None
        and pair.result is not None
        and pair.call.original is not None
        and pair.result.original is not None
    ]


def _pair_content(pair: Pair) -> tuple[str, str, str] | None:
    if pair.call is None or pair.result is None:
        return None
    return (pair.call.name, pair.call.arguments, pair.result.text)
