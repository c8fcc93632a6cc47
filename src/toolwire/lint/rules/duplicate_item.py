"""Two items of the history have the same id.

The server refuses an id that occurs a second time: "Duplicate item found with id fc_…". This
happens when a client sends back both the output of a response and its own copy of it, when a stream
is replayed, and when an item reference names an item that the history contains in full.

The fix keeps one copy. Of several copies of a call, it keeps the one that has a result. If more
than one has a result, all stay, and the later ones lose their item id, which is optional. An item
with different content under the same id also stays and loses only its id.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from msgspec import Struct

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.lint.examples.items import (
    function_call,
    function_call_output,
    items_example,
    reasoning_item,
)
from toolwire.lint.facts import Facts
from toolwire.lint.items import input_items, with_items, without_id
from toolwire.lint.rule import FixedBody, Problem, Rule

_Item: TypeAlias = tuple[int, str, Object]
"""The index, the type and the JSON of an item."""

_KNOWN_BY_ITEM_ID = ("mcp_approval_request", "local_shell_call")
"""Types of calls whose results have the item id of their call."""


class _Duplicate(Struct, frozen=True):
    """An item that has the id of another item."""

    index: int
    item: Object
    original_index: int
    """The index of the item that keeps the id."""
    is_copy: bool
    """True if the item can be removed; otherwise only its id is removed."""


def _duplicates(facts: Facts) -> list[_Duplicate]:
    items = [
        (item_id, (index, kind, item))
        for index, kind, item in input_items(facts)
        if isinstance(item_id := item.get("id"), str) and item_id
    ]
    if len({item_id for item_id, _ in items}) == len(items):
        return []
    groups: dict[tuple[str, str], list[_Item]] = {}
    for item_id, entry in items:
        # The output of a local shell call has the id of its call.
        output_kind = entry[1] if entry[1].endswith("_output") else ""
        groups.setdefault((item_id, output_kind), []).append(entry)
    paired_indexes = _indexes_of_pairs(facts)
    return [
        duplicate
        for group in groups.values()
        if len(group) > 1
        for duplicate in _duplicates_in_group(group, paired_indexes)
    ]


def _indexes_of_pairs(facts: Facts) -> set[str | int]:
    """Return the indexes of the items that are a call with a result, or the result of such a
    call."""
    return {
        part.path[1]
        for pair in facts.result_of.items()
        for part in pair
        if part.path[:1] == ("input",)
    }


def _duplicates_in_group(group: list[_Item], paired_indexes: set[str | int]) -> list[_Duplicate]:
    """Return all items of a group except the one that keeps the id.

    Items of a pair come first, above all those whose result refers to its call by the item id. The
    `id` of such a result is that of its call, which a later call may have again.
    """
    full_items = [entry for entry in group if entry[1] != "item_reference"]
    paired = [entry for entry in full_items if entry[0] in paired_indexes]
    paired.sort(key=lambda entry: entry[1] not in _KNOWN_BY_ITEM_ID)
    original_index, _, original = (paired or full_items or group)[0]
    duplicates: list[_Duplicate] = []
    for index, kind, item in group:
        is_result_by_item_id = kind.endswith("_output") and not item.get("call_id")
        if index != original_index and not (is_result_by_item_id and index in paired_indexes):
            is_copy = kind == "item_reference" or (item == original and index not in paired_indexes)
            duplicates.append(
                _Duplicate(index, item, original_index=original_index, is_copy=is_copy)
            )
    return duplicates


def _check(facts: Facts) -> Iterable[Problem]:
    for duplicate in _duplicates(facts):
        item_id = duplicate.item.get("id")
        yield (
            ("input", duplicate.index),
            f"the item has the id {item_id}, which item {duplicate.original_index} already has",
            "safe",
        )


def _fix(facts: Facts, unsafe: bool) -> FixedBody | None:
    new: dict[int, list[JSON]] = {}
    changes: list[tuple[JsonPath, str]] = []
    for duplicate in _duplicates(facts):
        item_id = duplicate.item.get("id")
        if duplicate.is_copy:
            new[duplicate.index] = []
            change = f"removed a copy of the item {item_id}"
        else:
            new[duplicate.index] = [without_id(duplicate.item)]
            change = f"removed the id {item_id}, which another item has"
        changes.append((("input", duplicate.index), change))
    return FixedBody(with_items(facts, new), tuple(changes)) if changes else None


RULE = Rule(
    "TW044",
    "duplicate-item",
    title="two items of the history have the same id",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=18,
    concerns=lambda profile: bool(profile.item_id_prefixes),
    scope="body",
    bad=(
        items_example(
            function_call("call_1", "fc_1"), function_call("call_1", "fc_1"), function_call_output()
        ),
        items_example(
            function_call("call_1", "fc_1"),
            function_call_output(),
            function_call("call_2", "fc_1"),
            function_call_output("call_2"),
        ),
        items_example(
            reasoning_item(),
            function_call("call_1", "fc_1"),
            function_call_output(),
            reasoning_item(),
        ),
        items_example(
            function_call("call_1", "fc_1"),
            {"type": "item_reference", "id": "fc_1"},
            function_call_output(),
        ),
    ),
    good=(
        items_example(
            function_call("call_1", "fc_1"),
            function_call("call_2", "fc_2"),
            function_call_output(),
            function_call_output("call_2"),
        ),
        items_example(
            {
                "type": "local_shell_call",
                "id": "lsh_1",
                "call_id": "call_1",
                "action": {"type": "exec", "command": ["ls"], "env": {}},
                "status": "completed",
            },
            {"type": "local_shell_call_output", "id": "lsh_1", "output": "1"},
        ),
    ),
)
