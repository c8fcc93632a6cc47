"""Requests that are too large, too slow, too many or truncated: the server refuses them or closes
the connection, serves others, and runs nothing."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from oxp_server.serving import LONG, RunningServer, executor_in, head, running
from oxp_server.toolkit import RUNS, tools

from toolwire.conversation.json import Object
from toolwire.server.asgi import BodyLimits
from toolwire.server.run import ConnectionLimits
from toolwire.tool_server import ToolServer

ADD = b'{"tool_id": "Calculator.Add@1.0.0", "input": {"a": 1, "b": 2}}'
JSON_TYPE = {"Content-Type": "application/json"}
MB = 1_000_000


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with short timeouts and small limits."""
    app = ToolServer(
        tools(),
        executor=executor_in(tmp_path_factory.mktemp("ledger")),
        limits=BodyLimits(seconds=0.4, body=MB),
    )
    with running(app, ConnectionLimits(seconds=1.0)) as where:
        yield where


def answers(server: RunningServer) -> bool:
    return server.ask("POST", "/tools/call", ADD, JSON_TYPE).json["value"] == 3


def rest(connection: socket.socket) -> bytes:
    """All bytes until the server closes the connection."""
    found = b""
    try:
        while piece := connection.recv(65536):
            found += piece
    except ConnectionResetError:
        pass
    return found


# --- paths and methods ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/tool",
        "/tools/call/x",
        "/execute",
        "/tools//call",
        "/TOOLS",
        "/%2e%2e/tools",
        "/health/x",
    ],
)
def test_an_unknown_path_is_404(server: RunningServer, path: str) -> None:
    assert server.ask("GET", path).status == 404
    assert server.ask("POST", path, ADD, JSON_TYPE).status == 404


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "/health", "GET, HEAD"),
        ("DELETE", "/tools", "GET, HEAD"),
        ("GET", "/tools/call", "POST"),
        ("PUT", "/tools/call/", "POST"),
        ("GET", "/call", "POST"),
        ("POST", "/metrics", "GET, HEAD"),
    ],
)
def test_a_wrong_method_is_405_and_names_the_right_one(
    server: RunningServer, method: str, path: str, allowed: str
) -> None:
    got = server.ask(method, path, b"{}", JSON_TYPE)
    assert (got.status, got.headers["allow"]) == (405, allowed)


def test_head_is_get_without_its_body(server: RunningServer) -> None:
    for path in ("/health", "/tools"):
        asked, got = server.ask("HEAD", path), server.ask("GET", path)
        assert (asked.status, asked.body) == (200, b"")
        assert asked.headers["content-length"] == got.headers["content-length"]


@pytest.mark.parametrize(
    "name",
    [
        "evil.example",
        "evil.example:80",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "[::2]",
        "",
    ],
)
def test_a_page_that_points_its_own_name_here_is_refused(server: RunningServer, name: str) -> None:
    before = RUNS.total()
    assert server.ask("POST", "/tools/call", ADD, {**JSON_TYPE, "Host": name}).status == 421
    assert RUNS.total() == before


@pytest.mark.parametrize(
    "name", ["localhost", "LOCALHOST:1", "127.0.0.1:9", "[::1]:80", "localhost."]
)
def test_a_local_name_is_accepted(server: RunningServer, name: str) -> None:
    assert server.ask("GET", "/health", headers={"Host": name}).status == 200


def test_further_names_can_be_allowed(tmp_path: Path) -> None:
    with running(
        ToolServer(tools(), executor=executor_in(tmp_path), allowed_hosts=["tools.example"])
    ) as server:
        assert server.ask("GET", "/health", headers={"Host": "tools.example"}).status == 200
        assert server.ask("GET", "/health", headers={"Host": "evil.example"}).status == 421


def test_the_tool_list_has_an_etag_and_is_not_sent_to_a_client_that_has_it(
    server: RunningServer,
) -> None:
    tag = server.ask("GET", "/tools").headers["etag"]
    for given in (tag, f'"other", {tag}', f"W/{tag}", "*"):
        got = server.ask("GET", "/tools", headers={"If-None-Match": given})
        assert (got.status, got.body, got.headers["etag"], got.headers["oxp-version"]) == (
            304,
            b"",
            tag,
            "1.0",
        )
    assert server.ask("GET", "/tools", headers={"If-None-Match": '"other"'}).status == 200


# --- too large ------------------------------------------------------------------------------------


def test_a_body_of_20_megabytes_is_413_and_nothing_runs(server: RunningServer) -> None:
    before = RUNS.total()
    body = b'{"tool_id": "Slow.Run", "input": {"seconds": 0, "label": "%b"}}' % (b"x" * 20 * MB)
    assert server.ask("POST", "/tools/call", body, JSON_TYPE).status == 413
    assert RUNS.total() == before
    assert answers(server)


def test_a_body_without_a_length_is_cut_off_at_the_same_size(server: RunningServer) -> None:
    connection = http.client.HTTPConnection(*server.address, timeout=LONG)
    pieces = (b"x" * 65536 for _ in range(320))
    connection.request("POST", "/tools/call", pieces, JSON_TYPE, encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()
    assert answers(server)


def test_a_body_just_below_the_limit_is_read(strict: RunningServer) -> None:
    label = "x" * (MB - 100)
    body = json.dumps({"tool_id": "Slow.Run", "input": {"seconds": 0, "label": label}}).encode()
    assert len(body) < MB
    assert strict.ask("POST", "/tools/call", body, JSON_TYPE).json["value"] == label


@pytest.mark.parametrize("depth", [401, 900, 100_000])
@pytest.mark.parametrize("pair", [b"[]", b"{}"], ids=["lists", "objects"])
def test_json_that_is_nested_without_end_is_400(
    server: RunningServer, depth: int, pair: bytes
) -> None:
    opening, closing = (b"[", b"]") if pair == b"[]" else (b'{"a":', b"}")
    nested = opening * depth + b"1" + closing * depth
    got = server.ask(
        "POST",
        "/tools/call",
        b'{"tool_id": "System.GetTimestamp", "input": {"a": %b}}' % nested,
        JSON_TYPE,
    )
    assert got.status == 400


def test_json_that_is_merely_deep_is_read(server: RunningServer) -> None:
    nested = b"[" * 300 + b"]" * 300
    got = server.ask(
        "POST",
        "/tools/call",
        b'{"tool_id": "System.GetTimestamp", "input": {"a": %b}}' % nested,
        JSON_TYPE,
    )
    assert got.status == 422  # it knows no such argument


def test_a_head_without_end_is_cut_off(server: RunningServer) -> None:
    with server.connect() as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n")
        try:
            for n in range(200):
                connection.sendall(b"x-%d: %b\r\n" % (n, b"x" * 8000))
        except (BrokenPipeError, ConnectionResetError):
            pass
        found = rest(connection)
    assert (
        found.startswith(b"HTTP/1.1 431 ") or found == b""
    )  # the answer may be lost with what was still on its way
    assert answers(server)


def test_bytes_that_are_not_http_are_400(strict: RunningServer) -> None:
    with strict.connect() as connection:
        connection.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        assert rest(connection).startswith(b"HTTP/1.1 400 ")


# --- too slow, cut off ----------------------------------------------------------------------------


def test_an_incomplete_body_times_out_and_nothing_runs(strict: RunningServer) -> None:
    before = RUNS.total()
    with strict.connect() as connection:
        connection.sendall(head("POST", "/tools/call", len(ADD)) + ADD[:-5])
        assert answers(strict)
        assert rest(connection).startswith(b"HTTP/1.1 408 ")
    assert RUNS.total() == before + 1  # only the one that was asked for meanwhile


@pytest.mark.parametrize(
    "sent",
    [b"", b"G", b"POST /tools/call HTTP/1.1\r\nHost: localhost\r\n"],
    ids=["nothing", "a letter", "half a head"],
)
def test_an_incomplete_head_times_out(strict: RunningServer, sent: bytes) -> None:
    begun = time.monotonic()
    with strict.connect() as connection:
        connection.sendall(sent)
        assert rest(connection) == b""
    assert time.monotonic() - begun < 30


def test_a_request_that_arrives_byte_by_byte_times_out(strict: RunningServer) -> None:
    before = RUNS.total()
    request = head("POST", "/tools/call", len(ADD)) + ADD
    with strict.connect() as connection:
        try:
            for n in range(len(request)):
                connection.sendall(request[n : n + 1])
                time.sleep(0.02)
        except (BrokenPipeError, ConnectionResetError):
            pass
        rest(connection)
    assert RUNS.total() == before
    assert answers(strict)


@pytest.mark.parametrize("cut", [1, 30, -1, -20])
def test_a_request_that_is_cut_off_runs_nothing(server: RunningServer, cut: int) -> None:
    before = RUNS.total()
    with server.connect() as connection:
        connection.sendall((head("POST", "/tools/call", len(ADD)) + ADD)[:cut])
    assert answers(server)
    assert RUNS.total() == before + 1


def test_several_requests_at_once_on_one_connection_are_answered_in_order(
    server: RunningServer,
) -> None:
    one = head("POST", "/tools/call", len(ADD)) + ADD
    bad = head("POST", "/tools/call", 2) + b"[]"
    with server.connect() as connection:
        connection.sendall(
            one
            + bad
            + one
            + b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        found = rest(connection)
    assert [part[:3] for part in found.split(b"HTTP/1.1 ")[1:]] == [b"200", b"400", b"200", b"200"]


def test_expect_100_continue_is_answered_or_rejected(server: RunningServer) -> None:
    for length, status_line in ((len(ADD), b"HTTP/1.1 100 "), (20 * MB, b"HTTP/1.1 413 ")):
        with server.connect() as connection:
            asks = head("POST", "/tools/call", length).replace(
                b"\r\n\r\n", b"\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"
            )
            connection.sendall(asks)
            assert connection.recv(65536).startswith(status_line)
            if length == len(ADD):
                connection.sendall(ADD)
                assert rest(connection).startswith(b"HTTP/1.1 200 ")


# --- too many -------------------------------------------------------------------------------------


def test_a_thousand_open_connections_do_not_block_the_server(server: RunningServer) -> None:
    with ExitStack() as held:
        for n in range(1000):
            connection = held.enter_context(server.connect())
            if n % 2:
                connection.sendall(
                    b"POST /tools/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
                )
        for _ in range(20):
            assert answers(server)
    assert answers(server)


def test_connections_beyond_the_limit_are_rejected(tmp_path: Path) -> None:
    with running(
        ToolServer(tools(), executor=executor_in(tmp_path)), ConnectionLimits(connections=5)
    ) as server:
        with ExitStack() as held:
            for _ in range(5):
                held.enter_context(server.connect()).sendall(b"GET /health HTTP/1.1\r\n")
            with server.connect() as connection:
                assert rest(connection).startswith(b"HTTP/1.1 503 ")
        until = time.monotonic() + LONG
        while time.monotonic() < until:  # those that are gone make room
            try:
                assert answers(server)
                break
            except (AssertionError, KeyError, ConnectionError):
                time.sleep(0.05)


def test_calls_above_the_limit_are_asked_to_retry(tmp_path: Path) -> None:
    slow: Object = {"tool_id": "Slow.Run", "input": {"seconds": 5.0, "label": "full"}}
    app = ToolServer(tools(), executor=executor_in(tmp_path), limits=BodyLimits(calls=1))
    with running(app) as server, server.connect() as connection:
        text = json.dumps(slow).encode()
        connection.sendall(head("POST", "/tools/call", len(text)) + text)
        until = time.monotonic() + LONG
        while not app.running and time.monotonic() < until:
            time.sleep(0.01)
        got = server.call({"tool_id": "Calculator.Add", "input": {"a": 1, "b": 2}})
    assert got.status == 400
    assert (
        got.headers["x-should-retry"],
        got.headers["retry-after"],
        got.headers["retry-after-ms"],
    ) == ("true", "1", "1000")


def test_bodies_that_arrive_at_once_are_bounded_together(tmp_path: Path) -> None:
    app = ToolServer(tools(), executor=executor_in(tmp_path), limits=BodyLimits(buffered=200_000))
    part = b"x" * 90_000
    with running(app) as server, ExitStack() as held:
        for _ in range(2):
            held.enter_context(server.connect()).sendall(head("POST", "/tools/call", MB) + part)
        until = time.monotonic() + LONG
        while app._oxp._reader.buffered < 2 * len(part) and time.monotonic() < until:
            time.sleep(0.01)
        with server.connect() as connection:
            connection.sendall(head("POST", "/tools/call", MB) + part)
            assert connection.recv(65536).startswith(b"HTTP/1.1 400 ")
        assert answers(server)  # what comes whole is not waited for
