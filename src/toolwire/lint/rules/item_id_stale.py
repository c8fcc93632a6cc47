"""An item is referenced by an id that the server has not stored.

With `store: false` the server stores nothing, so it cannot resolve a reasoning item that has only
an id, or a reference to an item: "Item with id 'rs_…' not found. Items are not persisted when
`store` is set to false." It happens when a client stops storing and still sends back earlier items,
or never requests the encrypted content (`include: ["reasoning.encrypted_content"]`).

The fix removes such a reasoning item, and the ids of the items that follow from it, which the
server would look up together. That is unsafe if the reasoning item has a summary, because its text
is lost. There is no fix for a reference: the item that it names is not in the request and has to be
added by hand.
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


def _is_stateless(facts: Facts) -> bool:
    """True if the request stores nothing and continues nothing that is stored."""
    body = facts.body
    return (
        isinstance(body, dict)
        and body.get("store") is False
        and not (body.get("previous_response_id") or body.get("conversation"))
    )


def _stale_items(facts: Facts) -> list[tuple[int, Object]]:
    """Items that the server would have to look up: index and JSON."""
    if not facts.profile.item_id_prefixes or not _is_stateless(facts):
        return []
    prefix = facts.profile.item_id_prefixes.get("reasoning", "")
    return [
        (index, item)
        for index, kind, item in input_items(facts)
        if kind == "item_reference" or (kind == "reasoning" and _has_only_id(item, prefix))
    ]


def _has_only_id(item: Object, prefix: str) -> bool:
    """True if a reasoning item holds only an id, and perhaps a summary."""
    item_id = item.get("id")
    return (
        isinstance(item_id, str)
        and item_id.startswith(prefix)
        and not item.get("encrypted_content")
        and not item.get("content")
    )


def _fix_kind(item: Object) -> Fix | None:
    if item.get("type") != "reasoning":
        return None
    return "unsafe" if has_readable_text(item) else "safe"


def _check(facts: Facts) -> Iterable[Problem]:
    for index, item in _stale_items(facts):
        fix = _fix_kind(item)
        advice = "" if fix else "; send the item itself"
        message = (
            f"{item.get('id')} has to be looked up, but with `store: false` the server stores no"
            f" items{advice}"
        )
        yield ("input", index), message, fix


def _fix(facts: Facts, unsafe: bool) -> FixedBody | None:
    fixable = ("safe", "unsafe") if unsafe else ("safe",)
    stale = {index for index, item in _stale_items(facts) if _fix_kind(item) in fixable}
    replacements: dict[int, list[JSON]] = {}
    changes: list[tuple[JsonPath, str]] = []
    follows_removed = False
    for index, kind, item in input_items(facts):
        if index in stale:
            replacements[index] = []
            message = f"the reasoning item {item.get('id')}, which is not stored, was removed"
            changes.append((("input", index), message))
            follows_removed = True
        elif not is_model_item(kind, item):
            follows_removed = False
        elif (
            follows_removed
            and kind in facts.profile.item_id_prefixes
            and kind != "reasoning"
            and "id" in item
        ):
            replacements[index] = [without_id(item)]
            message = f"the id of the {kind} item was removed, because its reasoning was removed"
            changes.append((("input", index, "id"), message))
    return FixedBody(with_items(facts, replacements), tuple(changes)) if changes else None


RULE = Rule(
    "TW043",
    "item-id-stale",
    title="an item is referenced by an id that the server has not stored",
    cost="lossy",
    check=_check,
    fix=_fix,
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
