"""Toolwire's HTTP client with slow servers, large bodies, cancellation, and TLS."""

from __future__ import annotations

import asyncio
import ssl
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socket import AF_INET, IPPROTO_TCP, SO_RCVBUF, SO_SNDBUF, SOCK_STREAM, SOL_SOCKET, socket

import pytest
from gateway_ops.certificates import Authority
from gateway_ops.hostile import (
    LONG,
    OK,
    Net,
    Run,
    Script,
    Talk,
    each,
    gives,
    into,
    read,
    repeat_if_too_late,
    response_with_length,
)

from toolwire.providers.http import pool as _http
from toolwire.providers.http.errors import ConnectError, ProtocolError
from toolwire.providers.http.policy import Timeouts
from toolwire.providers.http.pool import ConnectionPool
from toolwire.providers.http.proxy import Route
from toolwire.providers.http.response import BUFFER_LIMIT
from toolwire.providers.http.url import parse_url, request_head

SOON = 0.06
"""A timeout in seconds that expires soon."""


@pytest.fixture
def trust_authority(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Authority:
    monkeypatch.setattr(_http, "tls_context", authority.client)
    return authority


@contextmanager
def deaf() -> Iterator[int]:
    """A port that accepts no connection: its backlog is full."""
    with socket() as listener, socket() as one, socket() as two, socket() as three:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for waiting in (one, two, three):
            waiting.setblocking(False)
            with suppress(BlockingIOError):
                waiting.connect(listener.getsockname())
        time.sleep(0.01)
        yield listener.getsockname()[1]


@contextmanager
def took(least: float) -> Iterator[None]:
    """Assert that the block takes at least this many seconds, and less than the longer timeouts."""
    begin = time.monotonic()
    yield
    assert 0.8 * least <= time.monotonic() - begin < LONG  # clocks are not that exact


# --- time ---


def test_a_connection_attempt_times_out(run: Run) -> None:
    async def main(net: Net) -> None:
        with deaf() as port:
            where = parse_url(f"http://127.0.0.1:{port}/")
            with pytest.raises(TimeoutError), took(SOON):
                await net.pool.send(
                    Route(where), request_head(where, {}, 0), b"", timeouts=Timeouts(SOON, LONG)
                )
        assert not net.pool._addresses

    run(main)


def test_a_refused_connection_is_an_immediate_error(run: Run) -> None:
    async def main(net: Net) -> None:
        with socket() as shut:
            shut.bind(("127.0.0.1", 0))
            where = parse_url(f"http://127.0.0.1:{shut.getsockname()[1]}/")
            with pytest.raises(OSError), took(0):
                await net.pool.send(
                    Route(where), request_head(where, {}, 0), b"", timeouts=Timeouts(LONG, LONG)
                )

    run(main)


def test_a_tls_handshake_times_out(run: Run, trust_authority: Authority) -> None:
    async def main(net: Net) -> None:
        server = await net.serve(Talk.stay)
        server.scheme = "https"
        with pytest.raises(TimeoutError), took(SOON):
            await net.get(server, connect=SOON)

    run(main)


SILENT = {
    "before its answer": b"",
    "in its head": OK,
    "after what comes before": b"HTTP/1.1 100 Go\r\n\r\n",
    "in the body": OK + b"content-length: 9\r\n\r\nhello",
    "in a body without an end": OK + b"\r\nhello",
}


@pytest.mark.parametrize("name", SILENT)
def test_a_silent_server_times_out(name: str, run: Run) -> None:
    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(SILENT[name])
        await talk.stay()

    async def main(net: Net) -> None:
        server = await net.serve(script)
        with pytest.raises(TimeoutError), took(SOON):
            await net.get(server, silence=SOON)
        assert len(server.asked) == 1
        await net.settle()
        assert not net.pool._all

    run(main)


def test_a_slow_server_does_not_time_out(run: Run) -> None:
    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(OK + b"content-length: 16\r\n\r\n", *(b"ab" for _ in range(8)), pause=SOON)

    async def main(net: Net) -> None:
        with took(6 * SOON):
            assert await net.get(await net.serve(script), silence=6 * SOON) == (200, b"ab" * 8)

    run(repeat_if_too_late(main))


def test_each_request_on_a_connection_has_its_own_timeout(run: Run) -> None:
    async def script(talk: Talk) -> None:
        for pause in (0.0, 0.0, 0.6, 2 * LONG):
            await talk.request()
            await asyncio.sleep(pause)
            await talk.say(response_with_length(b"ok"))

    async def main(net: Net) -> None:
        server = await net.serve(script)
        for patience in (60.0, 0.5, 60.0):
            assert await net.get(server, silence=patience) == (200, b"ok")
        with pytest.raises(TimeoutError), took(SOON):
            await net.get(server, silence=SOON)
        assert server.used == [1, 1, 1, 1]

    run(repeat_if_too_late(main))


def test_a_server_does_not_time_out_while_the_reader_pauses(run: Run) -> None:
    async def main(net: Net) -> None:
        reply = await net.post(
            await net.serve(gives(response_with_length(b"x" * 8_000_000))), silence=0.4
        )
        await asyncio.sleep(0.6)
        try:
            assert len(await read(reply)) == 8_000_000
        finally:
            reply.close()
        assert net.resting == 1

    run(repeat_if_too_late(main))


# --- buffers ---


def _large(size: int) -> tuple[Script, int]:
    block = bytes(range(256)) * 1024

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(OK + b"content-length: %d\r\n\r\n" % (len(block) * size))
        for _ in range(size):
            talk.writer.write(block)
            await talk.writer.drain()
        await talk.stay()

    checksum = 0
    for _ in range(size):
        checksum = zlib.crc32(block, checksum)
    return script, checksum


@pytest.mark.parametrize("tls", (False, True))
def test_fifty_megabytes_to_a_slow_reader_arrive_whole_and_never_wait_all_at_once(
    tls: bool, run: Run, trust_authority: Authority
) -> None:
    script, checksum = _large(200)

    async def main(net: Net) -> None:
        server = await net.serve(script, tls=trust_authority.server("127.0.0.1") if tls else None)
        reply = await net.post(server)
        got = most = paused = count = 0
        while True:
            count += 1
            if count % 16 == 0:
                await asyncio.sleep(0.001)
            most, paused = max(most, reply._buffered), paused + (reply._buffered > BUFFER_LIMIT)
            data = await reply.read()
            if not data:
                break
            got = zlib.crc32(data, got)
        assert got == checksum and reply.ended
        assert paused and most < 8 * BUFFER_LIMIT
        reply.close()
        assert net.resting == 1

    run(main)


@pytest.mark.parametrize("tls", (False, True))
def test_a_large_request_reaches_a_server_that_reads_slowly(
    tls: bool, run: Run, trust_authority: Authority
) -> None:
    body = bytes(range(256)) * 80_000

    async def script(talk: Talk) -> None:
        talk.writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_RCVBUF, 1 << 18)
        await talk.request()
        await talk.say(response_with_length(b"small"))
        await talk.reader.readuntil(b"\r\n\r\n")
        got = bytearray()
        while len(got) < len(body):
            got += await talk.reader.read(1 << 19)
            await asyncio.sleep(0.015)
        await talk.say(response_with_length(b"%d" % zlib.crc32(got)))
        await talk.stay()

    async def main(net: Net) -> None:
        server = await net.serve(script, tls=trust_authority.server("127.0.0.1") if tls else None)
        await net.get(server)
        for line in net.pool._all:  # what a socket takes is on its way, as far as the pool can tell
            assert line._transport is not None
            line._transport.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_SNDBUF, 1 << 18)
        with took(0.5):
            assert await net.get(server, body, silence=0.5) == (200, b"%d" % zlib.crc32(body))
        assert net.resting == 1
        assert not any(
            line._rest.obj for line in net.pool._all
        )  # nothing of it is held while the connection rests

    run(repeat_if_too_late(main))


@pytest.mark.parametrize("tls", (False, True))
def test_a_server_that_stops_reading_times_out(
    tls: bool, run: Run, trust_authority: Authority
) -> None:
    async def script(talk: Talk) -> None:
        talk.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.sleep(2 * LONG)

    async def main(net: Net) -> None:
        with pytest.raises(TimeoutError), took(SOON):
            server = await net.serve(
                script, tls=trust_authority.server("127.0.0.1") if tls else None
            )
            await net.get(server, b"x" * 20_000_000, silence=SOON)
        await net.settle()
        assert not net.pool._all

    run(main)


@pytest.mark.parametrize("tls", (False, True))
def test_a_connection_whose_server_answered_before_it_had_the_request_is_not_used_again(
    tls: bool, run: Run, trust_authority: Authority
) -> None:
    async def early(talk: Talk) -> None:
        await talk.reader.readuntil(b"\r\n\r\n")
        await talk.say(response_with_length(b"too large", status=b"HTTP/1.1 413 No\r\n"))
        talk.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.sleep(2 * LONG)

    async def main(net: Net) -> None:
        server = await net.serve(
            each(early, gives(response_with_length(b"two"))),
            tls=trust_authority.server("127.0.0.1") if tls else None,
        )
        assert await net.get(server, b"x" * 20_000_000) == (413, b"too large")
        assert net.resting == 0
        assert await net.get(server) == (200, b"two")

    run(main)


@pytest.mark.parametrize("torn", (False, True))
def test_a_tls_response_without_a_length_is_complete_only_after_close_notify(
    torn: bool, run: Run, trust_authority: Authority
) -> None:
    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(OK + b"\r\nhello", pause=0.02)
        if torn:
            talk.tear()

    async def main(net: Net) -> None:
        reply = await net.post(await net.serve(script, tls=trust_authority.server("127.0.0.1")))
        assert await reply.read() == b"hello"
        if torn:
            with pytest.raises(ProtocolError):
                await reply.read()
        else:
            assert await reply.read() == b""
        reply.close()

    run(main)


def test_an_early_response_of_a_server_that_does_not_read_is_returned(run: Run) -> None:
    async def script(talk: Talk) -> None:
        await talk.reader.readuntil(b"\r\n\r\n")
        talk.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await talk.say(OK + b"\r\nno")
        talk.writer.write_eof()
        await asyncio.sleep(2 * LONG)

    async def main(net: Net) -> None:
        with took(0):
            assert await net.get(await net.serve(script), b"x" * 20_000_000) == (200, b"no")

    run(main)


# --- pieces that are passed on as they arrive ---


@pytest.mark.parametrize("coding", ("identity", "gzip"))
def test_every_piece_reaches_its_consumer_in_order_also_if_it_pauses(coding: str, run: Run) -> None:
    words = [b"word %d " % number for number in range(200)]
    packer = zlib.compressobj(wbits=31)
    packed = [packer.compress(word) + packer.flush(zlib.Z_SYNC_FLUSH) for word in words] + [
        packer.flush()
    ]

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(
            OK + f"content-encoding: {coding}\r\ntransfer-encoding: chunked\r\n\r\n".encode()
        )
        for word in packed if coding == "gzip" else words:
            await talk.say(b"%x\r\n%b\r\n" % (len(word), word))
        await talk.say(b"0\r\n\r\n")
        await talk.stay()

    async def main(net: Net) -> None:
        reply = await net.post(await net.serve(script))
        got: list[bytes] = []
        stops = 0

        def take(data: bytes) -> bool:
            got.append(data)
            return len(got) % 3 > 0

        while True:
            before = len(got)
            await reply.pump(take)
            if len(got) == before:
                break
            stops += 1
            await asyncio.sleep(0.001 * (stops % 2))
        assert b"".join(got) == b"".join(words) and stops > 3
        reply.close()
        assert net.resting == 1

    run(main)


def test_megabytes_to_a_consumer_that_pauses_often_arrive_whole_and_are_bounded(run: Run) -> None:
    script, checksum = _large(80)

    async def main(net: Net) -> None:
        reply = await net.post(await net.serve(script))
        got = count = before = 0

        def take(data: bytes) -> bool:
            nonlocal got, count
            got, count = zlib.crc32(data, got), count + 1
            return count % 8 > 0

        while True:
            await reply.pump(take)
            assert reply._buffered < 8 * BUFFER_LIMIT
            if count == before:
                break
            before = count
            await asyncio.sleep(0.001)
        assert got == checksum
        reply.close()
        assert net.resting == 1

    run(main)


@pytest.mark.parametrize("at", (1, 3))
def test_an_exception_of_a_receiver_reaches_the_caller_and_closes_the_connection(
    at: int, run: Run
) -> None:
    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(OK + b"content-length: 99\r\n\r\n")
        for number in range(5):
            while len(got) < number:  # so that each word is one piece
                await asyncio.sleep(0.001)
            await talk.say(b"word")
        await talk.stay()

    got: list[bytes] = []

    async def main(net: Net) -> None:
        reply = await net.post(await net.serve(script))

        def take(data: bytes) -> bool:
            got.append(data)
            if len(got) == at:
                raise KeyError("no")
            return True

        with pytest.raises(KeyError):
            await reply.pump(take)
        assert len(got) == at
        reply.close()
        await net.settle()
        assert not net.pool._all

    run(main)


def test_a_broken_silent_or_abandoned_stream_ends_with_an_error_after_its_data(run: Run) -> None:
    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(OK + b"content-length: 99\r\n\r\n", b"one", b"two", pause=0.005)
        if talk.number > 1:
            await talk.stay()

    async def main(net: Net) -> None:
        server = await net.serve(script)
        for error in (ProtocolError, TimeoutError, ProtocolError):
            reply = await net.post(server, silence=1.0 if error is TimeoutError else LONG)
            got: list[bytes] = []
            flowing = asyncio.ensure_future(reply.pump(into(got)))
            while b"".join(got) != b"onetwo" and not flowing.done():
                await asyncio.sleep(0.005)
            if len(server.asked) == 3:
                reply.close()
            with pytest.raises(error):
                await flowing
            assert b"".join(got) == b"onetwo"
            reply.close()

    run(main)


def test_a_cancelled_stream_receives_nothing_more(run: Run) -> None:
    async def main(net: Net) -> None:
        server = await net.serve(gives(OK + b"content-length: 99\r\n\r\none"))
        reply = await net.post(server)
        got: list[bytes] = []
        flowing = asyncio.ensure_future(reply.pump(into(got)))
        while not got:
            await asyncio.sleep(0.001)
        flowing.cancel()
        reply.add(b"two")
        reply.wake()
        with pytest.raises(asyncio.CancelledError):
            await flowing
        assert got == [b"one"]
        reply.close()

    run(main)


# --- cancellation ---


@pytest.mark.parametrize("tls", (False, True))
def test_a_request_can_be_cancelled_at_every_step_without_a_leak(
    tls: bool, run: Run, trust_authority: Authority
) -> None:
    async def script(talk: Talk) -> None:
        while True:
            await talk.request()
            await talk.say(
                OK + b"transfer-encoding: chunked\r\n\r\n", b"5\r\nhello\r\n", b"0\r\n\r\n"
            )

    async def main(net: Net) -> None:
        server = await net.serve(script, tls=trust_authority.server("127.0.0.1") if tls else None)
        ended = 0
        for fresh in (True, False):
            for steps in range(40):
                if fresh:
                    net.pool._idle.clear()
                    for line in list(net.pool._all):
                        line.close()
                task = asyncio.ensure_future(net.get(server))
                for _ in range(steps):
                    await asyncio.sleep(0)
                if steps == 39:
                    await asyncio.wait({task})  # a request that ends before it is cancelled
                elif steps % 5 == 4:
                    await asyncio.sleep(0.002)
                task.cancel()
                try:
                    assert await task == (200, b"hello")
                    ended += 1
                except asyncio.CancelledError:
                    pass
                assert len(net.pool._all) <= 4
        assert ended
        await net.settle()
        assert net.resting <= 1 and not net.pool._opening
        assert await net.get(server) == (200, b"hello")

    run(main)


def test_a_waiter_of_an_abandoned_response_gets_an_error(run: Run) -> None:
    async def main(net: Net) -> None:
        reply = await net.post(await net.serve(gives(OK + b"content-length: 9\r\n\r\n")))
        waiting = asyncio.ensure_future(reply.read())
        await asyncio.sleep(0)
        reply.close()
        with pytest.raises(ProtocolError):
            async with asyncio.timeout(LONG):
                await waiting

    run(main)


def test_requests_in_progress_fail_at_once_when_the_client_closes(
    run: Run, trust_authority: Authority
) -> None:
    async def main(net: Net) -> None:
        silent = await net.serve(Talk.stay)
        begun = await net.serve(gives(OK + b"content-length: 9\r\n\r\nhello"))
        endless = await net.serve(gives(OK + b"\r\nhello"))
        resting = await net.serve(gives(response_with_length(b"ok")))
        unshaken = await net.serve(Talk.stay)
        unshaken.scheme = "https"
        assert await net.get(resting) == (200, b"ok")
        with deaf() as port:
            where = parse_url(f"http://127.0.0.1:{port}/")
            tasks = [
                asyncio.ensure_future(net.get(one)) for one in (silent, begun, endless, unshaken)
            ]
            unopened = asyncio.ensure_future(
                net.pool.send(
                    Route(where), request_head(where, {}, 0), b"", timeouts=Timeouts(LONG, LONG)
                )
            )
            await asyncio.sleep(0.02)
            net.pool.close()
            with took(0):
                outcomes = await asyncio.gather(*tasks, unopened, return_exceptions=True)
        assert all(isinstance(one, OSError) for one in outcomes), outcomes
        with pytest.raises(OSError):
            await net.get(resting)
        assert not net.pool._all

    run(main)


# --- TLS ---


def test_a_verified_tls_server_gets_requests_and_its_connection_is_reused(
    run: Run, trust_authority: Authority
) -> None:
    async def main(net: Net) -> None:
        server = await net.serve(
            gives(response_with_length(b"one"), response_with_length(b"two")),
            tls=trust_authority.server("127.0.0.1"),
        )
        assert [await net.get(server), await net.get(server)] == [(200, b"one"), (200, b"two")]
        assert server.used == [1, 1]

    run(main)


def test_a_tls_connection_that_closed_while_idle_is_replaced(
    run: Run, trust_authority: Authority
) -> None:
    async def main(net: Net) -> None:
        server = await net.serve(
            gives(response_with_length(b"one"), stay=False), tls=trust_authority.server("127.0.0.1")
        )
        for pause in (0.0, 0.02, 0.0):
            assert await net.get(server) == (200, b"one")
            await asyncio.sleep(pause)
        assert server.used == [1, 2, 3]

    run(main)


@pytest.mark.parametrize("name", ("other.example", "127.0.0.2"))
def test_a_server_with_another_name_gets_no_request(
    name: str, run: Run, trust_authority: Authority
) -> None:
    async def main(net: Net) -> None:
        server = await net.serve(
            gives(response_with_length(b"one")), tls=trust_authority.server(name)
        )
        with pytest.raises(ConnectError) as caught:
            await net.get(server)
        assert isinstance(caught.value.__cause__, ssl.SSLError) and caught.value.permanent
        assert not server.asked

    run(main)


def test_an_untrusted_server_gets_no_request_and_the_error_holds_no_secret(
    run: Run, authority: Authority
) -> None:
    async def main(net: Net) -> None:
        server = await net.serve(
            gives(response_with_length(b"one")), tls=authority.server("127.0.0.1")
        )
        where = parse_url(server.url.replace("://", "://me:hunter2@"))
        with pytest.raises(OSError) as caught:
            await net.pool.send(
                Route(where),
                request_head(where, {"x": "hunter2"}, 0),
                b"",
                timeouts=Timeouts(LONG, LONG),
            )
        assert "hunter2" not in f"{caught.value!r} {caught.value}"
        assert not server.asked

    run(main)


def test_a_server_without_tls_is_an_error(run: Run, trust_authority: Authority) -> None:
    async def script(talk: Talk) -> None:
        await talk.say(response_with_length(b"what?"))

    async def main(net: Net) -> None:
        server = await net.serve(script)
        server.scheme = "https"
        with pytest.raises(OSError):
            await net.get(server)

    run(main)


# --- several addresses ---


@pytest.mark.parametrize("first", ("deaf", "shut"))
def test_the_next_address_is_tried_if_one_does_not_answer(
    first: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_http, "_NEXT_ADDRESS", 0.03)

    async def main(net: Net) -> None:
        server = await net.serve(gives(response_with_length(b"one"), stay=False))
        with deaf() as port, socket() as shut:
            shut.bind(("127.0.0.1", 0))
            ports = port if first == "deaf" else shut.getsockname()[1], server.port

            async def addresses(
                pool: ConnectionPool, host: str, port: int
            ) -> list[tuple[int, int, int, str, tuple[str, int]]]:
                return [
                    (AF_INET, SOCK_STREAM, IPPROTO_TCP, "", ("127.0.0.1", one)) for one in ports
                ]

            monkeypatch.setattr(ConnectionPool, "_resolve", addresses)
            with took(0):
                assert await net.get(server) == (200, b"one")

    run(main)


def test_an_unknown_host_name_is_an_error(run: Run) -> None:
    async def main(net: Net) -> None:
        where = parse_url("http://unknown.invalid/")
        with pytest.raises(OSError):
            await net.pool.send(
                Route(where), request_head(where, {}, 0), b"", timeouts=Timeouts(LONG, LONG)
            )

    run(main)


def test_the_addresses_of_a_name_are_looked_up_once_and_again_when_they_fail(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(net: Net) -> None:
        server = await net.serve(each(gives(response_with_length(b"one"), stay=False)))
        await net.get(server)
        known = net.pool._addresses["127.0.0.1", server.port]
        await net.get(server)
        assert net.pool._addresses["127.0.0.1", server.port] is known
        net.pool._addresses["127.0.0.1", server.port] = (
            known[0],
            [(AF_INET, SOCK_STREAM, IPPROTO_TCP, "", ("127.0.0.1", 1))],
        )
        with pytest.raises(OSError):
            await net.get(server)
        assert await net.get(server) == (200, b"one")

    run(main)
