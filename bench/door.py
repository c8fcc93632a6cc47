"""How many requests pass the gateway from a chat client to an Anthropic model, against a bare pass-through in the same run.

Both stand on the same stack, in front of the same server, under the same client, and take turns.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from door_load import Order, Rate
from msgspec import Struct
from msgspec.json import decode, encode

HERE = Path(__file__).parent
CONNECTIONS = 16
LIMIT = 0.75
"""Of the pass-through's requests in a second."""
ADDED_MS = 1.0
REQUESTS = {False: 3200, True: 800}


class Row(Struct, frozen=True):
    """Requests in a second through both, the median of their ratios, and the medians of milliseconds of an answer."""

    what: str
    gateway: float
    bare: float
    ratio: float
    gateway_ms: float
    bare_ms: float
    gateway_cpu: float
    """Microseconds of CPU time for a request."""
    bare_cpu: float


def rows(rounds: int = 9) -> list[Row]:
    """Whole answers, and streams."""
    with ExitStack() as stack:
        base = stack.enter_context(_server("upstream")).url
        servers = {name: stack.enter_context(_server(name, base)) for name in ("gateway", "bare")}
        load = stack.enter_context(_process("door_load.py"))
        return [_row(load, servers, stream, rounds) for stream in (False, True)]


class Server(Struct):
    """A server under load."""

    url: str
    pid: int

    @property
    def port(self) -> int:
        """Where it listens."""
        return urlsplit(self.url).port or 0

    def cpu(self) -> float:
        """Seconds of CPU time it has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100


def _row(load: subprocess.Popen[str], servers: dict[str, Server], stream: bool, rounds: int) -> Row:
    found: dict[str, list[Rate]] = {name: [] for name in servers}
    cpu = dict.fromkeys(servers, 0.0)
    many = REQUESTS[stream]
    for one in servers.values():
        _asked(load, Order(one.port, CONNECTIONS, many // 4, stream))
    for n in range(rounds):
        for name in sorted(servers, reverse=n % 2 == 1):
            before = servers[name].cpu()
            found[name].append(_asked(load, Order(servers[name].port, CONNECTIONS, many, stream)))
            cpu[name] += servers[name].cpu() - before
    ours, bare = found["gateway"], found["bare"]
    return Row(
        "streams of 50 events" if stream else "whole answers",
        median(one.rate for one in ours),
        median(one.rate for one in bare),
        median(a.rate / b.rate for a, b in zip(ours, bare, strict=True)),
        median(one.median_ms for one in ours),
        median(one.median_ms for one in bare),
        cpu["gateway"] / rounds / many * 1e6,
        cpu["bare"] / rounds / many * 1e6,
    )


def _asked(load: subprocess.Popen[str], order: Order) -> Rate:
    assert load.stdin is not None and load.stdout is not None
    load.stdin.write(encode(order).decode() + "\n")
    load.stdin.flush()
    return decode(load.stdout.readline(), type=Rate)


@contextmanager
def _server(name: str, *arguments: str) -> Iterator[Server]:
    with _process("door_servers.py", name, *arguments) as process:
        assert process.stdout is not None
        yield Server(process.stdout.readline().strip(), process.pid)


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
