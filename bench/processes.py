"""The processes of a benchmark: servers that print their address once they listen, and a client
that executes orders.

Each process ends with the block that started it. This module knows no protocol.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from load import Order, Rate
from msgspec import Struct
from msgspec.json import decode, encode

HERE = Path(__file__).parent
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Server(Struct):
    """A server under load."""

    url: str
    pid: int

    @property
    def port(self) -> int:
        """The port of the server."""
        return urlsplit(self.url).port or 0

    def cpu(self) -> float:
        """Seconds of CPU time that the threads of the server have used, with nanosecond precision."""
        threads = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9

    def megabytes(self) -> float:
        """The resident memory of the server."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * _PAGE / 1e6


class Turns(Struct):
    """The measurements of servers under the same load, round by round."""

    rates: dict[str, list[Rate]]
    cpu_rounds: dict[str, list[float]]
    """Microseconds of CPU time per request, by server, in each round."""

    @property
    def cpu(self) -> dict[str, float]:
        """The median microseconds of CPU time per request, by server."""
        return {name: median(rounds) for name, rounds in self.cpu_rounds.items()}

    def cpu_ratio(self, name: str, other: str) -> float:
        """The CPU time per request, in multiples of the other server's in the same round."""
        rounds = zip(self.cpu_rounds[name], self.cpu_rounds[other], strict=True)
        return median(a / b for a, b in rounds)

    def pieces(self, name: str) -> float:
        """The number of pieces in which a response arrived."""
        return median(rate.pieces for rate in self.rates[name])

    def rate(self, name: str) -> float:
        """Requests per second."""
        return median(rate.rate for rate in self.rates[name])

    def ratio(self, name: str, other: str) -> float:
        """Requests per second, in multiples of the other server's in the same round."""
        return median(
            a.rate / b.rate for a, b in zip(self.rates[name], self.rates[other], strict=True)
        )

    def median_ms(self, name: str) -> float:
        """The median latency of a response in milliseconds."""
        return median(rate.median_ms for rate in self.rates[name])

    def p99_ms(self, name: str) -> float:
        """The 99th percentile of the latency in milliseconds."""
        return median(rate.p99_ms for rate in self.rates[name])

    def extra_ms(self, name: str, other: str) -> float:
        """The latency beyond that of the other server in the same round, in milliseconds."""
        return median(
            a.median_ms - b.median_ms
            for a, b in zip(self.rates[name], self.rates[other], strict=True)
        )


class Client:
    """A process that sends requests: `load.py`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def send(self, order: Order) -> None:
        """Send an order."""
        assert self._process.stdin is not None
        self._process.stdin.write(encode(order).decode() + "\n")
        self._process.stdin.flush()

    def read_rate(self) -> Rate:
        """The outcome of the last order. Raises RuntimeError if a response was wrong."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the client has stopped; its error is above")
        return decode(line, type=Rate)

    def measure(self, order: Order) -> Rate:
        """Send an order and wait for its outcome."""
        self.send(order)
        return self.read_rate()


def in_turns(
    load: Client, servers: Mapping[str, Server], orders: Mapping[str, Order], rounds: int
) -> Turns:
    """Put the same load on one server after the other; each round reverses their order."""
    rates: dict[str, list[Rate]] = {name: [] for name in orders}
    cpu: dict[str, list[float]] = {name: [] for name in orders}
    for n in range(rounds):
        for name in sorted(orders, reverse=n % 2 == 1):
            before = servers[name].cpu()
            rates[name].append(load.measure(orders[name]))
            seconds = servers[name].cpu() - before
            cpu[name].append(seconds / orders[name].requests * 1e6)
    return Turns(rates, cpu)


@contextmanager
def client() -> Iterator[Client]:
    """Start a client."""
    with process([sys.executable, str(HERE / "load.py")]) as started:
        yield Client(started)


@contextmanager
def server(script: str, *arguments: str) -> Iterator[Server]:
    """Start a server of this folder, and wait until it listens."""
    with process([sys.executable, str(HERE / script), *arguments]) as started:
        assert started.stdout is not None
        url = started.stdout.readline().strip()
        if not url:
            raise RuntimeError(f"{script} {' '.join(arguments)} did not start")
        yield Server(url, started.pid)


@contextmanager
def process(
    command: Sequence[str], *, more: Mapping[str, str] | None = None, quiet: Path | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Start a process with the variables `more`; its log goes to the file `quiet`, if given."""
    pipe = subprocess.PIPE
    out = quiet.open("w") if quiet else None
    try:
        with subprocess.Popen(
            command,
            stdin=pipe,
            stdout=out or pipe,
            stderr=out,
            text=True,
            env={**os.environ, **(more or {})},
        ) as started:
            try:
                yield started
            finally:
                started.terminate()
    finally:
        if out:
            out.close()
