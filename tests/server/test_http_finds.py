"""Bytes that once broke a server. See `scripts/fuzz_http.py`."""

from __future__ import annotations

import socket
from pathlib import Path

from http_probe import PATIENCE, probing
from rows import rows

FINDS = sorted((Path(__file__).parents[1] / "finds" / "http").glob("*.bin"))


@rows("file", FINDS, ids=lambda file: file.stem)
def test_bytes_that_the_fuzzer_found_break_no_server(file: Path) -> None:
    name = file.stem.rpartition("-")[0]
    with probing(name) as probe:
        assert probe.problem(file.read_bytes()) is None
        assert probe.is_healthy()


def test_there_are_bytes_to_replay() -> None:
    assert FINDS


def test_an_upgrade_that_is_no_handshake_is_refused_and_the_server_stops_in_order() -> None:
    with (
        probing("gateway") as probe,
        socket.create_connection(probe.server.address, timeout=PATIENCE) as connection,
    ):
        head = b"POST /v1/responses HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\n"
        connection.sendall(head + b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
        assert answer.startswith(b"HTTP/1.1 400 ") and answer.endswith(b'request"}')
