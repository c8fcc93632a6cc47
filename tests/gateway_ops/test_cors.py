"""Web pages of named origins may use the gateway; a browser refuses all others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from gateway_ops.running import HttpAnswer, get, post, serve_gateway

from toolwire.errors import ConfigError
from toolwire.gateway import Gateway

APP = "https://app.example"
ASK = {"model": "demo", "messages": [{"role": "user", "content": "hello"}]}
API_PATHS = ("/v1/chat/completions", "/v1/messages", "/v1/responses", "/ai-sdk/chat", "/v1/models")


def config(folder: Path, origins: str) -> Path:
    file = folder / "gateway.toml"
    file.write_text(f'[server]\ncors_origins = [{origins}]\n[models.demo]\nupstream = "demo"\n')
    return file


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a gateway that allows the pages of one origin."""
    file = config(tmp_path_factory.mktemp("cors"), f'"{APP}"')
    with serve_gateway(Gateway.from_config(file)) as address:
        yield address


def preflight(url: str, origin: str) -> HttpAnswer:
    headers = {
        "origin": origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type,authorization",
        "access-control-request-private-network": "true",
    }
    return post(url, None, headers, method="OPTIONS")


@pytest.mark.parametrize("path", API_PATHS)
def test_a_preflight_request_of_a_named_origin_is_answered(url: str, path: str) -> None:
    response = preflight(url + path, APP)
    assert response.status == 204
    assert response.headers["access-control-allow-origin"] == APP
    assert "POST" in response.headers["access-control-allow-methods"]
    assert response.headers["access-control-allow-headers"] == "content-type,authorization"
    assert response.headers["access-control-allow-private-network"] == "true"
    assert response.headers["vary"] == "origin"


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://app.example", f"{APP}:8443", f"{APP}.evil", "null"]
)
def test_other_origins_are_not_named_in_any_response(url: str, origin: str) -> None:
    responses = [
        preflight(f"{url}/v1/chat/completions", origin),
        post(f"{url}/v1/chat/completions", ASK, {"origin": origin}),
        get(f"{url}/v1/models", {"origin": origin}),
    ]
    assert all("access-control-allow-origin" not in one.headers for one in responses)
    assert responses[0].status == 405


@pytest.mark.parametrize("path", API_PATHS[:-1])
@pytest.mark.parametrize("origin", ["https://evil.example", f"{APP}.evil", "null", ""])
def test_a_page_of_another_site_cannot_send_json_to_this_machine(
    url: str, path: str, origin: str
) -> None:
    response = post(url + path, ASK, {"origin": origin})
    assert (response.status, "cors_origins" in response.text) == (403, True)


def test_a_page_of_the_gateway_itself_may_send_requests(url: str) -> None:
    at = f"{url}/v1/chat/completions"
    assert post(at, ASK, {"origin": url}).status == 200
    # Behind a proxy that replaces the Host header, the browser says that the page is its own.
    proxied = {"origin": "https://chat.example", "sec-fetch-site": "same-origin"}
    assert post(at, ASK, proxied).status == 200
    foreign = {"origin": "https://chat.example", "sec-fetch-site": "cross-site"}
    assert post(at, ASK, foreign).status == 403


def test_responses_streams_and_errors_are_shared_with_the_page(url: str) -> None:
    at = f"{url}/v1/chat/completions"
    responses = [
        post(at, ASK, {"origin": APP}),
        post(at, {**ASK, "stream": True}, {"origin": APP}),
        post(at, {**ASK, "model": "nothing"}, {"origin": APP}),
        get(f"{url}/v1/models", {"origin": APP, "sec-fetch-site": "cross-site"}),
    ]
    assert [one.status for one in responses] == [200, 200, 404, 200]
    assert {one.headers["access-control-allow-origin"] for one in responses} == {APP}
    assert "access-control-allow-credentials" not in responses[0].headers


def test_a_form_post_of_an_allowed_origin_is_refused(url: str) -> None:
    headers = {"origin": APP, "content-type": "text/plain"}
    assert post(f"{url}/v1/chat/completions", ASK, headers).status == 415


def test_pages_get_no_access_by_default(tmp_path: Path) -> None:
    with serve_gateway(Gateway.from_config(config(tmp_path, ""))) as url:
        assert preflight(f"{url}/v1/chat/completions", APP).status == 405
        response = post(f"{url}/v1/chat/completions", ASK, {"origin": APP})
        assert "access-control-allow-origin" not in response.headers


@pytest.mark.parametrize(
    "origin", ["tauri://localhost", "app://obsidian.md", "chrome-extension://abcdefgh", "file://"]
)
def test_a_desktop_application_can_be_named(tmp_path: Path, origin: str) -> None:
    with serve_gateway(Gateway.from_config(config(tmp_path, f'"{origin}"'))) as url:
        response = post(f"{url}/v1/chat/completions", ASK, {"origin": origin})
        assert response.status == 200 and response.headers["access-control-allow-origin"] == origin
        other = {"origin": "tauri://other"}
        assert post(f"{url}/v1/chat/completions", ASK, other).status == 403


@pytest.mark.parametrize(
    ("origin", "reason"),
    [
        ("null", "write it as https://app.example"),
        ("tauri:localhost", "write it as https://app.example"),
        ("*", "write it as https://app.example"),
        ("http://[", "write it as https://app.example"),
        ("app.example", "write it as https://app.example"),
        ("https://app.example/", "write https://app.example"),
        ("https://App.Example/chat", "write https://app.example"),
    ],
)
def test_an_origin_that_no_browser_sends_is_a_mistake(
    tmp_path: Path, origin: str, reason: str
) -> None:
    with pytest.raises(ConfigError, match=rf":2: \[server\] cors_origins: .* {reason}"):
        Gateway.from_config(config(tmp_path, f'"{origin}"'))
