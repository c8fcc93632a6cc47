"""The configuration for nginx on the page `docs/reference/gateway.md`, run: two gateways behind it, one of
them with two processes.

Collected only if nginx is installed. The model is scripted, so that tests see the requests that
reach it, and when its caller disconnects.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from gateway.bodies import CHAT
from gateway.serving import row, serving
from gateway.upstreams import Answer, ScriptedUpstream, answers, streams
from gateway_ops.proxy import nginx
from gateway_ops.test_process import Running, running, until

from toolwire.conversation.json import Object

CHAT_PATH, MESSAGES_PATH = "/v1/chat/completions", "/v1/messages"
ASK: Object = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
MIB = 1024 * 1024


class NginxStack(NamedTuple):
    """An nginx, the gateways behind it, and the model behind those."""

    http: httpx.Client
    gateways: list[Running]
    model: ScriptedUpstream

    def set_answers(self, *script: Answer) -> None:
        """Set the responses of the model."""
        self.model.answers[:] = script
        self.model.got.clear()


@contextmanager
def open_stack(home: Path) -> Iterator[NginxStack]:
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "KEY", "k" * 20)
        model = ScriptedUpstream(answers(CHAT))
        toml = row("openai-chat", stack.enter_context(serving(model)))
        gateways = []
        for name, more in {"one": ("--workers", "2"), "two": ()}.items():
            folder = home / name
            folder.mkdir()
            (folder / "g.toml").write_text(toml)
            gateways.append(stack.enter_context(running(folder, "g.toml", *more)))
        url = stack.enter_context(nginx(home, [one.url for one in gateways]))
        http = stack.enter_context(httpx.Client(base_url=url, timeout=600))
        yield NginxStack(http, gateways, model)


@pytest.fixture(scope="module")
def gw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NginxStack]:
    with open_stack(tmp_path_factory.mktemp("nginx")) as found:
        yield found


def piece(text: str, why: str | None = None) -> bytes:
    """A chunk of a stream."""
    choice: Object = {
        "index": 0,
        "delta": {"role": "assistant", "content": text},
        "finish_reason": why,
    }
    body: Object = {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [choice],
    }
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def endless() -> Answer:
    """A stream that takes longer than any client of these tests."""
    return streams(*(piece(f"word {n} ") for n in range(1000)), pause=0.1)


def in_step(received: bytearray) -> Answer:
    """A stream whose next word is sent when the last one has been received."""

    async def pieces() -> AsyncIterator[bytes]:
        for n in range(6):
            yield piece(f"word {n} ")
            async with asyncio.timeout(30):
                while f"word {n} ".encode() not in received:
                    await asyncio.sleep(0.002)
        yield piece("", "stop")
        yield b"data: [DONE]\n\n"

    return Answer(headers={"content-type": "text/event-stream"}, pieces=pieces)


def has_served(gateway: Running) -> bool:
    return "requests_total{" in httpx.get(f"{gateway.url}/metrics").text


def test_requests_are_spread_over_all_gateways_and_metrics_stay_internal(gw: NginxStack) -> None:
    gw.set_answers(answers(CHAT))
    for path in (CHAT_PATH, MESSAGES_PATH) * 10:
        response = gw.http.post(path, json=ASK)
        assert response.status_code == 200 and "Hi" in response.text
    assert all(until(partial(has_served, one)) for one in gw.gateways), (
        "every gateway gets requests"
    )
    assert gw.http.get("/metrics").status_code == 403
    assert gw.http.get("/health").json() == {"status": "ok"}


@pytest.mark.parametrize("path", [CHAT_PATH, MESSAGES_PATH])
def test_a_stream_is_not_held_back(gw: NginxStack, path: str) -> None:
    received = bytearray()
    gw.set_answers(in_step(received))
    with gw.http.stream("POST", path, json={**ASK, "stream": True}) as response:
        for some in response.iter_raw():
            received += some
    assert b"word 5" in received


@pytest.mark.parametrize("stream", [True, False])
def test_a_disconnected_client_stops_the_model(gw: NginxStack, stream: bool) -> None:
    spaces = streams(*[b" "] * 1000, pause=0.1, media="application/json")
    gw.set_answers(endless() if stream else spaces)
    before = gw.model.left
    if stream:
        with gw.http.stream("POST", CHAT_PATH, json={**ASK, "stream": True}) as response:
            next(response.iter_raw())
    else:
        with pytest.raises(httpx.TimeoutException):
            gw.http.post(CHAT_PATH, json=ASK, timeout=0.4)
    assert until(lambda: gw.model.left > before)


def test_a_large_request_arrives_whole_and_one_too_large_is_refused_in_the_clients_wire(
    gw: NginxStack,
) -> None:
    gw.set_answers(answers(CHAT))
    large = {**ASK, "messages": [{"role": "user", "content": "x" * (24 * MIB)}]}
    assert gw.http.post(CHAT_PATH, json=large).status_code == 200
    assert gw.model.got[0].json["messages"] == large["messages"]
    response = gw.http.post(MESSAGES_PATH, content=b'{"messages":"' + b"x" * (33 * MIB) + b'"}')
    assert response.status_code == 413 and response.json()["type"] == "error"
    assert len(gw.model.got) == 1


@pytest.mark.parametrize("status", [400, 404, 429, 500, 503, 529])
def test_an_error_passes_with_text_and_retry_after_and_is_not_retried(
    gw: NginxStack, status: int
) -> None:
    error = {"error": {"message": "said by the model", "type": "t", "param": None, "code": "c"}}
    gw.set_answers(answers(error, status, retry_after="7"))
    response = gw.http.post(CHAT_PATH, json=ASK)
    assert (response.status_code, response.json(), response.headers["retry-after"]) == (
        status,
        error,
        "7",
    )
    other = gw.http.post(MESSAGES_PATH, json=ASK)
    assert (other.status_code, other.json()["error"]["message"]) == (status, "said by the model")
    assert other.headers["retry-after"] == "7" and len(gw.model.got) == 2
    gw.set_answers(answers(CHAT))
    assert [gw.http.post(CHAT_PATH, json=ASK).status_code for _ in range(4)] == [200] * 4, (
        "no gateway is taken for dead"
    )


def test_a_gateway_that_is_stopped_fails_no_request(tmp_path: Path) -> None:
    statuses: Counter[int] = Counter()
    over = threading.Event()

    def ask(url: httpx.URL) -> None:
        with httpx.Client(base_url=url, timeout=600) as http:
            while not over.is_set():
                statuses[http.post(CHAT_PATH, json=ASK).status_code] += 1

    with open_stack(tmp_path) as gw:
        asking = [threading.Thread(target=ask, args=(gw.http.base_url,)) for _ in range(6)]
        for one in asking:
            one.start()
        assert until(lambda: statuses[200] > 100)
        stopped = gw.gateways[0].process
        stopped.send_signal(signal.SIGTERM)
        assert stopped.wait(60) == 0
        time.sleep(0.3)
        over.set()
        for one in asking:
            one.join()
    assert set(statuses) == {200}, (statuses, (tmp_path / "error.log").read_text()[-1000:])
