"""Join calls and results by an ordered walk with the open calls in hand.

By id first; where a result has none, by name; by order only where the wire promises order and the counts agree. What stays
ambiguous stays unpaired: nothing here guesses. Knows no wire.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.parts import Call, How, Message, Pair, Result


def pairs(messages: Iterable[Message], *, ordered: bool) -> list[Pair]:
    """Every call with its result, in the order of the calls; then the results that found none, in their order."""
    walk = _Walk(ordered)
    before = ""
    for message in messages:
        if message.role == "assistant" and before != "assistant":
            walk.turn()
        before = message.role
        for part in message.parts:
            if isinstance(part, Call):
                walk.call(part)
            elif isinstance(part, Result):
                walk.result(part)
    walk.turn()
    joined = [Pair(call, *walk.found.get(id(call), (None, None))) for call in walk.calls]
    return joined + [Pair(None, result, None) for result in walk.results if id(result) not in walk.taken]


class _Walk:
    """The open calls of the newest turn, the older ones by id, and the results that wait for the turn to end."""

    def __init__(self, ordered: bool) -> None:
        self.ordered = ordered
        self.calls: list[Call] = []
        self.results: list[Result] = []
        self.found: dict[int, tuple[Result, How]] = {}
        self.taken: set[int] = set()
        self.by_id: dict[str, list[Call]] = {}
        self.batch: list[Call] = []
        self.waiting: list[Result] = []

    def turn(self) -> None:
        """A new turn begins: what waited is settled by name and order among the calls that are still open."""
        waiting, self.waiting = self.waiting, []
        for name in dict.fromkeys(result.name for result in waiting if result.name):
            self._match([c for c in self._open() if c.name == name], [r for r in waiting if r.name == name], "name")
        rest = [result for result in waiting if id(result) not in self.taken]
        self._match(self._open(), rest, "order")
        self.batch = []

    def call(self, call: Call) -> None:
        self.calls.append(call)
        same = self.by_id.setdefault(call.id, [])
        # An id that comes back in a later turn names the newer call; within one turn both are open.
        if same and not any(open_call is older for open_call in self.batch for older in same):
            same.clear()
        same.append(call)
        self.batch.append(call)

    def result(self, result: Result) -> None:
        self.results.append(result)
        if result.origin != "minted":
            named = [c for c in self.by_id.get(result.call_id, ()) if id(c) not in self.found]
            if named:
                self._join(named[0], result, "id")
            elif self.ordered and result.call_id not in self.by_id:
                self.waiting.append(result)
        elif result.executor == "provider":
            # A provider answers its own calls in place, one after the other.
            own = [c for c in self.batch if c.family == result.family and id(c) not in self.found and c.origin == "minted"]
            if own and (len(own) == 1 or self.ordered):
                self._join(own[0], result, "order")
        else:
            self.waiting.append(result)

    def _open(self) -> list[Call]:
        return [c for c in self.batch if id(c) not in self.found and c.executor == "client"]

    def _match(self, calls: list[Call], results: list[Result], how: How) -> None:
        """One to one, or all of them in order where order is promised. A result with an id of its own is no answer to a call
        that has one too, and another.
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

    def _join(self, call: Call, result: Result, how: How) -> None:
        self.found[id(call)] = (result, how)
        self.taken.add(id(result))
