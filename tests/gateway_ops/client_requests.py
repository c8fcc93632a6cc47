"""The requests of a client of each client API, and those after a response: one row each, in plain
JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from toolwire import fold
from toolwire.conversation.json import JSON, Object, parse

Result: TypeAlias = "tuple[str, str, str]"
"""The id and the name of a call, and its output."""
ADD: Object = {
    "type": "object",
    "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
    "required": ["a", "b"],
}
TELLS = "Add two numbers."


class Row(Struct, frozen=True):
    """One client API."""

    wire: str
    path: Callable[[str, bool], str]
    begin: Callable[[str, str, bool], Object]
    """Makes a request from a question, a model, and True for a stream; it defines the tool `add`."""
    go_on: Callable[[Object, Object, list[Result]], Object]
    """Makes the next request: with the response and the results of its calls at the end."""
    whole: bool = True
    """True if the API has whole responses."""


def _list(value: JSON) -> list[JSON]:
    assert isinstance(value, list)
    return value


def _object(value: JSON) -> Object:
    assert isinstance(value, dict)
    return value


def _function(name: str = "add") -> Object:
    return {"type": "function", "function": {"name": name, "description": TELLS, "parameters": ADD}}


def _chat(question: str, model: str, stream: bool) -> Object:
    return {
        "model": model,
        "messages": [{"role": "user", "content": question}],
        "tools": [_function()],
        "stream": stream,
    }


def _chat_on(body: Object, answer: Object, results: list[Result]) -> Object:
    message = _object(_object(_list(answer["choices"])[0])["message"])
    tool_results: list[JSON] = [
        {"role": "tool", "tool_call_id": made, "content": out} for made, _, out in results
    ]
    return {**body, "messages": [*_list(body["messages"]), message, *tool_results]}


def _responses(question: str, model: str, stream: bool) -> Object:
    tool: Object = {
        "type": "function",
        "name": "add",
        "description": TELLS,
        "parameters": ADD,
        "strict": False,
    }
    return {
        "model": model,
        "input": [{"role": "user", "content": question}],
        "tools": [tool],
        "stream": stream,
        "store": False,
    }


def _responses_on(body: Object, answer: Object, results: list[Result]) -> Object:
    tool_results: list[JSON] = [
        {"type": "function_call_output", "call_id": made, "output": out} for made, _, out in results
    ]
    return {**body, "input": [*_list(body["input"]), *_list(answer["output"]), *tool_results]}


def _anthropic(question: str, model: str, stream: bool) -> Object:
    tool: Object = {"name": "add", "description": TELLS, "input_schema": ADD}
    asked: list[JSON] = [{"role": "user", "content": question}]
    return {"model": model, "max_tokens": 500, "messages": asked, "tools": [tool], "stream": stream}


def _anthropic_on(body: Object, answer: Object, results: list[Result]) -> Object:
    tool_results: list[JSON] = [
        {"type": "tool_result", "tool_use_id": made, "content": out} for made, _, out in results
    ]
    more: list[JSON] = [{"role": "assistant", "content": answer["content"]}]
    more.append({"role": "user", "content": tool_results or "And now?"})
    return {**body, "messages": [*_list(body["messages"]), *more]}


def _gemini(question: str, model: str, stream: bool) -> Object:
    tool: Object = {
        "functionDeclarations": [{"name": "add", "description": TELLS, "parameters": ADD}]
    }
    return {"contents": [{"role": "user", "parts": [{"text": question}]}], "tools": [tool]}


def _gemini_on(body: Object, answer: Object, results: list[Result]) -> Object:
    content = _object(_list(answer["candidates"])[0])["content"]
    tool_results: list[JSON] = [
        {"functionResponse": {"id": made, "name": name, "response": {"result": out}}}
        for made, name, out in results
    ]
    more: list[JSON] = [content, {"role": "user", "parts": tool_results or [{"text": "And now?"}]}]
    return {**body, "contents": [*_list(body["contents"]), *more]}


def _bedrock(question: str, model: str, stream: bool) -> Object:
    tool: Object = {"name": "add", "description": TELLS, "inputSchema": {"json": ADD}}
    asked: list[JSON] = [{"role": "user", "content": [{"text": question}]}]
    return {"messages": asked, "toolConfig": {"tools": [{"toolSpec": tool}]}}


def _bedrock_on(body: Object, answer: Object, results: list[Result]) -> Object:
    tool_results: list[JSON] = [
        {"toolResult": {"toolUseId": made, "content": [{"text": out}]}} for made, _, out in results
    ]
    more: list[JSON] = [_object(answer["output"])["message"]]
    more.append({"role": "user", "content": tool_results or [{"text": "And now?"}]})
    return {**body, "messages": [*_list(body["messages"]), *more]}


def _cohere_on(body: Object, answer: Object, results: list[Result]) -> Object:
    tool_results: list[JSON] = [
        {"role": "tool", "tool_call_id": made, "content": out} for made, _, out in results
    ]
    return {**body, "messages": [*_list(body["messages"]), answer["message"], *tool_results]}


def _ollama_on(body: Object, answer: Object, results: list[Result]) -> Object:
    tool_results: list[JSON] = [
        {"role": "tool", "tool_name": name, "content": out} for _, name, out in results
    ]
    return {**body, "messages": [*_list(body["messages"]), answer["message"], *tool_results]}


def _ai_sdk(question: str, model: str, stream: bool) -> Object:
    asked: Object = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": question}]}
    return {
        "id": "c1",
        "model": model,
        "messages": [asked],
        "tools": {"add": {"description": TELLS, "inputSchema": ADD}},
    }


def _ai_sdk_on(body: Object, answer: Object, results: list[Result]) -> Object:
    outs = {made: out for made, _, out in results}
    parts: list[JSON] = []
    for part in _list(answer["parts"]):
        assert isinstance(part, dict)
        made = part.get("toolCallId")
        parts.append(
            {**part, "state": "output-available", "output": outs[made]}
            if isinstance(made, str) and made in outs
            else part
        )
    return {
        **body,
        "messages": [*_list(body["messages"]), {**answer, "role": "assistant", "parts": parts}],
    }


_VERBS = {True: "streamGenerateContent?alt=sse", False: "generateContent"}
FRONTS = (
    Row("openai-chat", lambda model, stream: "/v1/chat/completions", _chat, _chat_on),
    Row("openai-responses", lambda model, stream: "/v1/responses", _responses, _responses_on),
    Row("anthropic", lambda model, stream: "/v1/messages", _anthropic, _anthropic_on),
    Row(
        "gemini",
        lambda model, stream: f"/v1beta/models/{model}:{_VERBS[stream]}",
        _gemini,
        _gemini_on,
    ),
    Row(
        "bedrock",
        lambda model, stream: f"/model/{model}/converse{'-stream' * stream}",
        _bedrock,
        _bedrock_on,
    ),
    Row("mistral", lambda model, stream: "/mistral/v1/chat/completions", _chat, _chat_on),
    Row("cohere", lambda model, stream: "/v2/chat", _chat, _cohere_on),
    Row("ollama", lambda model, stream: "/api/chat", _chat, _ollama_on),
    Row("ai-sdk", lambda model, stream: "/ai-sdk/chat", _ai_sdk, _ai_sdk_on, whole=False),
)


def answer_of(text: str, wire: str, *, stream: bool) -> Object:
    """The body of an answer, streamed or not."""
    return _object(
        fold(text.encode("utf-8", "surrogateescape"), wire) if stream else parse(text.encode())
    )
