"""Join calls and results by an ordered walk with the open calls in hand.

By id first; where a result has none, by name; by order only where the wire promises order and the
counts agree, or where there is only one of each. What stays ambiguous stays unpaired: nothing here
guesses. Linear in the number of parts. Knows no wire.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from toolwire.conversation.parts import Call, Message, Pair, PairedBy, Result


def pairs(messages: Iterable[Message], *, ordered: bool) -> list[Pair]:
    """Every call with its result, in the order of the calls; then the results that found none, in
    their order."""
    walk = _Walk(ordered)
    before = ""
    for message in messages:
        if message.role == "assistant":
            if before != "assistant":
                walk.turn()
            walk.messages += 1
        before = message.role
        for part in message.parts:
            if isinstance(part, Call):
                walk.call(part)
            elif isinstance(part, Result):
                walk.result(part)
    walk.turn()
    joined = [Pair(call, *walk.found.get(id(call), (None, None))) for call in walk.calls]
    return joined + [
        Pair(None, result, None) for result in walk.results if id(result) not in walk.taken
    ]


class _Walk:
    """The open calls of the newest turn, those of any turn by id, and the results that wait for the
    turn to end."""

    def __init__(self, ordered: bool) -> None:
        self.ordered = ordered
        self.calls: list[Call] = []
        self.results: list[Result] = []
        self.found: dict[int, tuple[Result, PairedBy]] = {}
        self.taken: set[int] = set()
        self.turns = 0
        self.messages = 0
        """Of the assistant, so far."""
        self.spread: dict[str, int] = {}
        """Ids that open calls of several messages of this turn bear, and in which message the
        newest stands."""
        self.crowd: dict[str, list[Result]] = {}
        """Results under such ids: whose they are is known when all have come."""
        self.said_in: dict[int, int] = {}
        self.by_id: dict[str, tuple[int, deque[Call]]] = {}
        self.by_item: dict[str, Call | None] = {}
        self.batch: list[Call] = []
        self.hosted: dict[str, deque[Call]] = {}
        self.waiting: list[Result] = []

    def turn(self) -> None:
        """A new turn begins: what waited is settled by name and order among the calls that are
        still open."""
        waiting, self.waiting = self.waiting, []
        if self.crowd:
            self._spread()
        if waiting:
            self._settle(waiting)
        self.spread = {}
        self.batch = []
        self.hosted = {}
        self.turns += 1

    def _settle(self, waiting: list[Result]) -> None:
        calls: dict[str, list[Call]] = {}
        for call in self._open():
            calls.setdefault(call.name, []).append(call)
        results: dict[str, list[Result]] = {}
        for result in waiting:
            if result.name:
                results.setdefault(result.name, []).append(result)
        for name, named in results.items():
            self._match(calls.get(name, []), named, "name")
        # A name that no call has contradicts; only a promised order outweighs it.
        rest = [r for r in waiting if id(r) not in self.taken and (self.ordered or not r.name)]
        self._match(self._open(), rest, "order")

    def call(self, call: Call) -> None:
        """A call opens. An id that comes back in a later turn names the newer call; within one turn
        all are open."""
        self.calls.append(call)
        known = self.by_id.get(call.id)
        if known is None or known[0] != self.turns:
            self.by_id[call.id] = (self.turns, deque((call,)))
        else:
            known[1].append(call)
            if self.said_in.get(id(known[1][0]), self.messages) != self.messages:
                self.spread[call.id] = self.messages
        self.said_in[id(call)] = self.messages
        if call.item is not None:
            self.by_item[call.item] = None if call.item in self.by_item else call
        self.batch.append(call)
        if call.executor == "provider" and call.origin == "minted":
            self.hosted.setdefault(call.family, deque()).append(call)

    def result(self, result: Result) -> None:
        """A result comes: joined at once if its id says so, else kept until the turn is whole."""
        self.results.append(result)
        if result.origin != "minted":
            self._by_id(result)
        elif result.executor == "provider":
            # A provider answers its own calls in place, one after the other.
            own = self.hosted.get(result.family)
            if own and (len(own) == 1 or self.ordered):
                self._join(own.popleft(), result, "order")
        else:
            self.waiting.append(result)

    def _by_id(self, result: Result) -> None:
        known = self.by_id.get(result.call_id)
        if known is not None:
            if result.call_id in self.spread and len(known[1]) > 1:
                self.crowd.setdefault(result.call_id, []).append(result)
            elif known[1]:
                self._join(_taken(known[1], result.name), result, "id")
            return
        item = self.by_item.get(result.call_id)
        if (
            item is not None and id(item) not in self.found
        ):  # the id of the item where that of its call belongs
            self._join(item, result, "id")
            self.by_id[item.id][1].remove(item)
        elif self.ordered:
            self.waiting.append(result)

    def _spread(self) -> None:
        """Results under an id that calls of several messages bear: one each, or else they answer
        the message before them."""
        crowd, self.crowd = self.crowd, {}
        for one, results in crowd.items():
            calls = self.by_id[one][1]
            alike = (
                len({(call.name, call.arguments) for call in calls}) == 1
            )  # one call that was written twice
            while len(calls) > len(results) and not alike:
                calls.popleft()
            for result in results:
                if calls:
                    self._join(_taken(calls, result.name), result, "id")

    def _open(self) -> list[Call]:
        return [c for c in self.batch if id(c) not in self.found and c.executor == "client"]

    def _match(self, calls: list[Call], results: list[Result], how: PairedBy) -> None:
        """One to one, or all of them in order where order is promised. A result with an id of its
        own is no answer to a call that has one too, and another.
        """
        if any(result.origin != "minted" for result in results):
            calls = [call for call in calls if call.origin == "minted"]
        if len(calls) != len(results) or not calls:
            return
        if len(calls) == 1:
            self._join(calls[0], results[0], how)
        elif self.ordered:
            for call, result in zip(calls, results, strict=True):
                self._join(call, result, "order")

    def _join(self, call: Call, result: Result, how: PairedBy) -> None:
        self.found[id(call)] = (result, how)
        self.taken.add(id(result))


def _taken(calls: deque[Call], name: str | None) -> Call:
    """The first open call of an id; among several, the first of the tool that the result names."""
    if name and len(calls) > 1 and calls[0].name != name:
        for call in calls:
            if call.name == name:
                calls.remove(call)
                return call
    return calls.popleft()
