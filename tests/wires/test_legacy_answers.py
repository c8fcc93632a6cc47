"""Answers to a request with `functions` have the form that its client reads: `function_call`."""

from __future__ import annotations

from typing import Literal

import pytest
from cases import MODELS

from toolwire import Call, Conversation, Message, Text, decode, encode, fold, restream, translate
from toolwire.conversation.json import JSON, Object, dump, get, parse
from toolwire.conversation.model import Setting
from toolwire.gateway.client_apis.routes import BY_WIRE
from toolwire.gateway.translation.response_stream import ResponseStream
from toolwire.gateway.translation.translator import Translator
from toolwire.types import RequestInfo

CHAT = "openai-chat"
OTHERS = [wire for wire in MODELS if wire != CHAT]
FUNCTION: Object = {"name": "weather", "parameters": {"type": "object"}}
QUESTION: JSON = {"role": "user", "content": "How warm is it in Oslo?"}
LEGACY: Object = {"model": "m", "messages": [QUESTION], "functions": [FUNCTION]}
FORCED: Object = {**LEGACY, "function_call": {"name": "weather"}}
MODERN: Object = {
    "model": "m",
    "messages": [QUESTION],
    "tools": [{"type": "function", "function": FUNCTION}],
}
HISTORY: list[JSON] = [
    {"role": "assistant", "content": None, "function_call": {"name": "weather", "arguments": "{}"}},
    {"role": "function", "name": "weather", "content": "where?"},
]
OSLO = Call("call_1", "weather", '{"city":"Oslo"}')
ROME = Call("call_2", "weather", '{"city":"Rome"}')
WRITTEN: Object = {"name": "weather", "arguments": '{"city":"Oslo"}'}


def answer(wire: str, *parts: Text | Call) -> JSON:
    """An answer of a model."""
    message = Message("assistant", list(parts), "tool")
    settings: dict[str, Setting] = {"id": "a", "model": "m"}
    return encode(Conversation((message,), (), settings, "", "response"), wire, "response").body


def choice_of(body: JSON) -> tuple[Object, str]:
    """The message of an answer and the reason why the model stopped."""
    message = get(body, ("choices", 0, "message"))
    stop = get(body, ("choices", 0, "finish_reason"))
    assert isinstance(message, dict) and isinstance(stop, str)
    return message, stop


@pytest.mark.parametrize("request_body", [LEGACY, FORCED], ids=["auto", "forced"])
@pytest.mark.parametrize("wire", OTHERS)
def test_a_whole_answer_to_a_legacy_request_is_legacy(wire: str, request_body: Object) -> None:
    info = RequestInfo(request_body)
    encoded = translate(
        answer(wire, Text("Let me see."), OSLO), wire, CHAT, "response", request=info
    )
    message, stop = choice_of(encoded.body)
    assert message["function_call"] == WRITTEN and "tool_calls" not in message
    assert (message["content"], stop) == ("Let me see.", "function_call")
    assert not [loss for loss in encoded.losses if loss.severity == "loss"]


@pytest.mark.parametrize("wire", OTHERS)
def test_a_streamed_answer_to_a_legacy_request_is_legacy(wire: str) -> None:
    source = list(restream(_stream(answer(CHAT, OSLO)), CHAT, wire, framed=False))
    events = list(restream(source, wire, CHAT, framed=False, request=RequestInfo(FORCED)))
    message, stop = choice_of(fold(events, CHAT))
    assert (message["function_call"], stop) == (WRITTEN, "function_call")
    assert "tool_calls" not in dump(list(events)).decode()


def _stream(body: JSON) -> list[JSON]:
    """The events of a chat answer with one call."""
    message, _ = choice_of(body)
    calls = message["tool_calls"]
    assert isinstance(calls, list)
    entries: list[JSON] = [
        {**call, "index": n} for n, call in enumerate(calls) if isinstance(call, dict)
    ]
    frame: Object = {"id": "a", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    delta: Object = {"role": "assistant", "content": None, "tool_calls": entries}
    return [
        {**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    ]


@pytest.mark.parametrize("form", ["whole", "stream"])
@pytest.mark.parametrize("wire", OTHERS)
def test_a_second_call_is_reported_because_the_form_holds_one(
    wire: str, form: Literal["whole", "stream"]
) -> None:
    info = RequestInfo(LEGACY)
    if form == "whole":
        encoded = translate(answer(wire, OSLO, ROME), wire, CHAT, "response", request=info)
        body, losses = encoded.body, encoded.losses
    else:
        source = list(restream(_stream(answer(CHAT, OSLO, ROME)), CHAT, wire, framed=False))
        stream = restream(source, wire, CHAT, framed=False, request=info)
        body, losses = fold(list(stream), CHAT), stream.losses
    assert choice_of(body)[0]["function_call"] == WRITTEN
    assert [loss.reason for loss in losses if loss.severity == "loss"] == [
        "the client can read only one call per response"
    ]


def test_the_id_of_the_call_returns_with_the_id_map() -> None:
    encoded = translate(
        answer("anthropic", OSLO), "anthropic", CHAT, "response", request=RequestInfo(LEGACY)
    )
    back = translate(encoded.body, CHAT, "anthropic", "response", ids=encoded.ids)
    assert [call.id for call in decode(back.body, "anthropic", "response").calls()] == ["call_1"]


@pytest.mark.parametrize("request_body", [{}, MODERN, {**MODERN, "functions": [FUNCTION]}])
def test_any_other_answer_has_tool_calls(request_body: Object) -> None:
    info = RequestInfo(request_body)
    body = translate(answer("anthropic", OSLO), "anthropic", CHAT, "response", request=info).body
    message, stop = choice_of(body)
    assert "function_call" not in message and stop == "tool_calls"


@pytest.mark.parametrize("target", ["anthropic", "gemini", "deepseek"])
@pytest.mark.parametrize("stream", [False, True])
def test_the_gateway_answers_a_legacy_client_in_its_form(target: str, stream: bool) -> None:
    """DeepSeek speaks the wire of the client, but refuses the legacy form."""
    translator = Translator(BY_WIRE[CHAT], target, model="m")
    upstream = translator.request(
        dump({**FORCED, "messages": [QUESTION, *HISTORY], "stream": stream})
    )
    assert "functions" not in upstream.body and b"weather" in dump(upstream.body)
    if stream:
        source = restream(_stream(answer(CHAT, OSLO)), CHAT, translator.wire)
        pipe = ResponseStream(translator, upstream)
        out = [item for piece in source for item in pipe.feed(piece)]
        body: JSON = fold(b"".join([*out, *pipe.end()]), CHAT)
    else:
        data = dump(answer(translator.wire, OSLO))
        body = parse(translator.response(data, upstream).body)
    message, stop = choice_of(body)
    assert (message["function_call"], stop) == (WRITTEN, "function_call")
    assert "tool_calls" not in message
