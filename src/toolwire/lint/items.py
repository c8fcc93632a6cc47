"""Items of a Responses request: read them, and replace them.

These functions work on the JSON, because several items form one message of a conversation. This
module knows no rule and no wire by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.parts import MARK
from toolwire.lint.facts import Facts
from toolwire.lint.memo import once_per_history

KEY = "input"
"""The field of a request that holds the items."""


@once_per_history
def input_items(facts: Facts) -> list[tuple[int, str, Object]]:
    """The index, type and JSON of each item in a request to a target that checks item ids."""
    if (
        not facts.profile.item_id_prefixes
        or facts.conversation.kind != "request"
        or not isinstance(facts.body, dict)
    ):
        return []
    value = facts.body.get(KEY)
    return [
        (n, kind_of(item), item)
        for n, item in enumerate(value if isinstance(value, list) else ())
        if isinstance(item, dict)
    ]


def kind_of(item: Object) -> str:
    """The type of an item, which a message may leave out."""
    kind = item.get("type")
    if isinstance(kind, str):
        return kind
    return "message" if "role" in item else ""


def with_items(facts: Facts, new: Mapping[int, Sequence[JSON]]) -> JSON:
    """The body with items, given by index, replaced by any number of others."""
    body = facts.body
    items = body.get(KEY) if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(items, list):
        return body
    new_items = [new_item for n, item in enumerate(items) for new_item in new.get(n, (item,))]
    return {**body, KEY: new_items}


def without_id(item: Object) -> Object:
    """An item without its id; an assistant message then gets the form of an input."""
    return as_input_message({key: value for key, value in item.items() if key != "id"})


def as_input_message(item: Object) -> Object:
    """An assistant message without an id as plain text, if it has only text.

    The form with blocks is that of an output, which the types of the SDK accept only with an id.
    """
    content = item.get("content")
    if item.get("role") != "assistant" or "id" in item or not isinstance(content, list):
        return item
    texts: list[str] = []
    for block in content:
        text = block.get("text") if isinstance(block, dict) else None
        if not isinstance(text, str) or not isinstance(block, dict) or block.get("annotations"):
            return item
        texts.append(text)
    kept = {key: value for key, value in item.items() if key != "status"}
    return {**kept, "content": "\n".join(texts)}


def is_model_item(kind: str, item: Object) -> bool:
    """True if the model generated an item: it is neither a result nor a message of another role."""
    if kind == "message":
        return item.get("role") == "assistant"
    return not kind.endswith("_output") and kind != "mcp_approval_response"


def reasoning_as_text(item: Object) -> list[JSON]:
    """A reasoning item as a marked assistant message; none if it has no readable text."""
    text = text_of_reasoning(item)
    return [{"type": "message", "role": "assistant", "content": text}] if text else []


def text_of_reasoning(item: Object) -> str:
    """The text of a reasoning item, marked; empty if it has none that can be read."""
    blocks: list[JSON] = []
    for key in ("summary", "content"):
        value = item.get(key)
        blocks += value if isinstance(value, list) else [value]
    texts = [text for block in blocks if (text := _text_of_block(block))]
    return f"{MARK} earlier reasoning: {' '.join(texts)}" if texts else ""


def _text_of_block(block: JSON) -> str:
    text = block.get("text") if isinstance(block, dict) else block
    return text.strip() if isinstance(text, str) else ""
