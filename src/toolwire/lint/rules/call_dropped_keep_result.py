"""A call was taken out of a history, and its result was left.

Filters do it: one that drops calls with broken arguments, one that keeps each id once, one that
trusts a list kept elsewhere. The trace is a result among the answers to a message of the assistant
that calls other tools, or that has an empty list of calls or says nothing. Providers refuse it like
any result without a call, and the fault lies in the filter: calls and results go together.

The call and its arguments are lost. The fix, which is not safe, tells the result as marked words of
the user, after the whole run of calls and results, so that the pairs beside it stay whole.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Call
from toolwire.lint.examples.blocks import answer, converse, given, model, use, used, user
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.orphans import orphans_of_removed_calls
from toolwire.lint.rule import Fixed, Problem, Rule
from toolwire.lint.transforms import results_as_text


def _check(facts: Facts) -> Iterable[Problem]:
    if not facts.profile.rejects_orphan_results or not facts.orphans:
        return
    found = orphans_of_removed_calls(facts)
    for result in facts.orphans:
        if id(result) in found:
            beside = [part.id for part in found[id(result)].parts if isinstance(part, Call)]
            trace = (
                f"stands with the answers to {', '.join(beside)}"
                if beside
                else "follows an assistant that calls nothing"
            )
            yield (
                result.path,
                (
                    f"the result for {result.call_id} {trace}, but its own call is gone: something"
                    " dropped it and kept the result"
                ),
                "unsafe",
            )


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    found = orphans_of_removed_calls(facts)
    left = [result for result in facts.orphans if id(result) in found]
    if not unsafe or not left:
        return None
    changes = tuple(
        (result.path, f"the result for {result.call_id} is told in words: its call was dropped")
        for result in left
    )
    return Fixed(results_as_text(facts, left), changes)


RULE = Rule(
    "TW038",
    "call-dropped-keep-result",
    title="a call was taken out of a history, and its result was left",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=31,
    ruled_out_by=(Observation.RESULTS_IN_PLACE,),
    bad=(
        chat_example(
            USER, assistant(tool_call("c1")), tool_message("c0"), tool_message("c1"), USER
        ),
        chat_example(
            USER, {"role": "assistant", "content": "", "tool_calls": []}, tool_message("c1"), USER
        ),
        blocks_example(USER, model(use("t1")), user(answer("t0"), answer("t1"))),
        converse(model(used("t1")), user(given("t0"), given("t1"))),
    ),
    good=(
        chat_example(
            USER,
            assistant(tool_call("c0"), tool_call("c1")),
            tool_message("c0"),
            tool_message("c1"),
            USER,
        ),
        chat_example(
            USER,
            assistant(tool_call("c1")),
            tool_message("c0"),
            tool_message("c1"),
            USER,
            target="xai",
        ),
    ),
)
