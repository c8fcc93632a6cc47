"""The calls of a stream, and the call that a result of the same stream belongs to.

Every look-up takes constant time, however many calls the stream has. Knows no wire by name.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterator

from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import Call, Result, Source

_NO_ARGUMENTS = LazyJson("")
_MADE_HERE = Source()


class StreamCalls:
    """Every call so far, with its id and without its arguments."""

    def __init__(self) -> None:
        self._calls: list[Call] = []
        self._by_id: dict[str, int] = {}
        """The first call with each id."""
        self._by_item: dict[str, list[int]] = {}
        self._answered: set[int] = set()
        """The calls that have a result."""
        self._waiting: dict[tuple[str, str], deque[int]] = {}
        """By family and name, and by family and no name: the calls in order. Those that have a
        result by now are dropped when a result asks for the next one."""

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[Call]:
        return iter(self._calls)

    @property
    def ids(self) -> Container[str]:
        """The ids of the calls."""
        return self._by_id

    @property
    def last(self) -> Call:
        """The call that was added last."""
        return self._calls[-1]

    def add(self, call: Call) -> None:
        """Add a call that has its id."""
        index = len(self._calls)
        known = (call.origin, call.family, call.executor, call.item)
        self._calls.append(Call(call.id, call.name, _NO_ARGUMENTS, *known, source=_MADE_HERE))
        self._by_id.setdefault(call.id, index)
        if call.item is not None:
            self._by_item.setdefault(call.item, []).append(index)
        for name in {call.name, ""}:
            self._waiting.setdefault((call.family, name), deque()).append(index)

    def answer(self, result: Result) -> Call | None:
        """Return the call of a result, which has a result from now on; None if there is none.

        This is the call with its id, or the only call whose item has that id. A result without an
        id belongs to the oldest call without a result that has its name, if it has one, and its
        family.
        """
        index = self._find(result)
        if index is None:
            return None
        self._answered.add(index)
        return self._calls[index]

    def _find(self, result: Result) -> int | None:
        if not result.call_id:
            return self._next_waiting(result.family, result.name or "")
        index = self._by_id.get(result.call_id)
        if index is not None:
            return index
        items = self._by_item.get(result.call_id, ())
        return items[0] if len(items) == 1 else None

    def _next_waiting(self, family: str, name: str) -> int | None:
        waiting = self._waiting.get((family, name))
        while waiting and waiting[0] in self._answered:
            waiting.popleft()
        return waiting[0] if waiting else None
