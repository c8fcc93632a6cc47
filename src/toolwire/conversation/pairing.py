"""Pair calls and results: walk the turns in order and keep a list of the open calls.

A result is paired by its id; without an id, by its name; and by order only if the wire guarantees
order and the counts agree, or if there is only one call and one result. Ambiguous results stay
unpaired: nothing here guesses. The walk is linear in the number of parts. This module knows no
wire.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence

from toolwire.conversation.open_calls import OpenCalls
from toolwire.conversation.part_map import PartMap, PartSet
from toolwire.conversation.parts import APPROVAL, Call, Message, Pair, PairedBy, Part, Result

_NO_TOOL_NAME = re.compile(
    r"(?:unknown.*|undefined|null|none|tool|function|n/?a|.*[^\w.:/-].*"
    r"|(?:call|toolu|tooluse|fc|tw|adk|run|chatcmpl)[_-].*\d.*|[0-9a-f]{8}-[0-9a-f-]+)\Z",
    re.IGNORECASE | re.DOTALL,
)
"""Names that no tool has: placeholders, ids, and texts."""


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


class _Walk:
    """The state of the walk: the open calls of the current turn, the calls of all turns by id, and
    results that wait to be paired."""

    def __init__(self, ordered: bool) -> None:
        self.ordered = ordered
        self.calls: list[Call] = []
        self.results: list[Result] = []
        self.joined: PartMap[Call, tuple[Result, PairedBy]] = PartMap()
        """The result of each call that has one."""
        self.results_with_calls: PartSet[Result] = PartSet()
        self.joined_across: dict[str, Call] = {}
        """By id, the newest call whose executor differs from that of its result."""
        self.turn = 0
        self.follows_model = False
        """True if the last message was one of the assistant, or ended with calls."""
        self.assistant_messages = 0
        self.message_of_call: PartMap[Call, int] = PartMap()
        """The number of the assistant message that holds a call."""
        self.approval_requests: dict[str, OpenCalls] = {}
        """By id, the approval requests of all turns without a decision."""
        self.open_by_id: dict[str, tuple[int, OpenCalls]] = {}
        """The turn in which an id was last used, and its calls without a result."""
        self.by_item_id: dict[str, Call | None] = {}
        """Calls by item id; None for an item id that is not unique."""
        self.shared_ids: dict[str, int] = {}
        """Ids that open calls in several messages of this turn share."""
        self.results_of_shared_ids: dict[str, list[Result]] = {}
        """Results under shared ids: they are paired when the turn is complete."""
        self.late_ids: set[str] = set()
        """Shared ids with a result that does not directly follow the calls."""
        self.is_interrupted = False
        """True if something other than a result came after the assistant's part of the turn."""
        self.reopened: dict[str, Call | None] = {}
        """Ids that a call of this turn shares with an older call that has no result, and the newer
        call; None if it is uncertain to which of them the results under the id belong."""
        self.other_side: dict[str, OpenCalls] = {}
        """By id, open calls whose executor differs from that of the newest call with this id."""
        self.uncertain_ids: set[str] = set()
        """Ids of this turn with a result that may belong to several calls."""
        self.turn_calls: list[Call] = []
        """The calls of this turn that the client runs."""
        self.called_names: set[str] = set()
        self.server_calls: dict[str, deque[Call]] = {}
        """Calls without an id that a provider ran in this turn, by family."""
        self.waiting: list[Result] = []
        """Results that are paired by name or order when the turn is complete."""
        self.calls_before: PartMap[Result, int] = PartMap()
        """The number of calls of this turn that stand before each waiting result."""
        self.positions: PartMap[Call, int] = PartMap()
        """The position of each call that waiting results may belong to, among the calls of the
        turn."""
        self.settled = True
        """False if a call or result was left unpaired when a later call of this turn started: then
        all of them are paired at the end of the turn."""
        self.first_open = 0
        """The number of calls at the start of the turn that all have results."""

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
                self.is_interrupted = True
        if calls:
            self._add_message_of_calls(calls)
        else:
            self.follows_model = False

    def _add_message_of_calls(self, calls: list[Call]) -> None:
        self.start_message()
        for call in calls:
            self.add_call(call)

    def start_turn(self) -> None:
        """End the current turn: pair the waiting results with the open calls by name and order."""
        waiting, self.waiting = self.waiting, []
        if self.results_of_shared_ids:
            self._pair_shared_ids()
        if waiting:
            self._pair_waiting(waiting)
        self.shared_ids = {}
        self.reopened = {}
        self.uncertain_ids = set()
        self.is_interrupted = False
        self.turn_calls = []
        self.settled = True
        self.first_open = 0
        self.server_calls = {}
        self.turn += 1

    def _pair_early(self) -> None:
        """Pair the waiting results before a further call, to which they cannot belong."""
        self._pair_waiting(self.waiting)
        self.waiting = [r for r in self.waiting if r not in self.results_with_calls]
        self.settled = not self.waiting and not self._open_calls()
        if self.settled:
            self.first_open = len(self.turn_calls)

    def _pair_waiting(self, waiting: list[Result]) -> None:
        start = self.first_open
        self.positions = PartMap((call, n) for n, call in enumerate(self.turn_calls[start:], start))
        calls_by_name: dict[str, list[Call]] = {}
        for call in self._open_calls():
            calls_by_name.setdefault(call.name, []).append(call)
        results_by_name: dict[str, list[Result]] = {}
        for result in waiting:
            if result.name:
                results_by_name.setdefault(result.name, []).append(result)
        for name, results in results_by_name.items():
            self._match(calls_by_name.get(name, []), results, "name")
        rest = [
            result
            for result in waiting
            if result not in self.results_with_calls and not self._belongs_elsewhere(result)
        ]
        self._match(self._open_calls(), rest, "order")

    def _belongs_elsewhere(self, result: Result) -> bool:
        """True if the name of a result excludes pairing it by order.

        Only a guaranteed order outweighs a name, and only a name that no tool can have, because
        some clients send an id or a placeholder. Any other name is intended, and its call may have
        been removed.
        """
        if not result.name:
            return False
        if not self.ordered or result.name in self.called_names:
            return True
        return _NO_TOOL_NAME.match(result.name) is None

    def add_call(self, call: Call) -> None:
        """Open a call. An id that is used again in a later turn belongs to the newer call.

        Waiting results can only belong to the calls before this one.
        """
        if call.family == APPROVAL:
            self._add_approval_request(call)
            return
        if self.waiting and self.settled:
            self._pair_early()
        self.calls.append(call)
        known = self.open_by_id.get(call.id)
        if known is None or known[0] != self.turn:
            older = self.other_side.pop(call.id, None) if self.other_side else None
            if known is not None and known[1]:
                older = known[1]
            if older:
                self._reopen(call, older)
            self.open_by_id[call.id] = (self.turn, OpenCalls(call))
            if self.joined_across:
                self.joined_across.pop(call.id, None)
        else:
            open_calls = known[1]
            first = open_calls.first
            open_calls.add(call)
            if first is not None and self.message_of_call[first] != self.assistant_messages:
                self.shared_ids[call.id] = self.assistant_messages
        self.message_of_call[call] = self.assistant_messages
        if call.item is not None:
            self.by_item_id[call.item] = None if call.item in self.by_item_id else call
        self.called_names.add(call.name)
        if call.executor == "client":
            self.turn_calls.append(call)
        elif call.origin == "minted":
            self.server_calls.setdefault(call.family, deque()).append(call)

    def _add_approval_request(self, request: Call) -> None:
        """Open an approval request: only a decision answers it, never the output of a tool."""
        self.calls.append(request)
        requests = self.approval_requests.get(request.id)
        if requests is None:
            self.approval_requests[request.id] = OpenCalls(request)
        else:
            requests.add(request)

    def _pair_decision(self, decision: Result) -> None:
        """Pair a decision with the request that it names, unless requests of several calls have
        this id: it approves none that it may not be about."""
        requests = self.approval_requests.get(decision.call_id)
        if requests and requests.is_one_call:
            self._join(requests.take(), decision, "id")

    def _reopen(self, call: Call, older: OpenCalls) -> None:
        """Record that open calls of an earlier turn have the id of a new call."""
        if older.first is not None and older.first.executor != call.executor:
            self.other_side[call.id] = older  # the executor of a result decides between them
        else:
            self.reopened[call.id] = call

    def add_result(self, result: Result) -> None:
        """Pair a result by its id, or keep it until the turn is complete."""
        self.results.append(result)
        if result.family == APPROVAL:
            self._pair_decision(result)
        elif result.origin != "minted":
            self._pair_by_id(result)
        elif result.executor == "provider":
            # A provider answers its own calls in place, one after the other.
            calls = self.server_calls.get(result.family)
            while calls and calls[0] in self.joined:
                calls.popleft()
            if calls and (len(calls) == 1 or self.ordered):
                self._join(calls.popleft(), result, "order")
        else:
            self._wait(result)

    def _pair_by_id(self, result: Result) -> None:
        older = self.other_side.get(result.call_id) if self.other_side else None
        if older and older.first is not None and older.first.executor == result.executor:
            self._join(older.take(result), result, "id")
            return
        known = self.open_by_id.get(result.call_id)
        if known is not None:
            calls = known[1]
            if result.call_id in self.reopened and self._is_uncertain(result):
                self.uncertain_ids.add(result.call_id)
                return
            if result.call_id in self.shared_ids and len(calls) > 1:
                self.results_of_shared_ids.setdefault(result.call_id, []).append(result)
                if self.is_interrupted:
                    self.late_ids.add(result.call_id)
            elif calls and (known[0] == self.turn or calls.is_one_call):
                self._join(calls.take(result), result, "id")
            elif result.call_id in self.joined_across:
                self._take_back(result)
            return
        call = self.by_item_id.get(result.call_id)
        if call is not None and call not in self.joined:
            # The result has the item id in the place of the call id.
            self._join(call, result, "id")
            self.open_by_id[call.id][1].discard(call)
        elif self.ordered:
            self._wait(result)

    def _wait(self, result: Result) -> None:
        """Keep a result until the turn is complete, unless no call of the turn precedes it."""
        if self.turn_calls:
            self.waiting.append(result)
            self.calls_before[result] = len(self.turn_calls)

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
        call = self.reopened[result.call_id]
        if call is None or self.is_interrupted:
            return True
        joined = self.joined.get(call)
        if joined is None or joined[0].text == result.text:
            return False
        del self.joined[call]
        self.results_with_calls.discard(joined[0])
        self.reopened[result.call_id] = None
        return True

    def _pair_shared_ids(self) -> None:
        """Pair results under an id that calls in several messages share.

        If there are fewer results than calls and they follow the calls directly, they belong to the
        calls of the tools that they name, or else to the newest calls. If something came between
        them, they may belong to any of the calls and stay unpaired.
        """
        shared, self.results_of_shared_ids = self.results_of_shared_ids, {}
        late_ids, self.late_ids = self.late_ids, set()
        for call_id, results in shared.items():
            calls = self.open_by_id[call_id][1]
            is_one_call = calls.is_one_call
            if len(calls) > len(results) and not is_one_call and call_id in late_ids:
                self.uncertain_ids.add(call_id)
                continue
            if len(calls) > len(results) and not is_one_call:
                calls.drop(len(calls) - len(results), {result.name or "" for result in results})
            for result in results:
                if calls:
                    self._join(calls.take(result), result, "id")

    def _open_calls(self) -> list[Call]:
        """Return the calls of this turn without a result, unless their id has an uncertain one."""
        return [
            call
            for call in self.turn_calls[self.first_open :]
            if call not in self.joined and call.id not in self.uncertain_ids
        ]

    def _match(self, calls: list[Call], results: list[Result], how: PairedBy) -> None:
        """Pair one call with one result, or all in order where order is guaranteed.

        A result with an id is not paired with a call that has another id, and no result is paired
        with a call after it.
        """
        if any(result.origin != "minted" for result in results):
            calls = [call for call in calls if call.origin == "minted"]
        if len(calls) != len(results) or not calls or self._stands_before(results, calls):
            return
        if len(calls) == 1:
            self._join(calls[0], results[0], how)
        elif self.ordered:
            for call, result in zip(calls, results, strict=True):
                self._join(call, result, "order")

    def _stands_before(self, results: list[Result], calls: list[Call]) -> bool:
        """True if a result stands before the call at the same index."""
        return any(
            self.calls_before[result] <= self.positions[call]
            for result, call in zip(results, calls, strict=True)
        )

    def _join(self, call: Call, result: Result, how: PairedBy) -> None:
        self.joined[call] = (result, how)
        self.results_with_calls.add(result)
        if call.executor != result.executor:
            self.joined_across[call.id] = call
        if how != "id":  # a later result with the id of the call is a second one
            self.open_by_id[call.id][1].discard(call)
