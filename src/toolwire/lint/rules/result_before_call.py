"""A result stands before its call.

Stores that sort by time, or merge two logs, put the answer before the question. Providers read from
the start and find a result without a call, and later a call without a result.

The fix moves the result to its place after the call. Nothing is lost, and nothing else moves.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Result
from toolwire.lint.examples.blocks import answer, item, items, model, output, use, user, words
from toolwire.lint.examples.chat import USER, asks, blocks, call, chat, told
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Fixed, Problem, Rule
from toolwire.lint.transforms import answered_for


def _early(facts: Facts) -> list[Result]:
    return (
        [result for result in facts.stray if id(result) in facts.early]
        if facts.profile.rejects_orphan_results and facts.stray
        else []
    )


def _check(facts: Facts) -> Iterable[Problem]:
    for result in _early(facts):
        one = facts.early[id(result)]
        yield result.path, f"the result for {one.id} of {one.name} stands before the call", "safe"


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    early = _early(facts)
    result_of = {id(facts.early[id(result)]): result for result in early}
    left = [(block, one) for block in facts.blocks for one in block.calls if id(one) in result_of]
    changes = tuple(
        (result.path, f"the result for {result.call_id} stands after its call") for result in early
    )
    return Fixed(answered_for(facts, left, lambda one: result_of[id(one)]), changes)


RULE = Rule(
    "TW026",
    "result-before-call",
    title="a result stands before its call",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=30,
    ruled_out_by=(Observation.RESULTS_IN_PLACE,),
    bad=(
        chat(told("c1"), asks(call("c1"))),
        chat(USER, told("c1"), asks(call("c1"), call("c2")), told("c2"), USER),
        blocks(user(words("hi"), answer("t1")), model(use("t1"))),
        items(output("c1"), item("c1"), USER),
    ),
    good=(
        chat(USER, asks(call("c1")), told("c1"), asks(call("c1")), told("c1")),
        chat(told("c1"), asks(call("c1")), target="xai"),
    ),
)
