"""Streams of models that are silent for a while: what clients and proxies get meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import httpx
import pytest
from anthropic import Anthropic
from gateway.bodies import ANTHROPIC_STREAM, ASKED, CHAT, CHAT_STREAM
from gateway.serving import gateway, row, serving
from gateway.upstreams import Answer, Behind, ScriptedUpstream, answers

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


def silent(pieces: tuple[bytes, ...], before: int) -> Answer:
    """A stream that is silent for a while before one of its pieces."""

    async def read_pieces() -> AsyncIterator[bytes]:
        for n, piece in enumerate(pieces):
            if n == before:
                await asyncio.sleep(0.5)
            yield piece

    return Answer(headers={"content-type": "text/event-stream"}, pieces=read_pieces)


@contextmanager
def behind(wire: str, *given: Answer) -> Iterator[Behind]:
    up = ScriptedUpstream(*given)
    with serving(up) as url:
        app = gateway(row(wire, url))
        with serving(app) as door:
            yield Behind(door, app, (up,))


@pytest.mark.parametrize("before", [0, 2], ids=["before the first event", "between two"])
@pytest.mark.parametrize("wire", STREAMS)
def test_clients_of_server_sent_events_get_comments(wire: str, before: int) -> None:
    path, body = ASKED["openai-responses"]
    with behind(wire, silent(STREAMS[wire], before)) as door:
        told = httpx.post(door.url + path, json={**body, "stream": True}).content
    assert told.count(COMMENT) >= 2 and b'"Hello"' in told.replace(COMMENT, b"")
    assert told.startswith(COMMENT) is (before == 0)


def test_a_stream_of_the_same_wire_is_the_same_but_for_comments() -> None:
    path, body = ASKED["openai-chat"]
    whole = b"".join(CHAT_STREAM)
    cut = (whole[: len(CHAT_STREAM[0]) + 20], whole[len(CHAT_STREAM[0]) + 20 :])
    with behind("openai-chat", silent(cut, 1)) as door:
        told = httpx.post(door.url + path, json={**body, "stream": True}).content
    assert COMMENT in told and told.replace(COMMENT, b"") == whole


def test_clients_of_anthropic_get_pings_and_do_not_notice() -> None:
    path, body = ASKED["anthropic"]
    with behind("openai-chat", silent(CHAT_STREAM, 2)) as door:
        told = httpx.post(door.url + path, json={**body, "stream": True}).content
        assert told.count(b'event: ping\ndata: {"type":"ping"}\n\n') >= 2 and COMMENT not in told
        with (
            Anthropic(base_url=door.url, api_key="any", max_retries=0) as client,
            client.messages.stream(
                model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
            ) as events,
        ):
            assert events.get_final_text() == "Hello"


def test_a_stream_that_has_no_comments_gets_none() -> None:
    path, body = ASKED["ollama"]
    with behind("openai-chat", silent(CHAT_STREAM, 2)) as door:
        told = httpx.post(door.url + path, json={**body, "stream": True}).text
    assert all(line.startswith("{") for line in told.splitlines())


def test_nothing_is_sent_before_the_first_event_while_another_model_could_answer() -> None:
    path, body = ASKED["openai-chat"]
    error = b'data: {"error": {"message": "overloaded", "code": 503}}\n\n'
    first, second = ScriptedUpstream(silent((error,), 0)), ScriptedUpstream(answers(CHAT))
    with serving(first) as one, serving(second) as two:
        toml = row("openai-chat", one, name="m", more={"fallbacks": ["other"]})
        with serving(gateway(toml + row("openai-chat", two, name="other"))) as url:
            told = httpx.post(url + path, json=body | {"stream": True})
            assert told.status_code == 200 and "Hi" in told.text and len(second.got) == 1
            assert COMMENT.decode() not in told.text
