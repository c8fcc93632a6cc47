"""A thought leads to nothing.

A stored thought is taken back only with what it led to: "Item 'rs_…' of type 'reasoning' was
provided without its required following item." It happens when a response was cut off after the
thought, or when somebody took out the call or the text after it.

The fix takes the thought out: no other form of it is accepted. If it holds words that can be read,
they go too: that is unsafe.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JsonPath, Object
from toolwire.conversation.model import Fix
from toolwire.lint.examples.chat import USER
from toolwire.lint.examples.items import (
    function_call,
    function_call_output,
    has_readable_text,
    input_items,
    is_model_item,
    items_example,
    reasoning_item,
    with_items,
)
from toolwire.lint.facts import Facts
from toolwire.lint.rule import FixedBody, Problem, Rule


def _left(facts: Facts) -> list[tuple[int, Object]]:
    """Stored thoughts after which somebody else speaks, or nobody."""
    if facts.profile.reasoning_to_return != "reasoning" or not facts.profile.item_id_prefixes:
        return []
    found: list[tuple[int, Object]] = []
    waiting: list[tuple[int, Object]] = []
    for n, kind, item in input_items(facts):
        if kind == "reasoning":
            waiting.append((n, item))
        elif waiting:
            if not is_model_item(kind, item):
                found += waiting
            waiting = []
    return [(n, item) for n, item in found + waiting if isinstance(item.get("id"), str)]


def _fix(item: Object) -> Fix:
    return "unsafe" if has_readable_text(item) else "safe"


def _check(facts: Facts) -> Iterable[Problem]:
    for n, item in _left(facts):
        yield (
            ("input", n),
            f"nothing that the model said or called follows the thought {item['id']}",
            _fix(item),
        )


def _fix_all(facts: Facts, unsafe: bool) -> FixedBody | None:
    gone = [(n, item) for n, item in _left(facts) if unsafe or _fix(item) == "safe"]
    changes: list[tuple[JsonPath, str]] = [
        (("input", n), f"the thought {item['id']} was taken out") for n, item in gone
    ]
    return (
        FixedBody(with_items(facts, {n: [] for n, _ in gone}), tuple(changes)) if changes else None
    )


RULE = Rule(
    "TW048",
    "reasoning-dangling",
    title="a thought leads to nothing",
    cost="lossy",
    check=_check,
    fix=_fix_all,
    order=60,
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
