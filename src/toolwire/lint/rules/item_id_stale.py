"""An item is named by an id that the server has not kept.

With `store: false` the server keeps nothing, so a thought that is only an id, or a reference to an
item, leads nowhere: "Item with id 'rs_…' not found. Items are not persisted when `store` is set to
false." It happens when a client stops storing and goes on sending back what it got before, or never
asks for the sealed content (`include: ["reasoning.encrypted_content"]`).

The fix takes such a thought out, and the ids of the items it led to, which the server would look up
together. That is unsafe if the thought holds a summary: its words go too. What a reference names is
not in the request: a person has to put the item there.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.model import Fix
from toolwire.lint.examples.items import (
    function_call,
    function_call_output,
    has_readable_text,
    input_items,
    is_model_item,
    items_example,
    reasoning_item,
    with_items,
    without_id,
)
from toolwire.lint.facts import Facts
from toolwire.lint.rule import FixedBody, Problem, Rule


def _forgets(facts: Facts) -> bool:
    body = facts.body
    return (
        isinstance(body, dict)
        and body.get("store") is False
        and not (body.get("previous_response_id") or body.get("conversation"))
    )


def _stale(facts: Facts) -> list[tuple[int, Object]]:
    if not facts.profile.item_id_prefixes or not _forgets(facts):
        return []
    prefix = facts.profile.item_id_prefixes.get("reasoning", "")
    return [
        (n, item)
        for n, kind, item in input_items(facts)
        if kind == "item_reference" or (kind == "reasoning" and _only_named(item, prefix))
    ]


def _only_named(item: Object, prefix: str) -> bool:
    """Whether a thought is nothing but a name, and perhaps a summary of what it names."""
    one = item.get("id")
    return (
        isinstance(one, str)
        and one.startswith(prefix)
        and not item.get("encrypted_content")
        and not item.get("content")
    )


def _fix(item: Object) -> Fix | None:
    if item.get("type") != "reasoning":
        return None
    return "unsafe" if has_readable_text(item) else "safe"


def _check(facts: Facts) -> Iterable[Problem]:
    for n, item in _stale(facts):
        fix = _fix(item)
        more = "" if fix else ": send the item itself"
        yield (
            ("input", n),
            f"{item.get('id')} is looked up, but with `store: false` nothing is kept{more}",
            fix,
        )


def _fix_all(facts: Facts, unsafe: bool) -> FixedBody | None:
    gone = {n for n, item in _stale(facts) if (fix := _fix(item)) == "safe" or (fix and unsafe)}
    new: dict[int, list[JSON]] = {}
    changes: list[tuple[JsonPath, str]] = []
    led = False
    for n, kind, item in input_items(facts):
        if n in gone:
            new[n] = []
            changes.append(
                (("input", n), f"the thought {item.get('id')}, which nobody kept, was taken out")
            )
            led = True
        elif not is_model_item(kind, item):
            led = False
        elif (
            led and kind in facts.profile.item_id_prefixes and kind != "reasoning" and "id" in item
        ):
            new[n] = [without_id(item)]
            changes.append(
                (
                    ("input", n, "id"),
                    f"the id of the {kind} was taken away, because its thought is gone",
                )
            )
    return FixedBody(with_items(facts, new), tuple(changes)) if changes else None


RULE = Rule(
    "TW043",
    "item-id-stale",
    title="an item is named by an id that the server has not kept",
    cost="lossy",
    check=_check,
    fix=_fix_all,
    order=16,
    scope="body",
    bad=(
        items_example(
            reasoning_item("rs_1"),
            function_call("call_1", "fc_1"),
            function_call_output(),
            store=False,
        ),
        items_example(
            reasoning_item("rs_1", "hm"),
            function_call("call_1", "fc_1"),
            function_call_output(),
            store=False,
        ),
        items_example({"type": "item_reference", "id": "msg_1"}, store=False),
    ),
    good=(
        items_example(
            reasoning_item("rs_1"),
            function_call("call_1", "fc_1"),
            function_call_output(),
            store=True,
        ),
        items_example(
            reasoning_item("rs_1"), function_call("call_1", "fc_1"), function_call_output()
        ),
        items_example(
            reasoning_item("rs_1", encrypted_content="gAAAAA"),
            function_call("call_1", "fc_1"),
            function_call_output(),
            store=False,
        ),
        items_example(function_call("call_1", "fc_1"), function_call_output(), store=False),
    ),
)
