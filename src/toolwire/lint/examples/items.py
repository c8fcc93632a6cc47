"""Items of a Responses request: read and replace them, and example bodies with them.

These functions work on the JSON, because several items form one message of a conversation. This
module knows no rule and no wire by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

from toolwire.conversation.json import JSON, Object
from toolwire.lint.examples.chat import USER
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Example

KEY = "input"
"""The field of a request that holds the items."""

_ITEMS: WeakKeyDictionary[Facts, list[tuple[int, str, Object]]] = WeakKeyDictionary()


def input_items(facts: Facts) -> list[tuple[int, str, Object]]:
    """The index, type and JSON of each item in a request to a target that checks item ids."""
    if (
        not facts.profile.item_id_prefixes
        or facts.conversation.kind != "request"
        or not isinstance(facts.body, dict)
    ):
        return []
    items = _ITEMS.get(facts)
    if items is None:
        value = facts.body.get(KEY)
        items = _ITEMS[facts] = [
            (n, kind_of(item), item)
            for n, item in enumerate(value if isinstance(value, list) else ())
            if isinstance(item, dict)
        ]
    return items


def kind_of(item: Object) -> str:
    """The type of an item; a message need not state it."""
    kind = item.get("type")
    if isinstance(kind, str):
        return kind
    return "message" if "role" in item else ""


def with_items(facts: Facts, new: Mapping[int, Sequence[JSON]]) -> JSON:
    """The body with some items, given by their indexes, replaced by any number of others."""
    body = facts.body
    items = body.get(KEY) if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(items, list):
        return body
    new_items = [new_item for n, item in enumerate(items) for new_item in new.get(n, (item,))]
    return {**body, KEY: new_items}


def without_id(item: Object) -> Object:
    """An item without its id."""
    return {key: value for key, value in item.items() if key != "id"}


def is_model_item(kind: str, item: Object) -> bool:
    """True if the model generated an item: it is no result and no message of another role."""
    if kind == "message":
        return item.get("role") == "assistant"
    return not kind.endswith("_output") and kind != "mcp_approval_response"


def has_readable_text(item: Object) -> bool:
    """True if a reasoning item has readable text."""
    return bool(item.get("summary") or item.get("content"))


# --- examples ---


def function_call(
    call_id: str | None = "call_1", item: str | None = None, arguments: JSON = "{}"
) -> Object:
    """A call, with or without an item id."""
    call: Object = {"type": "function_call", "name": "f", "arguments": arguments}
    if call_id is not None:
        call["call_id"] = call_id
    return {**call, "id": item} if item is not None else call


def function_call_output(call_id: str = "call_1", output: JSON = "1") -> Object:
    """The result of a call."""
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def reasoning_item(item: str | None = "rs_1", *words: str, **more: JSON) -> Object:
    """A reasoning item."""
    summary: list[JSON] = [{"type": "summary_text", "text": text} for text in words]
    reasoning: Object = {"type": "reasoning", "summary": summary, **more}
    return {**reasoning, "id": item} if item is not None else reasoning


def items_example(*items: JSON, target: str = "openai-responses", **more: JSON) -> Example:
    """A Responses request for a target that starts with a user message."""
    body: Object = {"model": "gpt-5", "input": [USER, *items], **more}
    return Example("openai-responses", target, body)
