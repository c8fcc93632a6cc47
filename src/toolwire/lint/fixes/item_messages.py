"""Chat messages as items, and items as chat messages, with the same ids.

This module knows no rule and no wire.
"""

from __future__ import annotations

from toolwire.conversation.json import JSON, Object, text_of
from toolwire.lint.items import text_of_reasoning

ITEM_TYPES = ("function_call", "function_call_output", "reasoning")
"""The items that stand for chat messages with calls and results, or for text of the assistant."""


def as_items(message: Object) -> list[JSON]:
    """A chat message, or an item with the fields of an SDK for JavaScript, as items."""
    if "callId" in message:
        return [_with_api_fields(message)]
    content = message.get("content")
    if message.get("role") == "tool":
        output = _with_text_type(content, "input_text")
        return [
            {
                "type": "function_call_output",
                **_copy_field(message, "tool_call_id", "call_id"),
                **_copy_field(message, "name", "name"),
                "output": "" if output is None else output,
            }
        ]
    items: list[JSON] = []
    if content:
        blocks = _with_text_type(content, "output_text")
        items.append({"role": message.get("role", "assistant"), "content": blocks})
    calls = message["tool_calls"]
    if isinstance(calls, list):
        items += [_as_call_item(call) for call in calls if isinstance(call, dict)]
    return items


def _with_api_fields(item: Object) -> JSON:
    """An item that an SDK stored with field names of its own."""
    fields = {name: item[name] for name in item if name not in ("callId", "providerData")}
    fields["call_id"] = item["callId"]
    output = item.get("output")
    if item.get("type") == "function_call_result":
        fields["type"] = "function_call_output"
        fields["output"] = output.get("text", output) if isinstance(output, dict) else output
    return fields


def _with_text_type(content: JSON, kind: str) -> JSON:
    """Content with text blocks of the type `kind`."""
    if not isinstance(content, list):
        return content
    return [
        {**block, "type": kind}
        if isinstance(block, dict) and block.get("type") == "text"
        else block
        for block in content
    ]


def _copy_field(source: Object, name: str, new_name: str) -> Object:
    """The field `name` of an object under another name; empty if it is absent or null."""
    value = source.get(name)
    return {} if value is None else {new_name: value}


def _as_call_item(call: Object) -> JSON:
    function = call.get("function") or call.get("custom")
    fields: Object = function if isinstance(function, dict) else call
    call_id = _copy_field(call, "id", "call_id")
    name = fields.get("name", "")
    if "custom" in call:
        text = fields.get("input", "")
        return {"type": "custom_tool_call", **call_id, "name": name, "input": text}
    arguments = fields.get("arguments", fields.get("args", "{}"))
    return {"type": "function_call", **call_id, "name": name, "arguments": arguments}


def as_messages(messages: JSON) -> tuple[list[JSON], list[int]]:
    """Chat messages instead of items, and the index of the item that each was made from;
    consecutive calls become one message."""
    converted: list[JSON] = []
    origins: list[int] = []
    calls: list[JSON] | None = None
    for index, message in enumerate(messages if isinstance(messages, list) else ()):
        kind = message.get("type") if isinstance(message, dict) and "role" not in message else None
        if isinstance(message, dict) and kind == "function_call":
            if calls is not None:
                calls.append(_as_tool_call(message))
                continue
            calls = [_as_tool_call(message)]
            converted.append({"role": "assistant", "content": None, "tool_calls": calls})
        else:
            if isinstance(message, dict) and kind == "reasoning":
                text = text_of_reasoning(message)
                if not text:
                    continue
                message = {"role": "assistant", "content": text}
            elif isinstance(message, dict) and kind in ITEM_TYPES:
                message = _as_tool_message(message)
            calls = None
            converted.append(message)
        origins.append(index)
    return converted, origins


def _as_tool_call(item: Object) -> JSON:
    function: Object = {"name": item.get("name", ""), "arguments": item.get("arguments", "{}")}
    return {**_copy_field(item, "call_id", "id"), "type": "function", "function": function}


def _as_tool_message(item: Object) -> JSON:
    output = item.get("output", "")
    return {
        "role": "tool",
        **_copy_field(item, "call_id", "tool_call_id"),
        "content": output if isinstance(output, str) else text_of(output),
    }
