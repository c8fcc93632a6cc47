"""The same item stands in the history twice.

The server refuses an id that it meets a second time: "Duplicate item found with id fc_…". It
happens when a client sends back both the output of a response and its own copy of it, when a stream
is replayed, and when a reference names what is there in full.

The fix keeps one copy. Of a call the one that is answered stays; if both are, both stay and the
second loses its item id, which is optional. An item that says something else under the same id only
loses the id.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from toolwire.conversation.json import JSON, JsonPath, Object
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


class _Twin(Struct, frozen=True):
    """An item whose id is that of another."""

    n: int
    item: Object
    first: int
    """The place of the one that stays."""
    goes: bool
    """Whether it goes, or only its id."""


def _twins(facts: Facts) -> list[_Twin]:
    named = [
        (one, n, kind, item)
        for n, kind, item in input_items(facts)
        if isinstance(one := item.get("id"), str) and one
    ]
    if len({one for one, _, _, _ in named}) == len(named):
        return []
    seen: dict[tuple[str, str], list[tuple[int, str, Object]]] = {}
    for one, n, kind, item in named:
        # The result of a local shell bears the id of its call.
        seen.setdefault((one, kind if kind.endswith("_output") else ""), []).append((n, kind, item))
    return [twin for group in seen.values() if len(group) > 1 for twin in _settled(facts, group)]


def _settled(facts: Facts, group: list[tuple[int, str, Object]]) -> list[_Twin]:
    """All of a group but the one that stays."""
    replied = {
        call.path[1]
        for call in facts.calls
        if call.path[:1] == ("input",) and id(call) in facts.result_of
    }
    whole = [one for one in group if one[1] != "item_reference"]
    stays = next((one for one in whole if one[0] in replied), (whole or group)[0])
    found: list[_Twin] = []
    for n, kind, item in group:
        if n != stays[0]:
            same = kind == "item_reference" or (item == stays[2] and n not in replied)
            found.append(_Twin(n, item, stays[0], same))
    return found


def _check(facts: Facts) -> Iterable[Problem]:
    for twin in _twins(facts):
        yield (
            ("input", twin.n),
            f"the id {twin.item.get('id')} is already that of item {twin.first}",
            "safe",
        )


def _fix(facts: Facts, unsafe: bool) -> FixedBody | None:
    new: dict[int, list[JSON]] = {}
    changes: list[tuple[JsonPath, str]] = []
    for twin in _twins(facts):
        new[twin.n] = [] if twin.goes else [without_id(twin.item)]
        what = (
            "a copy was taken out"
            if twin.goes
            else "the id was taken away from the item that is not the first to bear it"
        )
        changes.append((("input", twin.n), f"{twin.item.get('id')}: {what}"))
    return FixedBody(with_items(facts, new), tuple(changes)) if changes else None


RULE = Rule(
    "TW044",
    "duplicate-item",
    title="the same item stands in the history twice",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=18,
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
                "action": {},
                "status": "completed",
            },
            {"type": "local_shell_call_output", "id": "lsh_1", "output": "1"},
        ),
    ),
)
