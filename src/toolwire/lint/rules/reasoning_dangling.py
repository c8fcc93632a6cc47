"""A reasoning item is not followed by the item that it belongs to.

A stored reasoning item is accepted only together with the item that it led to: "Item 'rs_…' of type
'reasoning' was provided without its required following item." It happens when a response was cut
off after the reasoning, or when the call or the text after it was removed.

The fix removes the reasoning item: no other form of it is accepted. Its readable text, if there is
any, becomes a marked message of the assistant.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import Object
from toolwire.lint.examples.chat import USER
from toolwire.lint.examples.items import (
    function_call,
    function_call_output,
    items_example,
    reasoning_item,
)
from toolwire.lint.facts import Facts
from toolwire.lint.items import input_items, is_model_item, reasoning_as_text, with_items
from toolwire.lint.rule import FixedBody, Problem, Rule


def _dangling_items(facts: Facts) -> list[tuple[int, Object]]:
    """Stored reasoning items that no item of the model follows: index and JSON."""
    if facts.profile.reasoning_to_return != "reasoning" or not facts.profile.item_id_prefixes:
        return []
    dangling: list[tuple[int, Object]] = []
    pending: list[tuple[int, Object]] = []
    for index, kind, item in input_items(facts):
        if kind == "reasoning":
            pending.append((index, item))
        elif pending:
            if not is_model_item(kind, item):
                dangling += pending
            pending = []
    return [(index, item) for index, item in dangling + pending if isinstance(item.get("id"), str)]


def _check(facts: Facts) -> Iterable[Problem]:
    for index, item in _dangling_items(facts):
        message = f"the reasoning item {item['id']} is not followed by text or a call of the model"
        yield ("input", index), message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedBody | None:
    removals = _dangling_items(facts)
    if not removals:
        return None
    changes = tuple(
        (("input", index), f"the reasoning item {item['id']} was removed")
        for index, item in removals
    )
    texts = {index: reasoning_as_text(item) for index, item in removals}
    return FixedBody(with_items(facts, texts), changes)


RULE = Rule(
    "TW048",
    "reasoning-dangling",
    title="a reasoning item is not followed by the item that it belongs to",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=60,
    concerns=lambda profile: profile.reasoning_to_return == "reasoning",
    scope="body",
    bad=(
        items_example(reasoning_item()),
        items_example(reasoning_item("rs_1", "hm"), USER),
        items_example(function_call(), reasoning_item(), function_call_output()),
    ),
    good=(
        items_example(reasoning_item(), function_call("call_1", "fc_1"), function_call_output()),
        items_example(
            reasoning_item(), reasoning_item("rs_2"), {"role": "assistant", "content": "hello"}
        ),
        items_example(reasoning_item(None, encrypted_content="gAAAAA")),
        items_example(reasoning_item(), target="deepseek-responses"),
    ),
)
