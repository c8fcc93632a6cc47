"""Renew the lease of a replica, and sweep up after dead ones, by the clock of the database.

A replica is alive while it renews its lease. A replica that could not renew it accepts no calls.
"""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import Callable
from contextlib import suppress

from toolwire.execution.ledger.base import Sweep
from toolwire.execution.ledger.postgres.binary import Texts, notification_name
from toolwire.execution.ledger.postgres.connection import CONNECTION_ERRORS, PgConnection
from toolwire.execution.ledger.postgres.operations import KeyBytes
from toolwire.execution.ledger.postgres.options import LedgerOptions
from toolwire.execution.ledger.postgres.sql import Statements
from toolwire.execution.ledger.trusted_clock import TrustedTime, read_time, write_time

_RETRY_DELAY = 0.2
_MAX_STEPS = 1000
"""The maximum number of steps of one sweep."""


class LeaseHeartbeat:
    """Renews the lease three times per lease period, and sweeps every `sweep_interval` seconds."""

    def __init__(
        self,
        connection: PgConnection,
        sql: Statements,
        options: LedgerOptions,
        *,
        sweep_interval: float,
    ) -> None:
        self._connection = connection
        self._sql = sql
        self._options = options
        self._sweep_interval = sweep_interval
        self._first = True
        self._lock = asyncio.Lock()
        self._renew_requested = asyncio.Event()
        self._renewed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._clock_offset = 0.0
        self._trusted = b""
        """The trusted time that this replica read last, as it is stored."""
        self._trusted_at = 0.0
        """When this replica read that value, as a time of the event loop."""
        self.on_renewal: Callable[[], None] = lambda: None
        """Called after each renewal."""
        self.valid_until = 0.0
        """The end of the lease, as a time of the event loop; never later than in the database."""

    async def start(self) -> None:
        await self._renew()
        await self._advance_trusted()
        self._task = asyncio.create_task(self._run())

    async def stop(self, timeout: float) -> None:
        """Give the lease back, so that other replicas need not wait for its end."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        with suppress(*CONNECTION_ERRORS):
            async with asyncio.timeout(timeout):
                await self._connection.run(self._sql.resign, self._options.params)
        await self._connection.drop()

    def renew_now(self) -> None:
        """Renew at once."""
        self.valid_until = 0.0
        self._renew_requested.set()

    async def wait_until_valid(self, timeout: float) -> bool:
        """True if the lease is valid, or is renewed within `timeout` seconds."""
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout
        while loop.time() > self.valid_until:
            self._renewed.clear()
            self._renew_requested.set()
            try:
                async with asyncio.timeout_at(end):
                    await self._renewed.wait()
            except TimeoutError:
                return False
        return True

    def now(self) -> int:
        """The estimated time of the database, in milliseconds."""
        return round((asyncio.get_running_loop().time() + self._clock_offset) * 1000)

    async def _renew(self) -> None:
        loop = asyncio.get_running_loop()
        before = loop.time()
        params = {
            **self._options.params,
            "first": self._first,
            "info": f"{platform.node()}:{os.getpid()}",
        }
        ((now,),) = await self._connection.run(self._sql.renew, params)
        self._first = False
        self.valid_until = before + self._options.lease
        self._clock_offset = now / 1000 - loop.time()
        self._renewed.set()
        self.on_renewal()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        swept = loop.time()
        pause = self._options.lease / 3
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._renew_requested.wait()
            self._renew_requested.clear()
            try:
                async with self._lock:
                    await self._renew()
                pause = self._options.lease / 3
                if loop.time() - swept >= self._sweep_interval:
                    swept = loop.time()
                    await self.sweep()
            except CONNECTION_ERRORS:
                pause = min(_RETRY_DELAY, self._options.lease / 3)

    async def sweep(self) -> Sweep:
        """Sweep in steps, and renew the lease in between."""
        lost = await self._sweep_steps(self._sql.dead)
        expired = await self._sweep_steps(self._sql.expired)
        self._options.params["trusted"] = await self._advance_trusted()
        forgotten = await self._sweep_steps(self._sql.forgotten)
        async with self._lock:
            await self._connection.run(self._sql.owners, self._options.params)
        return Sweep(lost, expired, forgotten)

    async def _advance_trusted(self) -> int:
        """Advance the trusted time of all replicas and return it.

        A replica adds the time since it read the stored value, unless another replica has changed
        the value since.
        """
        at = asyncio.get_running_loop().time()
        async with self._lock:
            ((now, stored),) = await self._connection.run(self._sql.read_clock, {})
            if stored is None:
                ((newest,),) = await self._connection.run(self._sql.newest, {})
                trusted = TrustedTime(now if newest is None else newest)
            else:
                trusted = read_time(stored)
            elapsed = round((at - self._trusted_at) * 1000) if stored == self._trusted else 0
            trusted = trusted.advance(now, elapsed)
            self._trusted, self._trusted_at = write_time(trusted), at
            if self._trusted != stored:
                await self._connection.run(self._sql.write_clock, {"clock": self._trusted})
        return trusted.time

    async def _sweep_steps(self, query: bytes) -> int:
        loop = asyncio.get_running_loop()
        count = 0
        for _ in range(_MAX_STEPS):
            async with self._lock:
                if self.valid_until - loop.time() < self._options.lease / 2:
                    await self._renew()
                rows = await self._connection.run(query, self._options.params)
                remote_keys: list[KeyBytes] = [
                    (row[0], row[1]) for row in rows if len(row) > 1 and row[2]
                ]
                if remote_keys:
                    await self._connection.run(
                        self._sql.notify,
                        {"names": Texts([notification_name(*key).encode() for key in remote_keys])},
                    )
            count += len(rows)
            if len(rows) < self._sql.chunk:
                break
        return count
