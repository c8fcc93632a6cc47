"""A result names a call that is not in the history.

Providers look for the call of every result, and refuse the whole request if there is none:
"unexpected `tool_use_id` found in `tool_result` blocks", "messages with role 'tool' must be a
response to a preceding message with 'tool_calls'", "No tool call found for function call output".
This happens when a history is cut or summarized, or when the id of one half was rewritten.

If the id is another form of the id of exactly one open call (one half of a composite id, truncated,
or with special characters removed), the fix gives the result the id of that call. Nothing is lost.
Otherwise the call is unknown, and the fix rewrites the result as user text marked `[toolwire]`. It
never places that text between a call and its result, which would break an intact pair.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from toolwire.conversation.json import JsonPath
from toolwire.conversation.observations import Observation
from toolwire.conversation.part_map import PartMap, PartSet
from toolwire.conversation.parts import Call, Part, Result
from toolwire.lint.examples.blocks import (
    HI,
    assistant_blocks,
    contents_example,
    converse_example,
    converse_result,
    items_request,
    output_item,
    response_part,
    text_block,
    tool_result,
    tool_use,
    user_blocks,
    user_parts,
)
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.transforms import replace_parts, results_as_text
from toolwire.lint.ids.edits import harmful_composites
from toolwire.lint.ids.formats import call_half, unit_of_repetition, without_payload
from toolwire.lint.ids.output_as_id import results_with_output_as_id
from toolwire.lint.ids.rewritings import calls_of_rewritten_ids
from toolwire.lint.orphans import (
    adopted_orphans,
    leading_orphans,
    orphans_of_removed_calls,
    surplus_orphans,
)
from toolwire.lint.rule import FixedConversation, Problem, Rule


def _plain_orphans(facts: Facts) -> list[Result]:
    """Orphans that no more specific rule reports."""
    if not facts.rejects_orphans or not facts.orphans:
        return []
    specific = PartSet(
        (
            *leading_orphans(facts),
            *surplus_orphans(facts),
            *orphans_of_removed_calls(facts),
            *adopted_orphans(facts),
            *(found[0] for found in results_with_output_as_id(facts)),
        )
    )
    return [result for result in facts.orphans if result not in specific]


def _check(facts: Facts) -> Iterable[Problem]:
    if not facts.rejects_orphans or not facts.orphans:
        return
    rewritten = calls_of_rewritten_ids(facts)
    composite = _paths_of_composite_ids(facts) if rewritten else set()
    for result in facts.orphans:
        if result in rewritten:
            call = rewritten[result]
            if call.path in composite or result.path in composite:
                continue
            message = (
                f"the result for {result.call_id} belongs to the call {call.id} ({call.name}): one"
                " of the two ids was rewritten"
            )
            yield result.path, message, "safe"
    for result in _plain_orphans(facts):
        if result not in rewritten:
            yield result.path, f"{_describe(result)} has no call in this history", "safe"


def _paths_of_composite_ids(facts: Facts) -> set[JsonPath]:
    """The paths of calls and results that a rule about composite ids reports."""
    return {
        composite.part.path
        for reduce in (call_half, without_payload, unit_of_repetition)
        for composite in harmful_composites(facts, reduce)
    }


def _describe(result: Result) -> str:
    tool = f" ({result.name})" if result.name else ""
    if result.origin == "minted":
        return f"a result without an id{tool}"
    return f"the result for {result.call_id}{tool}"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    rewritten = calls_of_rewritten_ids(facts)
    if rewritten:
        return _restore_ids(facts, rewritten)
    orphans = _plain_orphans(facts)
    if not orphans:
        return None
    changes = tuple(
        (result.path, f"rewrote {_describe(result)} as text: its call is not in this history")
        for result in orphans
    )
    return FixedConversation(results_as_text(facts, orphans), changes)


def _restore_ids(facts: Facts, rewritten: PartMap[Result, Call]) -> FixedConversation:
    results = [result for result in facts.orphans if result in rewritten]
    parts: PartMap[Part, Part] = PartMap(
        (result, replace(result, call_id=rewritten[result].id, origin="wire")) for result in results
    )
    changes = tuple(
        (result.path, f"gave the result for {result.call_id} the id {rewritten[result].id}")
        for result in results
    )
    return FixedConversation(replace_parts(facts.conversation, parts), changes)


RULE = Rule(
    "TW020",
    "orphan-result",
    title="a result names a call that is not in the history",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=31,
    ruled_out_by=(Observation.RESULTS_IN_PLACE,),
    bad=(
        chat_example(USER, tool_message("c9")),
        chat_example(
            USER, assistant(tool_call("functions.read:0")), tool_message("functions_read_0")
        ),
        chat_example(
            USER,
            assistant(tool_call("c1")),
            tool_message("c1"),
            USER,
            tool_message("c9"),
            {"role": "assistant", "content": "ok"},
        ),
        blocks_example(
            USER,
            assistant_blocks(text_block("ok")),
            user_blocks(tool_result("t9"), text_block("so?")),
        ),
        items_request(output_item("c9")),
        contents_example(HI, user_parts(response_part("f"))),
        converse_example(
            {"role": "assistant", "content": [{"text": "ok"}]}, user_blocks(converse_result("t9"))
        ),
    ),
    good=(
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1")),
        chat_example(USER, tool_message("c9"), target="xai"),
        blocks_example(USER, assistant_blocks(tool_use("t1")), user_blocks(tool_result("t1"))),
        items_request(output_item("c9"), previous_response_id="resp_1"),
    ),
)
