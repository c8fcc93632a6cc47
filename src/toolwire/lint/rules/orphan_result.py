"""A result names a call that is not there.

Providers look for the call of every result, and refuse the whole request if they find none:
"unexpected `tool_use_id` found in `tool_result` blocks", "messages with role 'tool' must be a
response to a preceding message with 'tool_calls'", "No tool call found for function call output".
It happens when a history is cut or summarised, or when somebody rewrote the id of one half.

If the id is another form of the id of exactly one open call (half of two ids in one, cut off,
cleaned of odd characters), the result goes back to that call: nothing is lost. Else nobody can know
its call, and the fix, which is not safe, tells the result as marked words of the user. They never
stand between a call and its result: that would break a pair that was whole.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Result
from toolwire.lint.examples.blocks import (
    HI,
    answer,
    contents,
    converse,
    given,
    items,
    model,
    output,
    responded,
    saying,
    use,
    user,
    words,
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
from toolwire.lint.id_variants import calls_of_rewritten_ids
from toolwire.lint.orphans import leading_orphans, orphans_of_removed_calls, surplus_orphans
from toolwire.lint.rule import Fixed, Problem, Rule
from toolwire.lint.transforms import replace_parts, results_as_text


def _plain(facts: Facts) -> list[Result]:
    """Orphans of which nothing more is known."""
    if not facts.profile.rejects_orphan_results or not facts.orphans:
        return []
    apart = {
        id(result) for result in (*leading_orphans(facts), *surplus_orphans(facts))
    } | orphans_of_removed_calls(facts).keys()
    return [result for result in facts.orphans if id(result) not in apart]


def _check(facts: Facts) -> Iterable[Problem]:
    if not facts.profile.rejects_orphan_results or not facts.orphans:
        return
    back = calls_of_rewritten_ids(facts)
    for result in facts.orphans:
        if id(result) in back:
            one = back[id(result)]
            yield (
                result.path,
                (
                    f"the result for {result.call_id} belongs to the call {one.id} of {one.name},"
                    " whose id was rewritten on the way"
                ),
                "safe",
            )
    for result in _plain(facts):
        if id(result) not in back:
            whose = (
                "a result without an id"
                if result.origin == "minted"
                else f"the result for {result.call_id}"
            )
            yield result.path, f"{whose} has no call in this history{_named(result)}", "unsafe"


def _named(result: Result) -> str:
    return f"; its tool was {result.name}" if result.name else ""


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    back = calls_of_rewritten_ids(facts)
    if back:
        mine = [result for result in facts.orphans if id(result) in back]
        new = {
            id(result): replace(result, call_id=back[id(result)].id, origin="wire")
            for result in mine
        }
        changes = tuple(
            (result.path, f"the result for {result.call_id} goes to {back[id(result)].id}")
            for result in mine
        )
        return Fixed(replace_parts(facts.conversation, new), changes)
    left = _plain(facts)
    if not unsafe or not left:
        return None
    changes = tuple(
        (result.path, f"the result for {result.call_id} is told in words: its call is not here")
        for result in left
    )
    return Fixed(results_as_text(facts, left), changes)


RULE = Rule(
    "TW020",
    "orphan-result",
    title="a result names a call that is not there",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=31,
    ruled_out_by=(Observation.RESULTS_IN_PLACE,),
    bad=(
        chat_example(USER, tool_message("c9")),
        chat_example(USER, assistant(tool_call("call_A|fc_B")), tool_message("call_A")),
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
        blocks_example(USER, model(words("ok")), user(answer("t9"), words("so?"))),
        items(output("c9")),
        contents(HI, saying(responded("f"))),
        converse({"role": "assistant", "content": [{"text": "ok"}]}, user(given("t9"))),
    ),
    good=(
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1")),
        chat_example(USER, tool_message("c9"), target="xai"),
        blocks_example(USER, model(use("t1")), user(answer("t1"))),
        items(output("c9"), previous_response_id="resp_1"),
    ),
)
