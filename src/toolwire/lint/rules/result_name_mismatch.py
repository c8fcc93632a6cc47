"""A result bears another name than its call.

Where the name ties a result to its call, it must be the name that was called: not that of a tool
inside the tool, not an id, not "unknown", and not nothing. Providers say "function_response.name:
Name cannot be empty" or that it "does not match functionCall.name".

The fix gives the result the name of its call. Which call that is, is known by its id, or because
there is no other.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from toolwire.conversation.parts import Call, Result
from toolwire.lint.examples.blocks import HI, asking, called, contents, responded, saying
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Fixed, Problem, Rule
from toolwire.lint.transforms import replace_parts


def _wrong(facts: Facts) -> list[tuple[Call, Result]]:
    if not facts.profile.results_need_tool_name or not facts.calls:
        return []
    pairs = ((one, facts.result_of.get(id(one))) for one in facts.calls)
    return [
        (one, result)
        for one, result in pairs
        if result is not None and one.name and (result.name or "") != one.name
    ]


def _check(facts: Facts) -> Iterable[Problem]:
    for one, result in _wrong(facts):
        named = f"named {result.name}" if result.name else "without a name"
        yield result.path, f"the result for {one.id} is {named}; its call is of {one.name}", "safe"


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    wrong = _wrong(facts)
    new = {id(result): replace(result, name=one.name) for one, result in wrong}
    changes = tuple(
        (result.path, f"the result for {one.id} bears the name of its call, {one.name}")
        for one, result in wrong
    )
    return Fixed(replace_parts(facts.conversation, new), changes)


RULE = Rule(
    "TW034",
    "result-name-mismatch",
    title="a result bears another name than its call",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=36,
    handled_by="write",
    bad=(
        contents(HI, asking(called("search")), saying(responded("call_176130"))),
        contents(HI, asking(called("search", "a")), saying(responded("unknown", call_id="a"))),
    ),
    good=(contents(HI, asking(called("search")), saying(responded("search"))),),
)
