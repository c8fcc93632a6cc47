"""Find the cache breakpoints that have to go because a provider accepts only a few."""

from __future__ import annotations

from collections.abc import Iterator

from toolwire.conversation.json import JSON, JsonPath
from toolwire.lint.facts import Facts
from toolwire.lint.memo import once_per_history
from toolwire.profiles.table import Profile
from toolwire.wires import wire
from toolwire.wires.engine.capabilities import CacheBreakpoints

_FIELD = "cache_control"
_KEY = b'"cache_control"'
_PLACES = ("tools", "system", "messages")
"""The fields of a request with blocks that can be marked, in the order of the prompt."""


def breakpoints_in_fields(profile: Profile) -> CacheBreakpoints | None:
    """How a provider caches prompts, if its blocks are marked by a field; otherwise None."""
    support = wire(profile.wire).capabilities.cache_breakpoints
    if support is None or support.own_block or _FIELD not in support.mark:
        return None
    return support


@once_per_history
def surplus_breakpoints(facts: Facts) -> list[JsonPath]:
    """The paths of the breakpoints to remove: the first ones, which cover the shortest prefixes."""
    support, body = breakpoints_in_fields(facts.profile), facts.body
    if support is None or facts.conversation.kind != "request" or not isinstance(body, dict):
        return []
    raw = facts.conversation.source.raw
    if raw is not None and raw.count(_KEY) <= support.limit:
        return []  # counting in the bytes is cheaper than a walk through all blocks
    paths = [path for place in _PLACES for path in _paths(body.get(place), (place,))]
    if body.get(_FIELD):
        paths.append((_FIELD,))
    return paths[: max(len(paths) - support.limit, 0)]


def _paths(blocks: JSON, path: JsonPath) -> Iterator[JsonPath]:
    """The paths of the breakpoints of blocks, and of blocks in their content."""
    for n, block in enumerate(blocks if isinstance(blocks, list) else ()):
        if isinstance(block, dict):
            content = block.get("content")
            if isinstance(content, list):
                yield from _paths(content, (*path, n, "content"))
            if block.get(_FIELD):
                yield (*path, n, _FIELD)
