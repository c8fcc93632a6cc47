"""How many calls of a trivial tool a server answers over HTTP, against two that record nothing, in the same run.

Ours speaks OXP and records every call in SQLite, durably, before and after it runs. The others are a bare MCP server of the
official SDK and a FastAPI route. Server, client and rounds are the same for all three, and they take turns.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.json import decode, encode
from tool_load import Order, Rate

HERE = Path(__file__).parent
CONNECTIONS = (1, 32, 128)
JUDGED = 32
"""Connections at which it has to be faster than the others."""
LIMIT = 1.0
REQUESTS = {1: 300, 32: 1600, 128: 1920}
OTHERS = ("mcp", "fastapi")
OURS = "toolwire"


class Row(Struct, frozen=True):
    """Requests in a second, and how many times those of each other (the median of all rounds)."""

    connections: int
    rates: dict[str, float]
    ratios: dict[str, float]
    cpu: dict[str, float]
    """Microseconds of the server's CPU time for a request."""
    median_ms: float
    p99_ms: float


def rows(rounds: int = 9) -> list[Row]:
    """At 1, 32 and 128 connections."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="toolwire-bench-"))
        servers = {name: stack.enter_context(_server(name, folder)) for name in (OURS, *OTHERS)}
        load = stack.enter_context(_process("tool_load.py"))
        for name in servers:
            _asked(load, servers, name, 8, 800)
        return [_row(load, servers, connections, rounds) for connections in CONNECTIONS]


class Server(Struct):
    """A server under load."""

    pid: int
    port: int

    def cpu(self) -> float:
        """Seconds of CPU time it has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100


def _row(load: subprocess.Popen[str], servers: dict[str, Server], connections: int, rounds: int) -> Row:
    found: dict[str, list[Rate]] = {name: [] for name in servers}
    cpu = dict.fromkeys(servers, 0.0)
    requests = REQUESTS[connections]
    for n in range(rounds):
        for name in sorted(servers, reverse=n % 2 == 1):
            before = servers[name].cpu()
            found[name].append(_asked(load, servers, name, connections, requests))
            cpu[name] += servers[name].cpu() - before
    ours = [one.rate for one in found[OURS]]
    return Row(
        connections,
        {name: median(one.rate for one in rates) for name, rates in found.items()},
        {name: median(a / b.rate for a, b in zip(ours, found[name], strict=True)) for name in OTHERS},
        {name: seconds / rounds / requests * 1e6 for name, seconds in cpu.items()},
        median(one.median_ms for one in found[OURS]),
        median(one.p99_ms for one in found[OURS]),
    )


def _asked(load: subprocess.Popen[str], servers: dict[str, Server], name: str, connections: int, requests: int) -> Rate:
    assert load.stdin is not None and load.stdout is not None
    load.stdin.write(encode(Order(name, servers[name].port, connections, requests)).decode() + "\n")
    load.stdin.flush()
    return decode(load.stdout.readline(), type=Rate)


@contextmanager
def _server(name: str, folder: str) -> Iterator[Server]:
    with _process("tool_servers.py", name, str(Path(folder) / "calls.db")) as process:
        assert process.stdout is not None
        port = urlsplit(process.stdout.readline().strip()).port
        assert port is not None
        yield Server(process.pid, port)


@contextmanager
def _process(script: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(HERE / script), *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


if __name__ == "__main__":
    for row in rows(int(sys.argv[1]) if len(sys.argv) > 1 else 9):
        print(row)
