"""Mappings and sets by identity, for parts above all.

Equal parts are not always the same part: a history may hold two calls of one tool with the same
arguments, or a result twice. These containers keep such parts apart. They also hold a reference to
each key, so that no other object can get its identity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar, overload

P = TypeVar("P")
V = TypeVar("V")
D = TypeVar("D")


class PartMap(Generic[P, V]):
    """A mapping from parts to values by identity, in the order of insertion."""

    __slots__ = ("_entries",)

    def __init__(self, entries: Iterable[tuple[P, V]] = ()) -> None:
        self._entries: dict[int, tuple[P, V]] = {id(entry[0]): entry for entry in entries}

    def __contains__(self, part: object) -> bool:
        return id(part) in self._entries

    def __getitem__(self, part: P) -> V:
        return self._entries[id(part)][1]

    def __setitem__(self, part: P, value: V) -> None:
        self._entries[id(part)] = (part, value)

    def __delitem__(self, part: P) -> None:
        del self._entries[id(part)]

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[P]:
        return (part for part, _ in self._entries.values())

    @overload
    def get(self, part: P) -> V | None: ...
    @overload
    def get(self, part: P, default: D) -> V | D: ...
    def get(self, part: P, default: D | None = None) -> V | D | None:
        """The value for a part, or the default."""
        entry = self._entries.get(id(part))
        return default if entry is None else entry[1]

    def setdefault(self, part: P, default: V) -> V:
        """The value for a part; the default is stored if there is none."""
        return self._entries.setdefault(id(part), (part, default))[1]

    def missing(self, parts: Iterable[P]) -> list[P]:
        """Those of the parts that have no value, in their order."""
        entries = self._entries
        return [part for part in parts if id(part) not in entries]

    def clear(self) -> None:
        """Remove all entries."""
        self._entries.clear()

    def values(self) -> Iterator[V]:
        """The values, in the order of insertion."""
        return (value for _, value in self._entries.values())

    def items(self) -> Iterator[tuple[P, V]]:
        """Each part with its value, in the order of insertion."""
        return iter(self._entries.values())


class PartSet(Generic[P]):
    """A set of parts by identity, in the order of insertion."""

    __slots__ = ("_parts",)

    def __init__(self, parts: Iterable[P] = ()) -> None:
        self._parts: dict[int, P] = {id(part): part for part in parts}

    def __contains__(self, part: object) -> bool:
        return id(part) in self._parts

    def __len__(self) -> int:
        return len(self._parts)

    def __iter__(self) -> Iterator[P]:
        return iter(self._parts.values())

    def isdisjoint(self, parts: Iterable[P]) -> bool:
        """True if none of the parts is in the set."""
        return self._parts.keys().isdisjoint(map(id, parts))

    def add(self, part: P) -> None:
        """Add a part."""
        self._parts[id(part)] = part

    def discard(self, part: P) -> None:
        """Remove a part, if it is there."""
        self._parts.pop(id(part), None)
