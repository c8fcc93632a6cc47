"""Items and bodies of Responses requests, for the examples of rules."""

from __future__ import annotations

from toolwire.conversation.json import JSON, Object
from toolwire.lint.examples.chat import USER
from toolwire.lint.rule import Example


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
