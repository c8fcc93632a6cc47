"""Cache breakpoints: marks in a prompt. A provider caches the prefix up to each mark.

Wires mark the end of a prefix in different ways: by a field of a block, or by a separate block.
`find_breakpoints` collects the marks of a source, `place_breakpoints` decides where the target gets
them. A mark is a hint that changes no answer, so a mark that the target cannot express is no loss.
This module knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from msgspec import UnsetType

from toolwire.conversation.json import JSON, JsonPath
from toolwire.conversation.model import Conversation
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Call, Media, Message, Part, Result, Text, Traceable
from toolwire.errors import UsageError
from toolwire.wires.engine.capabilities import CacheBreakpoints
from toolwire.wires.engine.encode_context import BREAKPOINT_FIELDS, Breakpoints
from toolwire.wires.engine.specs import Block

BreakpointPolicy: TypeAlias = Literal["keep", "auto"]
"""Which cache breakpoints a target gets: `keep` translates those of the source, `auto` also adds
some if the source has none."""
BREAKPOINT_POLICIES = ("keep", "auto")
FoundBreakpoints: TypeAlias = dict[JsonPath, bool]
"""The path of each marked part or tool, and True if its prefix has a long lifetime."""
_LONG = ("1h", "12h", "24h")
"""Lifetimes that count as long: those above the shortest lifetime of a wire."""
_AUTOMATIC_TURNS = 2
"""How many of the newest user turns are marked automatically: the previous request ended with one
of them, this request ends with the other."""


def require_breakpoint_policy(policy: str, wire: str) -> None:
    """Raise UsageError if the policy does not exist."""
    if policy not in BREAKPOINT_POLICIES:
        raise UsageError(
            f"cache_breakpoints is one of {', '.join(BREAKPOINT_POLICIES)}, not {policy!r}",
            wire=wire,
        )


# --- the marks of the source ----------------------------------------------------------------------


def find_breakpoints(
    conversation: Conversation, leftovers: Sequence[Traceable], *, marks_end: bool
) -> FoundBreakpoints:
    """The cache breakpoints of a request.

    Args:
        conversation: The request.
        leftovers: Parts with fields that only their own wire knows. If none of them has a mark, the
            other parts are not examined.
        marks_end: True if a mark on the whole request, which asks for automatic caching, becomes a
            mark on its last part.
    """
    whole = _mark_lifetime(conversation.source.body) if marks_end else None
    if whole is None and (not leftovers or all(_lifetime(part) is None for part in leftovers)):
        return {}
    found: FoundBreakpoints = {}
    _collect(conversation.tools, found)
    previous: Traceable | None = None
    for message in conversation.messages:
        previous = _collect(message.parts, found, previous=previous)
        lifetime = _lifetime(message)
        if previous is not None and lifetime is not None:
            found[previous.path] = lifetime
    if whole is not None and previous is not None:
        found.setdefault(previous.path, whole)
    return found


def _collect(
    parts: Iterable[Traceable], found: FoundBreakpoints, *, previous: Traceable | None = None
) -> Traceable | None:
    """Add the marks of these parts to `found`, and return the last part that is not itself a
    mark."""
    for part in parts:
        lifetime = _lifetime(part)
        if is_cache_mark(part):
            if previous is not None:
                found[previous.path] = bool(lifetime)
            continue
        if lifetime is not None:
            found[part.path] = lifetime
        previous = part
    return previous


def is_cache_mark(part: Traceable) -> bool:
    """True for a block that is only a mark."""
    return isinstance(part.spec, Block) and part.spec.marks_cache


def _lifetime(part: Traceable) -> bool | None:
    """True if a part has, or is, a mark with a long lifetime, False for another mark, None without
    one."""
    if isinstance(part, Result) and isinstance(part.output, tuple):
        inner = [lifetime for lifetime in map(_lifetime, part.output) if lifetime is not None]
        if inner:
            return any(inner)
    return _mark_lifetime(part.raw)


def _mark_lifetime(raw: JSON | UnsetType) -> bool | None:
    """The lifetime of the mark in the JSON of a block or body, as `_lifetime` returns it."""
    if not isinstance(raw, dict) or BREAKPOINT_FIELDS.isdisjoint(raw):
        return None
    marks = [mark for field in BREAKPOINT_FIELDS if isinstance(mark := raw.get(field), dict)]
    return any(mark.get("ttl") in _LONG for mark in marks) if marks else None


# --- the marks of the target ----------------------------------------------------------------------


def place_breakpoints(
    conversation: Conversation,
    found: FoundBreakpoints,
    support: CacheBreakpoints,
    *,
    wire: str,
    policy: BreakpointPolicy,
) -> Breakpoints | None:
    """The parts and tools to mark for a target; None if there are none.

    A mark on a part that the target cannot mark moves to an earlier part. If there are too many
    marks, the last ones stay.
    """
    marks: PartMap[Traceable, bool] = PartMap()
    if found:
        _mark_found(conversation, found, support, wire, marks)
    elif policy == "auto" and support.automatic:
        marks = PartMap((part, False) for part in _automatic(conversation, support))
    return _limit(marks, support.limit - _count_own(conversation, wire)) if len(marks) else None


def _mark_found(
    conversation: Conversation,
    found: FoundBreakpoints,
    support: CacheBreakpoints,
    wire: str,
    marks: PartMap[Traceable, bool],
) -> None:
    for tool in conversation.tools if support.tools else ():
        if tool.path in found:
            marks[tool] = found[tool.path]
    markable: Part | None = None
    for message in conversation.messages:
        if message.wire == wire:
            continue  # it is written verbatim, with its own marks
        for part in message.parts:
            if _holds_mark(part, message, support):
                markable = part
            if part.path in found and markable is not None:
                marks[markable] = found[part.path] or marks.get(markable, False)


def _holds_mark(part: Part, message: Message, support: CacheBreakpoints) -> bool:
    """True if the target can mark the block of a part."""
    if isinstance(part, Text):
        return bool(part.text) and (support.answers or message.role != "assistant")
    if isinstance(part, Call):
        return support.calls and part.executor == "client"
    return isinstance(part, Media | Result) and part.path != ()


def _automatic(conversation: Conversation, support: CacheBreakpoints) -> Iterator[Traceable]:
    """The parts to mark in a request without marks: the end of the system prompt or else of the
    tools, and the ends of the newest user turns."""
    ends: list[Part] = []
    system: Part | None = None
    previous = ""
    for message in conversation.messages:
        markable = [part for part in message.parts if _holds_mark(part, message, support)]
        role = "user" if message.role == "tool" else message.role
        if markable and role == "system":
            system = markable[-1]
        elif markable and role == "user":
            ends[len(ends) - (previous == role) :] = [markable[-1]]
        previous = role
    if system is not None:
        yield system
    elif conversation.tools and support.tools:
        yield conversation.tools[-1]
    yield from ends[-_AUTOMATIC_TURNS:]


def _count_own(conversation: Conversation, wire: str) -> int:
    """The number of marks in messages that are written verbatim."""
    return sum(
        _lifetime(part) is not None
        for message in conversation.messages
        if message.wire == wire
        for part in message.parts
    )


def _limit(marks: PartMap[Traceable, bool], limit: int) -> Breakpoints:
    """The last marks up to a limit. A prefix has a long lifetime only if all shorter ones have
    it."""
    kept: Breakpoints = PartMap()
    is_long = True
    for part, lasts in list(marks.items())[-limit:] if limit > 0 else ():
        is_long = is_long and lasts
        kept[part] = is_long
    return kept
