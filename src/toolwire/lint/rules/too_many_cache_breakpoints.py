"""A request has more cache breakpoints than its provider accepts.

A program that marks every new message, and never removes a mark, fails after a few turns: "A
maximum of 4 blocks with cache_control may be provided. Found 5." Tools, the system prompt, messages
and the content of results count together.

The fix removes the first breakpoints and keeps the last ones, which cover the longest prefixes. A
breakpoint changes no answer, so nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON
from toolwire.conversation.observations import Observation
from toolwire.lint.examples.chat import blocks_example
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.cache_breakpoints import breakpoints_in_fields, surplus_breakpoints
from toolwire.lint.fixes.json_remove import remove_paths
from toolwire.lint.rule import FixedBody, Problem, Rule


def _check(facts: Facts) -> Iterable[Problem]:
    support = breakpoints_in_fields(facts.profile)
    for path in surplus_breakpoints(facts):
        assert support is not None
        limit = support.limit
        yield path, f"{facts.profile.name} accepts at most {limit} cache breakpoints", "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedBody | None:
    paths = surplus_breakpoints(facts)
    if not paths:
        return None
    changes = tuple((path, "removed a cache breakpoint; later ones stay") for path in paths)
    return FixedBody(remove_paths(facts.body, paths), changes)


def _with_breakpoints(count: int) -> JSON:
    mark: JSON = {"type": "ephemeral"}
    blocks: list[JSON] = [
        {"type": "text", "text": f"part {n}", "cache_control": mark} for n in range(count)
    ]
    return {"role": "user", "content": blocks}


RULE = Rule(
    "TW081",
    "too-many-cache-breakpoints",
    title="a request has more cache breakpoints than its provider accepts",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=10,
    scope="body",
    concerns=lambda profile: breakpoints_in_fields(profile) is not None,
    ruled_out_on_own_wire_by=(Observation.ACCEPTED_BREAKPOINTS,),
    bad=(blocks_example(_with_breakpoints(5)),),
    good=(blocks_example(_with_breakpoints(4)),),
)
