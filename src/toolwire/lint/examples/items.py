"""Histories that are one flat list of items with ids of their own: looking at them, and taking
items out or writing them anew.

Works on the JSON, because several items make one message of a conversation. Knows no rule and no
wire by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

from toolwire.conversation.json import JSON, Object
from toolwire.lint.examples.chat import USER
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Example

KEY = "input"


_LISTED: WeakKeyDictionary[Facts, list[tuple[int, str, Object]]] = WeakKeyDictionary()


def input_items(facts: Facts) -> list[tuple[int, str, Object]]:
    """The items of a request to a target that checks their ids: the place, the type and the JSON of
    each."""
    if (
        not facts.profile.item_id_prefixes
        or facts.conversation.kind != "request"
        or not isinstance(facts.body, dict)
    ):
        return []
    items_example = _LISTED.get(facts)
    if items_example is None:
        found = facts.body.get(KEY)
        whole = found if isinstance(found, list) else []
        items_example = _LISTED[facts] = [
            (n, kind_of(item), item) for n, item in enumerate(whole) if isinstance(item, dict)
        ]
    return items_example


def kind_of(item: Object) -> str:
    """The type of an item; a message may leave it out."""
    kind = item.get("type")
    if isinstance(kind, str):
        return kind
    return "message" if "role" in item else ""


def with_items(facts: Facts, new: Mapping[int, Sequence[JSON]]) -> JSON:
    """The body with some items replaced, each by any number of others."""
    body = facts.body
    found = body.get(KEY) if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(found, list):
        return body
    out: list[JSON] = []
    for n, item in enumerate(found):
        out.extend(new.get(n, (item,)))
    return {**body, KEY: out}


def without_id(item: Object) -> Object:
    """An item without its id."""
    return {key: value for key, value in item.items() if key != "id"}


def is_model_item(kind: str, item: Object) -> bool:
    """Whether an item is the model's: neither a result nor somebody else's message."""
    if kind == "message":
        return item.get("role") == "assistant"
    return not kind.endswith("_output") and kind != "mcp_approval_response"


def has_readable_text(item: Object) -> bool:
    """Whether a thought has words that somebody can read."""
    return bool(item.get("summary") or item.get("content"))


# --- examples ---


def function_call(
    call_id: str | None = "call_1", item: str | None = None, arguments: JSON = "{}"
) -> Object:
    """A call, with or without the id of its item."""
    out: Object = {"type": "function_call", "name": "f", "arguments": arguments}
    if call_id is not None:
        out["call_id"] = call_id
    return {**out, "id": item} if item is not None else out


def function_call_output(call_id: str = "call_1", output: JSON = "1") -> Object:
    """The result of a call."""
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def reasoning_item(item: str | None = "rs_1", *words: str, **more: JSON) -> Object:
    """A reasoning item."""
    told: list[JSON] = [{"type": "summary_text", "text": text} for text in words]
    out: Object = {"type": "reasoning", "summary": told, **more}
    return {**out, "id": item} if item is not None else out


def items_example(*found: JSON, target: str = "openai-responses", **more: JSON) -> Example:
    """A history of items that begins with a user, and who it goes to."""
    body: Object = {"model": "gpt-5", "input": [USER, *found], **more}
    return Example("openai-responses", target, body)
