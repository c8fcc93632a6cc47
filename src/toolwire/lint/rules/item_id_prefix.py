"""The id of an item does not match the type of the item.

The server gives ids like `fc_…` to function calls, `ctc_…` to custom calls, `msg_…` to messages and
`rs_…` to reasoning, and accepts no others: "Expected an ID that begins with 'fc'". This happens
when a client writes its own ids (a UUID, `msg-…`, the call id), when items are converted to another
type, and when a history comes from another provider. An empty id is refused too, and so is an id of
more than 64 characters.

The fix removes the id. It is optional: `call_id` connects calls and results. A reasoning item that
has neither a valid id nor encrypted content is unknown to the server, so it is removed; its
readable text, if there is any, becomes a marked message of the assistant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.lint.examples.items import (
    function_call,
    function_call_output,
    items_example,
    reasoning_item,
)
from toolwire.lint.facts import Facts
from toolwire.lint.items import input_items, reasoning_as_text, with_items, without_id
from toolwire.lint.rule import FixedBody, Problem, Rule

_VALID_SUFFIX = re.compile(r"(?!-)[A-Za-z0-9_-]*")
"""The valid text after the prefix: an id with a dash there (`msg-…`) was refused
(CopilotKit#6117)."""
_MAX_LENGTH = 64


def _items_with_invalid_id(facts: Facts) -> list[tuple[int, str, Object]]:
    """Items whose id is invalid for their type: index, type and JSON."""
    prefixes = facts.profile.item_id_prefixes
    return [
        (index, kind, item)
        for index, kind, item in input_items(facts)
        if item.get("id") is not None
        and kind in prefixes
        and not _is_valid(item["id"], prefixes[kind])
        and item.get("role") != "tool"
    ]


def _is_valid(item_id: JSON, prefix: str) -> bool:
    if not isinstance(item_id, str) or len(item_id) > _MAX_LENGTH:
        return False
    return item_id.startswith(prefix) and _VALID_SUFFIX.fullmatch(item_id, len(prefix)) is not None


def _is_empty_without_id(kind: str, item: Object) -> bool:
    """True for reasoning that the server can neither look up nor decrypt without its id."""
    return kind == "reasoning" and not item.get("encrypted_content")


def _can_lose_id(kind: str, item: Object) -> bool:
    """False if the id is the only id of a call, which another rule reports."""
    return kind in ("message", "reasoning") or bool(item.get("call_id"))


def _check(facts: Facts) -> Iterable[Problem]:
    for index, kind, item in _items_with_invalid_id(facts):
        if _can_lose_id(kind, item):
            prefix = facts.profile.item_id_prefixes[kind]
            message = (
                f"the {kind} item has the id {str(item['id'])[:80]!r}; expected an id that"
                f" begins with {prefix}_, or none"
            )
            yield ("input", index, "id"), message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedBody | None:
    replacements: dict[int, list[JSON]] = {}
    changes: list[tuple[JsonPath, str]] = []
    for index, kind, item in _items_with_invalid_id(facts):
        if _is_empty_without_id(kind, item):
            replacements[index] = reasoning_as_text(item)
            message = "removed a reasoning item that the server does not know"
            changes.append((("input", index), message))
        elif _can_lose_id(kind, item):
            replacements[index] = [without_id(item)]
            changes.append((("input", index, "id"), f"removed the id of the {kind} item"))
    return FixedBody(with_items(facts, replacements), tuple(changes)) if changes else None


_MESSAGE: Object = {"type": "message", "role": "assistant", "content": "hello"}
RULE = Rule(
    "TW042",
    "item-id-prefix",
    title="the id of an item does not match its type",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=15,
    concerns=lambda profile: bool(profile.item_id_prefixes),
    scope="body",
    bad=(
        items_example(function_call("call_A", "call_A"), function_call_output("call_A")),
        items_example(function_call("call_A", ""), function_call_output("call_A")),
        items_example(function_call("call_A", "msg_1"), function_call_output("call_A")),
        items_example({**_MESSAGE, "id": "msg-1f0c"}),
        items_example({**_MESSAGE, "id": "chatcmpl-1"}),
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
        items_example({**_MESSAGE, "id": "msg_1"}),
        items_example(
            function_call("call_A", "call_A"),
            function_call_output("call_A"),
            target="deepseek-responses",
        ),
    ),
)
