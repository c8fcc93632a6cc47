"""A server on this machine refuses what a page of another site sends to it."""

from __future__ import annotations

import httpx
import pytest
from mock.hosting import serve_mock

from toolwire.providers.http.url import is_loopback
from toolwire.server.asgi import Message, Request
from toolwire.server.cors import CorsPolicy

EVIL = "https://evil.example"


async def no_body() -> Message:
    return {"type": "http.disconnect"}


def request(address: str, *, method: str = "POST", **headers: str) -> Request:
    fields = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
    return Request(method, "/", fields, {"server": (address, 8080)}, no_body)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "127.9.9.9"])
@pytest.mark.parametrize("origin", [EVIL, "null", "", "http://[", "http://localhost:3000"])
def test_an_origin_that_is_not_named_is_refused(address: str, origin: str) -> None:
    assert CorsPolicy([f"{EVIL}:8443"]).refuses(
        request(address, origin=origin, host="localhost:8080")
    )


@pytest.mark.parametrize(
    ("address", "headers"),
    [
        ("127.0.0.1", {}),
        ("127.0.0.1", {"origin": "http://localhost:8080", "host": "LOCALHOST:8080"}),
        ("127.0.0.1", {"origin": "https://app.example", "host": "localhost:8080"}),
        ("127.0.0.1", {"origin": EVIL, "sec_fetch_site": "same-origin"}),
        ("192.0.2.1", {"origin": EVIL, "host": "gateway.example"}),
    ],
    ids=["no page", "own page", "named origin", "own page behind a proxy", "not on loopback"],
)
def test_other_requests_are_not_refused(address: str, headers: dict[str, str]) -> None:
    assert not CorsPolicy(["https://app.example"]).refuses(request(address, **headers))


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_a_request_without_an_effect_is_left_to_the_browser(method: str) -> None:
    assert not CorsPolicy().refuses(request("127.0.0.1", method=method, origin=EVIL))


def test_an_ipv4_address_on_a_socket_for_both_versions_is_loopback() -> None:
    assert is_loopback("::ffff:127.0.0.1") and not is_loopback("::ffff:192.0.2.1")


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "gemini", "bedrock"])
def test_a_mock_refuses_pages_of_other_sites(wire: str) -> None:
    with serve_mock(wire, keys=False) as served:
        foreign = httpx.post(f"{served.url}/v1/messages", json={}, headers={"origin": EVIL})
        own = httpx.post(f"{served.url}/v1/messages", json={}, headers={"origin": served.url})
    assert foreign.status_code == 403 != own.status_code
