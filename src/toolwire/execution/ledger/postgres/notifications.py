"""Wait for calls that other replicas run: one task per call, woken by notifications, and once per
second in case one is missed.

A replica sends a notification only if another replica has requested it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from psycopg import AsyncConnection
from psycopg.rows import TupleRow

from toolwire.execution.ledger.base import CallKey, LedgerUnavailable, Record
from toolwire.execution.ledger.postgres.binary import index_bytes, notification_name
from toolwire.execution.ledger.postgres.connection import CONNECTION_ERRORS, connect
from toolwire.execution.ledger.postgres.operations import LedgerRow

POLL = 1.0
_RETRY_DELAY = 0.02


class _CallWatcher:
    def __init__(self, key: CallKey) -> None:
        self.key = key
        self.key_bytes = (index_bytes(key.tenant), index_bytes(key.call_id))
        self.name = notification_name(*self.key_bytes)
        self.count = 0
        self.changed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.first_read = asyncio.Event()
        self.task: asyncio.Task[Record | None] | None = None


class CallWatchers:
    """The waiting callers by call. `read` reads a call and can request a notification."""

    def __init__(self, read: Callable[[CallKey, bool], Awaitable[LedgerRow | None]]) -> None:
        self._read = read
        self._by_key: dict[tuple[bytes, bytes], _CallWatcher] = {}
        self._by_name: dict[str, set[_CallWatcher]] = {}

    def wake(self, key_bytes: tuple[bytes, bytes]) -> None:
        """Wake the callers that wait for a call that this replica ended."""
        watcher = self._by_key.get(key_bytes) if self._by_key else None
        if watcher is not None and not watcher.changed.done():
            watcher.changed.set_result(None)

    def notify(self, name: str) -> None:
        """Wake the callers that wait for a call with this notification name."""
        for watcher in self._by_name.get(name, ()):
            if not watcher.changed.done():
                watcher.changed.set_result(None)

    def notify_all(self) -> None:
        """Wake all callers: notifications may have been missed."""
        for watcher in self._by_key.values():
            if not watcher.changed.done():
                watcher.changed.set_result(None)

    async def wait(self, key: CallKey, timeout: float) -> Record | None:
        """Wait for the end of a call; None after `timeout` seconds, or if it was released."""
        watcher = self._by_key.get((index_bytes(key.tenant), index_bytes(key.call_id)))
        if watcher is None:
            watcher = _CallWatcher(key)
            self._by_key[watcher.key_bytes] = watcher
            self._by_name.setdefault(watcher.name, set()).add(watcher)
            watcher.task = asyncio.create_task(self._watch(watcher))
        assert watcher.task is not None
        watcher.count += 1
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout
        try:
            with suppress(
                TimeoutError
            ):  # the first read serves all callers, also one with a short timeout
                async with asyncio.timeout(max(timeout, POLL)):
                    await watcher.first_read.wait()
            done, _ = await asyncio.wait({watcher.task}, timeout=max(0.0, end - loop.time()))
            if watcher.task.cancelled():
                raise LedgerUnavailable("the ledger was closed")
            return watcher.task.result() if done else None
        finally:
            watcher.count -= 1
            if watcher.count == 0:
                self._forget(watcher)
                watcher.task.cancel()

    def close(self) -> None:
        for watcher in list(self._by_key.values()):
            self._forget(watcher)
            if watcher.task is not None:
                watcher.task.cancel()

    def _forget(self, watcher: _CallWatcher) -> None:
        if self._by_key.get(watcher.key_bytes) is watcher:
            del self._by_key[watcher.key_bytes]
            others = self._by_name[watcher.name]
            others.discard(watcher)
            if not others:
                del self._by_name[watcher.name]

    async def _watch(self, watcher: _CallWatcher) -> Record | None:
        loop = asyncio.get_running_loop()
        flag = True
        try:
            while True:
                # Created before the read, so that no later end is missed
                watcher.changed = loop.create_future()
                pause = POLL
                try:
                    row = await self._read(watcher.key, flag)
                except LedgerUnavailable:
                    flag = True
                else:
                    if row is None or row.state == "free" or (row.dead and row.rerunnable):
                        return None
                    if row.state != "running":
                        return row.record(watcher.key)
                    watcher.first_read.set()
                    if flag and not row.waiters:
                        pause = _RETRY_DELAY  # the row was locked
                    flag = not row.waiters
                await asyncio.wait({watcher.changed}, timeout=pause)
        finally:
            self._forget(watcher)
            watcher.first_read.set()


async def listen(dsn: str, query: bytes, watchers: CallWatchers, timeout: float) -> None:
    """Receive notifications, without end. While the connection is down, watchers poll."""
    connection: AsyncConnection[TupleRow] | None = None
    while True:
        try:
            with suppress(*CONNECTION_ERRORS):
                connection = await connect(dsn, timeout)
                await connection.execute(query)
                watchers.notify_all()
                async for notice in connection.notifies():
                    watchers.notify(notice.payload)
        finally:
            if connection is not None:
                await connection.close()
        await asyncio.sleep(POLL)
