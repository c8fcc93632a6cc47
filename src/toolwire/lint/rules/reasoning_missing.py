"""A call has the id of a stored item, but the reasoning item before it is missing.

A reasoning model returns a reasoning item (`rs_…`) and then the call (`fc_…`), and the server keeps
them connected. A call that is sent back without its reasoning is refused ("Item 'fc_…' of type
'function_call' was provided without its required 'reasoning' item: 'rs_…'"). Clients drop reasoning
items because these look like output for display only.

A call need not have reasoning, so the rule applies only if the request asks the model to reason and
contains no reasoning item at all. The fix removes the item id: the server then looks nothing up and
accepts the call unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import Object, get
from toolwire.lint.examples.items import (
    function_call,
    function_call_output,
    items_example,
    reasoning_item,
)
from toolwire.lint.facts import Facts
from toolwire.lint.items import input_items, with_items, without_id
from toolwire.lint.rule import FixedBody, Problem, Rule

_LOW_EFFORTS = ("none", "minimal")
"""Efforts at which a model may call tools without reasoning."""


def _calls_without_reasoning(facts: Facts) -> list[tuple[int, str, Object]]:
    """Stored calls of a request without reasoning items: index, type and JSON."""
    prefixes = facts.profile.item_id_prefixes
    if facts.profile.reasoning_to_return != "reasoning" or not prefixes or not facts.calls:
        return []
    effort = get(facts.body, ("reasoning", "effort"))
    if not isinstance(effort, str) or effort in _LOW_EFFORTS or facts.continues_elsewhere:
        return []
    calls: list[tuple[int, str, Object]] = []
    for index, kind, item in input_items(facts):
        if kind == "reasoning" or kind.startswith("compaction"):
            return []
        item_id = item.get("id")
        if (
            isinstance(item_id, str)
            and kind.endswith("_call")
            and kind in prefixes
            and item_id.startswith(prefixes[kind])
        ):
            calls.append((index, kind, item))
    return calls


def _check(facts: Facts) -> Iterable[Problem]:
    for index, _, item in _calls_without_reasoning(facts):
        message = (
            f"the call {item.get('call_id')} has the item id {item['id']}, but its reasoning item"
            " is missing"
        )
        yield ("input", index, "id"), message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedBody | None:
    calls = _calls_without_reasoning(facts)
    if not calls:
        return None
    replacements = {index: [without_id(item)] for index, _, item in calls}
    changes = tuple(
        (("input", index, "id"), f"removed the id of the {kind} item") for index, kind, _ in calls
    )
    return FixedBody(with_items(facts, replacements), changes)


_REASONING: Object = {"effort": "medium"}
RULE = Rule(
    "TW047",
    "reasoning-missing",
    title="a stored call is sent without its reasoning item",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=60,
    concerns=lambda profile: profile.reasoning_to_return == "reasoning",
    scope="body",
    bad=(
        items_example(
            function_call("call_1", "fc_1"), function_call_output(), reasoning=_REASONING
        ),
    ),
    good=(
        items_example(
            reasoning_item(),
            function_call("call_1", "fc_1"),
            function_call_output(),
            reasoning=_REASONING,
        ),
        items_example(function_call("call_1"), function_call_output(), reasoning=_REASONING),
        items_example(function_call("call_1", "fc_1"), function_call_output()),
        items_example(
            function_call("call_1", "fc_1"), function_call_output(), reasoning={"effort": "none"}
        ),
    ),
)
