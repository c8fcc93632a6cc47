"""Client and model of one wire: bytes pass through untouched, both ways; only the name of the model
may change."""

from __future__ import annotations

import json

import httpx
import pytest
from gateway.bodies import ANTHROPIC_STREAM, ASKED, CHAT_STREAM, GEMINI, MESSAGE, WHOLE
from gateway.upstreams import Answer, answers, behind, streams
from signatures import signature_of

from toolwire.conversation.json import JSON, Object, dump
from toolwire.gateway.client_apis.routes import BY_WIRE
from toolwire.gateway.translation.translator import Translator
from toolwire.streaming.framing.aws import AwsEvents
from toolwire.wires.engine.stream import aws_message


def odd(body: object) -> bytes:
    """A body with spacing that this library never writes."""
    return json.dumps(body, indent=3).replace('"hi"', '"h\\u0069"').encode() + b"\n"


@pytest.mark.parametrize("wire", WHOLE)
def test_a_request_and_its_answer_pass_byte_for_byte(wire: str) -> None:
    path, body = ASKED[wire]
    more: Object = {"x_new_field": {"b": 1.50, "a": [1e3]}}
    raw, back = odd({**body, **more}), odd(WHOLE[wire])
    with behind(wire, Answer(body=back)) as door:
        told = httpx.post(
            door.url + path, content=raw, headers={"content-type": "application/json"}
        )
        assert told.status_code == 200 and told.content == back
        assert door.up.got[0].body == raw
        assert not [name for name in told.headers if name.startswith("x-toolwire")]


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic"])
def test_a_stream_passes_byte_for_byte_wherever_it_is_cut(wire: str) -> None:
    path, body = ASKED[wire]
    whole = b": a comment\r\n\r\n" + b"".join(
        CHAT_STREAM if wire == "openai-chat" else ANTHROPIC_STREAM
    )
    for step in (7, 61, len(whole)):
        pieces = [whole[at : at + step] for at in range(0, len(whole), step)]
        with behind(wire, streams(*pieces)) as door:
            told = httpx.post(door.url + path, json={**body, "stream": True})
            assert told.content == whole
            assert told.headers["content-type"] == "text/event-stream"


BEDROCK_EVENTS: tuple[Object, ...] = (
    {"messageStart": {"role": "assistant"}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hel\nlo"}, "p": "abc"}},
    {"contentBlockStop": {"contentBlockIndex": 0}},
    {"messageStop": {"stopReason": "end_turn"}},
    {"metadata": {"usage": {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7}}},
)
BEDROCK_STREAM = b"".join(map(aws_message, BEDROCK_EVENTS))
CONVERSE: Object = {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}
EVENT_STREAM = "application/vnd.amazon.eventstream"


@pytest.mark.parametrize("step", [7, 61, len(BEDROCK_STREAM)])
def test_a_binary_stream_passes_byte_for_byte_wherever_it_is_cut(step: int) -> None:
    whole = BEDROCK_STREAM
    pieces = [whole[at : at + step] for at in range(0, len(whole), step)]
    with behind("bedrock", streams(*pieces, media=EVENT_STREAM)) as door:
        told = httpx.post(door.url + "/model/m/converse-stream", json=CONVERSE)
        assert told.content == whole and told.headers["content-type"] == EVENT_STREAM
        metrics = httpx.get(door.url + "/metrics").text
        assert 'upstream="bedrock",direction="output"} 4' in metrics, "its usage is read on the way"


def test_a_binary_stream_that_breaks_off_ends_with_an_exception_after_the_last_whole_event() -> (
    None
):
    cut = BEDROCK_STREAM[:-40]
    with behind("bedrock", streams(cut[:150], cut[150:], media=EVENT_STREAM, cut=True)) as door:
        told = httpx.post(door.url + "/model/m/converse-stream", json=CONVERSE).content
    *events, last = AwsEvents().feed(told)
    assert [event.event for event in events] == [next(iter(event)) for event in BEDROCK_EVENTS[:-1]]
    assert last.event == "modelStreamErrorException" and b"broke off" in last.data


def test_only_the_name_of_the_model_changes() -> None:
    raw = (
        b'{ "messages":[{"role":"user","content":"say \\"model\\": \\"x\\""}] , "model" : "m",'
        b' "temperature": 1.0 }'
    )
    with behind("openai-chat", answers(WHOLE["openai-chat"]), model="gpt-real") as door:
        httpx.post(
            door.url + "/v1/chat/completions",
            content=raw,
            headers={"content-type": "application/json"},
        )
        assert door.up.got[0].body == raw.replace(b'"model" : "m"', b'"model" : "gpt-real"')


def test_a_model_further_in_keeps_its_name() -> None:
    body = {
        "messages": [{"role": "user", "content": "hi"}],
        "metadata": {"model": "mine"},
        "model": "m",
    }
    with behind("openai-chat", answers(WHOLE["openai-chat"]), model="gpt-real") as door:
        httpx.post(door.url + "/v1/chat/completions", json=body)
        assert door.up.got[0].json == {**body, "model": "gpt-real"}


def test_a_model_that_is_named_twice_is_sent_once() -> None:
    raw = b'{"model":"dear","messages":[{"role":"user","content":"hi"}],"model":"m"}'
    with behind("openai-chat", answers(WHOLE["openai-chat"])) as door:
        httpx.post(
            door.url + "/v1/chat/completions",
            content=raw,
            headers={"content-type": "application/json"},
        )
        assert door.up.got[0].body.count(b'"model"') == 1 and door.up.got[0].json["model"] == "m"


BROKEN = {
    "model": "m",
    "messages": [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            ],
        },
        {"role": "user", "content": "and?"},
    ],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
}


def test_a_refused_history_is_repaired_and_reported_and_the_response_passes_byte_for_byte() -> None:
    back = odd(WHOLE["openai-chat"])
    with behind("openai-chat", Answer(body=back)) as door:
        told = httpx.post(door.url + "/v1/chat/completions", json=BROKEN)
        assert told.content == back
        assert "missing-result" in told.headers["x-toolwire-repairs"]
        messages = door.up.got[0].json["messages"]
        assert isinstance(messages, list) and len(messages) == 4
        assert "stream" not in door.up.got[0].json


def test_a_repaired_request_for_a_stream_keeps_the_stream_options_of_the_client() -> None:
    with behind("openai-chat", streams(*CHAT_STREAM)) as door:
        told = httpx.post(door.url + "/v1/chat/completions", json={**BROKEN, "stream": True})
        assert told.content == b"".join(CHAT_STREAM)
        assert door.up.got[0].json["stream"] is True and "stream_options" not in door.up.got[0].json


def test_strict_rejects_a_history_that_needs_a_repair_without_an_upstream_request() -> None:
    with behind("openai-chat", answers(WHOLE["openai-chat"]), strict=True) as door:
        told = httpx.post(door.url + "/v1/chat/completions", json=BROKEN)
        assert told.status_code == 400 and not door.up.got
        assert "needs a repair, and the gateway is strict" in told.json()["error"]["message"]
        assert told.headers["x-toolwire-repairs"].startswith("1: missing-result")


def test_client_headers_are_forwarded_only_if_configured() -> None:
    with behind("anthropic", answers(MESSAGE), more={"headers": ["anthropic-beta"]}) as door:
        given = {
            "anthropic-beta": "tools-1",
            "x-app": "cli",
            "cookie": "secret",
            "x-api-key": "of-the-client",
        }
        httpx.post(door.url + "/v1/messages", json=ASKED["anthropic"][1], headers=given)
        sent = door.up.got[0].headers
        assert sent["anthropic-beta"] == "tools-1" and sent["x-api-key"] == "a-key-of-the-gateway"
        assert "x-app" not in sent and "cookie" not in sent


def test_a_refusal_of_the_same_wire_passes_byte_for_byte() -> None:
    body = {
        "error": {
            "message": "no such thing",
            "type": "invalid_request_error",
            "param": "p",
            "code": "c",
            "more": 1,
        }
    }
    with behind("openai-chat", answers(body, 422)) as door:
        told = httpx.post(door.url + "/v1/chat/completions", json=ASKED["openai-chat"][1])
        assert (told.status_code, told.json()) == (422, body)


THOUGHTLESS: Object = {
    "contents": [
        {"role": "user", "parts": [{"text": "What is the weather in Rome?"}]},
        {
            "role": "model",
            "parts": [{"functionCall": {"name": "weather", "args": {"city": "Rome"}}}],
        },
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "weather", "response": {"degrees": 24}}}],
        },
    ],
    "tools": [{"functionDeclarations": [{"name": "weather"}]}],
}
"""A history that a model without signed thoughts began."""


def test_required_signatures_depend_on_the_model_in_the_path() -> None:
    path = "/v1beta/models/{}:generateContent"
    with behind("gemini", answers(WHOLE["gemini"]), answers(WHOLE["gemini"])) as door:
        told = httpx.post(door.url + path.format("gemini-3-pro"), json=THOUGHTLESS)
        sent = door.up.got[0].json
        assert "thoughtSignature" in json.dumps(sent) and "model" not in sent
        assert "x-toolwire-repairs" in told.headers
        httpx.post(door.url + path.format("gemini-2.5-flash"), json=THOUGHTLESS)
        assert door.up.got[1].json == THOUGHTLESS


def test_an_alias_does_not_hide_what_the_model_requires() -> None:
    call: Object = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "weather", "arguments": "{}"},
    }
    body: Object = {
        "model": "local",
        "messages": [
            {"role": "user", "content": "Rome?"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": "24"},
        ],
    }
    with behind("kimi", answers(WHOLE["openai-chat"]), model="kimi-k2-thinking") as door:
        told = httpx.post(door.url + "/v1/chat/completions", json=body)
        assert told.status_code == 200 and "x-toolwire-repairs" in told.headers
        assert door.up.got[0].json["model"] == "kimi-k2-thinking"
        assert "reasoning_content" in json.dumps(door.up.got[0].json)


@pytest.mark.parametrize("name", ["my-claude", "claude-opus-4-8", "claude-sonnet-4-6"])
@pytest.mark.parametrize("signer, kept", [("claude-sonnet-4-6", True), ("claude-opus-4-8", False)])
def test_the_upstream_model_decides_which_signatures_are_sent(
    name: str, signer: str, kept: bool
) -> None:
    thinking: JSON = {"type": "thinking", "thinking": "hm", "signature": signature_of(signer)}
    body: JSON = {
        "model": name,
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [thinking, {"type": "text", "text": "ok"}]},
            {"role": "user", "content": "and?"},
        ],
    }
    translator = Translator(BY_WIRE["anthropic"], "anthropic", model="claude-sonnet-4-6")
    request = translator.request(dump(body))
    assert [change.name for change in request.changes] == (
        [] if kept else ["signature-of-other-model"]
    )
    assert (b'"thinking"' in request.data(lambda body: body)) is kept
    assert request.body["model"] == "claude-sonnet-4-6"


@pytest.mark.parametrize(
    ("model", "moved"), [("gemini-2.5-flash", True), ("gemini-3-pro-preview", False)]
)
def test_an_image_in_a_result_moves_to_a_place_that_the_model_accepts(
    model: str, moved: bool
) -> None:
    image: JSON = {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}
    response: JSON = {"name": "draw", "response": {"output": "done"}, "parts": [image]}
    call: JSON = {"functionCall": {"name": "draw", "args": {}}, "thoughtSignature": "QUJD"}
    contents: list[Object] = [
        {"role": "user", "parts": [{"text": "Draw."}]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [{"functionResponse": response}]},
    ]
    with behind("gemini", answers(GEMINI), model=model) as door:
        httpx.post(f"{door.url}/v1beta/models/m:generateContent", json={"contents": contents})
        sent = door.up.got[0].json
    if moved:
        text_only: JSON = {"name": "draw", "response": {"output": "done\n[image image/png]"}}
        contents[2]["parts"] = [{"functionResponse": text_only}]
        label: JSON = {"text": "From tool call number 1 (draw):"}
        contents.append({"role": "user", "parts": [label, image]})
    assert sent == {"contents": contents}
