"""What a row of the tables is, and the small builders of all wires.

Every call has a number in its arguments, and every result has the number of its call in its text,
so a test knows which of them belong together whatever the ids say.
"""

from __future__ import annotations

from msgspec import Struct

from toolwire.conversation.json import JSON, Object


class ReportedHistory(Struct, frozen=True):
    """A history that a provider refused, and what the rules find in it."""

    source: str
    """Who reported it: repository and number; or, in words, what the reference of the API says."""
    target: str
    """The profile of the provider."""
    body: JSON
    rules: tuple[str, ...]
    """The rules that are violated; empty if the provider accepts the history."""
    as_text: tuple[int, ...] = ()
    """The results that end as text because no call is certain to be theirs."""


HELLO = "hello"


def user(text: str = HELLO) -> Object:
    """A user message of the chat and Anthropic wires."""
    return {"role": "user", "content": text}


def say(text: str = "fine") -> Object:
    """An assistant message of the same wires."""
    return {"role": "assistant", "content": text}


def system(text: str = "be kind") -> Object:
    """A system message of the chat wires."""
    return {"role": "system", "content": text}


def output(number: int) -> str:
    """The text of a result."""
    return f"<<{number}>>"


# --- chat ---


def call(call_id: JSON, number: int, name: JSON = "f", arguments: JSON = None) -> Object:
    """A call of the chat wires."""
    text = f'{{"n": {number}}}' if arguments is None else arguments
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def calls(*tool_calls: JSON, **more: JSON) -> Object:
    """An assistant message of the chat wires."""
    return {"role": "assistant", "content": None, "tool_calls": list(tool_calls), **more}


def result(call_id: JSON, number: int, **more: JSON) -> Object:
    """A tool message of the chat wires."""
    return {"role": "tool", "tool_call_id": call_id, "content": output(number), **more}


def chat(*messages: JSON, model: str = "m", **more: JSON) -> Object:
    """A Chat Completions request."""
    return {"model": model, "messages": list(messages), "tools": [*_chat_tools("f", "g")], **more}


def _chat_tools(*names: str) -> list[JSON]:
    return [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
        for name in names
    ]


# --- Anthropic ---


def use(call_id: JSON, number: int, name: JSON = "f", **more: JSON) -> Object:
    """A call of Anthropic."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"n": number}, **more}


def answer(call_id: JSON, number: int, **more: JSON) -> Object:
    """A result of Anthropic."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": output(number), **more}


def text(words: str) -> Object:
    """A text block."""
    return {"type": "text", "text": words}


def thinking(words: str = "hm", signature: JSON = "c2lnbmF0dXJl") -> Object:
    """A thinking block."""
    return {"type": "thinking", "thinking": words, "signature": signature}


def a(*content: JSON) -> Object:
    """An assistant message of blocks."""
    return {"role": "assistant", "content": list(content)}


def u(*content: JSON) -> Object:
    """A user message of blocks."""
    return {"role": "user", "content": list(content)}


def claude(*messages: JSON, model: str = "claude-sonnet-4-5", **more: JSON) -> Object:
    """An Anthropic request."""
    tools: list[JSON] = [{"name": name, "input_schema": {"type": "object"}} for name in ("f", "g")]
    return {"model": model, "max_tokens": 9, "messages": list(messages), "tools": tools, **more}


# --- Bedrock ---


def tool_use(call_id: JSON, number: int, name: str = "f") -> Object:
    """A call of Bedrock."""
    return {"toolUse": {"toolUseId": call_id, "name": name, "input": {"n": number}}}


def tool_result(call_id: JSON, number: int, **more: JSON) -> Object:
    """A result of Bedrock."""
    return {"toolResult": {"toolUseId": call_id, "content": [{"text": output(number)}], **more}}


def converse(*messages: JSON, **more: JSON) -> Object:
    """A Bedrock request."""
    tools: list[JSON] = [
        {"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object"}}}}
        for name in ("f", "g")
    ]
    return {"messages": list(messages), "toolConfig": {"tools": tools}, **more}


# --- Gemini ---


def fc(number: int, name: str = "f", call_id: str | None = None, **more: JSON) -> Object:
    """A call of Gemini."""
    id_field: Object = {} if call_id is None else {"id": call_id}
    return {"functionCall": {**id_field, "name": name, "args": {"n": number}}, **more}


def fr(number: int, name: str | None = "f", call_id: str | None = None) -> Object:
    """A result of Gemini."""
    id_field: Object = {} if call_id is None else {"id": call_id}
    name_field: Object = {} if name is None else {"name": name}
    response: JSON = {"result": output(number)}
    return {"functionResponse": {**id_field, **name_field, "response": response}}


def content(role: str, *parts: JSON) -> Object:
    """A message of Gemini."""
    return {"role": role, "parts": list(parts)}


def model(*parts: JSON) -> Object:
    """A model message of Gemini."""
    return content("model", *parts)


def person(*parts: JSON) -> Object:
    """A user message of Gemini."""
    return content("user", *(parts or ({"text": HELLO},)))


def gemini(*contents: JSON, **more: JSON) -> Object:
    """A Gemini request."""
    declarations: list[JSON] = [{"name": name} for name in ("f", "g")]
    return {"contents": list(contents), "tools": [{"functionDeclarations": declarations}], **more}


# --- Responses ---


def item_call(call_id: JSON, number: int, **more: JSON) -> Object:
    """A call of Responses."""
    return {
        "type": "function_call",
        "call_id": call_id,
        "name": "f",
        "arguments": f'{{"n": {number}}}',
        **more,
    }


def item_output(call_id: JSON, number: int, **more: JSON) -> Object:
    """A result of Responses."""
    return {"type": "function_call_output", "call_id": call_id, "output": output(number), **more}


def reasoning(item_id: str = "rs_1", **more: JSON) -> Object:
    """A reasoning item."""
    return {"type": "reasoning", "id": item_id, "summary": [], **more}


def message(words: str = "fine", item_id: str = "msg_1") -> Object:
    """An assistant message of Responses."""
    content_parts: list[JSON] = [{"type": "output_text", "text": words, "annotations": []}]
    return {
        "type": "message",
        "id": item_id,
        "role": "assistant",
        "status": "completed",
        "content": content_parts,
    }


def responses(*items: JSON, **more: JSON) -> Object:
    """A Responses request."""
    tools: list[JSON] = [
        {"type": "function", "name": name, "parameters": {"type": "object"}, "strict": False}
        for name in ("f", "g")
    ]
    return {"model": "gpt-5", "input": list(items), "tools": tools, **more}
