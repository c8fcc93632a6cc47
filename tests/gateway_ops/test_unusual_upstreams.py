"""Upstreams whose responses are unlike those of any model server, and responses that cannot
continue."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from weakref import ref

import httpx
import pytest
from gateway.bodies import ASKED, CHAT_STREAM
from gateway.serving import gateway, row, serving
from gateway.upstreams import Answer, ScriptedUpstream, streams
from gateway_ops.running import gateway_tools

from toolwire.gateway.app import Gateway
from toolwire.gateway.cancel_on_disconnect import DisconnectTimer, DisconnectWatch
from toolwire.gateway.config.model_table import ModelTable
from toolwire.gateway.config.parser import read_config
from toolwire.gateway.tools.tool_loop import ToolLoop
from toolwire.server.asgi import Message
from toolwire.tools import tool

PATH, BODY = ASKED["openai-chat"]


@contextmanager
def says(answer: bytes) -> Iterator[str]:
    """Run a server that sends the same bytes on every connection and closes it; yields its
    address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run() -> None:
            with suppress(OSError):
                while True:
                    with listener.accept()[0] as line:
                        line.recv(1 << 20)
                        line.sendall(answer)
                        line.shutdown(socket.SHUT_WR)
                        line.recv(1 << 20)

        thread = Thread(target=run, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(5)


@pytest.mark.parametrize("stream", (False, True))
@pytest.mark.parametrize("status", (600, 999))
def test_an_invalid_status_is_a_502_that_names_it_and_a_fallback_is_tried(
    status: int, stream: bool
) -> None:
    other = ScriptedUpstream(streams(*CHAT_STREAM))
    with (
        says(b"HTTP/1.1 %d What\r\ncontent-length: 0\r\n\r\n" % status) as odd,
        serving(other) as good,
    ):
        with serving(gateway(row("openai-chat", odd))) as gateway_url:
            response = httpx.post(gateway_url + PATH, json={**BODY, "stream": stream})
            assert (
                response.status_code == 502
                and f"status {status}" in response.json()["error"]["message"]
            )
        toml = row("openai-chat", odd, name="m", more={"fallbacks": ["other"]}) + row(
            "openai-chat", good, name="other"
        )
        with serving(gateway(toml)) as gateway_url:
            assert (
                httpx.post(
                    gateway_url + PATH, json={**BODY, "model": "m", "stream": True}
                ).status_code
                == 200
            )


PAGES = {
    "in lines": b"<!doctype html>\n<html>\n<body>please log in</body>\n</html>\n",
    "in one line": b"<html>please log in</html>",
    "after a line": b"\r\n <html>\nplease log in</html>\n",
}


@pytest.mark.parametrize("wire", ("openai-chat", "anthropic", "gemini"))
@pytest.mark.parametrize("name", PAGES)
def test_html_instead_of_a_stream_is_an_error_and_a_fallback_is_tried(name: str, wire: str) -> None:
    path, body = ASKED[wire]
    path = path.replace(":generateContent", ":streamGenerateContent") + (
        "?alt=sse" if wire == "gemini" else ""
    )
    page = Answer(headers={"content-type": "text/html"}, body=PAGES[name])
    with serving(ScriptedUpstream(page)) as odd, serving(gateway(row(wire, odd))) as gateway_url:
        response = httpx.post(gateway_url + path, json={**body, "stream": True})
        assert response.status_code == 502 and "log in" not in response.text


def test_a_stream_that_begins_with_a_comment_or_an_empty_line_is_passed_on_byte_for_byte() -> None:
    pieces = (b": ping\n\n", b"\n", *CHAT_STREAM)
    with (
        serving(ScriptedUpstream(streams(*pieces))) as up,
        serving(gateway(row("openai-chat", up))) as gateway_url,
    ):
        response = httpx.post(gateway_url + PATH, json={**BODY, "stream": True})
        assert response.status_code == 200 and response.content.startswith(b": ping\n\n\ndata: ")


def test_a_client_header_is_forwarded_with_the_same_bytes() -> None:
    up = ScriptedUpstream(streams(*CHAT_STREAM))
    with (
        serving(up) as url,
        serving(gateway(row("openai-chat", url, more={"headers": ["x-whose"]}))) as gateway_url,
    ):
        for whose in ("grün".encode(), "grün".encode("latin-1")):
            httpx.post(
                gateway_url + PATH, json={**BODY, "stream": True}, headers={b"x-whose": whose}
            )
            assert up.got[-1].headers["x-whose"].encode("latin-1") == whose


def test_a_gateway_reopened_in_another_event_loop_notices_a_disconnect() -> None:
    app = gateway(row("openai-chat", "http://model.example"))

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def detects_disconnect(seconds: float) -> bool:
        await app.open()
        with DisconnectWatch(receive, app._state.disconnect_timer) as leaving:
            await asyncio.sleep(seconds)
        await app.close()
        return leaving.disconnected

    disconnected = []
    for seconds in (0.0, 0.3):
        with asyncio.Runner() as runner:
            disconnected.append(runner.run(detects_disconnect(seconds)))
    assert disconnected == [False, True]


def test_a_request_that_has_ended_is_not_kept_until_its_client_would_be_watched() -> None:
    class Receive:
        async def __call__(self) -> Message:
            return {"type": "http.disconnect"}

    async def is_kept() -> bool:
        receive, timer = Receive(), DisconnectTimer()
        with DisconnectWatch(receive, timer):
            await asyncio.sleep(0)
        kept = ref(receive)
        del receive
        return kept() is not None

    with asyncio.Runner() as runner:
        assert not runner.run(is_kept())


@tool
def nothing() -> str:
    """Do nothing."""
    return "done"


@pytest.mark.parametrize("begun", (False, True))
def test_no_fallback_is_tried_if_gateway_tools_fail_after_the_first_byte(
    begun: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    async def run(work: ToolLoop, *given: object) -> AsyncGenerator[bytes]:
        asked.append(work._translator.wire)
        if begun:
            yield b"data: first\n\n"
        raise ValueError("an answer of more than 9 bytes")

    monkeypatch.setattr(ToolLoop, "run", run)
    with serving(ScriptedUpstream(streams(*CHAT_STREAM))) as url:
        toml = row("openai-chat", url, name="m", more={"fallbacks": ["other"]}) + row(
            "anthropic", url, name="other"
        )
        app = Gateway(ModelTable(read_config(toml), {"KEY": "k"}), tools=gateway_tools(nothing))
        with serving(app) as gateway_url:
            if begun:
                # all that can be done is to break it off
                with pytest.raises(httpx.RemoteProtocolError):
                    httpx.post(gateway_url + PATH, json={**BODY, "model": "m", "stream": True})
            else:
                response = httpx.post(
                    gateway_url + PATH, json={**BODY, "model": "m", "stream": True}
                )
                assert response.status_code == 502 and "of more than" in response.text
    assert asked == (["openai-chat"] if begun else ["openai-chat", "anthropic"])
