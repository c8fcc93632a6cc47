"""A call bears the id of a stored item, but the thought that led to it is not there.

A model that reasons gives a thought (`rs_…`) and then the call (`fc_…`), and the server keeps them
tied: sent back alone, the call is refused ("Item 'fc_…' of type 'function_call' was provided
without its required 'reasoning' item: 'rs_…'"). Clients drop thoughts because they look like
something to be shown and not to be sent.

It is told only of a request that asks a model to reason and holds no thought at all: a call may
well have had none. The fix takes the item id away; then nothing is looked up, and the call is taken
as it stands.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, JsonPath, Object, get
from toolwire.lint.examples.items import (
    function_call,
    function_call_output,
    input_items,
    items_example,
    reasoning_item,
    with_items,
    without_id,
)
from toolwire.lint.facts import Facts
from toolwire.lint.rule import FixedBody, Problem, Rule

_LITTLE = ("none", "minimal")
"""Efforts at which a model may call without a thought."""


def _alone(facts: Facts) -> list[tuple[int, str, Object]]:
    if (
        facts.profile.reasoning_to_return != "reasoning"
        or not facts.profile.item_id_prefixes
        or not facts.calls
    ):
        return []
    effort = get(facts.body, ("reasoning", "effort"))
    if not isinstance(effort, str) or effort in _LITTLE or facts.continues_elsewhere:
        return []
    prefixes = facts.profile.item_id_prefixes
    found: list[tuple[int, str, Object]] = []
    for n, kind, item in input_items(facts):
        if kind == "reasoning" or kind.startswith("compaction"):
            return []
        one = item.get("id")
        if (
            isinstance(one, str)
            and kind.endswith("_call")
            and kind in prefixes
            and one.startswith(prefixes[kind])
        ):
            found.append((n, kind, item))
    return found


def _check(facts: Facts) -> Iterable[Problem]:
    for n, _, item in _alone(facts):
        yield (
            ("input", n, "id"),
            f"the call {item.get('call_id')} is named {item['id']}, without the thought before it",
            "safe",
        )


def _fix(facts: Facts, unsafe: bool) -> FixedBody | None:
    found = _alone(facts)
    new: dict[int, list[JSON]] = {n: [without_id(item)] for n, _, item in found}
    changes: list[tuple[JsonPath, str]] = [
        (("input", n, "id"), f"the id of the {kind} was taken away") for n, kind, _ in found
    ]
    return FixedBody(with_items(facts, new), tuple(changes)) if changes else None


_HARD: Object = {"effort": "medium"}
RULE = Rule(
    "TW047",
    "reasoning-missing",
    title="a stored call stands without the thought that led to it",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=60,
    scope="body",
    bad=(items_example(function_call("call_1", "fc_1"), function_call_output(), reasoning=_HARD),),
    good=(
        items_example(
            reasoning_item(),
            function_call("call_1", "fc_1"),
            function_call_output(),
            reasoning=_HARD,
        ),
        items_example(function_call("call_1"), function_call_output(), reasoning=_HARD),
        items_example(function_call("call_1", "fc_1"), function_call_output()),
        items_example(
            function_call("call_1", "fc_1"), function_call_output(), reasoning={"effort": "none"}
        ),
    ),
)
