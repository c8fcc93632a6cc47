"""A turn has more results than calls.

If results have no ids, only their number shows that one is surplus: "number of function response
parts is equal to number of function call parts", "exceeds the number of toolUse blocks of previous
turn". The cause is a result that was stored twice, or a call that was dropped. If the results have
ids, other rules report a second result for a call and a result without a call.

Results with the same text are copies: the fix keeps the first and removes the others. If several
different results could belong to one call, the right one is unknown: the fix rewrites all of them
as user text marked `[toolwire]`, and gives the call a placeholder result. A result for which no
call is left also becomes marked text.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from toolwire.conversation.observations import Observation
from toolwire.conversation.part_map import PartMap, PartSet
from toolwire.conversation.parts import Part, Result
from toolwire.lint.examples.blocks import (
    HI,
    assistant_blocks,
    call_part,
    contents_example,
    converse_call,
    converse_example,
    converse_result,
    model_parts,
    response_part,
    user_blocks,
    user_parts,
)
from toolwire.lint.facts import AmbiguousGroup, Facts
from toolwire.lint.fixes.transforms import remove_parts, replace_parts, results_as_text
from toolwire.lint.fixes.uncertain_results import rewrite_uncertain_results
from toolwire.lint.orphans import surplus_orphans
from toolwire.lint.rule import FixedConversation, Problem, Rule

SEVERAL_RESULTS = "one of several that may belong to the same call"


def _groups_for_one_call(facts: Facts) -> list[AmbiguousGroup]:
    """Return the groups of several results that could belong to one call.

    A target that accepts results without a call may still refuse the call without a result.
    """
    profile = facts.profile
    if not (profile.rejects_orphan_results or profile.rejects_missing_results):
        return []
    if not facts.results_without_call:
        return []
    return [group for group in facts.ambiguous_groups if len(group.calls) == 1]


def _surplus_results(facts: Facts) -> list[Result]:
    """Return the results for which no call is left, if the target refuses them."""
    if not facts.rejects_orphans or not facts.results_without_call:
        return []
    return surplus_orphans(facts)


def _copies(group: AmbiguousGroup) -> tuple[Result, ...]:
    """Return all results but the first if they are equal, otherwise none."""
    first, *rest = group.results
    if all(result == first or result.text == first.text for result in rest):
        return tuple(rest)
    return ()


def _check(facts: Facts) -> Iterable[Problem]:
    for group in _groups_for_one_call(facts):
        call = group.calls[0]
        message = f"the call {call.id} ({call.name}) has {len(group.results)} results"
        path = group.results[1].path
        if _copies(group):
            yield path, f"{message} with the same text; expected one", "safe"
        else:
            yield path, f"{message} that differ and have no ids; expected one", "safe"
    for result in _surplus_results(facts):
        name = f" of {result.name}" if result.name else ""
        yield (
            result.path,
            f"the result{name} has no id, and all calls of its turn already have a result",
            "safe",
        )


def _remove_copies(facts: Facts, groups: list[AmbiguousGroup]) -> FixedConversation:
    """Keep the first result of each group, for the only call of the group."""
    copies: PartSet[Part] = PartSet(result for group in groups for result in _copies(group))
    changes = tuple((result.path, "removed a copy of another result") for result in copies)
    first_results: PartMap[Part, Part] = PartMap(
        (group.results[0], replace(group.results[0], call_id=group.calls[0].id)) for group in groups
    )
    conversation = replace_parts(facts.conversation, first_results)
    return FixedConversation(remove_parts(conversation, copies), changes)


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    groups = [group for group in _groups_for_one_call(facts) if _copies(group)]
    if groups:
        return _remove_copies(facts, groups)
    groups = _groups_for_one_call(facts)
    uncertain = [result for group in groups for result in group.results]
    if uncertain:
        changes = tuple(
            (result.path, "rewrote the result as text: several results could belong to one call")
            for result in uncertain
        )
        calls = [call for group in groups for call in group.calls]
        return FixedConversation(
            rewrite_uncertain_results(facts, calls, uncertain, SEVERAL_RESULTS), changes
        )
    surplus = _surplus_results(facts)
    if not surplus:
        return None
    changes = tuple(
        (result.path, "rewrote the surplus result as text: no call is left for it")
        for result in surplus
    )
    return FixedConversation(results_as_text(facts, surplus), changes)


RULE = Rule(
    "TW035",
    "count-mismatch",
    title="a turn has more results than calls",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=32,
    ruled_out_by=(Observation.RESULTS_IN_PLACE,),
    bad=(
        converse_example(
            assistant_blocks(converse_call("t1")),
            user_blocks(converse_result("t1"), converse_result(None)),
        ),
        contents_example(
            HI,
            model_parts(call_part("f")),
            user_parts(response_part("f", 1), response_part("f", 1)),
        ),
        contents_example(
            HI,
            model_parts(call_part("f")),
            user_parts(response_part("f", 1), response_part("f", 2)),
        ),
    ),
    good=(
        contents_example(HI, model_parts(call_part("f")), user_parts(response_part("f", 1))),
        contents_example(
            HI,
            model_parts(call_part("f"), call_part("f")),
            user_parts(response_part("f", 1), response_part("f", 2)),
        ),
    ),
)
