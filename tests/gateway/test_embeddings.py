"""Embeddings: passed through to upstreams that have them."""

from __future__ import annotations

import httpx
import openai
import pytest
from gateway.serving import gateway, row, serving
from gateway.upstreams import Answer, ScriptedUpstream, answers, scripted_gateway

BACK = (
    b'{ "object":"list", "model":"real-embedder", "data":[{"object":"embedding","index":0,'
    b'"embedding":[0.5,-1.250e0]}], "usage":{"prompt_tokens":3,"total_tokens":3} }'
)


def client(url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0)


@pytest.mark.parametrize(
    ("wire", "path"),
    [
        ("openai-chat", "/v1/embeddings"),
        ("openai-responses", "/v1/embeddings"),
        ("mistral", "/v1/embeddings"),
        ("ollama", "/v1/embeddings"),
        ("cohere", "/compatibility/v1/embeddings"),
        (
            "azure-openai",
            "/openai/deployments/real-embedder/embeddings?api-version=2025-04-01-preview",
        ),
    ],
)
def test_embeddings_pass_to_an_upstream_that_has_them(wire: str, path: str) -> None:
    with scripted_gateway(wire, Answer(body=BACK), model="real-embedder") as gw:
        with client(gw.url) as asking:
            got = asking.embeddings.create(
                model="mine", input=["hi"], dimensions=2, encoding_format="float"
            )
        assert got.data[0].embedding == [0.5, -1.25] and got.usage.prompt_tokens == 3
        (sent,) = gw.up.got
        assert sent.path == path
        assert sent.json == {
            "model": "real-embedder",
            "input": ["hi"],
            "dimensions": 2,
            "encoding_format": "float",
        }


def test_the_bytes_of_both_sides_stay_as_they_are_but_for_the_name_of_the_model() -> None:
    raw = b'{ "input" : "h\\u0069", "x_new": 1.50,\n "model" : "mine" }'
    with scripted_gateway("openai-chat", Answer(body=BACK), model="real-embedder") as gw:
        response = httpx.post(
            f"{gw.url}/v1/embeddings", content=raw, headers={"content-type": "application/json"}
        )
        assert response.content == BACK
        assert gw.up.got[0].body == raw.replace(b"mine", b"real-embedder")


@pytest.mark.parametrize("wire", ["anthropic", "gemini", "bedrock", "groq"])
def test_an_upstream_without_embeddings_is_named_in_the_error(wire: str) -> None:
    up = ScriptedUpstream(answers({}))
    with serving(up) as url, serving(gateway(row(wire, url))) as gateway_url:
        with (
            client(gateway_url) as asking,
            pytest.raises(openai.NotFoundError, match=f"{wire} has no embeddings"),
        ):
            asking.embeddings.create(model="m", input="hi")
        assert not up.got


def test_an_error_of_the_upstream_reaches_the_client() -> None:
    error = {"error": {"message": "too long", "type": "invalid_request_error", "code": None}}
    with (
        scripted_gateway("openai-chat", answers(error, 400)) as gw,
        client(gw.url) as asking,
        pytest.raises(openai.BadRequestError, match="too long"),
    ):
        asking.embeddings.create(model="m", input="hi")
