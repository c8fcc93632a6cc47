"""Streams of models that are silent for a while: what clients and proxies get meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager

import httpx
import pytest
from anthropic import Anthropic
from gateway.bodies import ANTHROPIC_STREAM, ASKED, CHAT, CHAT_STREAM
from gateway.serving import gateway, row, serving
from gateway.upstreams import Answer, ScriptedGateway, ScriptedUpstream, answers

from toolwire.conversation.json import Object
from toolwire.gateway.keep_alive import KeepAliveTimer

STREAMS = {"openai-chat": CHAT_STREAM, "anthropic": ANTHROPIC_STREAM}
COMMENT = b": keep-alive\n"


class _QuickTimer(KeepAliveTimer):
    def __init__(self) -> None:
        super().__init__(0.05)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the timer run so often that a test can see it."""
    monkeypatch.setattr("toolwire.gateway.app.KeepAliveTimer", _QuickTimer)


def silent(
    pieces: tuple[bytes, ...], before: int, until: Callable[[], bool] | None = None
) -> Answer:
    """A stream that is silent before one of its pieces: until something is true, or for a
    while."""

    async def read_pieces() -> AsyncIterator[bytes]:
        for n, piece in enumerate(pieces):
            if n == before and until is None:
                await asyncio.sleep(0.5)
            elif n == before and until is not None:
                async with asyncio.timeout(30):
                    while not until():
                        await asyncio.sleep(0.005)
            yield piece

    return Answer(headers={"content-type": "text/event-stream"}, pieces=read_pieces)


@contextmanager
def scripted_gateway(wire: str, *given: Answer) -> Iterator[ScriptedGateway]:
    up = ScriptedUpstream(*given)
    with serving(up) as url:
        app = gateway(row(wire, url))
        with serving(app) as gateway_url:
            yield ScriptedGateway(gateway_url, app, (up,))


def read_stream(url: str, body: Object, received: bytearray) -> None:
    """Append bytes to `received` as they arrive."""
    with httpx.stream("POST", url, json={**body, "stream": True}, timeout=600) as answer:
        for data in answer.iter_raw():
            received += data


@pytest.mark.parametrize("before", [0, 2], ids=["before the first event", "between two"])
@pytest.mark.parametrize("wire", STREAMS)
def test_clients_of_server_sent_events_get_comments(wire: str, before: int) -> None:
    path, body = ASKED["openai-responses"]
    received = bytearray()

    def has_comments() -> bool:
        return received.count(COMMENT, received.find(b"data: ") if before else 0) >= 2

    with scripted_gateway(wire, silent(STREAMS[wire], before, has_comments)) as gw:
        read_stream(gw.url + path, body, received)
    assert has_comments() and b'"Hello"' in received.replace(COMMENT, b"")
    assert before or received.startswith(COMMENT)


def test_a_stream_of_the_same_wire_is_the_same_but_for_comments() -> None:
    path, body = ASKED["openai-chat"]
    whole = b"".join(CHAT_STREAM)
    cut = (whole[: len(CHAT_STREAM[0]) + 20], whole[len(CHAT_STREAM[0]) + 20 :])
    received = bytearray()
    with scripted_gateway("openai-chat", silent(cut, 1, lambda: COMMENT in received)) as gw:
        read_stream(gw.url + path, body, received)
    assert COMMENT in received and received.replace(COMMENT, b"") == whole


def test_clients_of_anthropic_get_pings_and_do_not_notice() -> None:
    path, body = ASKED["anthropic"]
    received = bytearray()

    def has_pings() -> bool:
        return received.count(b'event: ping\ndata: {"type":"ping"}\n\n') >= 2

    given = silent(CHAT_STREAM, 2, has_pings), silent(CHAT_STREAM, 2)
    with scripted_gateway("openai-chat", *given) as gw:
        read_stream(gw.url + path, body, received)
        assert has_pings() and COMMENT not in received
        with (
            Anthropic(base_url=gw.url, api_key="any", max_retries=0) as client,
            client.messages.stream(
                model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
            ) as events,
        ):
            assert events.get_final_text() == "Hello"


def test_a_stream_that_has_no_comments_gets_none() -> None:
    path, body = ASKED["ollama"]
    with scripted_gateway("openai-chat", silent(CHAT_STREAM, 2)) as gw:
        response = httpx.post(gw.url + path, json={**body, "stream": True}).text
    assert all(line.startswith("{") for line in response.splitlines())


def test_nothing_is_sent_before_the_first_event_while_another_model_could_answer() -> None:
    path, body = ASKED["openai-chat"]
    error = b'data: {"error": {"message": "overloaded", "code": 503}}\n\n'
    first, second = ScriptedUpstream(silent((error,), 0)), ScriptedUpstream(answers(CHAT))
    with serving(first) as one, serving(second) as two:
        toml = row("openai-chat", one, name="m", more={"fallbacks": ["other"]})
        with serving(gateway(toml + row("openai-chat", two, name="other"))) as url:
            response = httpx.post(url + path, json=body | {"stream": True})
            assert response.status_code == 200 and "Hi" in response.text and len(second.got) == 1
            assert COMMENT.decode() not in response.text
