"""A turn has more results than calls.

Where ids do not say which result is too many, the numbers do: "number of function response parts is
equal to number of function call parts", "exceeds the number of toolUse blocks of previous turn". A
result was stored twice, or a call was dropped. With ids, the second result of a call and the result
without a call are found by rules of their own.

Results that say the same are one: the copies go. If they differ and one call could have any of
them, nobody can tell and there is no fix. What no call is left for is told, not safely, as marked
words of the user.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Result
from toolwire.lint.examples.blocks import (
    HI,
    asking,
    called,
    contents,
    converse,
    given,
    model,
    responded,
    saying,
    used,
    user,
)
from toolwire.lint.facts import AmbiguousGroup, Facts
from toolwire.lint.orphans import surplus_orphans
from toolwire.lint.rule import Fixed, Problem, Rule
from toolwire.lint.transforms import remove_parts, results_as_text


def _many(facts: Facts) -> list[AmbiguousGroup]:
    """Several results for one call."""
    return (
        [one for one in facts.ambiguous_groups if len(one.calls) == 1]
        if facts.profile.rejects_orphan_results and facts.unpaired_results
        else []
    )


def _copies(one: AmbiguousGroup) -> tuple[Result, ...]:
    """All but the first, if they say the same."""
    first, *rest = one.results
    return (
        tuple(rest) if all(result == first or result.text == first.text for result in rest) else ()
    )


def _check(facts: Facts) -> Iterable[Problem]:
    if not facts.profile.rejects_orphan_results or not facts.unpaired_results:
        return
    for one in _many(facts):
        call, count = one.calls[0], len(one.results)
        same = bool(_copies(one))
        why = (
            "they say the same"
            if same
            else "they differ, and none has an id: remove those that are not its own"
        )
        yield (
            one.results[1].path,
            f"there are {count} results for the call {call.id} of {call.name}; {why}",
            "safe" if same else None,
        )
    for result in surplus_orphans(facts):
        named = f" of {result.name}" if result.name else ""
        yield (
            result.path,
            f"there is no call left in this turn for a result{named} without an id",
            "unsafe",
        )


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    copies = [result for one in _many(facts) for result in _copies(one)]
    if copies:
        changes = tuple(
            (result.path, "a result that says what another said was taken out") for result in copies
        )
        return Fixed(remove_parts(facts.conversation, {id(result) for result in copies}), changes)
    left = surplus_orphans(facts)
    if not unsafe or not left:
        return None
    changes = tuple(
        (result.path, "a result that no call is left for is told in words") for result in left
    )
    return Fixed(results_as_text(facts, left), changes)


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
        converse(model(used("t1")), user(given("t1"), given(None))),
        contents(HI, asking(called("f")), saying(responded("f", 1), responded("f", 1))),
        contents(HI, asking(called("f")), saying(responded("f", 1), responded("f", 2))),
    ),
    good=(
        contents(HI, asking(called("f")), saying(responded("f", 1))),
        contents(
            HI, asking(called("f"), called("f")), saying(responded("f", 1), responded("f", 2))
        ),
    ),
)
