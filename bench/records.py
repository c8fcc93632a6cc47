"""How many calls a ledger records, against one transaction for each write, in the same run on the
same disk.

A call is a claim, an empty tool and a finish with a result of a kilobyte: two durable writes. The
ledger is compared with plain `sqlite3` with the same settings (WAL, `synchronous=FULL`), in a
thread, each statement its own transaction: the simplest way for a tool server to keep its calls in a
table.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import tempfile
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import TypeAlias

from msgspec import Struct
from progress import report

from toolwire.execution.ledger.base import CallKey, Ledger, Outcome
from toolwire.execution.ledger.sqlite.ledger import SqliteLedger

CALLERS = (1, 32, 128)
LIMIT = 4.0
"""The minimum rate at 32 callers, in multiples of that with one transaction per write."""
CALLERS_WITH_LIMIT = 32
"""Callers at which the limit holds."""
CALLS = {1: 200, 32: 2400, 128: 3200}
PLAIN = {1: 200, 32: 400, 128: 400}
RESULT = Outcome({"text": "x" * 1000})
Call: TypeAlias = Callable[[str], Awaitable[object]]


class Row(Struct, frozen=True):
    """A measurement: calls per second of the ledger and of the plain table, the median of their
    ratios, and CPU time."""

    ledger: str
    callers: int
    calls: float
    plain: float
    ratio: float
    micros: float
    """Microseconds of CPU time of the whole process per call with the ledger."""


def rows(rounds: int = 5) -> list[Row]:
    """Measure SQLite with 1, 32 and 128 callers."""
    with tempfile.TemporaryDirectory(prefix="toolwire-bench-") as folder:
        return asyncio.run(_measure(Path(folder), rounds))


async def _measure(folder: Path, rounds: int) -> list[Row]:
    ledger = SqliteLedger(folder / "ledger.db")
    await ledger.open()
    call = through(ledger)
    try:
        with Plain(folder / "plain.db") as plain:
            return [
                await compare("SQLite", callers, call, plain.call, rounds) for callers in CALLERS
            ]
    finally:
        await ledger.close()


def through(ledger: Ledger) -> Call:
    """Return a function that records one call in a ledger."""

    async def call(id: str) -> object:
        key = CallKey("bench", id)
        claim = await ledger.claim(
            key, b"f" * 32, tool="Bench.Nothing@1.0.0", on_crash="report", token=os.urandom(16)
        )
        assert claim.state == "new"
        return await ledger.finish(claim, RESULT)

    return call


async def compare(name: str, callers: int, call: Call, plain: Call, rounds: int) -> Row:
    """Measure two kinds of calls alternately, so that a noisy machine affects both."""
    report(f"{name}, {callers} callers")
    ratios, fast, slow, cpu = [], [], [], []
    for _ in range(rounds):
        before, _ = await _rate(plain, callers, PLAIN[callers])
        rate, micros = await _rate(call, callers, CALLS[callers])
        after, _ = await _rate(plain, callers, PLAIN[callers])
        fast.append(rate)
        slow.append((before + after) / 2)
        cpu.append(micros)
        ratios.append(rate / slow[-1])
    return Row(name, callers, median(fast), median(slow), median(ratios), median(cpu))


async def _rate(call: Call, callers: int, calls: int) -> tuple[float, float]:
    """The calls per second of concurrent callers, and µs of CPU time per call."""

    async def caller(n: int) -> None:
        for _ in range(n):
            await call(os.urandom(12).hex())

    start, cpu = perf_counter(), process_time()
    await asyncio.gather(*(caller(calls // callers) for _ in range(callers)))
    done = calls // callers * callers
    return done / (perf_counter() - start), (process_time() - cpu) / done * 1e6


class Plain:
    """A table of calls with one transaction per write, in a separate thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1)

    def __enter__(self) -> Plain:
        self._db = self._thread.submit(self._open).result()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.submit(self._db.close).result()
        self._thread.shutdown()

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, isolation_level=None)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        db.execute("CREATE TABLE call(id TEXT PRIMARY KEY, fp BLOB, state TEXT, result BLOB)")
        return db

    async def call(self, id: str) -> None:
        run = asyncio.get_running_loop().run_in_executor
        await run(
            self._thread,
            self._db.execute,
            "INSERT INTO call VALUES(?, ?, 'running', NULL)",
            (id, b"f" * 32),
        )
        result = b'{"text":"' + b"x" * 1000 + b'"}'
        await run(
            self._thread,
            self._db.execute,
            "UPDATE call SET state='done', result=? WHERE id=?",
            (result, id),
        )


if __name__ == "__main__":
    for row in rows():
        print(row)
