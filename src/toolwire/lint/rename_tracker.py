"""What calls and tools were called before a repair: followed through its steps, so that an answer
can be led home.

A repair never changes the order of calls or of tools on offer; it renames them, takes some out, and
may part one into several. Knows no rule and no wire.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import TypeAlias, TypeVar

from toolwire.conversation.ids import IdMap
from toolwire.conversation.model import Conversation

Known: TypeAlias = "tuple[str, str, str]"
"""A call by its id, its name and its arguments."""
T = TypeVar("T", bound="str | Known")


class RenameTracker:
    """The calls and tools of a body as they are now, each with what it was at first; None if a
    repair made it."""

    def __init__(self, conversation: Conversation) -> None:
        self._calls = _calls(conversation)
        self._tools = _tools(conversation)
        self._were: list[Known | None] = [*self._calls]
        self._named: list[str | None] = [*self._tools]

    def follow(self, conversation: Conversation) -> None:
        """Go along one step: the body as it is after it."""
        calls, tools = _calls(conversation), _tools(conversation)
        self._were = _carried(self._calls, calls, self._were)
        self._named = _carried(self._tools, tools, self._named)
        self._calls, self._tools = calls, tools

    def home(self) -> IdMap:
        """Ids and names as they are now, to what they were."""
        ids: dict[str, str] = {}
        names: dict[str, str] = {}
        for (one, name, _), was in zip(self._calls, self._were, strict=True):
            if was is not None and was[0] != one:
                ids.setdefault(one, was[0])
            if was is not None and was[1] and was[1] != name:
                names.setdefault(name, was[1])
        for tool, before in zip(self._tools, self._named, strict=True):
            if before and before != tool:
                names.setdefault(tool, before)
        return IdMap(ids, names)


def _calls(conversation: Conversation) -> list[Known]:
    return [(call.id, call.name, call.arguments) for call in conversation.calls()]


def _tools(conversation: Conversation) -> list[str]:
    return [tool.name for tool in conversation.tools]


def _carried(before: Sequence[T], after: Sequence[T], were: list[T | None]) -> list[T | None]:
    """What each of `after` was at first."""
    out: list[T | None] = [None] * len(after)
    for old, new in _matched(before, after):
        out[new] = were[old]
    return out


def _matched(before: Sequence[T], after: Sequence[T]) -> Iterator[tuple[int, int]]:
    """The places of what is the same before and after: all of them in order, or what stayed around
    those that went."""
    if len(before) == len(after):
        yield from zip(range(len(before)), range(len(after)), strict=True)
        return
    for tag, start, end, other, stop in SequenceMatcher(
        None, before, after, autojunk=False
    ).get_opcodes():
        if tag == "equal" or (tag == "replace" and end - start == stop - other):
            yield from zip(range(start, end), range(other, stop), strict=True)
