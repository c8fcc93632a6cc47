"""The id of an item stands where the id of a call belongs, or the other way round.

In the item shape a call has two ids: `id` names the item (`fc_…`), `call_id` ties the result to it
(`call_…`). They are mixed up more often than anything else on this wire. A result that names the
item is refused ("No tool call found for function call output with call_id fc_…"), and so is a call
whose only id stands in `id` ("Expected an ID that begins with 'fc'").

The fix finds the call by either id and writes its `call_id` on both sides; nothing is lost. Where
the call of such a result is not in the request, there is nothing to find it by: whoever kept the
call has to say its `call_id`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolwire.conversation.json import JSON, JsonPath, Object, put
from toolwire.conversation.parts import Call, Result
from toolwire.lint.examples.items import (
    function_call,
    function_call_output,
    input_items,
    items_example,
    without_id,
)
from toolwire.lint.facts import Facts
from toolwire.lint.rule import FixedBody, Problem, Rule

_LONG = re.compile(r"_[0-9a-f]{16,}")
"""What follows the prefix in the ids that servers give to items."""


def _named(facts: Facts) -> list[tuple[Result, Call, str]]:
    """Results that name the item of their call, and what they name."""
    if not facts.profile.rejects_orphan_results or not any(call.item for call in facts.calls):
        return []
    found: list[tuple[Result, Call, str]] = []
    known = {call.id for call in facts.calls}
    for result in facts.results:
        raw = result.raw
        said = (
            (raw.get("call_id") or raw.get("tool_call_id"))
            if isinstance(raw, dict) and result.origin == "wire"
            else None
        )
        if isinstance(said, str) and said not in known:
            call = facts.call_of.get(id(result))
            if call is not None and call.item == said:
                found.append((result, call, said))
    return found


def _lent(facts: Facts) -> list[tuple[int, Object]]:
    """Calls whose only id stands in the field for the id of the item."""
    found = [call for call in facts.calls if call.origin == "item"]
    if not found:
        return []
    at = {call.path for call in found}
    return [
        (n, item)
        for n, kind, item in input_items(facts)
        if ("input", n) in at and kind in facts.profile.item_id_prefixes
    ]


def _check(facts: Facts) -> Iterable[Problem]:
    for result, call, said in _named(facts):
        why = f"this result names the item {said}; the id of the call of {call.name} is {call.id}"
        yield _field(result), why, "safe"
    for n, item in _lent(facts):
        yield (
            ("input", n),
            (
                f"the call of {item.get('name')} has no call_id; {item.get('id')} stands in the"
                " field `id`"
            ),
            "safe",
        )
    mark = facts.profile.item_id_prefixes.get("function_call")
    if mark and facts.conversation.kind == "request":
        for result in facts.results:
            one = result.call_id
            if (
                one.startswith(mark)
                and _LONG.match(one, len(mark))
                and id(result) not in facts.call_of
                and result.origin == "wire"
            ):
                why = (
                    f"{one} is the id of an item; its call is not in this request, so only you can"
                    " say its call_id"
                )
                yield _field(result), why, None


def _field(result: Result) -> JsonPath:
    told = (
        isinstance(result.raw, dict)
        and "call_id" not in result.raw
        and "tool_call_id" in result.raw
    )
    return (*result.path, "tool_call_id" if told else "call_id")


def _fix(facts: Facts, unsafe: bool) -> FixedBody | None:
    body: JSON = facts.body
    changes: list[tuple[JsonPath, str]] = []
    for result, call, said in _named(facts):
        body = put(body, _field(result), call.id)
        changes.append(
            (_field(result), f"the result names the call {call.id}, not its item {said}")
        )
    for n, item in _lent(facts):
        one, prefix = str(item["id"]), facts.profile.item_id_prefixes[str(item["type"])]
        new: Object = {**(item if one.startswith(prefix) else without_id(item)), "call_id": one}
        body = put(body, ("input", n), new)
        changes.append((("input", n), f"{one} is the call_id of the call of {item.get('name')}"))
    return FixedBody(body, tuple(changes)) if changes else None


_ITEM = "fc_68ab0123456789abcdef0123456789abcdef"
RULE = Rule(
    "TW041",
    "item-id-as-call-id",
    title="the id of an item stands where that of a call belongs",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=8,
    scope="body",
    bad=(
        items_example(function_call("call_1", "fc_1"), function_call_output("fc_1")),
        items_example(function_call(None, "call_1"), function_call_output("call_1")),
        items_example(function_call_output(_ITEM)),
        items_example(function_call_output(_ITEM), previous_response_id="resp_1"),
    ),
    good=(
        items_example(function_call("call_1", "fc_1"), function_call_output("call_1")),
        items_example(function_call("fc_1", "fc_1"), function_call_output("fc_1")),
        items_example(function_call("fc_1"), function_call_output("fc_1")),
    ),
)
