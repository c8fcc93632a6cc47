"""One batch of calls is written as several messages of the assistant.

A program that stores each call as it comes makes a message of each. The results of the first then
do not follow it: another message of the assistant does. Providers say that results are missing, or
that a call is ("Missing corresponding tool call for tool response message"); where each message is
a step of its own, all but the first lack their signature.

The fix makes one message of them, with the calls in their order. Calls that were answered one by
one are left alone: they may have been made one by one.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.observations import Observation
from toolwire.lint.examples.blocks import (
    HI,
    answer,
    asking,
    called,
    contents,
    model,
    responded,
    saying,
    use,
    user,
)
from toolwire.lint.examples.chat import USER, asks, blocks, call, chat, told
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Fixed, Problem, Rule
from toolwire.lint.transforms import every_call, laid, place_of


def _check(facts: Facts) -> Iterable[Problem]:
    for block in facts.faults.get(NAME, ()) if facts.calls else ():
        yield (
            place_of(block),
            (
                f"the calls {every_call(block)} stand in {len(block.asks)} messages; their results"
                " cannot follow each"
            ),
            "safe",
        )


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    blocks = facts.faults.get(NAME, [])
    changes = tuple(
        (place_of(block), f"the calls {every_call(block)} stand in one message") for block in blocks
    )
    return Fixed(laid(facts, blocks), changes)


NAME = "calls-split"
RULE = Rule(
    "TW029",
    NAME,
    title="one batch of calls is written as several messages",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=40,
    ruled_out_by=(Observation.RESULTS_IN_PLACE,),
    bad=(
        chat(USER, asks(call("c1")), asks(call("c2", "g")), told("c1"), told("c2")),
        chat(
            USER,
            asks(call("c1"), reasoning_content="first f"),
            asks(call("c2", "g")),
            told("c2"),
            told("c1"),
            USER,
        ),
        blocks(
            USER,
            model(use("t1")),
            model(use("t2")),
            user(answer("t1"), answer("t2")),
            target="minimax-anthropic",
        ),
        contents(
            HI,
            asking(called("f", thoughtSignature="c2ln")),
            asking(called("g")),
            saying(responded("f"), responded("g")),
        ),
    ),
    good=(
        blocks(USER, model(use("t1")), model(use("t2")), user(answer("t1"), answer("t2"))),
        chat(USER, asks(call("c1")), told("c1"), asks(call("c2", "g")), told("c2")),
        chat(USER, {"role": "assistant", "content": "let me see"}, asks(call("c1")), told("c1")),
        chat(USER, asks(call("c1")), asks(call("c2", "g")), told("c1"), told("c2"), target="xai"),
    ),
)
