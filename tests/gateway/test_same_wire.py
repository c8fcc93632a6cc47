"""Client and model of one wire: bytes pass through untouched, both ways; only the name of the model
may change."""

from __future__ import annotations

import json

import httpx
import pytest
from gateway.bodies import ANTHROPIC_STREAM, ASKED, CHAT_STREAM, MESSAGE, WHOLE
from gateway.upstreams import Answer, answers, behind, streams

from toolwire.conversation.json import Object


def odd(body: object) -> bytes:
    """A body as nobody here would write it."""
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


def test_what_would_be_refused_is_repaired_and_told_and_the_answer_still_passes_byte_for_byte() -> (
    None
):
    back = odd(WHOLE["openai-chat"])
    with behind("openai-chat", Answer(body=back)) as door:
        told = httpx.post(door.url + "/v1/chat/completions", json=BROKEN)
        assert told.content == back
        assert "missing-result" in told.headers["x-toolwire-repairs"]
        messages = door.up.got[0].json["messages"]
        assert isinstance(messages, list) and len(messages) == 4
        assert "stream" not in door.up.got[0].json


def test_a_repaired_stream_asks_for_what_the_client_asked_for_and_no_more() -> None:
    with behind("openai-chat", streams(*CHAT_STREAM)) as door:
        told = httpx.post(door.url + "/v1/chat/completions", json={**BROKEN, "stream": True})
        assert told.content == b"".join(CHAT_STREAM)
        assert door.up.got[0].json["stream"] is True and "stream_options" not in door.up.got[0].json


def test_strict_refuses_instead_of_repairing_and_asks_nobody() -> None:
    with behind("openai-chat", answers(WHOLE["openai-chat"]), strict=True) as door:
        told = httpx.post(door.url + "/v1/chat/completions", json=BROKEN)
        assert told.status_code == 400 and not door.up.got
        assert "needs a repair, and the gateway is strict" in told.json()["error"]["message"]
        assert told.headers["x-toolwire-repairs"].startswith("1: missing-result")


def test_header_fields_of_the_client_go_on_only_if_they_are_named() -> None:
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


def test_what_a_model_wants_back_is_known_by_its_own_name() -> None:
    path = "/v1beta/models/{}:generateContent"
    with behind("gemini", answers(WHOLE["gemini"]), answers(WHOLE["gemini"])) as door:
        told = httpx.post(door.url + path.format("gemini-3-pro"), json=THOUGHTLESS)
        sent = door.up.got[0].json
        assert "thoughtSignature" in json.dumps(sent) and "model" not in sent
        assert "x-toolwire-repairs" in told.headers
        httpx.post(door.url + path.format("gemini-2.5-flash"), json=THOUGHTLESS)
        assert door.up.got[1].json == THOUGHTLESS


def test_the_alias_of_a_model_does_not_hide_what_it_wants_back() -> None:
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
