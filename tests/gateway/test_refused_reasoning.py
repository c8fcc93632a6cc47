"""Reasoning of another account, region or deployment: the upstream cannot read it, and the gateway
repeats the request without it, once, and reports that."""

from __future__ import annotations

import json

import httpx
import pytest
from gateway.bodies import WHOLE
from gateway.upstreams import answers, scripted_gateway

from toolwire.conversation.json import JSON, Object

TOOL: Object = {"type": "object", "properties": {}}
REQUESTS: dict[str, tuple[str, Object, str]] = {
    "openai-chat": (
        "/v1/chat/completions",
        {
            "model": "m",
            "messages": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": "Hello.", "reasoning_content": "secret"},
                {"role": "user", "content": "hi"},
            ],
        },
        "Unknown parameter: 'messages[1].reasoning_content'.",
    ),
    "openai-responses": (
        "/v1/responses",
        {
            "model": "m",
            "store": False,
            "input": [
                {"role": "user", "content": "hi"},
                {
                    "type": "reasoning",
                    "id": "rs_1",
                    "summary": [],
                    "encrypted_content": "gAAAAABsecret",
                },
                {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c1", "output": "1"},
            ],
            "tools": [{"type": "function", "name": "f", "parameters": TOOL}],
        },
        "The encrypted content gAAA…cret could not be verified.",
    ),
    "anthropic": (
        "/v1/messages",
        {
            "model": "m",
            "max_tokens": 2000,
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "messages": [
                {"role": "user", "content": "hi"},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "hm", "signature": "ErUBsecret"},
                        {"type": "tool_use", "id": "c1", "name": "f", "input": {}},
                    ],
                },
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "1"}],
                },
            ],
            "tools": [{"name": "f", "input_schema": TOOL}],
        },
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    "gemini": (
        "/v1beta/models/m:generateContent",
        {
            "contents": [
                {"role": "user", "parts": [{"text": "hi"}]},
                {
                    "role": "model",
                    "parts": [
                        {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2VjcmV0"}
                    ],
                },
                {
                    "role": "user",
                    "parts": [{"functionResponse": {"name": "f", "response": {"output": "1"}}}],
                },
            ],
            "tools": [{"functionDeclarations": [{"name": "f", "parameters": TOOL}]}],
        },
        "Corrupted thought signature.",
    ),
}


def refusal(message: str) -> JSON:
    return {"error": {"message": message, "type": "invalid_request_error", "code": None}}


@pytest.mark.parametrize("wire", REQUESTS)
def test_refused_reasoning_is_removed_and_the_request_is_repeated(wire: str) -> None:
    path, body, message = REQUESTS[wire]
    refused = answers(refusal(message), status=400)
    with scripted_gateway(wire, refused, answers(WHOLE[wire])) as gw:
        response = httpx.post(gw.url + path, json=body)
        assert response.status_code == 200
        assert "signature-foreign" in response.headers["x-toolwire-repairs"]
        first, second = (request.body.decode() for request in gw.up.got)
    assert "secret" in first or "c2VjcmV0" in first
    assert "secret" not in second and "c2VjcmV0" not in second
    assert json.loads(second).keys() == json.loads(first).keys()


def test_a_request_that_is_refused_again_is_not_sent_a_third_time() -> None:
    path, body, message = REQUESTS["openai-responses"]
    with scripted_gateway("openai-responses", answers(refusal(message), status=400)) as gw:
        response = httpx.post(gw.url + path, json=body)
        assert response.status_code == 400 and len(gw.up.got) == 2


@pytest.mark.parametrize("strict, message", [(True, None), (False, "Unknown parameter: 'x'.")])
def test_other_refusals_and_strict_gateways_ask_once(strict: bool, message: str | None) -> None:
    path, body, about_reasoning = REQUESTS["openai-responses"]
    refused = answers(refusal(message or about_reasoning), status=400)
    with scripted_gateway("openai-responses", refused, strict=strict) as gw:
        response = httpx.post(gw.url + path, json=body)
        assert response.status_code == 400 and len(gw.up.got) == 1
