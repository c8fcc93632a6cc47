"""The id of an item does not fit the type of the item.

The server gives ids like `fc_…` to function calls, `ctc_…` to custom calls, `msg_…` to messages and
`rs_…` to thoughts, and takes no others back: "Expected an ID that begins with 'fc'". It happens
when a client puts its own ids there (a uuid, `msg-…`, the call id), when items are turned into
others, and when a history comes from another provider. An empty id is refused too, and so is one of
more than 64 characters.

The fix takes the id away. It is optional: calls and results find each other by `call_id`. A thought
that has neither a proper id nor sealed content is nothing the server knows; it goes, which is
unsafe if it holds words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.model import Fix
from toolwire.lint.examples.items import (
    function_call,
    function_call_output,
    has_readable_text,
    input_items,
    items_example,
    reasoning_item,
    with_items,
    without_id,
)
from toolwire.lint.facts import Facts
from toolwire.lint.rule import FixedBody, Problem, Rule

_ID = re.compile(r"(?!-)[A-Za-z0-9_-]*")
"""What may follow the prefix: an id that goes on with a dash (`msg-…`) was refused
(CopilotKit#6117)."""
_LONGEST = 64


def _odd(facts: Facts) -> list[tuple[int, str, Object]]:
    found: list[tuple[int, str, Object]] = []
    prefixes = facts.profile.item_id_prefixes
    for n, kind, item in input_items(facts):
        one = item.get("id")
        if (
            one is not None
            and kind in prefixes
            and not _fits(one, prefixes[kind])
            and item.get("role") != "tool"
        ):
            found.append((n, kind, item))
    return found


def _fits(one: JSON, prefix: str) -> bool:
    if not isinstance(one, str) or not one.startswith(prefix) or len(one) > _LONGEST:
        return False
    return _ID.fullmatch(one, len(prefix)) is not None


def _lost(kind: str, item: Object) -> bool:
    """Whether nothing is left of an item without its id: nobody can look it up, and it holds
    nothing for the server."""
    return kind == "reasoning" and not item.get("encrypted_content")


def _fix(kind: str, item: Object) -> Fix:
    return "unsafe" if _lost(kind, item) and has_readable_text(item) else "safe"


def _check(facts: Facts) -> Iterable[Problem]:
    for n, kind, item in _odd(facts):
        # One that holds the call's only id is another matter.
        if kind in ("message", "reasoning") or item.get("call_id"):
            wanted = f"an id that begins with {facts.profile.item_id_prefixes[kind]}_, or none"
            yield (
                ("input", n, "id"),
                f"the {kind} has the id {str(item['id'])[:80]!r}; wanted is {wanted}",
                _fix(kind, item),
            )


def _fix_all(facts: Facts, unsafe: bool) -> FixedBody | None:
    new: dict[int, list[JSON]] = {}
    changes: list[tuple[JsonPath, str]] = []
    for n, kind, item in _odd(facts):
        if _lost(kind, item):
            if unsafe or _fix(kind, item) == "safe":
                new[n] = []
                changes.append(
                    (("input", n), "a thought that the server does not know was taken out")
                )
        elif kind in ("message", "reasoning") or item.get("call_id"):
            new[n] = [without_id(item)]
            changes.append((("input", n, "id"), f"the id of the {kind} was taken away"))
    if not changes:
        return None
    return FixedBody(with_items(facts, new), tuple(changes))


_SAID: Object = {"type": "message", "role": "assistant", "content": "hello"}
RULE = Rule(
    "TW042",
    "item-id-prefix",
    title="the id of an item does not fit its type",
    cost="lossless",
    check=_check,
    fix=_fix_all,
    order=15,
    scope="body",
    bad=(
        items_example(function_call("call_A", "call_A"), function_call_output("call_A")),
        items_example(function_call("call_A", ""), function_call_output("call_A")),
        items_example(function_call("call_A", "msg_1"), function_call_output("call_A")),
        items_example({**_SAID, "id": "msg-1f0c"}),
        items_example({**_SAID, "id": "chatcmpl-1"}),
        items_example(
            {
                "type": "custom_tool_call",
                "id": "fc_1",
                "call_id": "call_1",
                "name": "f",
                "input": "x",
            },
            {"type": "custom_tool_call_output", "call_id": "call_1", "output": "1"},
        ),
        items_example(
            reasoning_item("item_1", "hm", encrypted_content="gAAAAA"),
            function_call(),
            function_call_output(),
        ),
        items_example(reasoning_item("76f8b89e", "hm"), function_call(), function_call_output()),
    ),
    good=(
        items_example(function_call("call_A", "fc_A"), function_call_output("call_A")),
        items_example(function_call("call_A"), function_call_output("call_A")),
        items_example({**function_call("call_A"), "id": None}, function_call_output("call_A")),
        items_example({**_SAID, "id": "msg_1"}),
        items_example(
            function_call("call_A", "call_A"),
            function_call_output("call_A"),
            target="deepseek-responses",
        ),
    ),
)
