"""Settings that the model of another wire refuses are left out and reported; the strict mock checks
the request."""

from __future__ import annotations

import httpx
import pytest
from gateway.serving import Gateways

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.model import Choice, Conversation, Setting
from toolwire.gateway.translation.sampling import fit_settings
from toolwire.profiles.model_settings import limited_settings
from toolwire.profiles.table import PROFILES

TOOLS: JSON = [{"functionDeclarations": [{"name": "f"}]}]
FORCED: JSON = {"functionCallingConfig": {"mode": "ANY"}}
BUDGET: JSON = {"thinkingConfig": {"thinkingBudget": 1024}}
GEMINI: Object = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
MESSAGES: Object = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 99}
CHAT: Object = {"messages": [{"role": "user", "content": "hi"}]}
MATH: Object = {"temperature": 0.2, "topP": 0.5, "stopSequences": ["x"], "presencePenalty": 0.5}
ASKS = "/v1beta/models/{model}:generateContent"
CASES: dict[str, tuple[str, str, str, Object, tuple[str, ...]]] = {
    "sampling to a chat model that reasons": (
        "openai-chat",
        "gpt-5",
        ASKS,
        {**GEMINI, "generationConfig": MATH},
        ("temperature", "top_p", "stop", "presence_penalty"),
    ),
    "sampling to a Responses model that reasons": (
        "openai-responses",
        "o3",
        "/v1/messages",
        {**MESSAGES, "temperature": 0.5},
        ("temperature",),
    ),
    "sampling to a model that was told to reason": (
        "openai-chat",
        "gpt-5.2",
        "/v1/messages",
        {**MESSAGES, "temperature": 0.5, "output_config": {"effort": "low"}},
        ("temperature",),
    ),
    "sampling to a Claude that takes none": (
        "anthropic",
        "claude-opus-5",
        "/v1/chat/completions",
        {**CHAT, "temperature": 0.5, "top_p": 0.9},
        ("temperature", "top_p"),
    ),
    "sampling to a Claude on Bedrock that takes none": (
        "bedrock",
        "us.anthropic.claude-opus-4-8-v1:0",
        "/v1/chat/completions",
        {**CHAT, "temperature": 0.5, "top_p": 0.9},
        ("temperature", "top_p"),
    ),
    "temperature and top_p to a Claude on Bedrock": (
        "bedrock",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "/v1/chat/completions",
        {**CHAT, "temperature": 0.5, "top_p": 0.9},
        ("top_p",),
    ),
    "a high temperature to Bedrock": (
        "bedrock",
        "amazon.nova-micro-v1:0",
        "/v1/chat/completions",
        {**CHAT, "temperature": 1.5},
        ("temperature",),
    ),
    "a high temperature to Mistral": (
        "mistral",
        "mistral-large-latest",
        "/v1/chat/completions",
        {**CHAT, "temperature": 1.9},
        ("temperature",),
    ),
    "high and negative settings to Cohere": (
        "cohere",
        "command-a-03-2025",
        "/v1/chat/completions",
        {**CHAT, "temperature": 1.5, "top_p": 1, "presence_penalty": -1},
        ("temperature", "top_p", "presence_penalty"),
    ),
    "one token to Responses": (
        "openai-responses",
        "gpt-4o",
        "/v1/messages",
        {**MESSAGES, "max_tokens": 1},
        ("max_tokens",),
    ),
    "effort to a chat model that does not reason": (
        "openai-chat",
        "gpt-4o",
        "/v1/responses",
        {"input": "hi", "reasoning": {"effort": "low"}},
        ("effort",),
    ),
    "effort to a Responses model that does not reason": (
        "openai-responses",
        "gpt-4o",
        "/v1/chat/completions",
        {**CHAT, "reasoning_effort": "low"},
        ("effort",),
    ),
    "a budget beside a forced tool to Anthropic": (
        "anthropic",
        "claude-sonnet-4-5",
        ASKS,
        {**GEMINI, "tools": TOOLS, "toolConfig": FORCED, "generationConfig": BUDGET},
        ("budget",),
    ),
    "a budget beside a forced tool to Bedrock": (
        "bedrock",
        "anthropic.claude-sonnet-4-5",
        ASKS,
        {**GEMINI, "tools": TOOLS, "toolConfig": FORCED, "generationConfig": BUDGET},
        ("budget",),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_settings_that_a_model_refuses_are_left_out_and_reported(
    name: str, gateways: Gateways
) -> None:
    upstream, model, path, body, lost = CASES[name]
    answer = _ask(gateways, upstream, path.format(model=model), {"model": model, **body})
    assert answer.status_code == 200, answer.text
    for setting in lost:
        assert setting in answer.headers["x-toolwire-losses"]


def test_a_model_that_accepts_a_setting_gets_it(gateways: Gateways) -> None:
    body: Object = {**MESSAGES, "temperature": 0.5, "model": "gpt-5.2"}
    answer = _ask(gateways, "openai-chat", "/v1/messages", body)
    assert answer.status_code == 200 and "temperature" not in answer.headers.get(
        "x-toolwire-losses", ""
    )
    sent = gateways.mocks["openai-chat"].requests[-1].body
    assert isinstance(sent, dict) and sent["temperature"] == 0.5


def test_a_client_of_the_same_wire_gets_the_error_of_the_provider(gateways: Gateways) -> None:
    body: Object = {**CHAT, "temperature": 0.5, "model": "gpt-5"}
    answer = _ask(gateways, "openai-chat", "/v1/chat/completions", body)
    assert answer.status_code == 400 and "Unsupported value" in answer.text


def _ask(gateways: Gateways, upstream: str, path: str, body: Object) -> httpx.Response:
    if path.startswith("/v1beta"):
        body = {key: body[key] for key in body if key != "model"}
    headers = {"anthropic-version": "2023-06-01"}
    return httpx.post(gateways.url(upstream) + path, json=body, headers=headers, timeout=600)


MODELS = ("gpt-4o", "gpt-5", "gpt-5.2", "o3", "claude-opus-4-5", "claude-opus-4-7", "m")
EXTREMES: dict[str, Setting] = {
    "temperature": 9,
    "top_p": 9,
    "top_k": 9,
    "top_logprobs": 9,
    "logprobs": True,
    "presence_penalty": 9,
    "frequency_penalty": 9,
    "stop": ["x"],
    "effort": "high",
    "max_tokens": 1,
    "budget": 1024,
    "seed": 1,
}


@pytest.mark.parametrize("profile", PROFILES)
def test_only_limited_settings_are_changed_for_a_model(profile: str) -> None:
    row = PROFILES[profile]
    for model in MODELS:
        settings: dict[str, Setting] = {**EXTREMES, "model": model, "choice": Choice("required")}
        fitted, _ = fit_settings(Conversation((), settings=settings), row)
        changed = {name for name, value in settings.items() if fitted.settings.get(name) != value}
        assert changed <= limited_settings(row), model
