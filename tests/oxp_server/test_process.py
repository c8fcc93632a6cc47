"""A server in its own process: where it may listen, how it stops, and its memory."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from oxp_server.serving import LONG, RunningServer, executor_in, head
from oxp_server.toolkit import tools

from toolwire.conversation.json import Object
from toolwire.errors import ConfigError
from toolwire.server.auth import Auth
from toolwire.server.run import ConnectionLimits, check_bind, serve
from toolwire.tool_server import ToolServer

MAIN = Path(__file__).with_name("main.py")
JSON_TYPE = {"Content-Type": "application/json"}


@contextmanager
def process(
    folder: Path, notice: float = 0.0
) -> Iterator[tuple[subprocess.Popen[str], RunningServer]]:
    """Start a server as a program; yields the process and the address that it prints."""
    command = [sys.executable, str(MAIN), str(folder), str(notice)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as started:
        try:
            assert started.stdout is not None
            line = started.stdout.readline()
            assert line.startswith("listening on http://127.0.0.1:"), line
            yield started, RunningServer(line.removeprefix("listening on ").strip(), None)  # type: ignore[arg-type]
        finally:
            started.kill()


def wait_for(server: RunningServer, status: int) -> None:
    until = time.monotonic() + LONG
    while server.ask("GET", "/health").status != status:
        assert time.monotonic() < until
        time.sleep(0.02)


# --- how it stops ---------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_call_in_progress_ends_before_the_server_stops(
    tmp_path: Path, number: signal.Signals
) -> None:
    call_id = str(uuid4())
    body: Object = {
        "tool_id": "Slow.Run",
        "call_id": call_id,
        "input": {"seconds": 1.5, "label": "last"},
    }
    with process(tmp_path) as (started, server), ThreadPoolExecutor(1) as pool:
        under_way = pool.submit(server.call, body)
        while b"toolwire_calls_in_flight 1" not in server.ask("GET", "/metrics").body:
            time.sleep(0.02)
        started.send_signal(number)
        got = under_way.result(LONG)
        assert (got.status, got.json["value"]) == (200, "last")
        assert started.wait(LONG) == 0
        with pytest.raises(OSError):
            server.connect()
    with process(tmp_path) as (_, server):  # and it is on record
        again = server.call(body)
        assert again.body == got.body
        assert again.headers["idempotent-replayed"] == "true"


def test_a_stopping_server_reports_it_on_health_and_still_accepts_calls(tmp_path: Path) -> None:
    with process(tmp_path, notice=2.0) as (started, server):
        wait_for(server, 200)
        started.send_signal(signal.SIGTERM)
        wait_for(server, 503)
        assert (
            server.call({"tool_id": "Calculator.Add", "input": {"a": 1, "b": 2}}).json["value"] == 3
        )
        assert started.wait(LONG) == 0


def test_connections_that_do_nothing_do_not_hold_up_the_end(tmp_path: Path) -> None:
    with process(tmp_path) as (started, server), ExitStack() as held:
        for _ in range(20):
            held.enter_context(server.connect()).sendall(b"GET /health HTTP/1.1\r\n")
        wait_for(server, 200)
        begun = time.monotonic()
        started.send_signal(signal.SIGTERM)
        assert started.wait(LONG) == 0
        assert time.monotonic() - begun < 30


# --- memory ---------------------------------------------------------------------------------------


def rss(started: subprocess.Popen[str]) -> float:
    """Memory of a process, in megabytes."""
    for line in Path(f"/proc/{started.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1000
    raise AssertionError("no VmRSS")


def test_large_bodies_and_open_connections_do_not_fill_the_memory(tmp_path: Path) -> None:
    large = b'{"tool_id": "Slow.Run", "input": {"seconds": 0, "label": "%b"}}' % (b"x" * 20_000_000)
    bodies = {
        "too large": large,
        "deep": b"[" * 3_000_000,
        "many keys": b"{" + b",".join(b'"%d":{}' % n for n in range(200_000)) + b"}",
    }
    with process(tmp_path) as (started, server), ThreadPoolExecutor(4) as pool, ExitStack() as held:
        for _ in range(50):
            server.call({"tool_id": "Calculator.Add", "input": {"a": 1, "b": 2}})
        before = rss(started)
        for body in bodies.values():
            got = pool.map(
                lambda n, body=body: server.ask("POST", "/tools/call", body, JSON_TYPE).status,
                range(8),
            )
            assert set(got) <= {400, 413}
        for _ in range(300):
            held.enter_context(server.connect()).sendall(
                head("POST", "/tools/call", 1_000_000) + b"x" * 50_000
            )
        assert (
            server.call({"tool_id": "Calculator.Add", "input": {"a": 1, "b": 2}}).json["value"] == 3
        )
        assert rss(started) - before < 150  # what was sent is more than 200


# --- where it may listen --------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com", ""])
def test_a_server_without_authentication_listens_on_loopback_only(
    tmp_path: Path, host: str
) -> None:
    with pytest.raises(ConfigError, match="does not authenticate"):
        serve(ToolServer(tools(), executor=executor_in(tmp_path)), host, 0)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.9.10"])
def test_loopback_needs_no_authentication(tmp_path: Path, host: str) -> None:
    check_bind(ToolServer(tools(), executor=executor_in(tmp_path)), host, allow_anyone=False)


def test_a_server_with_authentication_or_explicit_permission_listens_anywhere(
    tmp_path: Path,
) -> None:
    calls = executor_in(tmp_path)
    check_bind(
        ToolServer(tools(), executor=calls, auth=Auth(["a key for tests that is long enough too"])),
        "0.0.0.0",
        allow_anyone=False,
    )
    check_bind(ToolServer(tools(), executor=calls), "0.0.0.0", allow_anyone=True)


def test_an_address_in_use_raises_oserror(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError):
        serve(
            ToolServer(tools(), executor=executor_in(tmp_path)),
            "127.0.0.1",
            taken.getsockname()[1],
            limits=ConnectionLimits(grace=1),
        )


def test_a_ledger_that_cannot_be_opened_raises_in_serve(tmp_path: Path) -> None:
    """In a separate process, because the ledger may leave locks behind."""
    code = f"""
import sys; sys.path.insert(0, {str(MAIN.parents[1])!r})
from pathlib import Path
from oxp_server.toolkit import tools
from oxp_server.serving import executor_in
from toolwire.server.run import serve
from toolwire.tool_server import ToolServer
from toolwire.execution.ledger.base import LedgerUnavailable
folder = Path({str(tmp_path)!r}) / "calls.db"
folder.mkdir()
try:
    serve(ToolServer(tools(), executor=executor_in(folder.parent)), port=0)
except LedgerUnavailable as error:
    print("told", len(str(error)) > 0)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LONG, check=True
    )
    assert done.stdout == "told True\n"


def test_a_socket_file_is_private_and_a_stale_one_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "tools.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    code = (
        f"import sys; sys.path.insert(0, {str(MAIN.parents[1])!r})\nfrom pathlib import Path\nfrom"
        " oxp_server.toolkit import tools\nfrom oxp_server.serving import executor_in\nfrom"
        " toolwire.server.run import serve\nfrom toolwire.tool_server import"
        f" ToolServer\nserve(ToolServer(tools(), executor=executor_in(Path({str(tmp_path)!r}))),"
        f" uds=Path({str(path)!r}))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    ) as started:
        try:
            assert started.stdout is not None
            assert started.stdout.readline() == f"listening on unix:{path}\n"
            assert path.stat().st_mode & 0o777 == 0o600
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(LONG)
                connection.connect(str(path))
                connection.sendall(b"GET /health HTTP/1.1\r\nHost: anything\r\n\r\n")
                assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
            started.send_signal(signal.SIGTERM)
            assert started.wait(LONG) == 0
            assert not path.exists()
        finally:
            started.kill()
