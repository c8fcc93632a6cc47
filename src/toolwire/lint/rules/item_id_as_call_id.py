"""The id of an item is used as a call id, or a call id as the id of an item.

In a history of items a call has two ids: `id` identifies the item (`fc_…`), and `call_id` connects
the call with its result (`call_…`). Clients confuse them more often than anything else on this
wire. A result with the item id is refused ("No tool call found for function call output with
call_id fc_…"), and so is a call whose only id is in the field `id` ("Expected an ID that begins
with 'fc'").

The fix finds the call by either id and writes its `call_id` on both sides. Nothing is lost. If the
call of such a result is not in the request, only the program that stored the call knows its
`call_id`: the fix rewrites the result as user text marked `[toolwire]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolwire.conversation.json import JSON, JsonPath, Object, put
from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Call, Result
from toolwire.lint.examples.items import function_call, function_call_output, items_example
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.transforms import results_as_text
from toolwire.lint.items import input_items, without_id
from toolwire.lint.rule import FixedBody, FixedConversation, Problem, Rule

_GENERATED_SUFFIX = re.compile(r"_[0-9a-f]{16,}")
"""The text after the prefix in item ids that servers generate."""


def _results_with_item_id(facts: Facts) -> list[tuple[Result, Call, str]]:
    """Results with the item id of their call as call id: result, call and item id."""
    if not facts.rejects_orphans or not any(call.item for call in facts.calls):
        return []
    matches: list[tuple[Result, Call, str]] = []
    call_ids = {call.id for call in facts.calls}
    call_of_item = {(call.id, call.item): call for call in facts.calls if call.item}
    for result in facts.results:
        raw = result.raw
        if not isinstance(raw, dict) or result.origin != "wire":
            continue
        written_id = raw.get("call_id") or raw.get("tool_call_id")
        if not isinstance(written_id, str) or written_id in call_ids:
            continue
        call = call_of_item.get((result.call_id, written_id))
        if call is not None:
            matches.append((result, call, written_id))
    return matches


def _calls_with_only_item_id(facts: Facts) -> list[tuple[int, Object]]:
    """Calls with an item id but no call id: index and JSON of their items."""
    paths = {call.path for call in facts.calls if call.origin == "item"}
    if not paths:
        return []
    return [
        (index, item)
        for index, kind, item in input_items(facts)
        if ("input", index) in paths and kind in facts.profile.item_id_prefixes
    ]


def _orphans_with_item_id(facts: Facts) -> Iterable[Result]:
    """Results with the id of an item that is not in the request."""
    prefix = facts.profile.item_id_prefixes.get("function_call")
    if not prefix or facts.conversation.kind != "request":
        return
    for result in facts.results:
        if (
            result.call_id.startswith(prefix)
            and _GENERATED_SUFFIX.match(result.call_id, len(prefix))
            and result not in facts.call_of
            and result.origin == "wire"
        ):
            yield result


def _check(facts: Facts) -> Iterable[Problem]:
    for result, call, item_id in _results_with_item_id(facts):
        message = (
            f"the result has the item id {item_id} as call_id; the call_id of its call"
            f" ({call.name}) is {call.id}"
        )
        yield _id_path(result), message, "safe"
    for index, item in _calls_with_only_item_id(facts):
        message = (
            f"the call to {item.get('name')} has no call_id; {item.get('id')} is in the field `id`"
        )
        yield ("input", index), message, "safe"
    for result in _orphans_with_item_id(facts):
        message = (
            f"{result.call_id} is the id of an item, and its call is not in this request; expected"
            " the call_id of that call"
        )
        yield _id_path(result), message, "safe"


def _id_path(result: Result) -> JsonPath:
    raw = result.raw if isinstance(result.raw, dict) else {}
    is_chat_field = "call_id" not in raw and "tool_call_id" in raw
    return (*result.path, "tool_call_id" if is_chat_field else "call_id")


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | FixedBody | None:
    body: JSON = facts.body
    changes: list[tuple[JsonPath, str]] = []
    for result, call, item_id in _results_with_item_id(facts):
        path = _id_path(result)
        body = put(body, path, call.id)
        changes.append((path, f"changed the call_id of the result from {item_id} to {call.id}"))
    for index, item in _calls_with_only_item_id(facts):
        item_id, prefix = str(item["id"]), facts.profile.item_id_prefixes[str(item["type"])]
        rest = item if item_id.startswith(prefix) else without_id(item)
        body = put(body, ("input", index), {**rest, "call_id": item_id})
        message = f"set the call_id of the call to {item.get('name')} to {item_id}"
        changes.append((("input", index), message))
    if changes:
        return FixedBody(body, tuple(changes))
    orphans = list(_orphans_with_item_id(facts))
    changes = [
        (
            result.path,
            f"rewrote the result for {result.call_id} as text: its call is not in this history",
        )
        for result in orphans
    ]
    return FixedConversation(results_as_text(facts, orphans), tuple(changes)) if changes else None


_ITEM_ID = "fc_68ab0123456789abcdef0123456789abcdef"
RULE = Rule(
    "TW041",
    "item-id-as-call-id",
    title="the id of an item is used as a call id, or a call id as the id of an item",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=8,
    ruled_out_on_own_wire_by=(Observation.WIRE_IDS | Observation.RESULTS_IN_PLACE,),
    scope="body",
    bad=(
        items_example(function_call("call_1", "fc_1"), function_call_output("fc_1")),
        items_example(function_call(None, "call_1"), function_call_output("call_1")),
        items_example(function_call_output(_ITEM_ID)),
        items_example(function_call_output(_ITEM_ID), previous_response_id="resp_1"),
    ),
    good=(
        items_example(function_call("call_1", "fc_1"), function_call_output("call_1")),
        items_example(function_call("fc_1", "fc_1"), function_call_output("fc_1")),
        items_example(function_call("fc_1"), function_call_output("fc_1")),
    ),
)
