"""Limits of requests: none chooses a host, is endless, too deep or too slow, or comes from a page of
another site."""

from __future__ import annotations

import json
import socket

import httpx
import pytest
from gateway.bodies import ASKED, CHAT, GEMINI, MESSAGE
from gateway.serving import gateway, row, serving
from gateway.upstreams import ScriptedUpstream, answers, scripted_gateway
from hypothesis import given
from hypothesis import strategies as st

from toolwire.conversation.model import Change, Loss
from toolwire.gateway.errors import MAX_HEADER_LENGTH, report_headers
from toolwire.gateway.translation.upstream_request import UpstreamRequest
from toolwire.server.asgi import BodyLimits, BodyReader

PATH, BODY = ASKED["openai-chat"]
JSON = {"content-type": "application/json"}
HOSTS = (
    "http://127.0.0.1:9/x",
    "//evil.example/x",
    "@evil.example",
    "..",
    "../../admin",
    "a/../../b",
    "x?key=1#f",
    "x%2F..%2F..",
    "\\\\evil",
)


@pytest.mark.parametrize("wire", ["gemini", "bedrock", "azure-openai"])
def test_no_field_of_a_request_changes_its_destination(wire: str) -> None:
    answer = GEMINI if wire == "gemini" else CHAT
    up = ScriptedUpstream(answers(answer))
    with serving(up) as url, serving(gateway(row(wire, f"{url}/base"))) as gateway_url:
        for name in HOSTS:
            body = {
                **BODY,
                "model": name,
                "base_url": "http://evil.example",
                "api_base": "http://evil.example",
            }
            response = httpx.post(
                gateway_url + PATH,
                json=body,
                headers={"x-forwarded-host": "evil.example", "x-base-url": "http://evil"},
            )
            assert response.status_code in (200, 400, 404, 502)
            if response.status_code == 200:
                assert up.got[-1].path.startswith("/base/"), up.got[-1].path
                assert up.got[-1].headers["host"] == url.removeprefix("http://")
        assert up.got


def test_a_model_in_the_path_is_one_segment_of_the_upstreams_path() -> None:
    with scripted_gateway("gemini", answers(GEMINI)) as gw:
        httpx.post(
            f"{gw.url}/v1beta/models/a%2F..%2F..%2Fb:generateContent", json=ASKED["gemini"][1]
        )
        httpx.post(f"{gw.url}/v1beta/models/a%2Fb:countTokens", json=ASKED["gemini"][1])
        assert [one.path for one in gw.up.got] == [
            "/v1beta/models/a/../../b:generateContent",
            "/v1beta/models/a/b:countTokens",
        ]


def test_a_body_that_is_too_large_is_a_413_in_the_shape_of_the_api() -> None:
    toml = row("anthropic", "http://127.0.0.1:1") + "[server]\nmax_body_mb = 0.01\n"
    with serving(gateway(toml)) as url:
        for api, (path, _) in ASKED.items():
            response = httpx.post(
                url + path, content=b'{"a":"' + b"x" * 20_000 + b'"}', headers=JSON
            )
            assert (
                response.status_code == 413 and "larger than [server] max_body_mb" in response.text
            ), api

        def endless() -> object:
            for _ in range(100):
                yield b"x" * 1000

        assert httpx.post(url + PATH, content=endless(), headers=JSON).status_code == 413  # type: ignore[arg-type]


BAD = {
    "nothing": b"",
    "no JSON": b"{",
    "a list": b"[]",
    "a text": b'"x"',
    "NaN": b'{"model": "m", "messages": NaN}',
    "infinity": b'{"model":"m","messages":[{"role":"user","content":"x"}],"temperature":Infinity}',
    "bytes": b"\xff\xfe\x00",
    "deep": b'{"model":"m","messages":' + b"[" * 100_000,
    "deep inside": b'{"model":"m","messages":[' + b'{"content":' * 3000,
    "closed and deep": b'{"model":"m","messages":' + b"[" * 3000 + b"]" * 3000 + b"}",
}


@pytest.mark.parametrize("what", BAD)
def test_an_invalid_body_is_rejected_without_an_upstream_request(what: str) -> None:
    for wire in ("anthropic", "openai-chat"):
        with scripted_gateway(wire, answers(MESSAGE)) as gw:
            response = httpx.post(gw.url + PATH, content=BAD[what], headers=JSON)
            assert response.status_code == 400 and not gw.up.got, (wire, response.text[:200])
            assert response.json()["error"]["message"]


@pytest.mark.parametrize("api", ASKED)
def test_any_value_in_a_field_gets_a_response_or_a_client_error(api: str) -> None:
    path, body = ASKED[api]
    odd: list[object] = [None, True, -1, "", [], {}, [None], [[]], [{}], {"a": None}, "x", "\ud800"]
    with scripted_gateway("anthropic", answers(MESSAGE)) as gw, httpx.Client() as client:
        for key in [*body, "tools", "stream", "tool_choice", "system"]:
            for value in odd:
                content = json.dumps({**body, key: value})
                response = client.post(gw.url + path, content=content, headers=JSON)
                assert response.status_code in (200, 400, 404), (
                    key,
                    value,
                    response.status_code,
                    response.text[:200],
                )


@pytest.mark.parametrize(
    "refusal",
    [
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: c1.",
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ],
    ids=["explained", "about reasoning"],
)
@pytest.mark.parametrize("levels", [300, 450])
def test_a_refusal_of_a_deep_schema_reaches_the_client(levels: int, refusal: str) -> None:
    schema = '{"type": "object", "properties": ' + '{"a": ' * levels + "{}" + "}" * levels + "}"
    path, body = ASKED["anthropic"]
    text = json.dumps({**body, "tools": [{"name": "f", "input_schema": 0}]})
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": refusal}}
    with scripted_gateway("anthropic", answers(error, status=400)) as gw:
        content = text.replace('"input_schema": 0', f'"input_schema": {schema}')
        response = httpx.post(gw.url + path, content=content, headers=JSON)
        assert gw.up.got
    assert response.status_code == 400 and refusal in response.json()["error"]["message"]


def test_a_body_that_arrives_too_slowly_is_a_408() -> None:
    app = gateway(row("anthropic", "http://127.0.0.1:1"))
    app._state.body_reader = BodyReader(BodyLimits(body=1000, seconds=0.2))
    with serving(app) as url:
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as line:
            line.sendall(
                f"POST {PATH} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99\r\n\r\n{{".encode()
            )
            line.settimeout(25)
            assert line.recv(100).startswith(b"HTTP/1.1 408")


def test_a_name_that_is_not_this_servers_is_refused() -> None:
    with scripted_gateway("anthropic", answers(MESSAGE)) as gw:
        response = httpx.post(gw.url + PATH, json=BODY, headers={"host": "evil.example"})
        assert response.status_code == 421 and not gw.up.got


def test_a_page_of_another_site_cannot_send_a_request_without_a_preflight() -> None:
    with scripted_gateway("anthropic", answers(MESSAGE)) as gw:
        raw = json.dumps(BODY)
        simple = {"content-type": "text/plain", "origin": "https://evil.example"}
        assert (
            httpx.post(gw.url + PATH, content=raw, headers=simple).status_code == 415
            and not gw.up.got
        )
        curl = {"content-type": "application/x-www-form-urlencoded"}  # what `curl -d` sends
        assert httpx.post(gw.url + PATH, content=raw, headers=curl).status_code == 200


def test_unknown_paths_and_methods_are_reported() -> None:
    with scripted_gateway("anthropic", answers(MESSAGE)) as gw:
        missing = httpx.get(gw.url + "/nowhere")
        assert missing.status_code == 404
        assert missing.text.count("GET /nowhere is not served here; a browser shows the addresses")
        response = httpx.get(gw.url + PATH)
        assert (response.status_code, response.headers["allow"]) == (405, "POST")
        assert httpx.get(gw.url + "/health").json() == {"status": "ok"}


@given(st.lists(st.tuples(st.text(max_size=50), st.text(max_size=300)), max_size=30))
def test_report_headers_are_ascii_and_bounded(reports: list[tuple[str, str]]) -> None:
    losses = tuple(Loss((where,), why) for where, why in reports)
    changes = tuple(Change("TW1", where, (why,), why) for where, why in reports)
    fields = report_headers(
        UpstreamRequest(body={}, changes=changes, losses=losses, restored_turns=3)
    )
    assert len(fields) == (3 if reports else 1)
    for value in fields.values():
        assert len(value) <= MAX_HEADER_LENGTH and value.isascii() and value.isprintable()
