"""Calls of custom tools that a model gets as functions with one field, `input`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from toolwire import decode, fold
from toolwire.conversation.json import JSON, dump
from toolwire.gateway.client_apis.routes import BY_WIRE
from toolwire.gateway.translation.response_stream import ResponseStream
from toolwire.gateway.translation.translator import Translator

REQUEST: JSON = {
    "model": "m",
    "input": "list the files",
    "stream": True,
    "tools": [{"type": "custom", "name": "run"}],
}


def gemini(arguments: JSON) -> list[bytes]:
    """A stream in which the call arrives complete."""
    call: JSON = {"functionCall": {"name": "run", "args": arguments}}
    content: JSON = {"role": "model", "parts": [call]}
    body: JSON = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}
    return [b"data: " + dump(body) + b"\n\n"]


def openai_chat(arguments: JSON) -> list[bytes]:
    """A stream in which the arguments arrive after the name."""
    deltas: list[JSON] = [
        {"index": 0, "id": "call_1", "type": "function", "function": {"name": "run"}},
        {"index": 0, "function": {"arguments": dump(arguments).decode()}},
    ]
    chunks: list[JSON] = [
        {"id": "c", "choices": [{"index": 0, "delta": {"tool_calls": [delta]}}]} for delta in deltas
    ]
    return [*(b"data: " + dump(chunk) + b"\n\n" for chunk in chunks), b"data: [DONE]\n\n"]


@pytest.mark.parametrize(("source", "stream"), [("gemini", gemini), ("openai-chat", openai_chat)])
@pytest.mark.parametrize(
    ("arguments", "family", "text"),
    [({"input": "ls"}, "custom", "ls"), ({"input": 5}, "function", '{"input":5}')],
    ids=["text", "no-text"],
)
def test_a_call_of_a_custom_tool_gets_its_text_back_if_it_has_one(
    source: str, stream: Callable[[JSON], list[bytes]], arguments: JSON, family: str, text: str
) -> None:
    translator = Translator(BY_WIRE["openai-responses"], source, model="m")
    pipe = ResponseStream(translator, translator.request(dump(REQUEST)))
    out = [item for piece in stream(arguments) for item in pipe.feed(piece)]
    body = fold(b"".join([*out, *pipe.end()]), "openai-responses")
    (call,) = decode(body, "openai-responses", "response").calls()
    assert (call.name, call.family, call.args.text) == ("run", family, text)
