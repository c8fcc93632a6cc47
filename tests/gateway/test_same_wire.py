"""Client and model of one wire: bytes pass through untouched, both ways; only the name of the model
may change."""

from __future__ import annotations

import json

import httpx
import pytest
from gateway.bodies import ANTHROPIC_STREAM, ASKED, CHAT_STREAM, GEMINI, MESSAGE, WHOLE
from gateway.upstreams import Answer, answers, scripted_gateway, streams
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
    with scripted_gateway(wire, Answer(body=back)) as gw:
        response = httpx.post(
            gw.url + path, content=raw, headers={"content-type": "application/json"}
        )
        assert response.status_code == 200 and response.content == back
        assert gw.up.got[0].body == raw
        assert not [name for name in response.headers if name.startswith("x-toolwire")]


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic"])
def test_a_question_about_tokens_and_signatures_passes_byte_for_byte(wire: str) -> None:
    path, body = ASKED[wire]
    text = 'What is tw1.abc? And {"signature": ""}, or "redacted_thinking"?'
    raw = odd({**body, "messages": [{"role": "user", "content": text}]})
    with scripted_gateway(wire, answers(WHOLE[wire])) as gw:
        httpx.post(gw.url + path, content=raw, headers={"content-type": "application/json"})
        assert gw.up.got[0].body == raw


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic"])
def test_a_stream_passes_byte_for_byte_wherever_it_is_cut(wire: str) -> None:
    path, body = ASKED[wire]
    whole = b": a comment\r\n\r\n" + b"".join(
        CHAT_STREAM if wire == "openai-chat" else ANTHROPIC_STREAM
    )
    for step in (7, 61, len(whole)):
        pieces = [whole[at : at + step] for at in range(0, len(whole), step)]
        with scripted_gateway(wire, streams(*pieces)) as gw:
            response = httpx.post(gw.url + path, json={**body, "stream": True})
            assert response.content == whole
            assert response.headers["content-type"] == "text/event-stream"


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
    with scripted_gateway("bedrock", streams(*pieces, media=EVENT_STREAM)) as gw:
        response = httpx.post(gw.url + "/model/m/converse-stream", json=CONVERSE)
        assert response.content == whole and response.headers["content-type"] == EVENT_STREAM
        metrics = httpx.get(gw.url + "/metrics").text
        assert 'upstream="bedrock",direction="output"} 4' in metrics, "its usage is read on the way"


def test_a_binary_stream_that_breaks_off_ends_with_an_exception_after_the_last_whole_event() -> (
    None
):
    cut = BEDROCK_STREAM[:-40]
    with scripted_gateway(
        "bedrock", streams(cut[:150], cut[150:], media=EVENT_STREAM, cut=True)
    ) as gw:
        response = httpx.post(gw.url + "/model/m/converse-stream", json=CONVERSE).content
    *events, last = AwsEvents().feed(response)
    assert [event.event for event in events] == [next(iter(event)) for event in BEDROCK_EVENTS[:-1]]
    assert last.event == "modelStreamErrorException" and b"broke off" in last.data


def test_only_the_name_of_the_model_changes() -> None:
    raw = (
        b'{ "messages":[{"role":"user","content":"say \\"model\\": \\"x\\""}] , "model" : "m",'
        b' "temperature": 1.0 }'
    )
    with scripted_gateway("openai-chat", answers(WHOLE["openai-chat"]), model="gpt-real") as gw:
        httpx.post(
            gw.url + "/v1/chat/completions",
            content=raw,
            headers={"content-type": "application/json"},
        )
        assert gw.up.got[0].body == raw.replace(b'"model" : "m"', b'"model" : "gpt-real"')


def test_a_model_further_in_keeps_its_name() -> None:
    body = {
        "messages": [{"role": "user", "content": "hi"}],
        "metadata": {"model": "mine"},
        "model": "m",
    }
    with scripted_gateway("openai-chat", answers(WHOLE["openai-chat"]), model="gpt-real") as gw:
        httpx.post(gw.url + "/v1/chat/completions", json=body)
        assert gw.up.got[0].json == {**body, "model": "gpt-real"}


def test_a_model_that_is_named_twice_is_sent_once() -> None:
    raw = b'{"model":"dear","messages":[{"role":"user","content":"hi"}],"model":"m"}'
    with scripted_gateway("openai-chat", answers(WHOLE["openai-chat"])) as gw:
        httpx.post(
            gw.url + "/v1/chat/completions",
            content=raw,
            headers={"content-type": "application/json"},
        )
        assert gw.up.got[0].body.count(b'"model"') == 1 and gw.up.got[0].json["model"] == "m"


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
    with scripted_gateway("openai-chat", Answer(body=back)) as gw:
        response = httpx.post(gw.url + "/v1/chat/completions", json=BROKEN)
        assert response.content == back
        assert "missing-result" in response.headers["x-toolwire-repairs"]
        messages = gw.up.got[0].json["messages"]
        assert isinstance(messages, list) and len(messages) == 4
        assert "stream" not in gw.up.got[0].json


def test_a_repaired_request_for_a_stream_keeps_the_stream_options_of_the_client() -> None:
    with scripted_gateway("openai-chat", streams(*CHAT_STREAM)) as gw:
        response = httpx.post(gw.url + "/v1/chat/completions", json={**BROKEN, "stream": True})
        assert response.content == b"".join(CHAT_STREAM)
        assert gw.up.got[0].json["stream"] is True and "stream_options" not in gw.up.got[0].json


def test_strict_rejects_a_history_that_needs_a_repair_without_an_upstream_request() -> None:
    with scripted_gateway("openai-chat", answers(WHOLE["openai-chat"]), strict=True) as gw:
        response = httpx.post(gw.url + "/v1/chat/completions", json=BROKEN)
        assert response.status_code == 400 and not gw.up.got
        assert "needs a repair, and the gateway is strict" in response.json()["error"]["message"]
        assert response.headers["x-toolwire-repairs"].startswith("1: missing-result")


def test_client_headers_are_forwarded_only_if_configured() -> None:
    with scripted_gateway(
        "anthropic", answers(MESSAGE), more={"headers": ["anthropic-beta"]}
    ) as gw:
        given = {
            "anthropic-beta": "tools-1",
            "x-app": "cli",
            "cookie": "secret",
            "x-api-key": "of-the-client",
        }
        httpx.post(gw.url + "/v1/messages", json=ASKED["anthropic"][1], headers=given)
        sent = gw.up.got[0].headers
        assert sent["anthropic-beta"] == "tools-1" and sent["x-api-key"] == "a-key-of-the-gateway"
        assert "x-app" not in sent and "cookie" not in sent


def test_every_request_has_its_own_header_fields_however_many_differ() -> None:
    body, features = ASKED["anthropic"][1], [f"feature-{n}" for n in (*range(20), 0, 19)]
    with scripted_gateway("anthropic", answers(MESSAGE)) as gw:
        for feature in features:
            headers = {"anthropic-beta": feature, "anthropic-version": "2023-06-01"}
            assert httpx.post(gw.url + "/v1/messages", json=body, headers=headers).is_success
        httpx.post(gw.url + "/v1/messages", json=body)
    assert [one.headers.get("anthropic-beta") for one in gw.up.got] == [*features, None]


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
    with scripted_gateway("openai-chat", answers(body, 422)) as gw:
        response = httpx.post(gw.url + "/v1/chat/completions", json=ASKED["openai-chat"][1])
        assert (response.status_code, response.json()) == (422, body)


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
    with scripted_gateway("gemini", answers(WHOLE["gemini"]), answers(WHOLE["gemini"])) as gw:
        response = httpx.post(gw.url + path.format("gemini-3-pro"), json=THOUGHTLESS)
        sent = gw.up.got[0].json
        assert "thoughtSignature" in json.dumps(sent) and "model" not in sent
        assert "x-toolwire-repairs" in response.headers
        httpx.post(gw.url + path.format("gemini-2.5-flash"), json=THOUGHTLESS)
        assert gw.up.got[1].json == THOUGHTLESS


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
    with scripted_gateway("kimi", answers(WHOLE["openai-chat"]), model="kimi-k2-thinking") as gw:
        response = httpx.post(gw.url + "/v1/chat/completions", json=body)
        assert response.status_code == 200 and "x-toolwire-repairs" in response.headers
        assert gw.up.got[0].json["model"] == "kimi-k2-thinking"
        assert "reasoning_content" in json.dumps(gw.up.got[0].json)


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
    assert (b'"thinking"' in (request.complete_data() or dump(request.body))) is kept
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
    with scripted_gateway("gemini", answers(GEMINI), model=model) as gw:
        httpx.post(f"{gw.url}/v1beta/models/m:generateContent", json={"contents": contents})
        sent = gw.up.got[0].json
    if moved:
        text_only: JSON = {"name": "draw", "response": {"output": "done\n[image image/png]"}}
        contents[2]["parts"] = [{"functionResponse": text_only}]
        label: JSON = {"text": "From tool call number 1 (draw):"}
        contents.append({"role": "user", "parts": [label, image]})
    assert sent == {"contents": contents}


@pytest.mark.parametrize(
    ("target", "model"),
    [("openai-chat", "m"), ("openai-chat", "other"), ("deepseek", "deepseek-reasoner")],
)
def test_a_call_without_its_list_is_sent_in_a_list(target: str, model: str) -> None:
    call: JSON = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    body: JSON = {
        "model": "m",
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": call},
            {"role": "tool", "tool_call_id": "c1", "content": "1"},
        ],
    }
    request = Translator(BY_WIRE["openai-chat"], target, model=model).request(dump(body))
    sent = json.loads(request.complete_data() or dump(request.body))
    assert sent["messages"][1]["tool_calls"] == [call]
    assert sent["model"] == model
    assert "wrong-json-type" in {change.name for change in request.changes}
