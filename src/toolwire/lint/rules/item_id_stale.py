"""An item is referenced by an id that the server has not stored.

With `store: false` the server stores nothing, so it cannot resolve a reasoning item that has only
an id, or a reference to an item: "Item with id 'rs_…' not found. Items are not persisted when
`store` is set to false." This happens when a client stops storing and still sends back earlier
items, or never requests the encrypted content (`include: ["reasoning.encrypted_content"]`).

The fix removes such a reasoning item, and the ids of the items that follow from it, which the
server would look up together. The summary of the reasoning, if any, becomes a marked
message of the assistant. A reference also becomes a marked message, because its item is not in the
request.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.parts import MARK
from toolwire.lint.examples.items import (
    function_call,
    function_call_output,
    items_example,
    reasoning_item,
)
from toolwire.lint.facts import Facts
from toolwire.lint.items import (
    input_items,
    is_model_item,
    reasoning_as_text,
    with_items,
    without_id,
)
from toolwire.lint.rule import FixedBody, Problem, Rule


def _is_stateless(facts: Facts) -> bool:
    """True if the request stores nothing and does not continue a stored history."""
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


def _reference_as_text(item: Object) -> JSON:
    text = f"{MARK} an earlier item is not in this history: {item.get('id')}"
    return {"type": "message", "role": "user", "content": text}


def _check(facts: Facts) -> Iterable[Problem]:
    for index, item in _stale_items(facts):
        message = (
            f"{item.get('id')} has to be looked up, but with `store: false` the server stores no"
            " items; send the item itself"
        )
        yield ("input", index), message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedBody | None:
    stale = {index for index, _ in _stale_items(facts)}
    replacements: dict[int, list[JSON]] = {}
    changes: list[tuple[JsonPath, str]] = []
    follows_removed = False
    for index, kind, item in input_items(facts):
        if index in stale:
            replacements[index] = reasoning_as_text(item)
            message = f"removed the reasoning item {item.get('id')}, which is not stored"
            if kind == "item_reference":
                replacements[index] = [_reference_as_text(item)]
                message = f"rewrote the reference to {item.get('id')} as text: it is not stored"
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
            message = f"removed the id of the {kind} item: its reasoning was removed"
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
    concerns=lambda profile: bool(profile.item_id_prefixes),
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
