"""The lease of a replica, and the sweeping up after dead ones: one task, one connection, on the
database's clock.

A replica lives as long as it renews; whoever could not renew takes no new calls. Knows nothing of
single calls.
"""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import Callable
from contextlib import suppress

from toolwire.execution.ledger.base import Sweep
from toolwire.execution.ledger.postgres.batcher import LedgerOptions, Place
from toolwire.execution.ledger.postgres.binary import Texts, word
from toolwire.execution.ledger.postgres.connection import BROKEN, PgConnection
from toolwire.execution.ledger.postgres.sql import Statements

_AGAIN = 0.2
_ROUNDS = 1000
"""Steps of a sweep: the rest is for the next one."""


class LeaseHeartbeat:
    """Renews at a third of the lease, and sweeps once in a lease or every `sweep_every` seconds."""

    def __init__(
        self, link: PgConnection, sql: Statements, terms: LedgerOptions, *, sweep_every: float
    ) -> None:
        self._link = link
        self._sql = sql
        self._terms = terms
        self._sweep_every = sweep_every
        self._first = True
        self._lock = asyncio.Lock()
        self._poked = asyncio.Event()
        self._renewed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._ahead = 0.0
        self.back: Callable[[], None] = lambda: None
        """Told whenever the database answers."""
        self.good_until = 0.0
        """In the time of the event loop: never later than what the database holds."""

    async def start(self) -> None:
        await self._renew()
        self._task = asyncio.create_task(self._keep())

    async def stop(self, patience: float) -> None:
        """Nobody has to wait for a lease that is given back."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        with suppress(*BROKEN):
            async with asyncio.timeout(patience):
                await self._link.run(self._sql.resign, self._terms.params)
        await self._link.drop()

    def poke(self) -> None:
        """Renew at once."""
        self.good_until = 0.0
        self._poked.set()

    async def alive(self, patience: float) -> bool:
        """Whether the lease holds, or is renewed in time."""
        loop = asyncio.get_running_loop()
        end = loop.time() + patience
        while loop.time() > self.good_until:
            self._renewed.clear()
            self._poked.set()
            try:
                async with asyncio.timeout_at(end):
                    await self._renewed.wait()
            except TimeoutError:
                return False
        return True

    def now(self) -> int:
        """The time of the database in milliseconds, as far as it is known here."""
        return round((asyncio.get_running_loop().time() + self._ahead) * 1000)

    async def _renew(self) -> None:
        loop = asyncio.get_running_loop()
        before = loop.time()
        params = {
            **self._terms.params,
            "first": self._first,
            "info": f"{platform.node()}:{os.getpid()}",
        }
        ((now,),) = await self._link.run(self._sql.renew, params)
        self._first = False
        self.good_until = before + self._terms.lease
        self._ahead = now / 1000 - loop.time()
        self._renewed.set()
        self.back()

    async def _keep(self) -> None:
        loop = asyncio.get_running_loop()
        swept = loop.time()
        pause = self._terms.lease / 3
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._poked.wait()
            self._poked.clear()
            try:
                async with self._lock:
                    await self._renew()
                pause = self._terms.lease / 3
                if loop.time() - swept >= self._sweep_every:
                    swept = loop.time()
                    await self.sweep()
            except BROKEN:
                pause = min(_AGAIN, self._terms.lease / 3)

    async def sweep(self) -> Sweep:
        """Step by step; the lease is renewed in between."""
        lost = await self._swept(self._sql.dead)
        expired = await self._swept(self._sql.expired)
        forgotten = await self._swept(self._sql.forgotten)
        async with self._lock:
            await self._link.run(self._sql.owners, self._terms.params)
        return Sweep(lost, expired, forgotten)

    async def _swept(self, query: bytes) -> int:
        loop = asyncio.get_running_loop()
        count = 0
        for _ in range(_ROUNDS):
            async with self._lock:
                if self.good_until - loop.time() < self._terms.lease / 2:
                    await self._renew()
                rows = await self._link.run(query, self._terms.params)
                afar: list[Place] = [(row[0], row[1]) for row in rows if len(row) > 1 and row[2]]
                if afar:
                    await self._link.run(
                        self._sql.notify,
                        {"words": Texts([word(*place).encode() for place in afar])},
                    )
            count += len(rows)
            if len(rows) < self._sql.chunk:
                break
        return count
