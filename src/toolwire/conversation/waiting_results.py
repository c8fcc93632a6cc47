"""Pair results without an id with the calls of one turn: by name, and by order where the wire
guarantees it.

One result and one call belong together; several are paired in order, if the wire guarantees order
and the counts agree. Anything else stays unpaired.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeAlias

from toolwire.conversation.part_map import PartMap, PartSet
from toolwire.conversation.parts import Call, PairedBy, Result

JoinedCalls: TypeAlias = PartMap[Call, tuple[Result, PairedBy]]
"""The result of each call that has one."""
NewPairs: TypeAlias = list[tuple[Call, Result]]
_NO_TOOL_NAME = re.compile(
    r"(?:unknown.*|undefined|null|none|tool|function|n/?a|.*[^\w.:/-].*"
    r"|(?:call|toolu|tooluse|fc|tw|adk|run|chatcmpl)[_-].*\d.*|[0-9a-f]{8}-[0-9a-f-]+)\Z",
    re.IGNORECASE | re.DOTALL,
)
"""Names that no tool has: placeholders, ids, and texts."""


class WaitingResults:
    """Results of a turn that wait to be paired, and the calls of the turn that the client runs."""

    def __init__(
        self,
        *,
        ordered: bool,
        called_names: Collection[str],
        joined: JoinedCalls,
        results_with_calls: PartSet[Result],
    ) -> None:
        """Start with no calls and no results.

        Args:
            ordered: True if the wire guarantees that results follow the order of their calls.
            called_names: The names of all tools that were called so far.
            joined: The calls that have a result. New pairs are added.
            results_with_calls: The results that have a call. Those of new pairs are added.
        """
        self._ordered = ordered
        self._called_names = called_names
        self._joined = joined
        self._results_with_calls = results_with_calls
        self.calls: list[Call] = []
        """The calls of the turn that the client runs. A result answers no approval request."""
        self.results: list[Result] = []
        """The results that wait; they follow at least one of the calls."""
        self._calls_before: PartMap[Result, int] = PartMap()
        """The number of calls of this turn that stand before each result."""
        self._positions: PartMap[Call, int] = PartMap()
        """The position among the calls of the turn of each call that a result may belong to."""
        self._settled = True
        """False if a call or result was left unpaired when a later call of this turn started: then
        all of them are paired at the end of the turn."""
        self._first_open = 0
        """The number of calls at the start of the turn that all have results."""

    def add(self, result: Result) -> None:
        """Keep a result, unless no call of the turn precedes it."""
        if self.calls:
            self.results.append(result)
            self._calls_before[result] = len(self.calls)

    def pair_before_call(self, uncertain_ids: AbstractSet[str]) -> NewPairs:
        """Pair the results before a further call, to which they cannot belong."""
        if not self._settled:
            return []
        found = self._pair(uncertain_ids)
        self.results = [r for r in self.results if r not in self._results_with_calls]
        self._settled = not self.results and not self._open_calls(uncertain_ids)
        if self._settled:
            self._first_open = len(self.calls)
        return found

    def end_turn(self, uncertain_ids: AbstractSet[str]) -> NewPairs:
        """Pair the results with the calls of the turn that are still open.

        Args:
            uncertain_ids: Ids of calls that some other result may belong to; they get no result.
        """
        found = self._pair(uncertain_ids) if self.results else []
        self.results, self.calls = [], []
        self._settled, self._first_open = True, 0
        return found

    def _pair(self, uncertain_ids: AbstractSet[str]) -> NewPairs:
        start = self._first_open
        self._positions = PartMap((call, n) for n, call in enumerate(self.calls[start:], start))
        calls_by_name: dict[str, list[Call]] = {}
        for call in self._open_calls(uncertain_ids):
            calls_by_name.setdefault(call.name, []).append(call)
        results_by_name: dict[str, list[Result]] = {}
        for result in self.results:
            if result.name:
                results_by_name.setdefault(result.name, []).append(result)
        found: NewPairs = []
        for name, results in results_by_name.items():
            found += self._match(calls_by_name.get(name, []), results, "name")
        rest = [
            result
            for result in self.results
            if result not in self._results_with_calls and not self._belongs_elsewhere(result)
        ]
        return found + self._match(self._open_calls(uncertain_ids), rest, "order")

    def _open_calls(self, uncertain_ids: AbstractSet[str]) -> list[Call]:
        """Return the calls of this turn without a result, unless their id has an uncertain one."""
        return [
            call
            for call in self.calls[self._first_open :]
            if call not in self._joined and call.id not in uncertain_ids
        ]

    def _belongs_elsewhere(self, result: Result) -> bool:
        """True if the name of a result excludes pairing it by order.

        Only a guaranteed order outweighs a name, and only a name that no tool can have, because
        some clients send an id or a placeholder. Any other name is intended, and its call may have
        been removed.
        """
        if not result.name:
            return False
        if not self._ordered or result.name in self._called_names:
            return True
        return _NO_TOOL_NAME.match(result.name) is None

    def _match(self, calls: Sequence[Call], results: list[Result], how: PairedBy) -> NewPairs:
        """Pair one call with one result, or all in order where order is guaranteed.

        A result with an id is not paired with a call that has another id, and no result is paired
        with a call after it.
        """
        if any(result.origin != "minted" for result in results):
            calls = [call for call in calls if call.origin == "minted"]
        if len(calls) != len(results) or not calls or self._stands_before(results, calls):
            return []
        if len(calls) > 1:
            if not self._ordered:
                return []
            how = "order"
        found = list(zip(calls, results, strict=True))
        for call, result in found:
            self._joined[call] = (result, how)
            self._results_with_calls.add(result)
        return found

    def _stands_before(self, results: Sequence[Result], calls: Sequence[Call]) -> bool:
        """True if a result stands before the call at the same index."""
        return any(
            self._calls_before[result] <= self._positions[call]
            for result, call in zip(results, calls, strict=True)
        )
