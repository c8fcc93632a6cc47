"""Small histories in which calls and results are blocks, parts or items, for the examples of rules.
Knows no rule."""

from __future__ import annotations

from toolwire.conversation.json import JSON, Object
from toolwire.lint.examples.chat import USER
from toolwire.lint.rule import Example

# --- blocks ---


def use(one: str, kind: str = "tool_use", name: str = "f") -> JSON:
    """A call."""
    return {"type": kind, "id": one, "name": name, "input": {}}


def answer(one: str, kind: str = "tool_result", content: JSON = "1", **more: JSON) -> JSON:
    """The result of a call."""
    return {"type": kind, "tool_use_id": one, "content": content, **more}


def words(text: str) -> JSON:
    """Some text."""
    return {"type": "text", "text": text}


def model(*content: JSON) -> JSON:
    """What the assistant says."""
    return {"role": "assistant", "content": list(content)}


def user(*content: JSON) -> JSON:
    """What the user says, or the tools."""
    return {"role": "user", "content": list(content)}


# --- blocks that are told by their field ---


def used(one: str, name: str = "f") -> JSON:
    """A call."""
    return {"toolUse": {"toolUseId": one, "name": name, "input": {}}}


def given(one: str | None, text: str = "1") -> JSON:
    """The result of a call."""
    named: Object = {} if one is None else {"toolUseId": one}
    return {"toolResult": {**named, "content": [{"text": text}]}}


def converse(*messages: JSON, target: str = "bedrock") -> Example:
    """A history of such blocks, which offers its tool."""
    tool: JSON = {"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}
    return Example(
        "bedrock",
        target,
        {
            "messages": [{"role": "user", "content": [{"text": "hi"}]}, *messages],
            "toolConfig": {"tools": [tool]},
        },
    )


# --- parts ---


def called(name: str, one: str | None = None, **more: JSON) -> JSON:
    """A call."""
    return {"functionCall": {**_named(one), "name": name, "args": {}}, **more}


def responded(name: str, value: JSON = 1, one: str | None = None) -> JSON:
    """The result of a call."""
    return {"functionResponse": {**_named(one), "name": name, "response": {"result": value}}}


def _named(one: str | None) -> Object:
    return {} if one is None else {"id": one}


def asking(*parts: JSON) -> JSON:
    """What the model says."""
    return {"role": "model", "parts": list(parts)}


def saying(*parts: JSON) -> JSON:
    """What the user says, or the tools."""
    return {"role": "user", "parts": list(parts)}


HI: JSON = {"role": "user", "parts": [{"text": "hi"}]}


def contents(*messages: JSON, target: str = "gemini", **more: JSON) -> Example:
    """A history of parts."""
    return Example("gemini", target, {"contents": list(messages), **more})


# --- items ---


def item(one: str, name: str = "f") -> JSON:
    """A call."""
    return {"type": "function_call", "call_id": one, "name": name, "arguments": "{}"}


def output(one: str, text: str = "1") -> JSON:
    """The result of a call."""
    return {"type": "function_call_output", "call_id": one, "output": text}


def items(*after: JSON, target: str = "openai-responses", **more: JSON) -> Example:
    """A history of items that a user begins."""
    return Example("openai-responses", target, {"input": [USER, *after], **more})
