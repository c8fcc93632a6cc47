"""A request has more cache breakpoints than its provider accepts.

A program that marks every new message, and never removes a mark, fails after a few turns: "A
maximum of 4 blocks with cache_control may be provided. Found 5." Tools, the system prompt, messages
and the content of results count together.

The fix removes the first marks and keeps the last ones, which cover the longest prefixes. A mark
changes no answer, so nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from toolwire.conversation.json import JSON, JsonPath
from toolwire.lint.examples.chat import blocks_example
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.json_remove import remove_paths
from toolwire.lint.memo import once_per_history
from toolwire.lint.rule import FixedBody, Problem, Rule
from toolwire.profiles.table import Profile
from toolwire.wires import wire

_FIELD = "cache_control"
_KEY = b'"cache_control"'
_PLACES = ("tools", "system", "messages")
"""The fields of a request with blocks that can be marked, in the order of the prompt."""


def _is_marked_by_field(profile: Profile) -> bool:
    """True if the blocks of a provider are marked by a field."""
    support = wire(profile.wire).capabilities.cache_breakpoints
    return support is not None and _FIELD in support.mark and not support.own_block


@once_per_history
def _surplus(facts: Facts) -> list[JsonPath]:
    """The paths of the marks to remove."""
    support, body = wire(facts.profile.wire).capabilities.cache_breakpoints, facts.body
    if support is None or facts.conversation.kind != "request" or not isinstance(body, dict):
        return []
    raw = facts.conversation.source.raw
    if raw is not None and raw.count(_KEY) <= support.limit:
        return []  # counting in the bytes is cheaper than a walk through all blocks
    marks = [path for place in _PLACES for path in _marks(body.get(place), (place,))]
    if body.get(_FIELD):
        marks.append((_FIELD,))
    return marks[: max(len(marks) - support.limit, 0)]


def _marks(blocks: JSON, path: JsonPath) -> Iterator[JsonPath]:
    """The paths of the marks of blocks, and of blocks in their content."""
    for n, block in enumerate(blocks if isinstance(blocks, list) else ()):
        if isinstance(block, dict):
            content = block.get("content")
            if isinstance(content, list):
                yield from _marks(content, (*path, n, "content"))
            if block.get(_FIELD):
                yield (*path, n, _FIELD)


def _check(facts: Facts) -> Iterable[Problem]:
    for path in _surplus(facts):
        yield path, f"{facts.profile.name} accepts fewer cache breakpoints", "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedBody | None:
    paths = _surplus(facts)
    if not paths:
        return None
    changes = tuple((path, "removed a cache breakpoint; later ones stay") for path in paths)
    return FixedBody(remove_paths(facts.body, paths), changes)


def _marked(count: int) -> JSON:
    mark: JSON = {"type": "ephemeral"}
    blocks: list[JSON] = [{"type": "text", "text": f"part {n}", _FIELD: mark} for n in range(count)]
    return {"role": "user", "content": blocks}


RULE = Rule(
    "TW081",
    "too-many-cache-marks",
    title="a request has more cache breakpoints than its provider accepts",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=10,
    scope="body",
    concerns=_is_marked_by_field,
    bad=(blocks_example(_marked(5)),),
    good=(blocks_example(_marked(4)),),
)
