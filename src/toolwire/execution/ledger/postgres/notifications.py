"""Waiting for calls that run elsewhere: one task per call, woken by a notification, and once in a
second for safety.

Whoever runs a call only notifies if somebody has said that they wait. Knows nothing of SQL.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from psycopg import AsyncConnection
from psycopg.rows import TupleRow

from toolwire.execution.ledger.base import CallKey, LedgerUnavailable, Record
from toolwire.execution.ledger.postgres.binary import indexed, word
from toolwire.execution.ledger.postgres.connection import BROKEN, connect
from toolwire.execution.ledger.postgres.operations import LedgerRow

POLL = 1.0
_SOON = 0.02


class _CallWatcher:
    def __init__(self, key: CallKey) -> None:
        self.key = key
        self.place = (indexed(key.tenant), indexed(key.call_id))
        self.word = word(*self.place)
        self.count = 0
        self.wake: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.looked = asyncio.Event()
        self.task: asyncio.Task[Record | None] | None = None


class CallWatchers:
    """Who waits for what. `look` reads a call and, if told so, leaves word that somebody waits."""

    def __init__(self, look: Callable[[CallKey, bool], Awaitable[LedgerRow | None]]) -> None:
        self._look = look
        self._by_place: dict[tuple[bytes, bytes], _CallWatcher] = {}
        self._by_word: dict[str, set[_CallWatcher]] = {}

    def ended(self, place: tuple[bytes, bytes]) -> None:
        """A call that this replica ended."""
        watch = self._by_place.get(place) if self._by_place else None
        if watch is not None and not watch.wake.done():
            watch.wake.set_result(None)

    def heard(self, name: str) -> None:
        """A call that some replica ended."""
        for watch in self._by_word.get(name, ()):
            if not watch.wake.done():
                watch.wake.set_result(None)

    def heard_all(self) -> None:
        """Words may have been missed."""
        for watch in self._by_place.values():
            if not watch.wake.done():
                watch.wake.set_result(None)

    async def wait(self, key: CallKey, timeout: float) -> Record | None:
        """The record once the call has ended; None if it has not in time, or is free again."""
        watch = self._by_place.get((indexed(key.tenant), indexed(key.call_id)))
        if watch is None:
            watch = _CallWatcher(key)
            self._by_place[watch.place] = watch
            self._by_word.setdefault(watch.word, set()).add(watch)
            watch.task = asyncio.create_task(self._watch(watch))
        assert watch.task is not None
        watch.count += 1
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout
        try:
            with suppress(TimeoutError):  # one look is for everybody, also for who has no time
                async with asyncio.timeout(max(timeout, POLL)):
                    await watch.looked.wait()
            ended, _ = await asyncio.wait({watch.task}, timeout=max(0.0, end - loop.time()))
            if watch.task.cancelled():
                raise LedgerUnavailable("the ledger was closed")
            return watch.task.result() if ended else None
        finally:
            watch.count -= 1
            if watch.count == 0:
                self._forget(watch)
                watch.task.cancel()

    def close(self) -> None:
        for watch in list(self._by_place.values()):
            self._forget(watch)
            if watch.task is not None:
                watch.task.cancel()

    def _forget(self, watch: _CallWatcher) -> None:
        if self._by_place.get(watch.place) is watch:
            del self._by_place[watch.place]
            others = self._by_word[watch.word]
            others.discard(watch)
            if not others:
                del self._by_word[watch.word]

    async def _watch(self, watch: _CallWatcher) -> Record | None:
        loop = asyncio.get_running_loop()
        flag = True
        try:
            while True:
                watch.wake = (
                    loop.create_future()
                )  # before looking: what ends from now on is noticed
                pause = POLL
                try:
                    row = await self._look(watch.key, flag)
                except LedgerUnavailable:
                    flag = True
                else:
                    if row is None or row.state == "free" or (row.dead and row.rerunnable):
                        return None
                    if row.state != "running":
                        return row.record(watch.key)
                    watch.looked.set()
                    if flag and not row.waiters:
                        pause = _SOON  # somebody held the row just then
                    flag = not row.waiters
                await asyncio.wait({watch.wake}, timeout=pause)
        finally:
            self._forget(watch)
            watch.looked.set()


async def listen(dsn: str, query: bytes, watches: CallWatchers, timeout: float) -> None:
    """Hand on what is heard, for ever. While the connection is down, nothing is heard, and polling
    has to do."""
    connection: AsyncConnection[TupleRow] | None = None
    while True:
        try:
            with suppress(*BROKEN):
                connection = await connect(dsn, timeout)
                await connection.execute(query)
                watches.heard_all()
                async for notice in connection.notifies():
                    watches.heard(notice.payload)
        finally:
            if connection is not None:
                await connection.close()
        await asyncio.sleep(POLL)
