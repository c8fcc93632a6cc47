"""The calls of a turn that share an id and have no result. Pairing removes them one by one."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator

from toolwire.conversation.parts import Call, Result


class OpenCalls:
    """The calls of a turn that share an id and have no result, in order."""

    __slots__ = ("_are_same", "_by_number", "_count", "_numbers")

    def __init__(self, call: Call) -> None:
        self._by_number: OrderedDict[int, Call] = OrderedDict()
        self._numbers: dict[tuple[str, str], deque[int]] = {}
        """The numbers of the calls by executor or family, and by tool; some may have been removed.
        An empty text stands for every executor or every tool. Empty until it is needed."""
        self._count = 0
        self._are_same = False
        self.add(call)

    def __len__(self) -> int:
        return len(self._by_number)

    def __iter__(self) -> Iterator[Call]:
        return iter(self._by_number.values())

    @property
    def first(self) -> Call | None:
        """The oldest call."""
        return next(iter(self._by_number.values()), None)

    @property
    def is_one_call(self) -> bool:
        """True if all calls are copies of one call."""
        if not self._are_same:  # once they are, they stay so until another call is added
            first = self.first
            self._are_same = first is None or all(
                call.name == first.name and call.arguments == first.arguments for call in self
            )
        return self._are_same

    def add(self, call: Call) -> None:
        """Add a call."""
        self._by_number[self._count] = call
        self._are_same = False
        if self._numbers:
            self._sort_in(self._count, call)
        self._count += 1

    def _sort_in(self, number: int, call: Call) -> None:
        names = (call.name, "") if call.name else ("",)
        keys = {(side, name) for side in (_family(call), call.executor) for name in names}
        for key in {*keys, ("", call.name)}:
            self._numbers.setdefault(key, deque()).append(number)

    def take(self, result: Result | None = None) -> Call:
        """Remove and return the call of a result; without a result, the oldest call.

        If there are several calls, calls with the same executor come first, and among these, calls
        to the named tool. A provider answers the calls of each of its tools in their own form.
        """
        if result is not None and len(self._by_number) > 1:
            name, family, executor = result.name or "", _family(result), result.executor
            named = [(family, name), (executor, name)] if name else []
            if not self._numbers:
                for number, call in self._by_number.items():
                    self._sort_in(number, call)
            for key in [*named, (family, ""), (executor, ""), *([("", name)] if name else [])]:
                numbers = self._numbers.get(key)
                while numbers:
                    found = self._by_number.pop(numbers.popleft(), None)
                    if found is not None:
                        return found
        return self._by_number.popitem(last=False)[1]

    def drop(self, count: int, names: set[str]) -> None:
        """Remove `count` calls, the oldest first.

        If every result names a tool (`names` has no empty text), calls to other tools are removed
        before the rest.
        """
        others = [n for n, call in self._by_number.items() if call.name not in names]
        for number in () if "" in names else others[:count]:
            del self._by_number[number]
            count -= 1
        for _ in range(count):
            self.take()

    def discard(self, call: Call) -> None:
        """Remove a call."""
        number = next((n for n, other in self._by_number.items() if other is call), None)
        if number is not None:
            del self._by_number[number]


def _family(half: Call | Result) -> str:
    """What a call and its result share beside the id: the family of a provider's tool, or the
    client, whose results do not always show it."""
    return half.family if half.executor == "provider" else half.executor
