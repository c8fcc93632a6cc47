"""The responses of a gateway outside of its APIs."""

from __future__ import annotations

import httpx
import ollama
from gateway.serving import Gateways

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


def test_the_root_is_a_page_for_browsers_with_the_address_of_each_client(
    gateways: Gateways,
) -> None:
    url = gateways.url("anthropic")
    response = httpx.get(f"{url}/", headers={"accept": BROWSER, "host": "localhost:1"})
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert "<code>http://localhost:1/v1</code>" in response.text and "<script" not in response.text
    response = httpx.get(f"{url}/", headers={"accept": BROWSER, "host": 'localhost"><script>'})
    assert (
        "<script" not in response.text
        and "default-src" in response.headers["content-security-policy"]
    )


def test_the_root_answers_other_clients_as_ollama_does(gateways: Gateways) -> None:
    url = gateways.url("anthropic")
    assert httpx.get(f"{url}/").text == "Ollama is running"
    assert httpx.head(f"{url}/").status_code == 200
    assert httpx.post(f"{url}/", json={}).status_code == 404
    with ollama.Client(host=url) as client:
        assert client.list().models is not None
