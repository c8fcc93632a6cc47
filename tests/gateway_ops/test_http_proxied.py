"""Requests through a proxy, and responses that are the same as without one."""

from __future__ import annotations

import asyncio
import gzip
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Coroutine
from time import sleep

import httpx
import pytest
from gateway.bodies import ANTHROPIC_STREAM, ASKED
from gateway.serving import gateway, row, serving
from gateway.upstreams import Answer, ScriptedUpstream
from gateway_ops.certificates import Authority
from gateway_ops.hostile import (
    LONG,
    OK,
    HostileServer,
    Net,
    Run,
    Script,
    Talk,
    each,
    gives,
    into,
    response_with_length,
)

from toolwire.agent.agent import Agent
from toolwire.providers.endpoints import find_endpoint
from toolwire.providers.http import pool as _pool
from toolwire.providers.http.errors import ConnectError, ProtocolError
from toolwire.providers.http.policy import Timeouts
from toolwire.providers.http.proxy import Route, find_route
from toolwire.providers.http.response import Response
from toolwire.providers.http.upstream import Upstream
from toolwire.providers.http.url import parse_url

AT = "http://model.example/v1/a%2Fb?c=%41"
SOON = 0.06
PATIENT = Timeouts(LONG, LONG)
Asks = Callable[[str], Coroutine[None, None, Response]]


async def post(
    net: Net,
    proxy: str,
    url: str,
    body: bytes = b"{}",
    *,
    headers: dict[str, str] | None = None,
    timeouts: Timeouts = PATIENT,
) -> Response:
    """Send a request through a proxy."""
    route = Route(parse_url(url), parse_url(proxy))
    head = route.request_head(headers or {}, len(body))
    return await net.pool.send(route, head, body, timeouts=timeouts)


def through(
    run: Run,
    script: Script,
    main: Callable[[Asks, HostileServer], Coroutine[None, None, None]],
    login: str = "",
    *,
    silence: float = LONG,
) -> None:
    """Run a test with a proxy that does what a script says."""

    async def run_through_proxy(net: Net) -> None:
        server = await net.serve(script)

        async def asks(url: str) -> Response:
            proxy = f"http://{login}127.0.0.1:{server.port}"
            timeouts = Timeouts(LONG, silence)
            return await post(net, proxy, url, headers={"x": "y"}, timeouts=timeouts)

        await main(asks, server)

    run(run_through_proxy)


async def _all(asks: Asks) -> bytes:
    reply = await asks(AT)
    try:
        return await reply.read_all()
    finally:
        reply.close()


async def _tunnel(talk: Talk) -> None:
    """Act as a proxy for a TLS server: open a tunnel."""
    asked = await talk.request()
    host, _, port = asked.head.split(" ")[1].rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    await talk.say(OK + b"\r\n")

    async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(1 << 16):
            target.write(data)

    try:
        await asyncio.wait(
            [
                asyncio.ensure_future(pump(talk.reader, writer)),
                asyncio.ensure_future(pump(reader, talk.writer)),
            ],
            return_when=asyncio.FIRST_COMPLETED,
        )
    finally:
        writer.close()


def test_a_plain_request_through_a_proxy_has_the_full_url_and_the_proxy_credentials(
    run: Run,
) -> None:
    async def main(asks: Asks, server: HostileServer) -> None:
        reply = await asks(AT.replace("://", "://me:hunter2@"))
        assert (reply.status, await reply.read_all()) == (200, b"hello")
        reply.close()
        asked = server.asked[0].head
        assert asked.startswith(f"POST {AT} HTTP/1.1\r\n")
        assert f"proxy-authorization: basic {b64encode(b'us:er').decode().lower()}" in asked.lower()
        assert "hunter2" not in asked and "\r\nx: y\r\n" in asked

    through(run, gives(response_with_length(b"hello")), main, login="us:er@")


def test_a_tls_server_is_reached_through_a_tunnel_and_verified(
    run: Run, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_pool, "tls_context", authority.client)

    async def main(net: Net) -> None:
        good = await net.serve(
            gives(response_with_length(b"one"), response_with_length(b"two")),
            tls=authority.server("127.0.0.1"),
        )
        bad = await net.serve(
            gives(response_with_length(b"one")), tls=authority.server("other.example")
        )
        proxy = await net.serve(_tunnel)
        way = f"http://us:er@127.0.0.1:{proxy.port}"
        for body in (b"one", b"two"):
            reply = await post(net, way, good.url)
            assert await reply.read_all() == body
            reply.close()
        assert good.used == [1, 1]
        assert proxy.asked[0].head.startswith(f"CONNECT 127.0.0.1:{good.port} HTTP/1.1\r\n")
        assert "proxy-authorization: basic" in proxy.asked[0].head.lower()
        assert "proxy-authorization" not in good.asked[0].head.lower()
        with pytest.raises(OSError):
            await post(net, way, bad.url)
        assert not bad.asked

    run(main)


def test_headers_are_in_lower_case_and_joined_and_an_answer_ends_when_all_of_it_has_come(
    run: Run,
) -> None:
    half_is_read = asyncio.Event()

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(OK + b"X-Many: a\r\nx-many: b\r\ncontent-length: 10\r\n\r\nhello")
        await half_is_read.wait()
        await talk.say(b"world")
        await talk.stay()

    async def main(asks: Asks, server: HostileServer) -> None:
        reply = await asks(AT)
        assert reply.headers["x-many"] == "a, b" and not reply.ended
        assert await reply.read() == b"hello" and not reply.ended
        half_is_read.set()
        while not reply.ended:  # though it is still to be read
            await asyncio.sleep(0.01)
        assert [await reply.read(), await reply.read(), await reply.read()] == [b"world", b"", b""]
        reply.close()
        reply.close()

    through(run, script, main)


def test_a_connection_through_a_proxy_is_used_again_after_an_answer_and_not_after_half_of_one(
    run: Run,
) -> None:
    async def main(asks: Asks, server: HostileServer) -> None:
        for _ in range(2):
            reply = await asks(AT)
            await reply.read_all()
            reply.close()
        reply = await asks(AT)
        assert await reply.read() == b"hel"
        reply.close()
        reply = await asks(AT)
        assert await reply.read_all() == b"one"
        reply.close()
        assert server.used == [1, 1, 1, 2]

    through(
        run,
        gives(
            response_with_length(b"one"),
            response_with_length(b"two"),
            OK + b"content-length: 9\r\n\r\nhel",
        ),
        main,
    )


LOST = {
    "gone": b"",
    "cut": OK + b"content-length: 9\r\n\r\nhello",
    "no HTTP": b"what is this\r\n\r\n",
    "unknown coding": response_with_length(b"hello", "content-encoding: br"),
    "badly packed": response_with_length(b"hello", "content-encoding: gzip"),
    "cut before it was packed": response_with_length(
        gzip.compress(b"hello" * 100)[:-12], "content-encoding: gzip"
    ),
    "a long head": OK + b"x: " + b"y" * 2_000_000 + b"\r\n\r\n",
}


@pytest.mark.parametrize("name", LOST)
def test_every_proxy_failure_is_a_connection_error_without_secrets(name: str, run: Run) -> None:
    async def main(asks: Asks, server: HostileServer) -> None:
        with pytest.raises(ProtocolError) as caught:
            await _all(asks)
        assert "secret" not in f"{caught.value!r}"
        assert len(server.asked) == 1  # it was a new connection: it had been asked

    through(run, gives(LOST[name], stay=False), main, login="us:secret@")


def test_a_compressed_response_through_a_proxy_is_decompressed(run: Run) -> None:
    async def main(asks: Asks, server: HostileServer) -> None:
        assert await _all(asks) == b"hello" * 500_000
        assert await _all(asks) == b""

    data = gzip.compress(b"hello" * 500_000)
    through(
        run,
        gives(
            response_with_length(data, "content-encoding: gzip"),
            response_with_length(b"", "content-encoding: gzip"),
        ),
        main,
    )


@pytest.mark.parametrize("reply", (b"", OK + b"content-length: 9\r\n\r\nhello"))
def test_a_silent_proxy_times_out(reply: bytes, run: Run) -> None:
    async def main(asks: Asks, server: HostileServer) -> None:
        with pytest.raises(TimeoutError):
            await _all(asks)

    through(run, gives(reply), main, silence=SOON)


async def _one_then_gone(talk: Talk) -> None:
    await talk.request()
    await talk.say(response_with_length(b"one"))
    await talk.request()
    talk.reset()


def test_a_request_that_meets_the_end_of_its_connection_to_the_proxy_is_sent_once_more(
    run: Run,
) -> None:
    async def main(asks: Asks, server: HostileServer) -> None:
        for body in (b"one", b"two"):
            reply = await asks(AT)
            assert await reply.read_all() == body
            reply.close()
        assert server.used == [1, 1, 2]

    through(run, each(_one_then_gone, gives(response_with_length(b"two"))), main)


@pytest.mark.parametrize("proxy", ("socks5://127.0.0.1:1", "http://", "http://127.0.0.1:x"))
def test_a_proxy_that_cannot_be_used_is_an_oserror_that_names_the_variable(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.delenv("no_proxy", raising=False)
    with pytest.raises(ConnectError, match="http_proxy"):
        find_route(AT)


@pytest.mark.parametrize("host", ("127.0.0.1", "localhost", "[::1]"))
def test_a_server_on_this_machine_is_reached_without_a_proxy(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    monkeypatch.delenv("no_proxy", raising=False)
    assert find_route(f"http://{host}:8000/v1").proxy is None
    assert find_route("http://10.0.0.5:8000/v1").proxy is not None


def test_the_offline_model_answers_in_an_environment_with_a_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    assert Agent("demo:").run_sync("[[text hi]]").text == "hi"


def test_a_proxy_that_does_not_listen_is_named_without_its_login(run: Run) -> None:
    async def main(net: Net) -> None:
        says = r"^nothing is listening at http://127\.0\.0\.1:1; the environment names this proxy \(http_"
        with pytest.raises(ConnectError, match=says) as raised:
            await post(net, "http://us:er@127.0.0.1:1", AT)
        assert not raised.value.refused, "the server itself was not asked"

    run(main)


def test_a_proxy_that_refuses_a_tunnel_is_a_lost_connection(run: Run) -> None:
    async def main(asks: Asks, server: HostileServer) -> None:
        with pytest.raises(ProtocolError):
            await asks("https://model.example/")

    through(run, gives(b"HTTP/1.1 407 Who are you\r\ncontent-length: 0\r\n\r\n"), main)


def test_a_proxy_that_does_not_answer_connect_times_out(run: Run) -> None:
    async def main(net: Net) -> None:
        proxy = f"http://127.0.0.1:{(await net.serve(gives(b''))).port}"
        with pytest.raises(TimeoutError, match="did not accept"):  # its own, not that of the test
            async with asyncio.timeout(LONG):
                timeouts = Timeouts(SOON, 2 * LONG)
                await post(net, proxy, "https://model.example/", timeouts=timeouts)

    run(main)


@pytest.mark.parametrize(
    "answer",
    (b"what is this\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\nand more", b"x" * 100_000, b""),
    ids=("no HTTP", "data before TLS", "no end", "gone"),
)
def test_an_unexpected_answer_to_connect_is_a_connection_error(answer: bytes, run: Run) -> None:
    async def main(asks: Asks, server: HostileServer) -> None:
        with pytest.raises(ProtocolError):
            await asks("https://model.example/")

    through(run, gives(answer, stay=False), main)


def test_a_close_does_not_wait_for_a_proxy_that_reads_nothing(run: Run) -> None:
    async def script(talk: Talk) -> None:
        talk.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.sleep(2 * LONG)

    async def main(net: Net) -> None:
        proxy = f"http://127.0.0.1:{(await net.serve(script)).port}"
        asking = asyncio.ensure_future(post(net, proxy, AT, b"x" * 20_000_000))
        await asyncio.sleep(0.05)
        net.pool.close()
        async with asyncio.timeout(LONG):
            with pytest.raises(OSError):
                await asking

    run(main)


@pytest.mark.parametrize("ends", (True, False))
def test_an_abandoned_response_through_a_proxy_may_end_in_the_background(
    ends: bool, run: Run
) -> None:
    left = asyncio.Event()

    async def late(talk: Talk) -> None:
        await talk.request()
        await talk.say(OK + b"transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n")
        await left.wait()
        if ends:
            await talk.say(b"0\r\n\r\n")
            await gives(response_with_length(b"two"))(talk)
        await talk.stay()

    async def main(net: Net) -> None:
        server = await net.serve(each(late, gives(response_with_length(b"two"))))
        proxy = f"http://127.0.0.1:{server.port}"
        reply = await post(net, proxy, AT)
        assert await reply.read() == b"hello"
        reply.drain(LONG if ends else 0.05)
        reply.close()
        left.set()
        await net.settle()
        reply = await post(net, proxy, AT)
        assert await reply.read_all() == b"two"
        reply.close()
        assert server.used == ([1, 1] if ends else [1, 2])

    run(main)


def test_a_stream_through_a_proxy_that_is_over_before_its_connection_is_not_a_client_that_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def late() -> AsyncIterator[bytes]:
        for piece in ANTHROPIC_STREAM:
            yield piece
        await asyncio.sleep(0.1)

    with serving(
        ScriptedUpstream(Answer(headers={"content-type": "text/event-stream"}, pieces=late))
    ) as proxy:
        monkeypatch.setenv("http_proxy", proxy)
        monkeypatch.delenv("no_proxy", raising=False)
        app = gateway(row("anthropic", "http://model.example"))
        path, body = ASKED["openai-chat"]
        with serving(app) as gateway_url, httpx.Client(trust_env=False) as client:
            assert client.post(gateway_url + path, json={**body, "stream": True}).text.endswith(
                "data: [DONE]\n\n"
            )
            while app.metrics.in_flight:
                sleep(0.01)
        record = app.observer.recent.since()[-1][1]
        assert record["status"] == 200 and "client_disconnected" not in record


def test_a_request_is_not_sent_to_a_proxy_again_if_half_a_head_was_answered(run: Run) -> None:
    async def script(talk: Talk) -> None:
        await gives(response_with_length(b"one"), OK + b"x-he", stay=False)(talk)

    async def main(asks: Asks, server: HostileServer) -> None:
        assert await _all(asks) == b"one"
        with pytest.raises(ProtocolError):
            await _all(asks)
        assert server.used == [1, 1]

    through(run, script, main)


def test_a_header_passes_a_proxy_with_the_same_bytes(run: Run) -> None:
    async def main(net: Net) -> None:
        server = await net.serve(gives(response_with_length(b"one")))
        fields = {"x": "grün".encode().decode("latin-1"), "y": "€"}
        reply = await post(net, f"http://127.0.0.1:{server.port}", AT, headers=fields)
        reply.close()
        assert "\r\nx: grün\r\n" in server.asked[0].head and "\r\ny: €\r\n" in server.asked[0].head

    run(main)


def test_a_head_that_repeats_itself_without_end_is_a_lost_connection_also_through_a_proxy(
    run: Run,
) -> None:
    async def main(asks: Asks, server: HostileServer) -> None:
        with pytest.raises(ProtocolError):
            await asks(AT)

    through(run, gives(response_with_length(b"ok", *["a: b"] * 2000)), main)


@pytest.mark.parametrize("name", ("http_proxy", "all_proxy", "ALL_PROXY"))
def test_the_environment_decides_which_requests_use_a_proxy(
    name: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(net: Net) -> None:
        proxy, direct = (
            await net.serve(gives(response_with_length(b"by proxy"))),
            await net.serve(gives(response_with_length(b"direct"))),
        )
        monkeypatch.setenv(name, f"127.0.0.1:{proxy.port}")
        monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")
        upstream = Upstream()
        bodies = []
        for base in (f"http://127.0.0.1:{direct.port}", "http://model.example"):
            at = find_endpoint(f"{base}#openai:some", {}, api_key="k")
            reply = await upstream.post(at, b"{}", stream=False, timeouts=PATIENT)
            bodies.append(await reply.read_all())
            reply.close()
        assert bodies == [b"direct", b"by proxy"]
        assert len(proxy.asked) == len(direct.asked) == 1
        await upstream.close()

    run(main)


def test_a_response_through_a_proxy_is_pumped_like_any_other(run: Run) -> None:
    first_is_taken = asyncio.Event()

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(OK + b"content-length: 9\r\n\r\n", b"one")
        await first_is_taken.wait()
        await talk.say(b"two", b"six", pause=0.005)
        await talk.stay()

    async def main(asks: Asks, server: HostileServer) -> None:
        reply = await asks(AT)
        got: list[bytes] = []
        await reply.pump(into(got, more=False))
        assert got == [b"one"]
        first_is_taken.set()
        await reply.pump(into(got))
        assert b"".join(got) == b"onetwosix"
        reply.close()

    through(run, script, main)
