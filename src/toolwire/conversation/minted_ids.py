"""Decide whether minted ids have to be sent to a wire on which ids are optional."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from toolwire.conversation.ids import is_minted
from toolwire.conversation.pairing import pairs
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Call, Message, Part, Result


def needs_minted_ids(
    messages: tuple[Message, ...],
    *,
    ordered: bool,
    order_is_kept: bool = True,
    hidden_prefix: str = "",
) -> bool:
    """Return True if pairing by name and order alone would pair calls and results differently.

    Then minted ids have to be sent even to a wire on which ids are optional. Consecutive results
    are sorted into the order of their calls, as an ordered wire writes them.

    Args:
        messages: The messages that are written.
        ordered: True if order pairs the results of these messages.
        order_is_kept: True if order pairs results on the target, too. If not, two calls of one tool
            need ids before their results exist.
        hidden_prefix: The prefix of ids that are left out like minted ones.
    """
    if not order_is_kept and _calls_a_tool_twice(messages, hidden_prefix):
        return True
    stripped = _StrippedHistory(messages, hidden_prefix)
    call_of = PartMap(
        (stripped.original_of[pair.result], pair.call)
        for pair in pairs(stripped.messages, ordered=order_is_kept)
        if pair.call and pair.result
    )
    identified = _IdentifiedHistory(messages)
    every = pairs(identified.messages, ordered=ordered)
    pairs_with_ids = [
        (pair.call, identified.original_of[pair.result])
        for pair in every
        if pair.call and pair.result
    ]
    if len(call_of) != len(pairs_with_ids) or any(
        call_of.get(result) is not call for call, result in pairs_with_ids
    ):
        return True
    # An unpaired result could belong to any open call if one of the two has no id.
    open_calls = [pair.call.id for pair in every if pair.call and not pair.result]
    orphans = [
        pair.result.call_id
        for pair in every
        if pair.result and not pair.call and identified.original_of[pair.result].origin == "wire"
    ]
    return bool(open_calls and orphans) and any(
        _is_left_out(call_id, hidden_prefix) for call_id in (*open_calls, *orphans)
    )


def _is_left_out(call_id: str, hidden_prefix: str) -> bool:
    return is_minted(call_id) or (bool(hidden_prefix) and call_id.startswith(hidden_prefix))


def _calls_a_tool_twice(messages: Iterable[Message], hidden_prefix: str) -> bool:
    """Return True if a turn has two calls of one tool, one of them with an id that is left out."""
    minted_by_name: dict[str, bool] = {}
    previous_role = ""
    for message in messages:
        if message.role != "assistant" or previous_role != "assistant":
            minted_by_name = {}
        previous_role = message.role
        for part in message.parts:
            if isinstance(part, Call):
                known = minted_by_name.get(part.name)
                minted = _is_left_out(part.id, hidden_prefix)
                if known is not None and (known or minted):
                    return True
                minted_by_name[part.name] = minted
    return False


class _IdentifiedHistory:
    """A history in which every id that a result got from its call counts as sent by the wire.

    A message between two turns may have been removed, and with it the reason for the pairing.
    """

    def __init__(self, messages: Iterable[Message]) -> None:
        self.original_of: PartMap[Result, Result] = PartMap()
        """The original of each result whose id counts as sent by the wire."""
        self.messages = [
            replace(message, parts=tuple(map(self._identify, message.parts)))
            for message in messages
        ]

    def _identify(self, part: Part) -> Part:
        if not isinstance(part, Result):
            return part
        identified = replace(part, origin="wire")
        self.original_of[identified] = part
        return identified


class _StrippedHistory:
    """A history without its minted ids, as a reader of the target wire would see it."""

    def __init__(self, messages: Iterable[Message], hidden_prefix: str) -> None:
        self._hidden_prefix = hidden_prefix
        self.messages: list[Message] = []
        self.original_of: PartMap[Result, Result] = PartMap()
        """The original of each result without its id."""
        self._run: list[Result] = []
        """Consecutive results that are not in `messages` yet."""
        self._names: dict[str, str] = {}
        self._call_order: dict[str, int] = {}
        previous_role = ""
        for message in messages:
            if message.role == "assistant":
                self._flush_run()
                if previous_role != "assistant":
                    self._call_order = {}
            previous_role = message.role
            self._add(message)
        self._flush_run()

    def _add(self, message: Message) -> None:
        parts: list[Part] = []
        for part in message.parts:
            if isinstance(part, Call):
                self._names[part.id] = part.name
                self._call_order[part.id] = len(self._call_order)
            if isinstance(part, Result):
                result = self._strip(part)
                (parts if message.role == "assistant" else self._run).append(result)
            else:
                parts.append(part)
        if parts or message.role == "assistant":
            self._flush_run()
            self.messages.append(replace(message, parts=tuple(parts)))

    def _strip(self, result: Result) -> Result:
        stripped = result
        if _is_left_out(result.call_id, self._hidden_prefix):
            name = result.name or self._names.get(result.call_id)
            stripped = replace(result, origin="minted", name=name)
        self.original_of[stripped] = result
        return stripped

    def _flush_run(self) -> None:
        if self._run:
            order, last = self._call_order, len(self._call_order)
            self._run.sort(key=lambda result: order.get(result.call_id, last))
            self.messages.append(Message("tool", tuple(self._run)))
            self._run = []
