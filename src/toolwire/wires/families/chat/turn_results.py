"""Write the results of a turn in the order of their calls, for wires that pair by order.

This module knows no wire by name.
"""

from __future__ import annotations

from toolwire.conversation.ids import mint
from toolwire.conversation.parts import Call, Message, Result
from toolwire.wires.engine.encode_context import EncodeContext

_UNKNOWN_CALL = "the call of this result is not known; its position and name pair it here"


class TurnResults:
    """The results of a turn that are not written yet, and the order of its calls."""

    __slots__ = ("_context", "_in_assistant", "_order", "_orphans", "_pending")

    def __init__(self, context: EncodeContext) -> None:
        self._context = context
        self._pending: list[Result] = []
        self._order: dict[str, int] = {}
        """The position of each call id among the calls of the turn."""
        self._in_assistant = False
        """True if the last message was the assistant's: another one continues its turn."""
        self._orphans: list[Result] = []
        """Results without a call."""

    def add(self, results: list[Result]) -> None:
        """Add results to write."""
        self._pending += results

    def take(self) -> list[Result]:
        """Return the results to write now, in the order of their calls."""
        context, order = self._context, self._order
        results = sorted(self._pending, key=lambda result: order.get(result.call_id, len(order)))
        self._pending = []
        for result in results:
            if result.call_id not in context.called_names:
                self._orphans.append(result)
                if context.hides_id(result.call_id):
                    context.report_loss(result, _UNKNOWN_CALL)
        return results

    def follow(self, message: Message) -> None:
        """Record the calls of the next message. Consecutive assistant messages are one turn."""
        continues, self._in_assistant = self._in_assistant, message.role == "assistant"
        if self._in_assistant:
            self._order = self._order if continues else {}
            for part in message.parts:
                if isinstance(part, Call):
                    self._order.setdefault(part.id, len(self._order))

    def keep(self, message: Message, ordinal: int) -> None:
        """Record a message that is written verbatim; `ordinal` is the number of calls before it."""
        context = self._context
        context.ordinal = ordinal
        for part in message.parts:
            if isinstance(part, Call):
                context.wire_id(part)  # maps the id that a reader will mint
            elif isinstance(part, Result) and part.call_id not in context.called_names:
                self._orphans.append(part)

    def map_orphans(self) -> None:
        """Map the ids that a reader will mint for results without a call to their ids."""
        context = self._context
        for i, result in enumerate(self._orphans):
            if context.hides_id(context.result_id(result)):
                name = context.name(result.name or "")
                minted = mint(f"{context.seed} result", context.ordinal + i, name)
                context.sent_ids[minted] = result.call_id
