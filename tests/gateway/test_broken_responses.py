"""Responses of upstreams that cannot be used: the client gets an error of its own API that names the
content, the upstream and the remedy."""

from __future__ import annotations

import httpx
import pytest
from gateway.bodies import ANTHROPIC_STREAM, ASKED, CHAT_STREAM
from gateway.upstreams import Answer, scripted_gateway, streams

from toolwire.conversation.json import JSON, get, parse

PAGE = b"<html><body><h1>Bad Gateway</h1></body></html>"
STREAMS = {"openai-chat": CHAT_STREAM, "anthropic": ANTHROPIC_STREAM}
JSON_TYPE = {"content-type": "application/json"}
WHOLE: dict[str, tuple[Answer, tuple[str, ...]]] = {
    "a page": (
        Answer(200, {"content-type": "text/html"}, PAGE),
        ("returned HTML instead of JSON (status 200)", "check the base_url"),
    ),
    "nothing": (
        Answer(200, JSON_TYPE, b""),
        ("returned an empty body instead of JSON (status 200)", "send the request again"),
    ),
    "half a body": (
        Answer(200, JSON_TYPE, b'{"id":"x","choices":[{"mess'),
        ("is invalid", "broken JSON"),
    ),
    "an error as a page": (
        Answer(502, {"content-type": "text/html"}, PAGE),
        ("answered 502 with HTML", "send the request again"),
    ),
    "a wrong path as a page": (
        Answer(404, {"content-type": "text/html"}, PAGE),
        ("answered 404 with HTML", "check the base_url"),
    ),
}
CLIENTS = ("openai-chat", "openai-responses", "anthropic", "gemini")


def message_of(body: JSON) -> str:
    """The text of an error in the shape of any of the APIs."""
    message = get(body, ("error", "message"))
    assert isinstance(message, str), body
    return message


def ask(url: str, client: str, *, stream: bool) -> httpx.Response:
    path, body = ASKED[client]
    if client == "gemini":
        path = path.replace(":generateContent", ":streamGenerateContent?alt=sse" if stream else "")
        path = path if stream else ASKED[client][0]
    else:
        body = {**body, "stream": stream}
    return httpx.post(url + path, json=body, headers={"anthropic-version": "2023-06-01"})


@pytest.mark.parametrize("upstream", STREAMS)
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("name", WHOLE)
def test_a_response_that_is_none_is_an_error_of_the_clients_api(
    name: str, client: str, upstream: str
) -> None:
    answer, words = WHOLE[name]
    with scripted_gateway(upstream, answer) as door:
        got = ask(door.url, client, stream=False)
    message = message_of(got.json())
    assert got.status_code >= 400 and "<html" not in got.text
    for word in ("openai" if upstream == "openai-chat" else upstream, *words):
        assert word in message


@pytest.mark.parametrize("upstream", STREAMS)
@pytest.mark.parametrize("client", CLIENTS)
def test_a_page_in_the_place_of_a_stream_is_named(client: str, upstream: str) -> None:
    with scripted_gateway(upstream, WHOLE["a page"][0]) as door:
        got = ask(door.url, client, stream=True)
    assert got.status_code == 502
    assert "returned HTML instead of a stream" in message_of(got.json())


@pytest.mark.parametrize("wire", STREAMS)
@pytest.mark.parametrize("cut", [False, True])
def test_a_stream_of_the_same_wire_that_ends_early_ends_with_an_error(wire: str, cut: bool) -> None:
    pieces = STREAMS[wire][:3]
    with scripted_gateway(wire, streams(*pieces, cut=cut)) as door:
        content = ask(door.url, wire, stream=True).content
    assert content.startswith(b"".join(pieces))
    last = content.rstrip().rsplit(b"data: ", 1)[1]
    message = message_of(parse(last))
    assert ("broke off" if cut else "ended before the response was complete") in message
    assert "send the request again" in message


@pytest.mark.parametrize("wire", STREAMS)
def test_an_error_event_of_the_upstream_is_the_last_one(wire: str) -> None:
    error = b'event: error\ndata: {"type":"error","error":{"type":"x","message":"Overloaded"}}\n\n'
    pieces = (*STREAMS[wire][:3], error)
    with scripted_gateway(wire, streams(*pieces)) as door:
        assert ask(door.url, wire, stream=True).content == b"".join(pieces)


def test_a_stream_without_an_end_mark_is_complete_after_its_finish_reason() -> None:
    pieces = [piece for piece in CHAT_STREAM if b"[DONE]" not in piece]
    with scripted_gateway("openai-chat", streams(*pieces)) as door:
        assert ask(door.url, "openai-chat", stream=True).content == b"".join(pieces)


@pytest.mark.parametrize("client", CLIENTS[1:])
def test_a_translated_stream_that_ends_early_names_its_upstream(client: str) -> None:
    with scripted_gateway("openai-chat", streams(*CHAT_STREAM[:3])) as door:
        got = ask(door.url, client, stream=True)
    assert got.status_code == 200
    assert (
        "openai: the stream ended before the response was complete; send the request again"
        in got.text
    )
