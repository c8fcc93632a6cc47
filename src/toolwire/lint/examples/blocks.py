"""Example bodies with content blocks, Bedrock blocks, Gemini parts and Responses items.

This module knows no rule.
"""

from __future__ import annotations

from toolwire.conversation.json import JSON, Object
from toolwire.lint.examples.chat import USER
from toolwire.lint.rule import Example

# --- Anthropic content blocks ---


def tool_use(call_id: str, kind: str = "tool_use", name: str = "f") -> JSON:
    """A call."""
    return {"type": kind, "id": call_id, "name": name, "input": {}}


def tool_result(call_id: str, kind: str = "tool_result", content: JSON = "1", **more: JSON) -> JSON:
    """The result of a call."""
    return {"type": kind, "tool_use_id": call_id, "content": content, **more}


def text_block(text: str) -> JSON:
    """A text block."""
    return {"type": "text", "text": text}


def assistant_blocks(*content: JSON) -> JSON:
    """An assistant message."""
    return {"role": "assistant", "content": list(content)}


def user_blocks(*content: JSON) -> JSON:
    """A user message, which may also hold results."""
    return {"role": "user", "content": list(content)}


# --- Bedrock blocks, whose only field names the type ---


def converse_call(call_id: str, name: str = "f") -> JSON:
    """A call."""
    return {"toolUse": {"toolUseId": call_id, "name": name, "input": {}}}


def converse_result(call_id: str | None, text: str = "1") -> JSON:
    """The result of a call."""
    id_field: Object = {} if call_id is None else {"toolUseId": call_id}
    return {"toolResult": {**id_field, "content": [{"text": text}]}}


def converse_example(*messages: JSON, target: str = "bedrock", **more: JSON) -> Example:
    """A Bedrock request that defines its tool."""
    tool: JSON = {"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}
    return Example(
        "bedrock",
        target,
        {
            "messages": [{"role": "user", "content": [{"text": "hi"}]}, *messages],
            "toolConfig": {"tools": [tool]},
            **more,
        },
    )


# --- Gemini parts ---


def call_part(name: str, call_id: str | None = None, **more: JSON) -> JSON:
    """A call."""
    return {"functionCall": {**_id_field(call_id), "name": name, "args": {}}, **more}


def response_part(name: str, value: JSON = 1, call_id: str | None = None) -> JSON:
    """The result of a call."""
    return {"functionResponse": {**_id_field(call_id), "name": name, "response": {"result": value}}}


def _id_field(call_id: str | None) -> Object:
    return {} if call_id is None else {"id": call_id}


def model_parts(*parts: JSON) -> JSON:
    """A model message."""
    return {"role": "model", "parts": list(parts)}


def user_parts(*parts: JSON) -> JSON:
    """A user message, which may also hold results."""
    return {"role": "user", "parts": list(parts)}


HI: JSON = {"role": "user", "parts": [{"text": "hi"}]}


def contents_example(*messages: JSON, target: str = "gemini", **more: JSON) -> Example:
    """A Gemini request."""
    return Example("gemini", target, {"contents": list(messages), **more})


# --- Responses items ---


def call_item(call_id: str, name: str = "f") -> JSON:
    """A call."""
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": "{}"}


def output_item(call_id: str, text: str = "1") -> JSON:
    """The result of a call."""
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def items_request(*after: JSON, target: str = "openai-responses", **more: JSON) -> Example:
    """A Responses request that starts with a user message."""
    return Example("openai-responses", target, {"input": [USER, *after], **more})
