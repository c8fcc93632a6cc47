"""The ledgers that the contract tests and the fault tests run on. A new one is a class here and a
row in KINDS.

A place is a separate folder for each test: two ledgers at one place share their records.
"""

from __future__ import annotations

import time
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import ClassVar, Protocol

import postgres
from msgspec.structs import replace
from psycopg import AsyncConnection

from toolwire.execution.ledger.base import Ledger
from toolwire.execution.ledger.postgres.ledger import PostgresLedger
from toolwire.execution.ledger.sqlite.ledger import SqliteLedger
from toolwire.execution.ledger.trusted_clock import read_time, write_time
from toolwire.execution.ledger.uuid7_expiry import TOLERANCE

DAY = 24 * 3600.0


class Kind(Protocol):
    """A kind of ledger, and the operations that tests apply to it from outside."""

    name: ClassVar[str]

    def make(
        self,
        place: Path,
        *,
        result_ttl: float = DAY,
        tombstone_ttl: float = 30 * DAY,
        key: bytes | None = None,
    ) -> Ledger:
        """A ledger at this place, not yet open."""

    async def die(self, ledger: Ledger) -> None:
        """Let the owner disappear as if killed: calls in progress stay `running`, and the next
        ledger at this place finds the owner dead at once."""

    async def later(self, ledger: Ledger, seconds: float) -> None:
        """Let time pass, as far as this ledger is concerned."""

    async def jump(self, ledger: Ledger, seconds: float) -> None:
        """Set the clock to another time, without time passing."""


class LedgerClock:
    """The clock of a ledger, which a test can set."""

    def __init__(self) -> None:
        self.ahead = 0
        self.passed = 0.0

    def __call__(self) -> int:
        return time.time_ns() // 1_000_000 + self.ahead

    def timer(self) -> float:
        """Seconds that pass; they do not jump with the clock."""
        return time.monotonic() + self.passed


class Sqlite:
    """SQLite: an owner is dead once it has closed its file, so closing the file during a call is
    equivalent to dying."""

    name: ClassVar[str] = "sqlite"

    def __init__(self) -> None:
        self._clocks: dict[Path, LedgerClock] = {}

    def make(
        self,
        place: Path,
        *,
        result_ttl: float = DAY,
        tombstone_ttl: float = 30 * DAY,
        key: bytes | None = None,
    ) -> Ledger:
        clock = self._clocks.setdefault(place, LedgerClock())
        return SqliteLedger(
            place / "ledger.db",
            result_ttl=result_ttl,
            tombstone_ttl=tombstone_ttl,
            key=key,
            sweep_interval=DAY,
            clock=clock,
            timer=clock.timer,
        )

    async def die(self, ledger: Ledger) -> None:
        await ledger.close()

    async def later(self, ledger: Ledger, seconds: float) -> None:
        assert isinstance(ledger, SqliteLedger)
        clock = ledger._clock
        assert isinstance(clock, LedgerClock)
        clock.ahead += int(seconds * 1000)
        clock.passed += seconds

    async def jump(self, ledger: Ledger, seconds: float) -> None:
        assert isinstance(ledger, SqliteLedger) and isinstance(ledger._clock, LedgerClock)
        ledger._clock.ahead += int(seconds * 1000)


class Postgres:
    """PostgreSQL: a place is a schema. Its clock is the server's, so a test moves the rows back
    instead."""

    name: ClassVar[str] = "postgres"

    def make(
        self,
        place: Path,
        *,
        result_ttl: float = DAY,
        tombstone_ttl: float = 30 * DAY,
        key: bytes | None = None,
    ) -> Ledger:
        schema = f"t{sha256(str(place).encode()).hexdigest()[:16]}"
        return PostgresLedger(
            postgres.dsn(),
            schema=schema,
            result_ttl=result_ttl,
            tombstone_ttl=tombstone_ttl,
            key=key,
            sweep_interval=DAY,
        )

    async def die(self, ledger: Ledger) -> None:
        await ledger.close()

    async def later(self, ledger: Ledger, seconds: float) -> None:
        assert isinstance(ledger, PostgresLedger)
        terms = ledger._options
        terms.horizon -= int(seconds * 1000)
        terms.params |= {"horizon": terms.horizon, "tolerance": TOLERANCE + int(seconds * 1000)}
        times = ", ".join(
            f"{name} = {name} - %s" for name in ("started_at", "ended_at", "expires_at")
        )
        back = f"UPDATE {ledger._sql.schema}.tw_call SET {times}"
        async with await AsyncConnection.connect(postgres.dsn()) as connection:
            await connection.execute(back.encode(), [timedelta(seconds=seconds)] * 3)

    async def jump(self, ledger: Ledger, seconds: float) -> None:
        assert isinstance(ledger, PostgresLedger)
        await self.later(ledger, seconds)
        meta = f"{ledger._sql.schema}.tw_meta"
        async with await AsyncConnection.connect(postgres.dsn()) as connection:
            read = await connection.execute(f"SELECT value FROM {meta} WHERE name='clock'".encode())
            for (value,) in await read.fetchall():
                trusted = read_time(value)
                moved = replace(trusted, time=trusted.time - int(seconds * 1000))
                write = f"UPDATE {meta} SET value = %s WHERE name='clock'"
                await connection.execute(write.encode(), [write_time(moved)])


KINDS: list[Kind] = [Sqlite(), Postgres()]
