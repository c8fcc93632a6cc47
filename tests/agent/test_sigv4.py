"""Signatures, compared with those of the library that AWS publishes, and requests as they are sent."""

from __future__ import annotations

from datetime import UTC, datetime
from unittest.mock import patch
from urllib.parse import quote

import pytest
from agent.mock_server import MockServer, add, over, talk
from botocore.auth import SigV4Auth  # type: ignore[import-untyped]
from botocore.awsrequest import AWSRequest  # type: ignore[import-untyped]
from botocore.credentials import Credentials  # type: ignore[import-untyped]

from toolwire.agent.agent import Agent
from toolwire.agent.http_model import HttpModel
from toolwire.providers.sigv4 import sign
from toolwire.server.asgi import Receive, Scope, Send

NOW = datetime(2026, 5, 17, 8, 9, 10, tzinfo=UTC)
ENV = {
    "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
    "region": "eu-west-1",
}
HOST = "https://bedrock-runtime.eu-west-1.amazonaws.com"
MODELS = [
    "amazon.nova-lite-v1",
    "anthropic.claude-3:0",
    "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-3:0",
    "odd ~name+with%percent",
    "größe",
]


def theirs(
    url: str, headers: dict[str, str], body: bytes, token: str | None, region: str
) -> dict[str, str]:
    """The header fields that the official library signs."""
    request = AWSRequest("POST", url, headers=dict(headers), data=body)
    keys = Credentials(ENV["AWS_ACCESS_KEY_ID"], ENV["AWS_SECRET_ACCESS_KEY"], token)
    with patch("botocore.auth.get_current_datetime", return_value=NOW.replace(tzinfo=None)):
        SigV4Auth(keys, "bedrock", region).add_auth(request)
    return {name.lower(): str(value) for name, value in request.headers.items()}


def agree(
    url: str,
    headers: dict[str, str],
    body: bytes,
    *,
    token: str | None = None,
    region: str = "eu-west-1",
) -> None:
    env = {**ENV, "region": region, **({"AWS_SESSION_TOKEN": token} if token else {})}
    ours = sign("POST", url, headers, body, env=env, service="bedrock", now=NOW)
    wanted = theirs(url, headers, body, token, region)
    proof = [name for name in wanted if name == "authorization" or name.startswith("x-amz-")]
    assert {name: ours[name] for name in proof} == {name: wanted[name] for name in proof}
    assert (
        "authorization" in wanted
        and "x-amz-date" in wanted
        and ("x-amz-security-token" in wanted) == (token is not None)
    )


JSON = {"content-type": "application/json"}


@pytest.mark.parametrize("way", ["converse", "converse-stream"])
@pytest.mark.parametrize("model", MODELS)
def test_the_signature_is_that_of_the_official_library(model: str, way: str) -> None:
    agree(f"{HOST}/model/{quote(model, safe='')}/{way}", JSON, b'{"messages":[]}')


def test_with_a_session_token_too() -> None:
    agree(f"{HOST}/model/m/converse", JSON, b"{}", token="FwoGZXIvYXdzE//token==")


@pytest.mark.parametrize(
    "query", ["a=1", "b=2&a=1", "a=2&a=1", "key=with%20space&other=%2F", "empty="]
)
def test_with_a_query(query: str) -> None:
    agree(f"{HOST}/model/m/converse?{query}", JSON, b"{}")


@pytest.mark.parametrize(
    "base", ["http://127.0.0.1:8080", "https://host:443", "http://host:80", "https://host:8443"]
)
def test_with_any_host_and_port(base: str) -> None:
    agree(f"{base}/model/m/converse", JSON, b"{}", region="us-gov-west-1")


def test_with_odd_header_fields_and_bodies() -> None:
    agree(
        f"{HOST}/model/m/converse",
        {**JSON, "User-Agent": "toolwire", "X-Odd": "  two   spaces "},
        "größe 😀".encode(),
    )
    agree(HOST, {}, b"")


def test_what_is_sent_is_what_was_signed(mock_server: MockServer) -> None:
    paths: list[tuple[object, str, str, str]] = []
    placed = mock_server.mock("bedrock")

    async def record_path(scope: Scope, receive: Receive, send: Send) -> None:
        headers = scope["headers"]
        assert isinstance(headers, list)
        fields = {name.decode(): value.decode() for name, value in headers}
        paths.append(
            (
                scope["raw_path"],
                fields["host"],
                fields["authorization"],
                fields["x-amz-security-token"],
            )
        )
        await placed.mock(scope, receive, send)

    env = {key: value for key, value in ENV.items() if key != "region"}
    url = mock_server.place(record_path)
    model = HttpModel(
        "bedrock:anthropic.claude-3:0",
        base_url=url,
        env={**env, "AWS_REGION": "eu-west-1", "AWS_SESSION_TOKEN": "token-token"},
    )
    assert "gave: 3.0" in over(talk(Agent(model, [add]), "add 1 and 2")).text
    path, host, authorization, token = paths[0]
    assert path == b"/model/anthropic.claude-3%3A0/converse-stream"
    assert host == url.removeprefix("http://").split("/")[0]
    assert (
        "SignedHeaders=accept;accept-encoding;content-type;host;x-amz-date;x-amz-security-token,"
        in authorization
    )
    assert token == "token-token"
