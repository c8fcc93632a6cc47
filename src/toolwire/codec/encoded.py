"""The body that an encoding makes, and the stage that writes it."""

from __future__ import annotations

from msgspec import Struct

from toolwire.conversation.id_map import IdMap
from toolwire.conversation.json import JSON, dump
from toolwire.conversation.model import Change, Conversation, Finding, Loss
from toolwire.conversation.pairing import pairs_by_order
from toolwire.conversation.part_map import PartSet
from toolwire.conversation.parts import Pair
from toolwire.errors import UsageError
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import Wire


class Encoded(Struct, eq=False, gc=False):
    """A body of a wire, with its losses, the changes of repair, and the map that restores ids."""

    body: JSON
    """The body as dicts and lists. It may share parts with the source body: copy it before you
    change it."""
    losses: list[Loss]
    """Content that the target cannot express, with pointers into the source body."""
    ids: IdMap
    """The map that restores ids and names on the way back: pass it as `ids=`."""
    raw: bytes | None = None
    """The body as JSON, if it was decoded from bytes or was written before."""
    changes: list[Change] = []
    """The repairs that the target required, with pointers into the source body."""
    findings: list[Finding] = []
    """Violations that the target would refuse and that have no safe fix."""
    conversation: Conversation | None = None
    """The conversation that was encoded, before any repair."""

    @property
    def paired_by_order(self) -> list[Pair]:
        """The pairs that are based on order alone, because no id or name identifies the call.

        Pointers lead into the source body.
        """
        if self.conversation is None:
            return []
        return pairs_by_order(self.conversation.messages, ordered=self.conversation.ordered)

    def json(self) -> bytes:
        """The body as JSON. If nothing changed, these are the bytes that were decoded."""
        if self.raw is None:
            self.raw = dump(self.body)
        return self.raw

    def __repr__(self) -> str:
        return f"Encoded({len(self.json())} bytes, {len(self.losses)} losses)"


def write(conversation: Conversation, target: Wire, context: EncodeContext) -> Encoded:
    """Write the body of a conversation that was lowered and fitted to the target.

    Raises:
        UsageError: A value is nested too deeply.
    """
    if conversation.wire == target.name and conversation.kind == context.kind:
        context.native = True
        if conversation.source.messages is not None:
            context.unedited = PartSet(conversation.source.messages)
    if context.kind == "response":
        context.messages = conversation.messages
    try:
        body = target.write(conversation, context)
    except RecursionError:
        raise UsageError("nested too deeply", wire=target.name) from None
    names = {new: old for old, new in context.names.items()} if context.names else {}
    ids = IdMap(context.sent_ids, names, context.call_forms, context.result_forms, context.defaults)
    losses = list(dict.fromkeys(context.losses)) if context.losses else []
    return Encoded(body, losses, ids)
