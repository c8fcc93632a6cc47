"""Pair calls and results: walk the turns in order and keep a list of the open calls.

A result is paired by its id, which is the subject of this module; without an id, by its name or by
order (`waiting_results.py`). Ambiguous results stay unpaired: nothing here guesses. The walk is
linear in the number of parts. This module knows no wire.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from msgspec import Struct

from toolwire.conversation.open_calls import OpenCalls
from toolwire.conversation.part_map import PartMap, PartSet
from toolwire.conversation.parts import APPROVAL, Call, Message, Pair, PairedBy, Part, Result
from toolwire.conversation.waiting_results import JoinedCalls, NewPairs, WaitingResults


def pairs(messages: Iterable[Message], *, ordered: bool) -> list[Pair]:
    """Every call with its result, in the order of the calls; then the results without a call.

    Args:
        messages: The messages of a conversation, in order.
        ordered: True if the wire guarantees that results follow the order of their calls.
    """
    walk = _Walk(ordered)
    for message in messages:
        if message.role == "assistant":
            walk.start_message()
            for part in message.parts:
                if isinstance(part, Call):
                    walk.add_call(part)
                elif isinstance(part, Result):
                    walk.add_result(part)
        else:
            walk.add_other_message(message.parts)
    walk.start_turn()
    with_calls = [Pair(call, *walk.joined.get(call, (None, None))) for call in walk.calls]
    orphans = [result for result in walk.results if result not in walk.results_with_calls]
    return with_calls + [Pair(None, result, None) for result in orphans]


def pairs_by_order(messages: Sequence[Message], *, ordered: bool) -> list[Pair]:
    """Return the pairs that only the position of the result shows. Calls that a provider ran are
    left out: it answers them itself.

    Args:
        messages: The messages of a conversation, in order.
        ordered: True if the wire guarantees that results follow the order of their calls.
    """
    for message in messages:
        for part in message.parts:
            if type(part) is Result and part.origin == "minted":
                return [
                    pair
                    for pair in pairs(messages, ordered=ordered)
                    if pair.how == "order" and pair.call and pair.call.executor == "client"
                ]
    return []


class _SharedId(Struct):
    """An id that open calls in several messages of a turn share."""

    results: list[Result] = []
    """The results under the id: they are paired when the turn is complete."""
    is_late: bool = False
    """True if one of them does not directly follow the calls."""


class _IdsOfTurn(Struct):
    """What the walk knows about the ids of one turn: the messages of the assistant, and the results
    until its next one."""

    number: int
    is_interrupted: bool = False
    """True if something other than a result came after the assistant's part of the turn."""
    shared: dict[str, _SharedId] = {}
    reopened: dict[str, Call | None] = {}
    """Ids that a call of this turn shares with an older call that has no result, and the newer
    call; None if it is uncertain to which of them the results under the id belong."""
    uncertain: set[str] = set()
    """Ids with a result that may belong to several calls."""
    server_calls: dict[str, deque[Call]] = {}
    """Calls without an id that a provider ran, by family."""


class _Walk:
    """The state of the walk: the open calls of all turns by id, and the current turn."""

    def __init__(self, ordered: bool) -> None:
        self.ordered = ordered
        self.calls: list[Call] = []
        self.results: list[Result] = []
        self.joined: JoinedCalls = PartMap()
        self.results_with_calls: PartSet[Result] = PartSet()
        self.joined_across: dict[str, Call] = {}
        """By id, the newest call whose executor differs from that of its result."""
        self.follows_model = False
        """True if the last message was one of the assistant, or ended with calls."""
        self.assistant_messages = 0
        self.message_of_call: PartMap[Call, int] = PartMap()
        """The number of the assistant message that holds a call."""
        self.open_by_id: dict[str, tuple[int, OpenCalls]] = {}
        """The turn in which an id was last used, and its calls without a result."""
        self.by_item_id: dict[str, Call | None] = {}
        """Calls by item id; None for an item id that is not unique."""
        self.other_side: dict[str, OpenCalls] = {}
        """By id, open calls whose executor differs from that of the newest call with this id."""
        self.called_names: set[str] = set()
        self.turn = _IdsOfTurn(0)
        self.waiting = WaitingResults(
            ordered=ordered,
            called_names=self.called_names,
            joined=self.joined,
            results_with_calls=self.results_with_calls,
        )
        """Results without an id, which are paired when the turn is complete."""

    def start_message(self) -> None:
        """Start a message of the assistant: the first one after other content starts a turn."""
        if not self.follows_model:
            self.start_turn()
        self.follows_model = True
        self.assistant_messages += 1

    def add_other_message(self, parts: Sequence[Part]) -> None:
        """Add a message of another role. Calls in it are those of the assistant: they are paired as
        in a message of their own, directly before the next result or at the end.
        """
        calls: list[Call] = []
        for part in parts:
            if isinstance(part, Call):
                calls.append(part)
                continue
            if calls and isinstance(part, Result):
                self._add_message_of_calls(calls)
                calls = []
            self.follows_model = False
            if isinstance(part, Result):
                self.add_result(part)
            else:
                self.turn.is_interrupted = True
        if calls:
            self._add_message_of_calls(calls)
        else:
            self.follows_model = False

    def _add_message_of_calls(self, calls: list[Call]) -> None:
        self.start_message()
        for call in calls:
            self.add_call(call)

    def start_turn(self) -> None:
        """End the current turn, pair the results that waited for its end, and start the next."""
        turn = self.turn
        if turn.shared:
            self._pair_shared_ids(turn)
        if self.waiting.calls:
            self._close_calls(self.waiting.end_turn(turn.uncertain))
        self.turn = _IdsOfTurn(turn.number + 1)

    def add_call(self, call: Call) -> None:
        """Open a call. An id that is used again in a later turn belongs to the newer call."""
        turn = self.turn
        if self.waiting.results:
            self._close_calls(self.waiting.pair_before_call(turn.uncertain))
        self.calls.append(call)
        known = self.open_by_id.get(call.id)
        if known is None or known[0] != turn.number:
            older = self.other_side.pop(call.id, None) if self.other_side else None
            if known is not None and known[1]:
                older = known[1]
            if older:
                self._reopen(call, older)
            self.open_by_id[call.id] = (turn.number, OpenCalls(call))
            if self.joined_across:
                self.joined_across.pop(call.id, None)
        else:
            open_calls = known[1]
            first = open_calls.first
            open_calls.add(call)
            if first is not None and self.message_of_call[first] != self.assistant_messages:
                turn.shared.setdefault(call.id, _SharedId())
        self.message_of_call[call] = self.assistant_messages
        if call.item is not None:
            self.by_item_id[call.item] = None if call.item in self.by_item_id else call
        self.called_names.add(call.name)
        if call.runs_on_client:
            self.waiting.calls.append(call)
        elif call.origin == "minted":
            turn.server_calls.setdefault(call.family, deque()).append(call)

    def _reopen(self, call: Call, older: OpenCalls) -> None:
        """Record that open calls of an earlier turn have the id of a new call."""
        if older.first is not None and older.first.executor != call.executor:
            self.other_side[call.id] = older  # the executor of a result decides between them
        else:
            self.turn.reopened[call.id] = call

    def add_result(self, result: Result) -> None:
        """Pair a result by its id, or keep it until the turn is complete."""
        self.results.append(result)
        if result.origin != "minted":
            self._pair_by_id(result)
        elif result.executor == "provider":
            self._pair_in_place(result)
        elif result.family != APPROVAL:
            self.waiting.add(result)

    def _pair_in_place(self, result: Result) -> None:
        """Pair a result without an id of a provider, which answers its own calls one after the
        other."""
        calls = self.turn.server_calls.get(result.family)
        while calls and calls[0] in self.joined:
            calls.popleft()
        if calls and (len(calls) == 1 or self.ordered):
            self._join(calls.popleft(), result, "order")

    def _pair_by_id(self, result: Result) -> None:
        older = self.other_side.get(result.call_id) if self.other_side else None
        if older and older.first is not None and older.first.executor == result.executor:
            self._join(older.take(result), result, "id")
            return
        known = self.open_by_id.get(result.call_id)
        if known is not None:
            self._pair_with_open(result, known[1], same_turn=known[0] == self.turn.number)
            return
        call = self.by_item_id.get(result.call_id)
        if call is not None and call not in self.joined:
            # The result has the item id in the place of the call id.
            self._join(call, result, "id")
            self.open_by_id[call.id][1].discard(call)
        elif self.ordered:
            self.waiting.add(result)

    def _pair_with_open(self, result: Result, calls: OpenCalls, *, same_turn: bool) -> None:
        """Pair a result with one of the open calls that have its id."""
        turn = self.turn
        if result.call_id in turn.reopened and self._is_uncertain(result):
            turn.uncertain.add(result.call_id)
            return
        shared = turn.shared.get(result.call_id)
        if shared is not None and len(calls) > 1:
            shared.results.append(result)
            shared.is_late = shared.is_late or turn.is_interrupted
        elif calls and (same_turn or calls.is_one_call):
            self._join(calls.take(result), result, "id")
        elif result.call_id in self.joined_across:
            self._take_back(result)

    def _take_back(self, result: Result) -> None:
        """Pair a result with its call if the call so far only has a result of another executor."""
        call = self.joined_across[result.call_id]
        if call.executor == result.executor:
            del self.joined_across[result.call_id]
            self.results_with_calls.discard(self.joined[call][0])
            self._join(call, result, "id")

    def _is_uncertain(self, result: Result) -> bool:
        """True if a result may also belong to an older call with the same id.

        A result directly after the newer call is certain. A second, different result there shows
        that the older call may still have been answered, so the first one becomes uncertain as
        well.
        """
        call = self.turn.reopened[result.call_id]
        if call is None or self.turn.is_interrupted:
            return True
        joined = self.joined.get(call)
        if joined is None or joined[0].text == result.text:
            return False
        del self.joined[call]
        self.results_with_calls.discard(joined[0])
        self.turn.reopened[result.call_id] = None
        return True

    def _pair_shared_ids(self, turn: _IdsOfTurn) -> None:
        """Pair results under an id that calls in several messages share.

        If there are fewer results than calls and they follow the calls directly, they belong to the
        calls of the tools that they name, or else to the newest calls. If something came between
        them, they may belong to any of the calls and stay unpaired.
        """
        for call_id, shared in turn.shared.items():
            calls = self.open_by_id[call_id][1]
            missing = len(calls) - len(shared.results)
            if shared.results and missing > 0 and not calls.is_one_call:
                if shared.is_late:
                    turn.uncertain.add(call_id)
                    continue
                calls.drop(missing, {result.name or "" for result in shared.results})
            for result in shared.results:
                if calls:
                    self._join(calls.take(result), result, "id")

    def _join(self, call: Call, result: Result, how: PairedBy) -> None:
        self.joined[call] = (result, how)
        self.results_with_calls.add(result)
        if call.executor != result.executor:
            self.joined_across[call.id] = call
        if how != "id":
            self._close(call)

    def _close_calls(self, pairs: NewPairs) -> None:
        for call, result in pairs:
            self._close(call)
            if call.executor != result.executor:
                self.joined_across[call.id] = call

    def _close(self, call: Call) -> None:
        """Close a call that was not paired by its id: a later result with this id is a second
        one."""
        self.open_by_id[call.id][1].discard(call)
