"""The body that an encoding makes, and the stage that writes it."""

from __future__ import annotations

from toolwire.conversation.id_map import IdMap
from toolwire.conversation.json import JSON, dump
from toolwire.conversation.model import Change, Conversation, Finding, Loss
from toolwire.conversation.pairing import pairs_by_order
from toolwire.conversation.part_map import PartSet
from toolwire.conversation.parts import Pair
from toolwire.errors import UsageError
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import Wire


class Encoded:
    """A body of a wire, with its losses, the changes of repair, and the map that restores ids."""

    __slots__ = ("_bytes", "body", "changes", "conversation", "findings", "ids", "losses")

    def __init__(
        self,
        body: JSON,
        losses: list[Loss],
        ids: IdMap,
        raw: bytes | None = None,
        *,
        changes: list[Change] | None = None,
        findings: list[Finding] | None = None,
    ) -> None:
        self.body = body
        """The body as dicts and lists. It may share parts with the source body: copy it before you
        change it."""
        self._bytes = raw
        self.losses = losses
        """Content that the target cannot express, with pointers into the source body."""
        self.ids = ids
        """The map that restores ids and names on the way back: pass it as `ids=`."""
        self.changes: list[Change] = changes if changes is not None else []
        """The repairs that the target required, with pointers into the source body."""
        self.findings: list[Finding] = findings if findings is not None else []
        """Violations that the target would refuse and that have no safe fix."""
        self.conversation: Conversation | None = None
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
        if self._bytes is None:
            self._bytes = dump(self.body)
        return self._bytes

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
