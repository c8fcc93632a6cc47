"""A SQLite ledger for tests, and jobs that inspect or delay it."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

from ledger_kinds import DAY, LedgerClock

from toolwire.execution.ledger.base import CallKey, Claim, Outcome
from toolwire.execution.ledger.sqlite.ledger import SqliteLedger
from toolwire.execution.ledger.sqlite.store import SqliteStore
from toolwire.execution.ledger.store_thread import Job

KEY = CallKey("alice", "call-1")
FP = b"f" * 32
VALUE = Outcome({"rang": True})


async def claim(
    ledger: SqliteLedger, id: str = "call-1", *, by: bytes | None = None, fp: bytes = FP
) -> Claim:
    key = CallKey("alice", id)
    return await ledger.claim(
        key, fp, tool="Doorbell.Ring@1.0.0", on_crash="report", token=by or os.urandom(16)
    )


def with_ledger(
    work: Callable[[SqliteLedger], Awaitable[None]],
    path: Path | str = ":memory:",
    *,
    sweep_interval: float = DAY,
    timeout: float = 60,
) -> None:
    """Run a test with a new ledger."""

    async def all_of_it() -> None:
        ledger = SqliteLedger(path, sweep_interval=sweep_interval, clock=LedgerClock())
        await ledger.open()
        try:
            await asyncio.wait_for(work(ledger), timeout)
        finally:
            await ledger.close()

    asyncio.run(all_of_it())


class Ask(Job[SqliteStore, list[object]]):
    """Run SQL in the thread of the ledger and return its values."""

    def __init__(self, *statements: str) -> None:
        super().__init__()
        self.statements = statements

    def run(self, store: SqliteStore) -> list[object]:
        return [value for sql in self.statements for row in store.db.execute(sql) for value in row]


class Look(Job[SqliteStore, SqliteStore]):
    """Return the store itself, for tests that count."""

    def run(self, store: SqliteStore) -> SqliteStore:
        return store


class Hold(Job[SqliteStore, None]):
    """Keep the writer busy until the gate is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()
        self.gate = threading.Event()

    def run(self, store: SqliteStore) -> None:
        self.begun.set()
        self.gate.wait(30)


def ahead(ledger: SqliteLedger, seconds: float) -> None:
    assert isinstance(ledger._clock, LedgerClock)
    ledger._clock.ahead += int(seconds * 1000)
