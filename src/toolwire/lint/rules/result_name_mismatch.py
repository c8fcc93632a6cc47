"""A result names a different tool than its call.

If the name connects a result with its call, it must be the name of the tool that was called, not an
id, "unknown" or an empty string. Providers report "function_response.name: Name cannot be empty",
or that the name "does not match functionCall.name".

The fix gives the result the name of its call, and nothing is lost. The id shows which call that is,
or the position if the name cannot be that of a tool. A result without an id that names another tool
is not changed here: it belongs to a call that was removed.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Call, Part, Result
from toolwire.lint.examples.blocks import (
    HI,
    call_part,
    contents_example,
    model_parts,
    response_part,
    user_parts,
)
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.transforms import replace_parts
from toolwire.lint.rule import FixedConversation, Problem, Rule


def _mismatches(facts: Facts) -> list[tuple[Call, Result]]:
    if not facts.profile.results_need_tool_name or not facts.calls:
        return []
    pairs = ((call, facts.result_of.get(call)) for call in facts.calls)
    return [
        (call, result)
        for call, result in pairs
        if result is not None and call.name and (result.name or "") != call.name
    ]


def _check(facts: Facts) -> Iterable[Problem]:
    for call, result in _mismatches(facts):
        name = f"the name {result.name}" if result.name else "no name"
        message = f"the result for {call.id} has {name}; the name of its call is {call.name}"
        yield result.path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    mismatches = _mismatches(facts)
    results: PartMap[Part, Part] = PartMap(
        (result, replace(result, name=call.name)) for call, result in mismatches
    )
    changes = tuple(
        (result.path, f"gave the result for {call.id} the name of its call, {call.name}")
        for call, result in mismatches
    )
    return FixedConversation(replace_parts(facts.conversation, results), changes)


RULE = Rule(
    "TW034",
    "result-name-mismatch",
    title="a result names a different tool than its call",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=36,
    concerns=lambda profile: profile.results_need_tool_name,
    handled_by="write",
    bad=(
        contents_example(
            HI, model_parts(call_part("search")), user_parts(response_part("call_176130"))
        ),
        contents_example(
            HI,
            model_parts(call_part("search", "a")),
            user_parts(response_part("unknown", call_id="a")),
        ),
    ),
    good=(
        contents_example(HI, model_parts(call_part("search")), user_parts(response_part("search"))),
    ),
)
