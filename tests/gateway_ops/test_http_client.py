"""Toolwire's HTTP client with servers that truncate, lie, mix up responses or disconnect."""

from __future__ import annotations

import asyncio
import gzip
import socket
import traceback
import zlib
from base64 import b64encode
from collections.abc import Iterable
from functools import partial

import pytest
from gateway_ops.hostile import (
    LONG,
    OK,
    Net,
    Run,
    Script,
    Talk,
    each,
    gives,
    read,
    response_with_length,
)

from toolwire.providers.endpoints import find_endpoint
from toolwire.providers.http import connection as _connection
from toolwire.providers.http import pool as _http
from toolwire.providers.http.connection import MAX_HEAD, Connection
from toolwire.providers.http.errors import ProtocolError
from toolwire.providers.http.response import BUFFER_LIMIT
from toolwire.providers.http.upstream import Upstream
from toolwire.providers.http.url import parse_url, request_head

KNOWN = "https://known.example/v1"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"
HELLO = (
    CHUNKED + b'2;a=b;c="d"\r\nhe\r\n003\r\nllo\r\n0;x\r\ncontent-type: late\r\nx-more: y\r\n\r\n'
)


class Wire(asyncio.Transport):
    """A transport that a test feeds by hand, so that the pieces are exactly the given ones."""

    def __init__(self, line: Connection, end: socket.socket) -> None:
        super().__init__({"socket": end})
        self.gone = False
        line.connection_made(self)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        pass

    def is_closing(self) -> bool:
        return self.gone

    def abort(self) -> None:
        self.gone = True

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


async def _fed(line: Connection, pieces: Iterable[bytes]) -> tuple[int, dict[str, str], bytes]:
    reply = line.send(b"", b"", 5.0)
    for piece in pieces:
        line.data_received(piece)
        await asyncio.sleep(0)
    await reply.wait_for_head()
    response = reply.status, reply.headers, await read(reply)
    reply.close()
    return response


WHOLE = {
    "in chunks": (HELLO, 200, b"hello"),
    "with a length": (response_with_length(b"hello", "x: y"), 200, b"hello"),
    "of length zero": (response_with_length(b""), 200, b""),
    "without a body": (b"HTTP/1.1 204 Nothing\r\nx: y\r\n\r\n", 204, b""),
    "that is not new": (b"HTTP/1.1 304 Same\r\ncontent-length: 9\r\n\r\n", 304, b""),
    "after others": (
        b"HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 103 Hints\r\nlink: a\r\n\r\nHTTP/1.1 103 Hints\r\n\r\n"
        + HELLO,
        200,
        b"hello",
    ),
    "of an old server": (
        b"HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nok",
        200,
        b"ok",
    ),
    "without a reason": (b"HTTP/1.1 500\r\ncontent-length: 2\r\n\r\nno", 500, b"no"),
    "that offers more": (
        response_with_length(b"ok", "connection: upgrade", "upgrade: h2c"),
        200,
        b"ok",
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_an_answer_cut_anywhere_is_the_same_answer(name: str, run: Run) -> None:
    data, status, body = WHOLE[name]

    async def main(net: Net) -> None:
        mine, other = socket.socketpair()
        with mine, other:
            line = Connection(net.pool, ("h", 1, False, ""))
            Wire(line, mine)
            cuts = [[data[:at], data[at:]] if at else [data] for at in range(len(data))]
            for pieces in [*cuts, [bytes([one]) for one in data]]:
                got = await _fed(line, pieces)
                assert (got[0], got[2]) == (status, body)
                assert (
                    "content-type" not in got[1] and "x-more" not in got[1] and "link" not in got[1]
                )
                assert line.is_usable() and net.pool._take_idle(("h", 1, False, "")) is line
            net.pool._all.clear()

    run(main)


LAST = {
    "until its end": (b"HTTP/1.1 200 OK\r\n\r\nhello", b"hello"),
    "of an old server": (b"HTTP/1.0 200 OK\r\ncontent-length: 5\r\n\r\nhello", b"hello"),
    "that is the last": (response_with_length(b"hello", "connection: close"), b"hello"),
    "of an old server until its end": (b"HTTP/1.0 200 OK\r\n\r\n", b""),
}


@pytest.mark.parametrize("name", LAST)
def test_an_answer_that_ends_its_connection_is_whole_and_the_next_has_another_connection(
    name: str, run: Run
) -> None:
    data, body = LAST[name]

    async def main(net: Net) -> None:
        server = await net.serve(gives(data, stay=False))
        for _ in range(3):
            assert await net.get(server) == (200, body)
        assert server.used == [1, 2, 3]

    run(main)


REFUSED = {
    "two ways to end": (
        OK + b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"
    ),
    "two ways to end, turned round": (
        OK + b"transfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n2\r\nab\r\n0\r\n\r\n"
    ),
    "two lengths": OK + b"content-length: 2\r\ncontent-length: 2\r\n\r\nab",
    "two lengths in one": OK + b"content-length: 2, 2\r\n\r\nab",
    "a length below zero": OK + b"content-length: -2\r\n\r\nab",
    "a length with a sign": OK + b"content-length: +2\r\n\r\nab",
    "a length beyond all": OK + b"content-length: 99999999999999999999\r\n\r\nab",
    "no number as a length": OK + b"content-length: two\r\n\r\nab",
    "no length as a length": OK + b"content-length:\r\n\r\nab",
    "an unknown coding": OK + b"transfer-encoding: gzip\r\n\r\nab",
    "a coding in chunks": OK + b"transfer-encoding: gzip, chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
    "chunks in a coding": OK + b"transfer-encoding: chunked, gzip\r\n\r\nab",
    "a folded field": OK + b"a: b\r\n c\r\ncontent-length: 0\r\n\r\n",
    "a field without a name": OK + b": b\r\ncontent-length: 0\r\n\r\n",
    "a field that is none": OK + b"what is this\r\ncontent-length: 0\r\n\r\n",
    "a space before the colon": OK + b"content-length : 0\r\n\r\n",
    "a NUL": OK + b"a: \0\r\ncontent-length: 0\r\n\r\n",
    "lines of another kind": b"HTTP/1.1 200 OK\ncontent-length: 0\n\n",
    "no HTTP": b"220 mail.example ESMTP\r\n\r\n",
    "TLS": b"\x15\x03\x01\x00\x02\x02\x46",
    "a page": b"<html></html>\r\n\r\n",
    "no status": b"HTTP/1.1 twohundred OK\r\n\r\n",
    "a short status": b"HTTP/1.1 20 OK\r\n\r\n",
    "a long status": b"HTTP/1.1 2000 OK\r\n\r\n",
    "a status below all": b"HTTP/1.1 099 What\r\n\r\n" + b"x" * 2 * BUFFER_LIMIT,
    "a turn to another protocol": (
        b"HTTP/1.1 101 Switch\r\nconnection: upgrade\r\nupgrade: x\r\n\r\nab"
    ),
    "a turn to no protocol": b"HTTP/1.1 101 Switch\r\n\r\n" + response_with_length(b"ab"),
    "a body before the answer": b"HTTP/1.1 103 Hints\r\ncontent-length: 2\r\n\r\nab"
    + response_with_length(b"ab"),
    "chunks before the answer": (
        b"HTTP/1.1 104 What\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"
        + response_with_length(b"ab")
    ),
    "a field again and again": OK + b"a:\r\n" * 100_000,
    "another coding": response_with_length(b"ab", "content-encoding: br"),
    "two codings": response_with_length(b"ab", "content-encoding: gzip, gzip"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_ambiguous_or_invalid_response_is_an_error_and_closes_the_connection(
    name: str, run: Run
) -> None:
    async def main(net: Net) -> None:
        server = await net.serve(gives(REFUSED[name]))
        with pytest.raises(ProtocolError):
            await net.get(server)
        await net.settle()
        assert len(server.asked) == 1 and (not net.pool._all or "coding" in name)

    run(main)


CUT = {
    "in its head": OK + b"content-le",
    "before its head": b"",
    "in a body with a length": OK + b"content-length: 9\r\n\r\nhello",
    "in a chunk": CHUNKED + b"9\r\nhello",
    "between chunks": CHUNKED + b"5\r\nhello\r\n",
    "in the last chunk": CHUNKED + b"5\r\nhello\r\n0\r\n",
    "after what comes before": b"HTTP/1.1 100 Go\r\n\r\n",
}


@pytest.mark.parametrize("rude", (False, True))
@pytest.mark.parametrize("name", CUT)
def test_a_truncated_response_is_never_treated_as_complete(name: str, rude: bool, run: Run) -> None:
    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(CUT[name], pause=0.01)
        if rude:
            talk.reset()

    async def main(net: Net) -> None:
        server = await net.serve(script)
        with pytest.raises(ProtocolError):
            await net.get(server)
        assert len(server.asked) == 1

    run(main)


def test_an_answer_without_a_length_that_is_torn_off_is_not_whole(run: Run) -> None:
    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(OK + b"\r\nhello", pause=0.02)
        talk.reset()

    async def main(net: Net) -> None:
        reply = await net.post(await net.serve(script))
        assert await reply.read() == b"hello"
        with pytest.raises(ProtocolError):
            await reply.read()
        reply.close()

    run(main)


ENDLESS = {
    "head": (OK, b"x-a: " + b"y" * 1000 + b"\r\n"),
    "field": (OK + b"x: ", b"y" * 1000),
    "reason": (b"HTTP/1.1 200 ", b"y" * 1000),
    "foreword": (b"", b"HTTP/1.1 103 Hints\r\nx: " + b"y" * 1000 + b"\r\n\r\n"),
    "epilogue": (CHUNKED + b"2\r\nab\r\n0\r\n", b"x: " + b"y" * 1000 + b"\r\n"),
    "last field": (CHUNKED + b"2\r\nab\r\n0\r\nx: ", b"y" * 1000),
    "chunk header": (CHUNKED + b"2;a=", b"y" * 1000),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_an_endless_head_is_aborted(name: str, run: Run) -> None:
    begin, more = ENDLESS[name]
    sent = 0

    async def script(talk: Talk) -> None:
        nonlocal sent
        await talk.request()
        await talk.say(begin)
        while True:
            await talk.say(more * 100)
            sent += len(more) * 100

    async def main(net: Net) -> None:
        with pytest.raises(ProtocolError):
            await net.get(await net.serve(script))
        assert sent < MAX_HEAD + 16 * 1024 * 1024  # what the sockets hold of it aside

    run(main)


def test_a_head_that_is_long_but_ends_is_read(run: Run) -> None:
    fields = [f"x-{number}: {'y' * 1000}" for number in range(900)]

    async def main(net: Net) -> None:
        reply = await net.post(
            await net.serve(
                gives(response_with_length(b"ok", *fields, "X-Spaces: a \t", "x-spaces: b"))
            )
        )
        assert len(reply.headers) == 902 and reply.headers["x-899"] == "y" * 1000
        assert reply.headers["x-spaces"] == "a, b"
        reply.close()

    run(main)


# --- connections that are used again ---


def test_a_connection_is_used_again_after_an_answer_was_read_and_also_after_one_that_had_come_but_was_not_read(
    run: Run,
) -> None:
    async def main(net: Net) -> None:
        server = await net.serve(
            gives(
                response_with_length(b"one"),
                response_with_length(b"no" * 100, status=b"HTTP/1.1 500 No\r\n"),
                HELLO,
            )
        )
        assert await net.get(server) == (200, b"one")
        reply = await net.post(server)
        assert reply.status == 500 and reply.ended
        reply.close()
        assert await net.get(server) == (200, b"hello")
        assert server.used == [1, 1, 1] and net.resting == 1

    run(main)


def test_an_answer_that_is_left_may_still_come_to_its_end_and_frees_its_connection(
    run: Run,
) -> None:
    async def late(talk: Talk) -> None:
        await talk.request()
        await talk.say(OK + b"transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n")
        await asyncio.sleep(0.05)
        await talk.say(b"3\r\nmor\r\n", b"0\r\n\r\n", pause=0.05)
        await talk.request()
        await talk.say(response_with_length(b"two"))
        await talk.stay()

    async def main(net: Net) -> None:
        server = await net.serve(each(late))
        reply = await net.post(server)
        assert await reply.read() == b"hello"
        reply.drain(LONG)
        assert net.resting == 0
        while not net.resting:
            await asyncio.sleep(0.01)
        assert await net.get(server) == (200, b"two") and server.used == [1, 1]

    run(main)


def test_an_abandoned_response_that_does_not_end_in_time_closes_the_connection(run: Run) -> None:
    async def endless(talk: Talk) -> None:
        await talk.request()
        await talk.say(OK + b"transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n")
        await talk.stay()

    async def main(net: Net) -> None:
        server = await net.serve(each(endless, gives(response_with_length(b"two"))))
        reply = await net.post(server)
        assert await reply.read() == b"hello"
        reply.drain(0.05)
        await asyncio.sleep(0.2)
        assert net.resting == 0
        assert await net.get(server) == (200, b"two") and server.used == [1, 2]

    run(main)


def test_an_abandoned_response_closes_the_connection(run: Run) -> None:
    async def main(net: Net) -> None:
        server = await net.serve(
            gives(OK + b"content-length: 9\r\n\r\nhello", response_with_length(b"two"))
        )
        reply = await net.post(server)
        assert await reply.read() == b"hello" and not reply.ended
        reply.close()
        reply.close()
        with pytest.raises(ProtocolError):
            await reply.read()
        assert net.resting == 0
        await net.settle()

    run(main)


SECOND = response_with_length(b"stolen")
MORE = {
    "a second answer": SECOND,
    "the beginning of one": SECOND[:9],
    "half of one": SECOND[:-2],
    "one letter": b"H",
    "what is no HTTP": b"\0\0\0",
    "a chunk": b"5\r\nhello\r\n",
}


@pytest.mark.parametrize("last", ("keep-alive", "close"))
@pytest.mark.parametrize("name", MORE)
def test_bytes_after_a_response_in_one_packet_never_reach_the_next_request(
    name: str, last: str, run: Run
) -> None:
    async def main(net: Net) -> None:
        server = await net.serve(
            each(
                gives(response_with_length(b"one", f"connection: {last}") + MORE[name]),
                gives(response_with_length(b"two")),
            )
        )
        assert await net.get(server) == (200, b"one")
        assert await net.get(server) == (200, b"two")
        assert server.used == [1, 2]

    run(main)


@pytest.mark.parametrize("large", (False, True))
@pytest.mark.parametrize("name", MORE)
def test_bytes_before_a_request_never_become_its_response(name: str, large: bool, run: Run) -> None:
    first = response_with_length(b"x" * (3 * BUFFER_LIMIT if large else 3))

    async def main(net: Net) -> None:
        server = await net.serve(each(gives(first), gives(response_with_length(b"two"))))
        await net.get(server)
        server.talks[0].at_once(
            MORE[name]
        )  # and the next request follows at once: the loop has not seen it
        assert await net.get(server) == (200, b"two")
        assert server.used == [1, 2]

    run(main)


def test_bytes_on_an_idle_connection_close_it(run: Run) -> None:
    async def main(net: Net) -> None:
        server = await net.serve(
            each(gives(response_with_length(b"one")), gives(response_with_length(b"two")))
        )
        await net.get(server)
        server.talks[0].at_once(SECOND)
        while net.pool._all:
            await asyncio.sleep(0.001)
        assert net.resting == 0
        assert await net.get(server) == (200, b"two")

    run(main)


def test_bytes_after_a_response_do_not_corrupt_it(run: Run) -> None:
    async def main(net: Net) -> None:
        server = await net.serve(
            each(
                gives(response_with_length(b"x" * 2 * BUFFER_LIMIT)),
                gives(response_with_length(b"two")),
            )
        )
        reply = await net.post(server)
        while not reply.ended:
            assert await reply.read()
        server.talks[0].at_once(SECOND)
        await asyncio.sleep(0.02)
        await read(reply)
        reply.close()
        assert await net.get(server) == (200, b"two") and server.used == [1, 2]

    run(main)


def test_an_idle_connection_that_the_server_closed_is_not_used(run: Run) -> None:
    async def main(net: Net) -> None:
        server = await net.serve(gives(response_with_length(b"one"), stay=False))
        for pause in (0.02, 0.0, 0.0):
            assert await net.get(server) == (200, b"one")
            await asyncio.sleep(pause)
        assert server.used == [1, 2, 3]

    run(main)


async def _one_then_gone(talk: Talk) -> None:
    await talk.request()
    await talk.say(response_with_length(b"one"))
    await talk.request()
    talk.reset()


async def _reset_after_request(talk: Talk) -> None:
    await talk.request()
    talk.reset()


def test_a_request_that_meets_the_end_of_its_connection_is_sent_once_more_on_a_new_one(
    run: Run,
) -> None:
    async def main(net: Net) -> None:
        server = await net.serve(each(_one_then_gone, gives(response_with_length(b"two"))))
        await net.get(server, b"first")
        assert await net.get(server, b"second") == (200, b"two")
        assert [(one.connection, one.body) for one in server.asked] == [
            (1, b"first"),
            (1, b"second"),
            (2, b"second"),
        ]

    run(main)


def test_a_request_is_not_sent_a_third_time_or_on_another_idle_connection(run: Run) -> None:
    async def main(net: Net) -> None:
        server = await net.serve(each(_one_then_gone, _one_then_gone, _reset_after_request))
        await asyncio.gather(net.get(server), net.get(server))
        assert net.resting == 2
        with pytest.raises(ProtocolError):
            await net.get(server, b"again")
        assert [one.connection for one in server.asked if one.body == b"again"] in ([1, 3], [2, 3])

    run(main)


def test_a_request_on_a_new_connection_is_not_sent_again(run: Run) -> None:
    async def main(net: Net) -> None:
        server = await net.serve(_reset_after_request)
        with pytest.raises(ProtocolError):
            await net.get(server)
        assert len(server.asked) == 1

    run(main)


async def assert_second_request_fails(script: Script, net: Net) -> None:
    """Assert that the second request fails, and is sent once."""
    server = await net.serve(script)
    await net.get(server)
    with pytest.raises(ProtocolError):
        await net.get(server)
    assert server.used == [1, 1]


@pytest.mark.parametrize(
    "reply", (b"H", b"HTTP/1.1 100 Go\r\n\r\n", OK + b"content-length: 5\r\n\r\n")
)
def test_a_request_is_not_sent_again_if_anything_was_answered(reply: bytes, run: Run) -> None:
    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(response_with_length(b"one"))
        await talk.request()
        await talk.say(reply, pause=0.01)

    run(partial(assert_second_request_fails, script))


def test_a_request_that_the_server_had_for_a_while_is_not_sent_again(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(response_with_length(b"one"))
        await talk.request()
        await asyncio.sleep(0.02)

    monkeypatch.setattr(_connection, "STALE_WITHIN", 0.01)
    run(partial(assert_second_request_fails, script))


def test_connections_that_are_idle_too_long_are_closed(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(net: Net) -> None:
        server = await net.serve(gives(response_with_length(b"one"), response_with_length(b"two")))
        await asyncio.gather(net.get(server), net.get(server))
        assert net.resting == 2
        monkeypatch.setattr(_http, "KEEP_ALIVE", 0.001)
        net.pool._timer.cancel()
        net.pool._expire()  # from now on, the timer of the pool calls it
        while net.resting:
            await asyncio.sleep(0.001)
        await net.settle()
        assert not net.pool._all and not net.pool._idle

    run(main)


# --- answers that are compressed although the request did not ask for it ---

TEXT = b"".join(b"line %d\n" % number for number in range(2000))
CODED = {
    "gzip": gzip.compress(TEXT),
    "x-gzip": gzip.compress(TEXT),
    "GZIP": gzip.compress(TEXT),
    "deflate": zlib.compress(TEXT),
}


@pytest.mark.parametrize("coding", CODED)
def test_a_compressed_response_is_decompressed(coding: str, run: Run) -> None:
    data = CODED[coding]

    async def script(talk: Talk) -> None:
        for step in (len(data), 7):
            await talk.request()
            pieces = [data[at : at + step] for at in range(0, len(data), step)]
            chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
            await talk.say(
                OK + f"content-encoding: {coding}\r\ntransfer-encoding: chunked\r\n\r\n".encode(),
                chunks,
                b"0\r\n\r\n",
            )

    async def main(net: Net) -> None:
        server = await net.serve(script)
        assert await net.get(server) == (200, TEXT)
        assert await net.get(server) == (200, TEXT)
        assert server.used == [1, 1]

    run(main)


def test_an_empty_compressed_response_is_empty(run: Run) -> None:
    async def main(net: Net) -> None:
        server = await net.serve(
            gives(
                response_with_length(b"", "content-encoding: gzip"),
                response_with_length(b"", "content-encoding: identity"),
            )
        )
        assert [await net.get(server), await net.get(server)] == [(200, b""), (200, b"")]

    run(main)


UNPACKED = {
    "cut": CODED["gzip"][:-1],
    "cut in its head": CODED["gzip"][:5],
    "cut and of the other kind": CODED["deflate"][:-1],
    "no such thing": b"hello",
    "damaged": CODED["gzip"][:100] + b"\0\0\0\0" + CODED["gzip"][104:],
    "of another sum": CODED["gzip"][:-8] + b"\0\0\0\0" + CODED["gzip"][-4:],
    "with more behind it": CODED["gzip"] + b"more",
}


@pytest.mark.parametrize("name", UNPACKED)
def test_a_truncated_compressed_response_is_an_error(name: str, run: Run) -> None:
    async def main(net: Net) -> None:
        server = await net.serve(
            gives(
                response_with_length(
                    UNPACKED[name],
                    f"content-encoding: {'deflate' if 'other kind' in name else 'gzip'}",
                )
            )
        )
        with pytest.raises(ProtocolError):
            await net.get(server)

    run(main)


def test_a_small_response_that_decompresses_to_a_large_one_is_read_in_pieces(run: Run) -> None:
    packer = zlib.compressobj(9, wbits=31)
    size = 20 * 1024 * 1024
    bomb = packer.compress(b"\0" * size) + packer.flush()

    async def main(net: Net) -> None:
        reply = await net.post(
            await net.serve(gives(response_with_length(bomb, "content-encoding: gzip")))
        )
        got = 0
        while data := await reply.read():
            assert len(data) <= BUFFER_LIMIT
            got += len(data)
        assert got == size
        reply.close()
        assert net.resting == 1

    run(main)


def test_a_decompression_bomb_is_not_buffered(run: Run) -> None:
    packer = zlib.compressobj(9, wbits=31)
    begin = packer.compress(b"\0") + packer.flush(zlib.Z_FULL_FLUSH)
    more = packer.compress(b"\0" * 8 * 1024 * 1024) + packer.flush(
        zlib.Z_FULL_FLUSH
    )  # good behind itself, any number of times
    sent = 0

    async def script(talk: Talk) -> None:
        nonlocal sent
        await talk.request()
        await talk.say(OK + b"content-encoding: gzip\r\n\r\n", begin)
        while True:
            await talk.say(more * 50)
            sent += len(more) * 50

    async def main(net: Net) -> None:
        reply = await net.post(await net.serve(script))
        for _ in range(100):
            assert 0 < len(await reply.read()) <= BUFFER_LIMIT
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        assert sent < 16 * 1024 * 1024  # what the sockets hold
        reply.close()

    run(main)


# --- what is sent ---

PLACES = {
    "http://h": ("h", 80, False, "/", "h", None),
    "http://H.Example:80/a": ("h.example", 80, False, "/a", "h.example", None),
    "https://h:443/a?b=c": ("h", 443, True, "/a?b=c", "h", None),
    "https://h:80/a%2Fb/%7e~'?q=%41+b#c": ("h", 80, True, "/a%2Fb/%7e~'?q=%41+b", "h:80", None),
    "http://[::1]:8080/x": ("::1", 8080, False, "/x", "[::1]:8080", None),
    "https://[2001:db8::1]/x": ("2001:db8::1", 443, True, "/x", "[2001:db8::1]", None),
    "http://[fe80::1%eth0]/x": ("fe80::1%eth0", 80, False, "/x", "[fe80::1]", None),
    "http://u:p@h/x": ("h", 80, False, "/x", "h", b"u:p"),
    "http://u%40v:p%3A%C3%A9@h/x@y": ("h", 80, False, "/x@y", "h", "u@v:p:é".encode()),
    "http://u@h/": ("h", 80, False, "/", "h", b"u:"),
    "http://@h/": ("h", 80, False, "/", "h", None),
    "https://bücher.example/x": (
        "xn--bcher-kva.example",
        443,
        True,
        "/x",
        "xn--bcher-kva.example",
        None,
    ),
    "http://h:0/": ("h", 0, False, "/", "h:0", None),
}


@pytest.mark.parametrize("url", PLACES)
def test_an_address_is_parsed_exactly(url: str) -> None:
    where = parse_url(url)
    assert (
        where.host,
        where.port,
        where.tls,
        where.path,
        where.host_header,
        where.login,
    ) == PLACES[url]


@pytest.mark.parametrize(
    "url",
    (
        "",
        "h",
        "//h",
        "ftp://h",
        "http://",
        "http:///x",
        "http://h:x/",
        "http://h:99999/",
        "http://h/a b",
        "http://h/\r\nx: y",
        "http://h/\0",
        "http://h\t/",
        "http://[::1/",
        "http://a..b/",
        f"http://{'a' * 64}.example/",
        "http://h/\x7f",
    ),
)
def test_an_invalid_address_is_rejected(url: str) -> None:
    with pytest.raises(ValueError):
        parse_url(url)


@pytest.mark.parametrize(
    "url",
    (
        "https://me:hunter2/x@h",
        "https://me:p@h:hunter2/",
        "https://me:hunter2@h\u2100st/",
        "https://me:hunter2[@h/",
        "me:hunter2@h",
    ),
)
def test_the_error_about_an_invalid_address_does_not_quote_it(url: str) -> None:
    for read_by in (
        parse_url,
        lambda url: Upstream()._prepare(
            find_endpoint(f"{KNOWN}#openai:m", {}, api_key="k"), False, url
        ),
    ):
        with pytest.raises(ValueError) as caught:
            read_by(url)
        traceback_text = "".join(traceback.format_exception(caught.value))
        assert (
            "hunter2" not in str(caught.value)
            and "could not be cast" not in traceback_text
            and "NFKC" not in traceback_text
        )


def test_neither_a_url_nor_a_route_shows_a_login_or_a_key() -> None:
    url = "https://me:hunter2@h.example:81/v1?key=sk-1"
    way = Upstream()._prepare(find_endpoint(f"{KNOWN}#openai:m", {}, api_key="sk-2"), False, url)
    for shown in (repr(parse_url(url)), repr(way), f"{way}"):
        assert "h.example:81" in shown
        assert not any(
            one in shown for one in ("hunter2", "sk-", "me:", b64encode(b"me:hunter2").decode())
        )


@pytest.mark.parametrize(
    "fields",
    (
        {"a": "b\r\nc: d"},
        {"a": "b\nc: d"},
        {"a": "b\rc"},
        {"a": "b\0"},
        {"a\r\nb": "c"},
        {"a\nb": "c"},
        {"a\0": "b"},
        {"a": "\ud800"},
        {"x": "y", "a": "b\n"},
        {"content-length": "1"},
        {"transfer-encoding": "chunked"},
        {"Content-Length": "1"},
        {"Transfer-Encoding": "chunked"},
    ),
)
def test_a_field_that_could_be_read_as_two_or_ends_the_request_is_refused(
    fields: dict[str, str],
) -> None:
    with pytest.raises(ValueError):
        request_head(parse_url("http://h/x"), fields, 1)


def test_the_head_of_a_request_has_no_duplicate_headers() -> None:
    where = parse_url("http://h:81/a%2Fb?c")
    assert (
        request_head(where, {}, 0)
        == b"POST /a%2Fb?c HTTP/1.1\r\nhost: h:81\r\ncontent-length: 0\r\n\r\n"
    )
    assert request_head(where, {"Host": "signed"}, 0).lower().count(b"host") == 1
    head = request_head(where, {"x": "ü€", "y": ""}, 12)
    assert (
        head
        == "POST /a%2Fb?c HTTP/1.1\r\nx: ü€\r\ny: \r\nhost: h:81\r\ncontent-length: 12\r\n\r\n".encode()
    )
    assert request_head(where, {"host": "signed"}, 0).count(b"host") == 1


def test_a_header_is_forwarded_with_the_same_bytes() -> None:
    values = "grün".encode(), "grün".encode("latin-1"), bytes(range(0x80, 0x100))
    head = request_head(
        parse_url("http://h/ü"),
        {f"x-{n}": one.decode("latin-1") for n, one in enumerate(values)} | {"y": "€"},
        0,
    )
    assert head.startswith("POST /ü HTTP/1.1\r\n".encode()) and "\r\ny: €\r\n".encode() in head
    assert all(b"\r\nx-%d: %b\r\n" % (n, one) in head for n, one in enumerate(values))
